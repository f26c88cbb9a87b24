import type { ProviderEntry } from "../../../config/mod.ts";
import type { JsonSchema, ToolSchema } from "../../../core/mod.ts";
import type { Thinking } from "./thinking.ts";
import type { ModelInfo, ModelRequest } from "../../provider.ts";
import { type RemoteServer, type RemoteServers, tokenOf } from "../../remote/remote_server.ts";
import { type Fields, wireName } from "../../wire/message_parts.ts";
import type { RequestBuffer } from "../../wire/request_buffer.ts";
import { isRecord } from "../../../util/json.ts";

/** The facts a request body depends on besides the conversation. */
export interface BodyOptions {
  readonly entry: ProviderEntry;
  readonly model: ModelInfo;
  readonly thinking: Thinking;
  /** Fields that the user adds to every body. */
  readonly extra: Fields;
  /** MCP servers that the model's server calls. */
  readonly remote: readonly RemoteServer[];
  /** Gets the digest of a request when its body is written. */
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

/** The limit of a model that no table knows: every model of the last years takes this one. */
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

/** The experimental feature of the server that connects it to MCP servers. */
export const MCP_BETA = "mcp-client-2025-11-20";

/** The field that declares MCP servers; absent without servers. */
function serverFields(servers: readonly RemoteServer[]): Fields {
  if (servers.length === 0) return {};
  return {
    mcp_servers: servers.map((server) => ({
      type: "url",
      url: server.url,
      name: server.name,
      authorization_token: tokenOf(server),
    })),
  };
}

/**
 * Their tools, as entries of the list of tools. The server asks nobody before a call, so only tools that may
 * run unasked are there.
 */
function remoteToolsets(servers: readonly RemoteServer[]): readonly Fields[] {
  return servers.map((server) => ({ type: "mcp_toolset", mcp_server_name: server.name, ...choice(server) }));
}

function choice({ enabledTools, disabledTools, unasked }: RemoteServer): Fields {
  const wanted = unasked === "all" ? enabledTools : unasked;
  if (unasked === "all" && wanted.length === 0) {
    return disabledTools.length > 0 ? { configs: configs(disabledTools, false) } : {};
  }
  const kept = wanted.filter((tool) =>
    (enabledTools.length === 0 || enabledTools.includes(tool)) && !disabledTools.includes(tool)
  );
  return { default_config: { enabled: false }, configs: configs(kept, true) };
}

function configs(tools: readonly string[], enabled: boolean): Fields {
  return Object.fromEntries(tools.map((tool) => [tool, { enabled }]));
}

/** The request bodies of one provider, begun anew when what its MCP servers may do has changed. */
export class Bodies {
  readonly #remote: RemoteServers | undefined;
  readonly #make: (servers: readonly RemoteServer[]) => RequestBuffer;
  #servers: readonly RemoteServer[] | undefined;
  #buffer: RequestBuffer;

  constructor(remote: RemoteServers | undefined, make: (servers: readonly RemoteServer[]) => RequestBuffer) {
    this.#remote = remote;
    this.#make = make;
    this.#servers = remote?.servers();
    this.#buffer = make(callable(this.#servers));
  }

  get current(): RequestBuffer {
    const servers = this.#remote?.servers();
    if (servers !== this.#servers) {
      this.#servers = servers;
      this.#buffer = this.#make(callable(servers));
    }
    return this.#buffer;
  }
}

function callable(servers: readonly RemoteServer[] = []): readonly RemoteServer[] {
  return servers.filter(({ unasked }) => unasked === "all" || unasked.length > 0);
}

/** Keywords that the server refuses at the top of a schema only. */
const COMBINERS = ["allOf", "anyOf", "oneOf"] as const;

/**
 * The schema of a tool's input as the server takes it: an object, without alternatives at its top. These are
 * laid together there; arguments are checked against the tool's own schema anyhow.
 */
function inputSchema(schema: JsonSchema): JsonSchema {
  const { allOf, anyOf, oneOf, ...rest } = schema;
  const base = { ...rest, type: "object", properties: isRecord(rest.properties) ? rest.properties : {} };
  return Object.entries({ allOf, anyOf, oneOf }).reduce<JsonSchema>(
    (whole, [combiner, list]) => Array.isArray(list) ? together(whole, list, combiner === "allOf") : whole,
    base,
  );
}

/** Required is what all alternatives require; of `allOf` what any of them does. */
function together(schema: JsonSchema, list: readonly unknown[], all: boolean): JsonSchema {
  const parts = list.filter(isRecord).map((part) =>
    COMBINERS.some((combiner) => combiner in part) ? inputSchema(part) : part
  );
  const properties = Object.assign({}, ...parts.map((part) => part.properties), schema.properties);
  const [first = new Set<unknown>(), ...others] = parts.map(({ required }) => new Set(namesIn(required)));
  const shared = others.reduce(
    (left, right) => all ? left.union(right) : left.intersection(right),
    first,
  );
  const required = [...new Set(namesIn(schema.required)).union(shared)];
  return { ...schema, properties, ...(required.length > 0 ? { required } : {}) };
}

function namesIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
