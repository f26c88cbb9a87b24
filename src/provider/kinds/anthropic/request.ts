import type { ProviderEntry } from "../../../config/mod.ts";
import type { ToolSchema } from "../../../core/mod.ts";
import type { ModelInfo, ModelRequest } from "../../provider.ts";
import { wireName } from "../../wire/message_parts.ts";
import type { RemoteServer } from "../../remote/remote_server.ts";
import { inputSchema } from "./input_schema.ts";
import { remoteToolsets, serverFields } from "./remote_servers.ts";
import type { Thinking } from "./thinking.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The facts a request body depends on besides the conversation. */
export interface BodyOptions {
  readonly entry: ProviderEntry;
  readonly model: ModelInfo;
  readonly thinking: Thinking;
  /** What the user adds to every body. */
  readonly extra: Fields;
  /** MCP servers that the model's server calls. */
  readonly remote: readonly RemoteServer[];
  /** Told the name of all that a request says, when its body is written. */
  readonly sent: (name: string) => void;
}

/** Fields that `extra` may set and that have a place of their own. */
const ELSEWHERE = new Set(["tools", "messages", "max_tokens", "tool_choice", "thinking", "output_config"]);

/** Marks the end of what the server is to cache. */
export function cacheMark({ cache_ttl: ttl }: ProviderEntry): Fields {
  return { type: "ephemeral", ...(ttl === "5m" ? {} : { ttl }) };
}

/** The tools of a request, those of servers behind our own. */
export function wireTools(
  tools: readonly ToolSchema[],
  { extra, remote }: Pick<BodyOptions, "extra" | "remote">,
): readonly unknown[] {
  const own = tools.map(({ name, description, parameters }) => ({
    name: wireName(name),
    description,
    input_schema: inputSchema(parameters),
  }));
  return [...own, ...Array.isArray(extra.tools) ? extra.tools : [], ...remoteToolsets(remote)];
}

/** Everything before the messages: the same bytes for a whole conversation. */
export function head(
  { entry, model, thinking, extra, remote }: BodyOptions,
  system: string,
  tools: readonly unknown[],
): string {
  const others = Object.entries(extra).filter(([name]) => !ELSEWHERE.has(name));
  const fields: Fields = {
    model: model.id,
    stream: true,
    ...(thinking.samples ? { temperature: entry.temperature, top_p: entry.top_p } : {}),
    ...serverFields(remote),
    ...Object.fromEntries(others),
    ...(tools.length > 0 ? { tools: lastMarked(tools, entry) } : {}),
    ...(system.trim() === "" ? {} : { system: lastMarked([{ type: "text", text: system }], entry) }),
  };
  return `${JSON.stringify(fields).slice(0, -1)},"messages":[`;
}

function lastMarked(blocks: readonly unknown[], entry: ProviderEntry): readonly unknown[] {
  const last = blocks.at(-1);
  return typeof last !== "object" ? blocks : [...blocks.slice(0, -1), {
    ...last,
    cache_control: cacheMark(entry),
  }];
}

/** Fields that differ from request to request, with their leading comma. */
export function tail(
  { entry, model, thinking, extra }: BodyOptions,
  request: ModelRequest,
  mayThink: boolean,
): string {
  const fields = JSON.stringify({
    max_tokens: maxTokens(request.maxOutputTokens ?? replyLimit(model, extra), thinking, request),
    ...(mayThink ? thinking.fields : {}),
    tool_choice: toolChoice(request, entry, extra.tool_choice),
  });
  return `,${fields.slice(1, -1)}`;
}

/** Where nobody knows the limit of a model: every model of the last years takes this one. */
const USUAL_LIMIT = 32_000;
/** More is of no use in a step, and stands against the limits of an account. */
const HIGHEST_LIMIT = 64_000;

/** Tokens that a reply may have, its thoughts included: the wire wants a number in every request. */
export function replyLimit(
  { maxOutputTokens, outputLimit, contextWindow }: ModelInfo,
  extra: Fields,
): number {
  const declared = extra.max_tokens ?? maxOutputTokens;
  if (typeof declared === "number") return declared;
  // Input and limit together must fit the window of many models.
  const share = contextWindow ? Math.floor(contextWindow / 4) : Infinity;
  return Math.max(1, Math.min(outputLimit ?? USUAL_LIMIT, HIGHEST_LIMIT, share));
}

/** A limit that a single request has is one of its answer; thoughts come on top. */
function maxTokens(limit: number, { tokens }: Thinking, { maxOutputTokens }: ModelRequest): number {
  return maxOutputTokens !== undefined || limit <= tokens ? limit + tokens : limit;
}

function toolChoice(
  { toolChoice, prefix }: ModelRequest,
  { compat }: ProviderEntry,
  extra: unknown,
): unknown {
  if (prefix.tools.length === 0) return extra;
  if (toolChoice === "none" && compat.tool_choice) return { type: "none" };
  if (extra !== undefined) return extra;
  if (compat.parallel_tool_calls === false) return { type: "auto", disable_parallel_tool_use: true };
  return toolChoice === "auto" && compat.tool_choice ? { type: "auto" } : undefined;
}
