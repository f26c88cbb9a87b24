import type { Prefix, ToolSchema } from "../../../core/mod.ts";
import { isRecord, safeText } from "../../../util/json.ts";
import type { KindOptions } from "../../kind.ts";
import type { ModelRequest } from "../../provider.ts";
import { Fingerprint } from "../../wire/fingerprint.ts";
import { strictSchema } from "../../wire/schema/strict.ts";
import { remoteTool } from "./remote_calls.ts";

type Fields = Record<string, unknown>;

/** The facts a request body depends on besides the conversation. */
export type BodyOptions = Pick<KindOptions, "entry" | "model" | "effort" | "remote">;

/** Fields that `extra` may set but that belong to the single request. */
const OF_A_REQUEST = ["max_output_tokens", "tool_choice", "previous_response_id", "input"];

function extras({ entry }: BodyOptions): Fields {
  return { ...entry.extra_body, ...entry.extra };
}

/** The tools as this wire declares them. */
export interface WireTools {
  readonly list: readonly Fields[];
  /** Those whose schemas are strict, by name. */
  readonly strict: ReadonlyMap<string, ToolSchema>;
}

/** A tool whose schema has no strict form is declared as it is. */
export function wireTools(tools: readonly ToolSchema[], strict: boolean): WireTools {
  const strictTools = new Map<string, ToolSchema>();
  const list = tools.map((tool) => {
    const schema = strict ? strictSchema(tool.parameters) : undefined;
    if (schema) strictTools.set(tool.name, tool);
    const { name, description, parameters } = tool;
    // Where nothing is said, servers make the schema strict.
    return {
      type: "function",
      name,
      description,
      parameters: schema ?? parameters,
      strict: schema !== undefined,
    };
  });
  return { list, strict: strictTools };
}

/**
 * Everything before the items: the same bytes for a whole conversation. The system prompt goes into
 * `instructions`: they are sent with each request also where the server keeps the conversation, and stand
 * before all of it.
 */
export function head(
  options: BodyOptions,
  { system, tools }: Prefix,
  refused: ReadonlySet<string>,
): string {
  const { entry, model } = options;
  const { compat } = entry;
  const extra = extras(options);
  for (const name of OF_A_REQUEST) delete extra[name];
  const own = wireTools(tools, entry.strict).list;
  const all = Array.isArray(extra.tools) ? [...own, ...extra.tools] : own;
  delete extra.tools;
  const fields: Fields = {
    model: model.id,
    stream: true,
    store: entry.store,
    ...(model.reasoning?.thinks === false ? {} : { include: ["reasoning.encrypted_content"] }),
    ...(system === "" ? {} : { instructions: safeText(system) }),
    prompt_cache_key: cacheKey(model.id, system, all),
    reasoning: reasoningFields(options),
    text: entry.verbosity === undefined ? undefined : { verbosity: entry.verbosity },
    temperature: entry.temperature,
    top_p: entry.top_p,
    ...(all.length > 0 ? { parallel_tool_calls: compat.parallel_tool_calls } : {}),
  };
  for (const [name, value] of Object.entries(extra)) {
    const known = fields[name];
    fields[name] = isRecord(known) && isRecord(value) ? { ...known, ...value } : value;
  }
  // What is asked beside the conversation has no tools, these neither.
  const remote = tools.length > 0 ? options.remote?.servers() ?? [] : [];
  const declared = [...all, ...remote.map(remoteTool)];
  if (declared.length > 0) fields.tools = declared;
  for (const path of refused) leaveOut(fields, path.split("."));
  return `${JSON.stringify(fields).slice(0, -1)},"input":[`;
}

function reasoningFields({ entry, model, effort }: BodyOptions): Fields | undefined {
  if (model.reasoning?.thinks === false) return undefined;
  const summary = entry.reasoning_summary;
  const fields = {
    ...(effort ? { effort } : {}),
    ...(summary === "none" || effort === "none" ? {} : { summary }),
  };
  return Object.keys(fields).length > 0 ? fields : undefined;
}

/**
 * Requests that begin alike should reach the same cache. The key says nothing that the request does not, and
 * is the same for all sessions with this beginning.
 */
function cacheKey(model: string, system: string, tools: readonly unknown[]): string {
  return `reasonix-${new Fingerprint().add(model).add(system).add(JSON.stringify(tools)).value}`;
}

function leaveOut(fields: Fields, [first = "", ...rest]: readonly string[]): void {
  const inner = fields[first];
  if (rest.length === 0 || !isRecord(inner)) {
    delete fields[first];
    return;
  }
  const kept = { ...inner };
  leaveOut(kept, rest);
  fields[first] = Object.keys(kept).length > 0 ? kept : undefined;
}

/** Fields that differ from request to request, with their leading comma. */
export function tail(
  options: BodyOptions,
  request: ModelRequest,
  refused: ReadonlySet<string>,
  previous?: string,
): string {
  const { entry, model } = options;
  const extra = extras(options);
  const hasTools = request.prefix.tools.length > 0;
  const asked = hasTools && entry.compat.tool_choice ? request.toolChoice : undefined;
  const choice = asked === "none" ? asked : extra.tool_choice ?? asked;
  const fields: Fields = {
    max_output_tokens: request.maxOutputTokens ?? extra.max_output_tokens ?? model.maxOutputTokens,
    tool_choice: choice,
    previous_response_id: previous,
  };
  for (const path of refused) delete fields[path];
  const text = JSON.stringify(fields);
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}
