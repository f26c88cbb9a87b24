import type { ProviderEntry } from "../../../config/mod.ts";
import type {
  AssistantMessage,
  ImagePart,
  Message,
  Prefix,
  ToolCall,
  ToolMessage,
  ToolSchema,
  UserMessage,
} from "../../../core/mod.ts";
import { isRecord, recordOf, safeText } from "../../../util/json.ts";
import type { ProviderFailure } from "../../errors.ts";
import { thinkingBudget } from "../../model/model_info.ts";
import type { ModelInfo, ModelRequest } from "../../provider.ts";
import { digestOf } from "../../wire/fingerprint.ts";
import {
  bodyHead,
  bodyTail,
  consistsOf,
  extraFields,
  type Fields,
  IMAGES_ABOVE,
  isFieldsList,
  partsFor,
  visibleText,
  wireArguments,
  wireName,
} from "../../wire/message_parts.ts";
import { oldGoogleParts } from "../../wire/old_parts.ts";
import type { MessageWriter } from "../../wire/request_buffer.ts";
import { subsetSchema } from "../../wire/json_schema.ts";
import type { Adaptation } from "../../wire/streaming_provider.ts";

export const KIND = "google";

/** Sent where the server requires a message of the user and the conversation has none. */
const CONTINUE = textPart("Continue.");
const EMPTY = textPart("(empty message)");
/** The vendor's signature of a call whose thought is unknown, because another model made it. */
const NO_SIGNATURE = "skip_thought_signature_validator";

interface WireCall {
  /** Index among the calls of its reply. */
  readonly place: number;
  /** Id that the server gave it; results repeat it. */
  readonly id: unknown;
}

interface Result {
  readonly place: number;
  readonly part: string;
}

/**
 * The messages of one conversation as `contents`. What follows each other from the user is one turn: results
 * of functions in the order of their calls, then images that results cannot hold, then the text of the user.
 */
export class Contents implements MessageWriter {
  readonly head: string;
  readonly first: readonly string[] = [];
  readonly #options: BodyOptions;
  #calls = new Map<string, WireCall>();
  #results: Result[] = [];
  #images: ImagePart[] = [];
  #others: string[] = [];

  constructor(options: BodyOptions, prefix: Prefix) {
    this.#options = options;
    this.head = head(options, prefix);
    const { entry: { compat } } = options;
    if (compat.system_role === "user" && prefix.system !== "") {
      this.#others.push(textPart(safeText(prefix.system)));
    }
  }

  write(message: Message): readonly string[] {
    if (message.role === "assistant") return this.#reply(message);
    if (message.role === "tool") this.#result(message);
    else this.#others.push(...userParts(message, this.#options.model.vision));
    return [];
  }

  flush(): readonly string[] {
    return [];
  }

  end(request: ModelRequest, started: boolean): string {
    return `${started ? "," : ""}${this.#openTurn()}]${tail(this.#options, request)}}`;
  }

