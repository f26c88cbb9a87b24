/** The rules by which a server of the Responses API accepts or refuses a request, with its error texts. */
import type { Refusal } from "./scripted_wire.ts";

// deno-lint-ignore no-explicit-any
export type Json = any;

/** The state of the server when a request arrives. */
export interface ServerMemory {
  /** The items of a stored response, by its id. */
  readonly stored: ReadonlyMap<string, readonly Json[]>;
  /** Ids of reasoning items by their encrypted content. */
  readonly sealed: ReadonlyMap<string, string>;
  /** Optional fields that this server or model does not take. */
  readonly refuses: readonly string[];
}

const PARAMETERS = new Set([
  "model",
  "input",
  "instructions",
  "stream",
  "stream_options",
  "store",
  "include",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "reasoning",
  "text",
  "temperature",
  "top_p",
  "max_output_tokens",
  "previous_response_id",
  "prompt_cache_key",
  "service_tier",
  "metadata",
]);

const CONTENT: Readonly<Record<string, readonly string[]>> = {
  user: ["input_text", "input_image", "input_file"],
  system: ["input_text"],
  developer: ["input_text"],
  assistant: ["output_text", "refusal"],
};

class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly param: string | null,
    readonly code?: string,
  ) {
    super(message);
  }
}

/** The server's answer to a request that breaks a rule. */
export function refusalOf(json: Json, memory: ServerMemory): Refusal | undefined {
  try {
    check(json, memory);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { status, message, param, code = null } = error;
    const expected = code === "previous_response_not_found" || code === "unsupported_parameter";
    return { status, expected, body: { error: { message, type: "invalid_request_error", param, code } } };
  }
  return undefined;
}

/** The whole input of a request: stored items and new ones. */
export function contextOf(json: Json, { stored }: ServerMemory): readonly Json[] {
  return [...stored.get(json.previous_response_id) ?? [], ...json.input];
}

function check(json: Json, memory: ServerMemory): void {
  for (const name of Object.keys(json)) {
    if (!PARAMETERS.has(name)) {
      throw new Refused(400, `Unknown parameter: '${name}'.`, name, "unknown_parameter");
    }
  }
  for (const path of memory.refuses) {
    const value = path.split(".").reduce((at: Json, key) => at?.[key], json);
    const words = `Unsupported parameter: '${path}' is not supported with this model.`;
    if (value !== undefined) throw new Refused(400, words, path, "unsupported_parameter");
  }
  for (const tool of json.tools ?? []) checkTool(tool);
  const previous = json.previous_response_id;
  if (previous !== undefined && !memory.stored.has(previous)) {
    const words = `Previous response with id '${previous}' not found.`;
    throw new Refused(400, words, "previous_response_id", "previous_response_not_found");
  }
  if (!Array.isArray(json.input) || json.input.length === 0 && previous === undefined) {
    throw new Refused(400, "One of 'input' or 'previous_response_id' must be provided.", "input");
  }
  json.input.forEach((item: Json, at: number) => checkItem(item, at, json, memory));
  checkOrder(contextOf(json, memory));
}

function checkTool(tool: Json): void {
  const { type, name, parameters, strict } = tool;
  if (type === "mcp") return checkMcpTool(tool);
  if (type !== "function") return;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new Refused(400, `Invalid 'tools[0].name': string does not match pattern.`, "tools[0].name");
  }
  if (strict !== true && strict !== false) {
    throw new Refused(400, `Function '${name}' does not say whether it is strict`, "tools[0].strict");
  }
  if (strict) checkStrict(parameters, name, []);
}

function checkMcpTool({ server_label: label, server_url: url, require_approval: asks }: Json): void {
  if (typeof label !== "string" || label === "") {
    throw new Refused(400, "Missing required parameter: 'tools[0].server_label'.", "tools[0].server_label");
  }
  if (!URL.canParse(url)) {
    throw new Refused(400, "Invalid 'tools[0].server_url': expected a valid URL.", "tools[0].server_url");
  }
  if (asks !== "always" && asks !== "never") {
    throw new Refused(400, "Invalid value for 'tools[0].require_approval'.", "tools[0].require_approval");
  }
}

/** The vendor's rules for strict schemas. */
function checkStrict(schema: Json, name: string, at: readonly string[]): void {
  const refuse = (why: string) => {
    const words = `Invalid schema for function '${name}': In context=(${at.join(", ")}), ${why}`;
    throw new Refused(400, words, "tools[0].parameters", "invalid_function_parameters");
  };
  for (
    const key of ["allOf", "oneOf", "not", "if", "patternProperties", "minLength", "default", "uniqueItems"]
  ) {
    if (key in schema) refuse(`'${key}' is not permitted.`);
  }
  if (schema.$ref === undefined && schema.type === undefined && schema.anyOf === undefined) {
    refuse("schema must have a 'type' key.");
  }
  if (schema.properties) {
    if (schema.additionalProperties !== false) {
      refuse("'additionalProperties' is required to be supplied and to be false.");
    }
    const missing = Object.keys(schema.properties).find((key) => !schema.required?.includes(key));
    if (missing) {
      refuse(
        "'required' is required to be supplied and to be an array including every key in properties. " +
          `Missing '${missing}'.`,
      );
    }
    for (const [key, inner] of Object.entries(schema.properties)) checkStrict(inner, name, [...at, key]);
  } else if (schema.type === "object") refuse("object schema without 'properties'.");
  if (schema.type === "array" && !schema.items) refuse("array schema missing items.");
  if (schema.items) checkStrict(schema.items, name, [...at, "items"]);
  for (const [key, inner] of Object.entries(schema.$defs ?? {})) checkStrict(inner, name, ["$defs", key]);
  for (const [index, inner] of (schema.anyOf ?? []).entries()) {
    checkStrict(inner, name, [...at, "anyOf", String(index)]);
  }
}

