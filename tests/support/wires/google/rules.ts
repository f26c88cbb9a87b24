/** Refusals of the vendor with 400 INVALID_ARGUMENT, in its words, or nearly so. */
import type { Signatures } from "./signatures.ts";
import type { GenerateRequest, WirePart, WireTurn } from "./shapes.ts";

export interface Rules {
  /** Generation of the model. */
  readonly generation: number;
  readonly signatures: Signatures;
}

const FIELDS = new Set([
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "generationConfig",
  "safetySettings",
  "cachedContent",
  "labels",
]);
const DATA = ["text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode"];
const NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/;
const MODES = ["AUTO", "NONE", "ANY", "VALIDATED"];
const SCHEMA = new Set([
  "$id",
  "$defs",
  "$ref",
  "$anchor",
  "type",
  "format",
  "title",
  "description",
  "enum",
  "items",
  "prefixItems",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "anyOf",
  "oneOf",
  "properties",
  "additionalProperties",
  "required",
  "propertyOrdering",
]);

/** The first rule that a request breaks. */
export function brokenRule(request: GenerateRequest, rules: Rules): string | undefined {
  for (const check of [fields, functions, config, turns, order, parts, signatures]) {
    const problem = check(request, rules);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function unknown(name: string, at: string): string {
  return `Invalid JSON payload received. Unknown name "${name}"${
    at === "" ? "" : ` at '${at}'`
  }: Cannot find field.`;
}

function fields(request: GenerateRequest): string | undefined {
  const odd = Object.keys(request).find((name) => !FIELDS.has(name));
  if (odd !== undefined) return unknown(odd, "");
  if (!Array.isArray(request.contents) || request.contents.length === 0) {
    return "* GenerateContentRequest.contents: contents is not specified\n";
  }
  return undefined;
}

function functions({ tools = [] }: GenerateRequest): string | undefined {
  for (const [tool, { functionDeclarations: list = [] }] of tools.entries()) {
    const names = new Set<string>();
    for (const [at, { name, parameters, parametersJsonSchema: schema }] of list.entries()) {
      const where = `tools[${tool}].function_declarations[${at}]`;
      if (!NAME.test(name)) {
        return `* GenerateContentRequest.${where}.name: Invalid function name. Must start with a letter or an ` +
          "underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-).";
      }
      if (names.has(name)) return `Duplicate function declaration found: ${name}`;
      names.add(name);
      if (parameters !== undefined && schema !== undefined) {
        return `${where}: only one of parameters and parameters_json_schema may be set`;
      }
      if (schema === undefined) continue;
      if (schema.type !== "object") return `${where}.parameters_json_schema.type: must be an object`;
      const problem = schemaProblem(schema, `${where}.parameters_json_schema`);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function schemaProblem(schema: WirePart, at: string): string | undefined {
  for (const [key, value] of Object.entries(schema)) {
    if (!SCHEMA.has(key)) return unknown(key, at);
    if (key === "enum" && value.some((one: unknown) => typeof one !== "string" && typeof one !== "number")) {
      return `Invalid value at '${at}.enum'`;
    }
    if (key === "$ref" && Object.keys(schema).some((other) => !other.startsWith("$"))) {
      return `${at}: $ref may not have other keywords next to it`;
    }
    const inner: readonly [string, unknown][] = key === "properties"
      ? Object.entries(value)
      : ["anyOf", "oneOf", "prefixItems"].includes(key)
      ? value.map((one: unknown, n: number) => [`${key}[${n}]`, one])
      : key === "items" || key === "additionalProperties"
      ? [[key, value]]
      : [];
    for (const [name, one] of inner) {
      const found = typeof one === "object" ? schemaProblem(one as WirePart, `${at}.${name}`) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function config({ toolConfig, generationConfig = {} }: GenerateRequest, { generation }: Rules) {
  const mode = toolConfig?.functionCallingConfig?.mode;
  if (mode !== undefined && !MODES.includes(mode)) return "Invalid value at 'tool_config'";
  const {
    maxOutputTokens,
    thinkingConfig: { thinkingBudget, thinkingLevel, includeThoughts } = {} as WirePart,
  } = generationConfig;
  if (maxOutputTokens !== undefined && !(maxOutputTokens > 0)) {
    return "max_output_tokens must be a positive integer.";
  }
  if (thinkingBudget !== undefined && thinkingLevel !== undefined) {
    return "You can only set only one of thinking budget and thinking level.";
  }
  if (generation < 3 && thinkingLevel !== undefined) return "Thinking level is not supported for this model.";
  if (thinkingLevel !== undefined && !/^(minimal|low|medium|high)$/i.test(thinkingLevel)) {
    return `Invalid value at 'generation_config.thinking_config.thinking_level', "${thinkingLevel}"`;
  }
  if (thinkingBudget === 0 && includeThoughts) {
    return "Unable to submit request because Thinking_config.include_thoughts is only enabled when thinking is enabled.";
  }
  return undefined;
}

function turns({ contents }: GenerateRequest): string | undefined {
  for (const [at, { role, parts }] of contents.entries()) {
    if (role !== "user" && role !== "model") return "Please use a valid role: user, model.";
    if (!Array.isArray(parts) || parts.length === 0) {
      return `* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.\n`;
    }
    if (contents[at - 1]?.role === role) {
      return "Please ensure that multiturn requests alternate between user and model.";
    }
  }
  if (contents[0]?.role !== "user" || contents.at(-1)?.role !== "user") {
    return "Please ensure that the conversation begins and ends with a user turn.";
  }
  return undefined;
}

function having(turn: WireTurn | undefined, name: string): readonly WirePart[] {
  return turn?.parts.flatMap((part) => part[name] === undefined ? [] : [part[name]]) ?? [];
}

function order({ contents }: GenerateRequest): string | undefined {
  for (const [at, turn] of contents.entries()) {
    const [calls, next] = [having(turn, "functionCall"), having(contents[at + 1], "functionResponse")];
    const results = having(turn, "functionResponse");
    if (turn.role === "user" && calls.length > 0 || turn.role === "model" && results.length > 0) {
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
    }
    if (results.length > 0 && having(contents[at - 1], "functionCall").length === 0) {
      return "Please ensure that function response turn comes immediately after a function call turn.";
    }
    if (calls.length !== next.length && (calls.length > 0 || next.length > 0)) {
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    }
    for (const [n, { id, name }] of calls.entries()) {
      if (next[n]?.name !== name || next[n]?.id !== id) {
        return `contents[${
          at + 1
        }].parts[${n}].function_response: name and id must be those of function call ${n} (${name})`;
      }
    }
  }
  return undefined;
}

function parts({ contents }: GenerateRequest, { generation }: Rules): string | undefined {
  for (const [at, { parts }] of contents.entries()) {
    for (const [n, part] of parts.entries()) {
      const where = `contents[${at}].parts[${n}]`;
      if (DATA.filter((name) => part[name] !== undefined).length !== 1) {
        return `* GenerateContentRequest.${where}.data: required oneof field 'data' must have one initialized field\n`;
      }
      const { functionCall: call, functionResponse: result, text } = part;
      if (text === "" && part.thoughtSignature === undefined) {
        return `${where}: Unable to submit an empty text`;
      }
      if (call && (!NAME.test(call.name) || !isStruct(call.args))) {
        return `Invalid value at '${where}.function_call'`;
      }
      if (result && (!NAME.test(result.name) || !isStruct(result.response))) {
        return `Invalid value at '${where}.function_response'`;
      }
      if (result?.parts !== undefined && generation < 3) {
        return "Multimodal function responses are not supported by this model.";
      }
    }
  }
  return undefined;
}

function isStruct(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Signatures keep their positions; calls since the last user message have theirs. */
function signatures({ contents }: GenerateRequest, { generation, signatures }: Rules): string | undefined {
  const spoke = contents.findLastIndex((turn) =>
    turn.role === "user" && having(turn, "functionResponse").length === 0
  );
  for (const [at, turn] of contents.entries()) {
    if (turn.role !== "model") continue;
    for (const [n, part] of turn.parts.entries()) {
      const { thoughtSignature: signature, functionCall: call } = part;
      if (signature !== undefined) {
        const problem = signatures.problem(part);
        if (problem !== undefined) return problem;
      }
      const first = turn.parts.findIndex(({ functionCall }) => functionCall) === n;
      if (call && first && signature === undefined && generation >= 3 && at > spoke) {
        return "Function call is missing a thought_signature in functionCall parts. This is required for tools to " +
          "work correctly, and missing thought_signature may lead to degraded model performance. Additional data, " +
          `function call \`default_api:${call.name}\` , position ${at + 1}.`;
      }
    }
  }
  return undefined;
}