  #reply(message: AssistantMessage): readonly string[] {
    const { model, refused } = this.#options;
    const whole = fittingParts(message, partsFor(message, KIND, model).at(-1)?.data) ?? plainParts(message);
    const own = refused.ofSignatures(message) ? whole.map(withoutSignature) : whole;
    const parts = this.#modelParts(message, own);
    if (parts.length === 0) return [];
    const turn = this.#openTurn();
    const called = own.flatMap(({ functionCall }) => isRecord(functionCall) ? [functionCall.id] : []);
    this.#calls = new Map(message.calls?.map(({ id }, place) => [id, { place, id: called[place] }]));
    this.#results = [];
    this.#images = [];
    this.#others = [];
    return [turn, `{"role":"model","parts":[${parts.join(",")}]}`];
  }

  #modelParts({ calls = [] }: AssistantMessage, parts: readonly Fields[]): readonly string[] {
    const first = parts.findIndex(isCall);
    const left = calls.values();
    return parts.flatMap((part, at) => {
      const { text, thought, functionCall, thoughtSignature } = part;
      if (typeof text === "string") return thoughtOrText(text, thought === true, thoughtSignature);
      const call = isRecord(functionCall) ? left.next().value : undefined;
      if (!call || !isRecord(functionCall)) return [JSON.stringify(part)];
      const needed = at === first && this.#options.generation.signsCalls ? NO_SIGNATURE : undefined;
      return [callPart(call, functionCall.id, thoughtSignature ?? needed)];
    });
  }

  #result(message: ToolMessage): void {
    const { model: { vision }, generation } = this.#options;
    const { place, id } = this.#calls.get(message.callId) ?? { place: this.#results.length, id: undefined };
    const images = vision ? message.images ?? [] : [];
    const own = images.length > 0 && generation.resultImages;
    if (!own) this.#images.push(...images);
    const part = JSON.stringify({
      functionResponse: {
        id,
        name: functionName(message.name),
        response: { output: visibleText(message, vision) },
        ...(own ? { parts: images.map(inlineData) } : {}),
      },
    });
    this.#results.push({ place, part });
  }

  #openTurn(): string {
    const results = this.#results.toSorted((a, b) => a.place - b.place).map(({ part }) => part);
    const images = this.#images.length === 0
      ? []
      : [textPart(IMAGES_ABOVE), ...this.#images.map((image) => JSON.stringify(inlineData(image)))];
    const parts = [...results, ...images, ...this.#others];
    return `{"role":"user","parts":[${parts.length > 0 ? parts.join(",") : CONTINUE}]}`;
  }
}

function isCall({ functionCall }: Fields): boolean {
  return isRecord(functionCall);
}

function withoutSignature(part: Fields): Fields {
  if (typeof part.text !== "string" && !isCall(part)) return part;
  const { thoughtSignature: _, ...rest } = part;
  return rest;
}

/** The parts of a reply; undefined where the message was changed since. */
function fittingParts(message: AssistantMessage, data: unknown): readonly Fields[] | undefined {
  const read = oldGoogleParts(message, data);
  if (!isRecord(read) || !isFieldsList(read.parts) || read.digest !== digestOf(read.parts)) return undefined;
  const { parts } = read;
  const texts = (thoughts: boolean) =>
    parts.flatMap(({ text, thought = false }) =>
      typeof text === "string" && thought === thoughts ? [text] : []
    );
  const fits = parts.filter(isCall).length === (message.calls?.length ?? 0) &&
    consistsOf(message.content, texts(false)) && consistsOf(message.reasoning ?? "", texts(true));
  return fits ? parts : undefined;
}

/** A reply of another model, or one of text and calls without ids. */
function plainParts({ content, calls = [] }: AssistantMessage): readonly Fields[] {
  return [{ text: safeText(content) }, ...calls.map(() => ({ functionCall: {} }))];
}

/** A text or a thought. A thought without a signature says nothing to the model. */
function thoughtOrText(text: string, thought: boolean, thoughtSignature: unknown): readonly string[] {
  if (thoughtSignature === undefined && (thought || text === "")) return [];
  return [JSON.stringify({ text, ...(thought ? { thought } : {}), thoughtSignature })];
}

/** The arguments go back as the text that came, so that no number changes its form. */
function callPart(call: ToolCall, id: unknown, signature: unknown): string {
  const given = id === undefined ? "" : `"id":${JSON.stringify(id)},`;
  const name = JSON.stringify(functionName(call.name));
  const own = `{${given}"name":${name},"args":${wireArguments(call.arguments)}}`;
  return `{"functionCall":${own}${
    signature === undefined ? "" : `,"thoughtSignature":${JSON.stringify(signature)}`
  }}`;
}

function userParts(message: UserMessage, vision: boolean): readonly string[] {
  const text = visibleText(message, vision);
  const images = vision ? message.images ?? [] : [];
  const parts = [
    ...(text === "" ? [] : [textPart(text)]),
    ...images.map((image) => JSON.stringify(inlineData(image))),
  ];
  return parts.length > 0 ? parts : [EMPTY];
}

function textPart(text: string): string {
  return JSON.stringify({ text });
}

function inlineData({ mime, data }: ImagePart): unknown {
  return { inlineData: { mimeType: mime, data } };
}

