import type { ProviderEntry } from "../../../config/mod.ts";
import type { Message, Prefix, ToolSchema } from "../../../core/mod.ts";
import type { ProviderFailure } from "../../errors.ts";
import { thinkingBudget } from "../../model/model_info.ts";
import type { ModelInfo, ModelRequest } from "../../provider.ts";
import { type Fields, wireName } from "../../wire/message_parts.ts";
import { subsetSchema } from "../../wire/schema/schema_subset.ts";
import type { Adaptation } from "../../wire/streaming_provider.ts";
import { isRecord, safeText } from "../../../util/json.ts";

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

/** The features of a generation of models on this wire. */
interface Generation {
  /** Calls without the signature of a thought are refused. */
  readonly signsCalls: boolean;
  /** Results of functions may hold images. */
  readonly resultImages: boolean;
  /** The form of a request for thinking: a word, a number of tokens, or none. */
  readonly thinking: "level" | "budget" | "none";
  /** It thinks unless it is told not to. */
  readonly thinksUnasked: boolean;
}

/**
 * The generation of a model by its name, else by what is known of its thinking. What nothing is known of
 * counts as one of the newest.
 */
export function generationOf({ id, reasoning }: Pick<ModelInfo, "id" | "reasoning">): Generation {
  const number = numberOf(id, reasoning);
  const thinks = reasoning?.thinks ?? number >= 2.5;
  return {
    signsCalls: number >= 3,
    resultImages: number >= 3,
    thinking: !thinks ? "none" : number >= 3 ? "level" : "budget",
    thinksUnasked: thinks && !(number < 3 && id.includes("lite")),
  };
}

function numberOf(id: string, reasoning: ModelInfo["reasoning"]): number {
  const named = /gemini-(\d+(?:\.\d+)?)/.exec(id)?.[1];
  if (named !== undefined) return Number(named);
  if (reasoning?.thinks === false || /(?:^|\/)(?:gemma|learnlm)/.test(id)) return 2;
  return reasoning?.budget ? 2.5 : 3;
}

/** Levels of other vendors, and what comes nearest here. */
const LEVELS: Readonly<Record<string, string>> = { none: "low", minimal: "low", xhigh: "high", max: "high" };
/** Tokens that a model of which no number is asked may think with beside a short answer. */
const ALLOWANCE = 8192;

/** The request for thinking. */
interface Thinking {
  /** `thinkingConfig` of a request; undefined: nothing is said. */
  readonly config: Fields | undefined;
  /** Tokens that thinking may need beside a short answer: the limit of output counts thoughts, too. */
  readonly tokens: number;
}

/** `asked` is what the user wrote into the body; it goes before everything. */
function thinkingOf(
  model: Pick<ModelInfo, "reasoning" | "maxOutputTokens">,
  generation: Generation,
  { effort, asked }: { readonly effort: string | undefined; readonly asked: Fields | undefined },
): Thinking {
  const own = ownConfig(model, generation, effort);
  const config = own === undefined && asked === undefined ? undefined : { ...own, ...asked };
  const budget = config?.thinkingBudget;
  const off = budget === 0 || generation.thinking === "none";
  return { config, tokens: off ? 0 : typeof budget === "number" && budget > 0 ? budget : ALLOWANCE };
}

function ownConfig(
  { reasoning, maxOutputTokens }: Pick<ModelInfo, "reasoning" | "maxOutputTokens">,
  { thinking, thinksUnasked }: Generation,
  effort: string | undefined,
): Fields | undefined {
  if (thinking === "none") return undefined;
  if (effort === undefined || effort === "") return thinksUnasked ? { includeThoughts: true } : undefined;
  if (thinking === "level") {
    const thinkingLevel = reasoning?.levels?.includes(effort) ? effort : LEVELS[effort] ?? effort;
    return { includeThoughts: true, thinkingLevel };
  }
  const thinkingBudgetOf = thinkingBudget(effort, reasoning?.budget ?? { max: 24_576 }, maxOutputTokens);
  // The server refuses to show thoughts where there are to be none.
  if (thinkingBudgetOf === 0) return { thinkingBudget: 0 };
  return { includeThoughts: true, thinkingBudget: thinkingBudgetOf };
}

/** Words by which the server refuses to be told how to think, or to show thoughts. */
const THINKING = /thinking|include_?thoughts/i;
/** Signatures mean nothing at another project, region or gateway than the one they came from. */
const SIGNATURE = /thought[_ ]?signature/i;

/** Fields that a server has refused although the name of the model says that it takes them. */
export class RefusedFields {
  readonly #wantsEffort: boolean;
  readonly #unreadable = new WeakSet<Message>();
  /** It takes no `thinkingConfig`. */
  thinking = false;

  /** `wantsEffort`: the user said how much to think, and has to know when that is left out. */
  constructor(wantsEffort: boolean) {
    this.#wantsEffort = wantsEffort;
  }

  /** Reports whether the signatures of a reply were refused. */
  ofSignatures(message: Message): boolean {
    return this.#unreadable.has(message);
  }

  /** Learns from a failure; what comes back means that the next request is another one. */
  learn({ error }: ProviderFailure, { messages }: ModelRequest): Adaptation | undefined {
    if (error.status !== 400) return undefined;
    if (SIGNATURE.test(error.message)) {
      const signed = messages.filter((message) =>
        message.role === "assistant" && message.parts !== undefined && !this.#unreadable.has(message)
      );
      for (const message of signed) this.#unreadable.add(message);
      return signed.length > 0 ? { without: "thoughtSignature" } : undefined;
    }
    if (this.thinking || !THINKING.test(error.message)) return undefined;
    this.thinking = true;
    return this.#wantsEffort ? { without: "thinkingConfig" } : {};
  }
}
