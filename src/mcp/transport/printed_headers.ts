import { ReasonixError } from "../../core/mod.ts";
import { type HelperOutput, helperOutput, shellCommand } from "../../util/process/helper_output.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { learnSecret } from "../../util/redact.ts";
import { oneLine } from "../../util/terminal_text.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { serverSpawner, type SpawnContext } from "./server_process.ts";

const LIMIT_MS = 10_000;

/**
 * Runs the command line of `headers_helper`, whose output is a JSON object of headers, in the environment of
 * the server's and without a jail. Rejects with a ReasonixError that says in one line what was wrong; values
 * are never part of it.
 */
export async function printedHeaders(
  spec: McpServerSpec,
  context: SpawnContext,
): Promise<Readonly<Record<string, string>>> {
  const { code, output, errors, late } = await run(spec, context);
  if (late) throw failed(`did not end within ${LIMIT_MS / 1000} s`);
  if (code !== 0) {
    const last = errors.trim().split("\n").at(-1) ?? "";
    throw failed(`ended with exit code ${code}${last === "" ? "" : `: ${oneLine(last).slice(0, 200)}`}`);
  }
  if (output === "") throw failed("printed nothing");
  const data = parseJson(output);
  if (!isRecord(data)) throw failed("did not print a JSON object of headers");
  const headers = new Headers();
  for (const [name, value] of Object.entries(data)) {
    if (typeof value !== "string") throw failed(`printed a value of the header "${name}" that is no text`);
    try {
      headers.set(name, value);
    } catch {
      throw failed(`printed a header that cannot be sent, "${oneLine(name).slice(0, 60)}"`);
    }
    learnHeader(name, value);
  }
  return Object.fromEntries(headers);
}

const SECRET_NAME = /auth|api[-_]?key|token|secret|cookie|password|credential/i;

/** The values of such headers are secrets, and so is what stands behind the word for their kind. */
export function learnHeader(name: string, value: string): void {
  if (!SECRET_NAME.test(name)) return;
  learnSecret(value);
  const bare = /^(?:bearer|basic|token)\s+(\S+)$/i.exec(value)?.[1];
  if (bare !== undefined) learnSecret(bare);
}

function failed(what: string): ReasonixError {
  const message = `headers_helper ${what}`;
  return new ReasonixError(message, {
    remedy: 'it has to print a JSON object such as {"Authorization": "Bearer …"}',
  });
}

async function run(spec: McpServerSpec, context: SpawnContext): Promise<HelperOutput> {
  const [command, ...args] = shellCommand(spec.headersHelper);
  const env = {
    ...spec.env,
    REASONIX_MCP_SERVER_NAME: spec.name,
    REASONIX_MCP_SERVER_URL: spec.url,
    // Helpers that were written for the program whose files are read, too.
    CLAUDE_CODE_MCP_SERVER_NAME: spec.name,
    CLAUDE_CODE_MCP_SERVER_URL: spec.url,
  };
  const spawn = await serverSpawner({ ...spec, command, args, env }, context);
  const process = spawn();
  void process.child.stdin.close().catch(() => {});
  return await helperOutput(process.child, { limitMs: LIMIT_MS, end: () => process.end(0) });
}
