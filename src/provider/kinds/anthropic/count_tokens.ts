import { message } from "../../../core/mod.ts";
import { isRecord, parseJson } from "../../../util/json.ts";
import { errorOf, protocolFailure, reportedFailure, requestFailure } from "../../errors.ts";
import type { ModelQuery } from "../../wire/model_list.ts";

const LONGEST_WAIT_MS = 30_000;
/** Fields of a request that its count depends on; the server refuses others. */
const COUNTED = ["model", "system", "tools", "tool_choice", "thinking", "output_config", "messages"];

/** Input tokens of a request with this body, as the server counts them. Rejects with a ReasonixError. */
export async function countTokens(
  query: ModelQuery,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<number> {
  try {
    return await ask(query, body, AbortSignal.any([AbortSignal.timeout(LONGEST_WAIT_MS), signal]));
  } catch (error) {
    throw errorOf(requestFailure(error, query.endpoint));
  }
}

async function ask(
  { url, headers, endpoint, fetch }: ModelQuery,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<number> {
  const request: Record<string, unknown> = JSON.parse(new TextDecoder().decode(body));
  const counted = Object.fromEntries(Object.entries(request).filter(([name]) => COUNTED.includes(name)));
  const init = { method: "POST", headers: { ...headers, accept: "application/json" }, signal };
  const response = await fetch(url, { ...init, body: JSON.stringify(counted) });
  const text = await response.text();
  if (!response.ok) throw reportedFailure({ status: response.status, text }, endpoint);
  const answer = parseJson(text);
  if (isRecord(answer) && typeof answer.input_tokens === "number") return answer.input_tokens;
  throw protocolFailure(message`did not answer with a count of tokens; check base_url`, endpoint);
}