function checkItem(item: Json, at: number, json: Json, memory: ServerMemory): void {
  const param = `input[${at}]`;
  switch (item.type ?? "message") {
    case "message":
      return checkMessage(item, at, json);
    case "function_call":
      if (typeof item.arguments !== "string" || typeof item.call_id !== "string") {
        throw new Refused(400, `Missing required parameter: '${param}.call_id'.`, param);
      }
      JSON.parse(item.arguments);
      return checkId(item, json);
    case "function_call_output":
      if (typeof item.output === "string") return;
      if (Array.isArray(item.output)) return checkParts(item.output, CONTENT.user ?? [], `${param}.output`);
      throw new Refused(400, `Missing required parameter: '${param}.output'.`, param);
    case "reasoning":
      return checkReasoning(item, json, memory);
    case "web_search_call":
    case "mcp_list_tools":
    case "mcp_call":
    case "mcp_approval_request":
      if (item.status === "in_progress") throw new Refused(400, "Invalid value: 'in_progress'.", param);
      return;
    case "mcp_approval_response":
      if (typeof item.approve === "boolean") return;
      throw new Refused(400, `Missing required parameter: '${param}.approve'.`, param);
    default:
      throw new Refused(400, `Invalid value: '${item.type}'.`, `${param}.type`, "invalid_value");
  }
}

function checkMessage(item: Json, at: number, json: Json): void {
  const allowed = CONTENT[item.role];
  if (!allowed) {
    throw new Refused(400, `Invalid value: '${item.role}'.`, `input[${at}].role`, "invalid_value");
  }
  checkId(item, json);
  if (typeof item.content !== "string") checkParts(item.content, allowed, `input[${at}].content`);
}

function checkParts(parts: readonly Json[], allowed: readonly string[], param: string): void {
  if (!Array.isArray(parts) || parts.length === 0) throw new Refused(400, `Empty array: '${param}'.`, param);
  for (const part of parts) {
    if (!allowed.includes(part.type)) {
      throw new Refused(400, `Invalid value: '${part.type}'. Supported values are: ${allowed}.`, param);
    }
    if (part.type === "input_image" && !/^data:image\/\w+;base64,/.test(part.image_url)) {
      throw new Refused(400, "Expected a base64-encoded data URL with an image MIME type", param);
    }
  }
}

/** Items are only looked up by their ids where they are stored. */
function checkId({ id }: Json, { store }: Json): void {
  if (id !== undefined && store === false) throw notFound(id);
}

function notFound(id: string): Refused {
  const words = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. ` +
    "Try again with `store` set to true, or remove this item from your input.";
  return new Refused(404, words, "input");
}

function checkReasoning(item: Json, json: Json, { sealed }: ServerMemory): void {
  if (!Array.isArray(item.summary)) throw new Refused(400, "Missing required parameter: 'summary'.", "input");
  if (item.status !== undefined) throw new Refused(400, "Unknown parameter: 'input.status'.", "input");
  if (typeof item.encrypted_content !== "string") {
    if (json.store === false) throw notFound(item.id);
    return;
  }
  const id = sealed.get(item.encrypted_content);
  if (id === undefined || (item.id !== undefined && item.id !== id)) {
    const words = `The encrypted content for item ${item.id} could not be verified.`;
    throw new Refused(400, words, null, "invalid_encrypted_content");
  }
}

/** Calls have results, results have calls, and reasoning is followed by its output. */
function checkOrder(items: readonly Json[]): void {
  const open = new Set<string>();
  const known = new Set<string>();
  items.forEach((item, at) => {
    const next = items[at + 1];
    if (item.type === "function_call") {
      open.add(item.call_id);
      known.add(item.call_id);
    } else if (item.type === "function_call_output") {
      if (!known.has(item.call_id)) {
        const words = `No tool call found for function call output with call_id ${item.call_id}.`;
        throw new Refused(400, words, "input");
      }
      open.delete(item.call_id);
    } else if (item.type === "mcp_approval_request") {
      known.add(item.id);
    } else if (item.type === "mcp_approval_response") {
      const id = item.approval_request_id;
      if (!known.has(id)) throw new Refused(400, `Approval request with id '${id}' not found.`, "input");
    } else if (item.type === "reasoning") {
      const follows = next?.role === "assistant" ||
        (next?.type !== undefined && !["message", "function_call_output"].includes(next.type));
      if (!follows) {
        const words =
          `Item '${item.id}' of type 'reasoning' was provided without its required following item.`;
        throw new Refused(400, words, "input");
      }
    }
  });
  const [missing] = open;
  if (missing !== undefined) {
    throw new Refused(400, `No tool output found for function call ${missing}.`, "input");
  }
}
