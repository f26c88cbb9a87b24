import type { ProviderEntry } from "../../../config/mod.ts";
import type { Prefix, ToolSchema } from "../../../core/mod.ts";
import { isRecord, safeText } from "../../../util/json.ts";
import type { ModelInfo, ModelRequest } from "../../provider.ts";
import { subsetSchema } from "../../wire/schema/schema_subset.ts";
import { wireName } from "../../wire/message_parts.ts";
import type { Generation } from "./generation.ts";
import type { RefusedFields } from "./refused_fields.ts";
import { thinkingOf } from "./thinking.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The facts a request body depends on besides the conversation. */
export interface BodyOptions {
  readonly entry: ProviderEntry;
  readonly model: ModelInfo;
  readonly generation: Generation;
  readonly effort: string | undefined;
  readonly refused: RefusedFields;
}

/** Fields that `extra` may set and that have a place of their own. */
const ELSEWHERE = new Set(["contents", "tools", "toolConfig", "generationConfig"]);

function extras({ entry }: BodyOptions): Fields {
  return { ...entry.extra_body, ...entry.extra };
}

/** Names begin with a letter or `_`; a name that was changed is told apart by {@linkcode toolNamed}. */
export function functionName(name: string): string {
  const plain = wireName(name);
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}

/** The tool that a function of this wire stands for. */
export function toolNamed(name: string, tools: readonly ToolSchema[]): string {
  return tools.find((tool) => functionName(tool.name) === name)?.name ?? name;
}

/** Everything before the messages: the same bytes for a whole conversation. */
export function head(options: BodyOptions, { system, tools }: Prefix): string {
  const extra = extras(options);
  const others = Object.entries(extra).filter(([name]) => !ELSEWHERE.has(name));
  const declared = wireTools(tools, extra.tools);
  const fields = JSON.stringify({
    ...(system.trim() === "" || options.entry.compat.system_role === "user"
      ? {}
      : { systemInstruction: { parts: [{ text: safeText(system) }] } }),
    ...Object.fromEntries(others),
    ...(declared.length > 0 ? { tools: declared } : {}),
  });
  return `${fields === "{}" ? "{" : `${fields.slice(0, -1)},`}"contents":[`;
}

/** The functions of a request, and the server's own tools that `extra` brings behind them. */
function wireTools(tools: readonly ToolSchema[], others: unknown): readonly unknown[] {
  const own = tools.map(({ name, description, parameters }) => ({
    name: functionName(name),
    description,
    ...(takesNothing(parameters) ? {} : { parametersJsonSchema: subsetSchema(parameters) }),
  }));
  return [
    ...(own.length > 0 ? [{ functionDeclarations: own }] : []),
    ...(Array.isArray(others) ? others : []),
  ];
}

function takesNothing({ properties, additionalProperties, anyOf, oneOf, allOf, $ref }: Fields): boolean {
  const open = [anyOf, oneOf, allOf, $ref].some((value) => value !== undefined) ||
    (additionalProperties !== undefined && additionalProperties !== false);
  return !open && (!isRecord(properties) || Object.keys(properties).length === 0);
}

/** Fields that differ from request to request, with their leading comma. */
export function tail(options: BodyOptions, request: ModelRequest): string {
  const extra = extras(options);
  const fields = JSON.stringify({
    generationConfig: generationConfig(options, request),
    toolConfig: toolConfig(options, request, extra.toolConfig),
  });
  return fields === "{}" ? "" : `,${fields.slice(1, -1)}`;
}

function generationConfig(options: BodyOptions, { maxOutputTokens: asked }: ModelRequest): unknown {
  const { entry, model, generation, effort } = options;
  const { generationConfig } = extras(options);
  const extra = isRecord(generationConfig) ? generationConfig : {};
  const { thinkingConfig, ...others } = extra;
  const { config, tokens } = thinkingOf(model, generation, {
    effort,
    asked: isRecord(thinkingConfig) ? thinkingConfig : undefined,
  });
  const fields = {
    temperature: entry.temperature,
    topP: entry.top_p,
    seed: entry.seed,
    maxOutputTokens: model.maxOutputTokens,
    ...others,
    ...(asked === undefined ? {} : { maxOutputTokens: asked + tokens }),
    thinkingConfig: options.refused.thinking ? undefined : config,
  };
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}

function toolConfig({ entry }: BodyOptions, { prefix, toolChoice }: ModelRequest, extra: unknown): unknown {
  const own = isRecord(extra) ? extra : undefined;
  if (prefix.tools.length === 0 || !entry.compat.tool_choice || toolChoice === undefined) return extra;
  if (toolChoice === "auto" && own?.functionCallingConfig !== undefined) return extra;
  return { ...own, functionCallingConfig: { mode: toolChoice === "none" ? "NONE" : "AUTO" } };
}
