import type { ProviderError } from "../../../core/mod.ts";
import { protocolFailure } from "../../errors.ts";
import { type Endpoint, nameOf, ProviderFailure, quote } from "../../failure.ts";

/** The server's word for why a reply ended, and what it says about it. */
interface Ending {
  readonly reason: string;
  readonly message: string;
}

/** Why an answer was not given, by the server's word. */
const DECLINED: Readonly<Record<string, string>> = {
  SAFETY: "its safety filter stopped it",
  RECITATION: "it was about to repeat a protected text",
  BLOCKLIST: "it has a word of a block list",
  PROHIBITED_CONTENT: "it has prohibited content",
  SPII: "it has personal data",
  LANGUAGE: "it is in a language that the model does not support",
  IMAGE_SAFETY: "its safety filter stopped an image",
  IMAGE_PROHIBITED_CONTENT: "an image has prohibited content",
  IMAGE_RECITATION: "an image repeats a protected one",
  MODEL_ARMOR: "Model Armor stopped it",
  JAILBREAK: "it looks like an attempt to get around the rules",
};

/** What went wrong in an answer that another try may give. */
const BROKEN: Readonly<Record<string, string>> = {
  MALFORMED_FUNCTION_CALL: "broke off at a tool call that the model had not written well",
  MALFORMED_RESPONSE: "broke off at an answer that the model had not written well",
  UNEXPECTED_TOOL_CALL: "broke off at a tool call that was not allowed",
  TOO_MANY_TOOL_CALLS: "broke off after too many tool calls of its own",
};

/** The error that a reply is which ended because the server would not go on. */
export function declinedError(ending: Ending, endpoint: Endpoint): ProviderError | undefined {
  const why = DECLINED[ending.reason];
  return why === undefined ? undefined : declined({ what: "ended the answer", why, ...ending }, endpoint);
}

/** The failure that a reply is which came to no good end. */
export function endingFailure({ reason, message }: Ending, endpoint: Endpoint): ProviderFailure | undefined {
  const what = BROKEN[reason];
  if (what === undefined) return undefined;
  const said = quote(message, endpoint);
  return protocolFailure(`${what} (${reason}${said === "" ? "" : `: ${said}`})`, endpoint);
}

/** The failure for a request that the server will not answer. */
export function blockedFailure(
  feedback: Readonly<Record<string, unknown>>,
  endpoint: Endpoint,
): ProviderFailure {
  const { blockReason, blockReasonMessage: said } = feedback;
  const reason = String(blockReason);
  const message = typeof said === "string" ? said : "";
  const why = DECLINED[reason] ?? "it does not say why";
  return new ProviderFailure(
    declined({ what: "does not answer the conversation", why, reason, message }, endpoint),
    false,
  );
}

function declined(
  { what, why, reason, message }: Ending & { readonly what: string; readonly why: string },
  endpoint: Endpoint,
): ProviderError {
  const said = quote(`${reason}${message === "" ? "" : `: ${message}`}`, endpoint);
  const { provider, host } = endpoint;
  return {
    kind: "content_filter",
    message: `${nameOf(endpoint)} ${what}: ${why} (${said}); ask in other words, ` +
      "or go back to before the message that led to it",
    said: [["declined", provider, host, said], ["askOtherwise"]],
  };
}