interface BodyOptions {
  readonly entry: ProviderEntry;
  readonly model: ModelInfo;
  readonly generation: Generation;
  readonly effort: string | undefined;
  readonly refused: RefusedFields;
}

/** Fields of `extra` that are written elsewhere. */
const ELSEWHERE = new Set(["contents", "tools", "toolConfig", "generationConfig"]);

/** Names begin with a letter or `_`; {@linkcode toolNamed} maps a changed name back. */
function functionName(name: string): string {
  const plain = wireName(name);
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}

/** The tool of a function name of this wire. */
export function toolNamed(name: string, tools: readonly ToolSchema[]): string {
  return tools.find((tool) => functionName(tool.name) === name)?.name ?? name;
}

/** Everything before the messages: the same bytes for a whole conversation. */
function head(options: BodyOptions, { system, tools }: Prefix): string {
  const extra = extraFields(options.entry);
  const others = Object.entries(extra).filter(([name]) => !ELSEWHERE.has(name));
  const declared = wireTools(tools, extra.tools);
  return bodyHead({
    ...(system.trim() === "" || options.entry.compat.system_role === "user"
      ? {}
      : { systemInstruction: { parts: [{ text: safeText(system) }] } }),
    ...Object.fromEntries(others),
    ...(declared.length > 0 ? { tools: declared } : {}),
  }, "contents");
}

/** The functions of a request, followed by the server's own tools from `extra`. */
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

function tail(options: BodyOptions, request: ModelRequest): string {
  return bodyTail({
    generationConfig: generationConfig(options, request),
    toolConfig: toolConfig(options.entry, request),
  });
}

function generationConfig(options: BodyOptions, { maxOutputTokens: asked }: ModelRequest): unknown {
  const { entry, model, generation, effort } = options;
  const { generationConfig } = extraFields(entry);
  const extra = recordOf(generationConfig);
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

function toolConfig(entry: ProviderEntry, { prefix, toolChoice }: ModelRequest): unknown {
  const extra = extraFields(entry).toolConfig;
  if (prefix.tools.length === 0 || !entry.compat.tool_choice || toolChoice === undefined) return extra;
  const config = isRecord(extra) ? extra : undefined;
  if (toolChoice === "auto" && config?.functionCallingConfig !== undefined) return extra;
  return { ...config, functionCallingConfig: { mode: toolChoice === "none" ? "NONE" : "AUTO" } };
}

interface Generation {
  readonly signsCalls: boolean;
  readonly resultImages: boolean;
  /** The form of a request for thinking: a word, a number of tokens, or none. */
  readonly thinking: "level" | "budget" | "none";
  /** It thinks without being asked. */
  readonly thinksUnasked: boolean;
}

/** The generation of a model by its name, else by its thinking; an unknown model counts as a new one. */
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

/** Levels of other vendors and the nearest ones here. */
const LEVELS: Readonly<Record<string, string>> = { none: "low", minimal: "low", xhigh: "high", max: "high" };
/** Tokens for thinking in addition to a short answer, where no number is requested. */
const ALLOWANCE = 8192;

interface Thinking {
  /** `thinkingConfig` of a request; undefined: not sent. */
  readonly config: Fields | undefined;
  /** Tokens for thinking in addition to a short answer: the limit of output counts thoughts, too. */
  readonly tokens: number;
}

/** `asked` is the user's own field of the body, which wins. */
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

/** Matches a refusal of the thinking settings. */
const THINKING = /thinking|include_?thoughts/i;
/** Signatures mean nothing at another project, region or gateway than the one they came from. */
const SIGNATURE = /thought[_ ]?signature/i;

/** Fields that a server has refused although the name of the model says that it takes them. */
export class RefusedFields {
  readonly #unreadable = new WeakSet<Message>();
  thinking = false;

  ofSignatures(message: Message): boolean {
    return this.#unreadable.has(message);
  }

  /** Learns from a failure; returns the change of the next request. Reports an effort that is left out. */
  learn(
    { error }: ProviderFailure,
    { messages }: ModelRequest,
    effort: string | undefined,
  ): Adaptation | undefined {
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
    return effort === undefined ? {} : { without: "thinkingConfig" };
  }
}
