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
import { isRecord, safeText } from "../../../util/json.ts";
import type { ProviderFailure } from "../../errors.ts";
import type { KindOptions } from "../../kind.ts";
import { thinkingBudget } from "../../model/model_info.ts";
import type { ModelInfo, ModelRequest, ReasoningFacts } from "../../provider.ts";
import { type RemoteServer, tokenOf } from "../../remote/remote_server.ts";
import { digestOf, Fingerprint } from "../../wire/fingerprint.ts";
import { flatSchema } from "../../wire/json_schema.ts";
import {
  bodyHead,
  bodyTail,
  consistsOf,
  type Fields,
  isFieldsList,
  partsFor,
  visibleText,
  wireArguments,
  wireName,
} from "../../wire/message_parts.ts";
import { oldAnthropicParts } from "../../wire/old_parts.ts";
import type { MessageWriter } from "../../wire/request_buffer.ts";

export const KIND = "anthropic";

/** The part of a reply: its content blocks as they go back, in order. */
export interface ReplyPart {
  /** Digest of everything that was sent before the reply. */
  readonly after: string;
  /** One of type "tool_use" is only its type: the calls of the message are those of its parts in order. */
  readonly blocks: readonly Fields[];
  /** Digest of the blocks: a changed thought would be refused. */
  readonly digest: string;
  /** The reply was paused: it continues when it is sent back as the last message. */
  readonly paused?: boolean;
}

/** The server wants something in every message. */
const EMPTY = textBlock("(empty message)");
/** Sent where the server requires a message of the user and the conversation has none. */
const CONTINUE = textBlock("Continue.");

interface WireMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/**
 * The messages of one conversation as the Messages API takes them. What follows each other from the user is
 * one message, results of tools first.
 *
 * The cache is asked to keep what comes before the tools' end, the system prompt's end, and the last blocks
 * of the last two messages of the user. The earlier of these is where the request before ended, so what that
 * one had written to the cache is found however many blocks the step had; the server itself looks back only
 * twenty. The marks move, so the messages that they may still change stay out of the written bytes.
 */
export class AnthropicMessages implements MessageWriter {
  readonly head: string;
  readonly first: readonly string[] = [];
  readonly #options: BodyOptions;
  readonly #mark: string;
  readonly #ids = new WireIds();
  /** Digest of the closed messages, from the system prompt on. */
  readonly #closed: Fingerprint;
  /** Messages that are complete but may still get or lose a mark. */
  #held: WireMessage[] = [];
  #results: string[] = [];
  #others: string[] = [];
  #paused = false;
  /** True when the first reply after the last user message begins with a thought; absent without a reply. */
  #loopThinks: boolean | undefined;

  constructor(given: BodyOptions, { system, tools }: Prefix) {
    // Servers without an approved tool have nothing to declare. Requests outside of the conversation have no
    // tools, those of MCP servers neither.
    const remote = given.remote.filter(({ unasked }) => unasked.length > 0);
    const options = { ...given, remote: tools.length > 0 ? remote : [] };
    this.#options = options;
    const safe = safeText(system);
    const all = wireTools(tools, options);
    this.#mark = `,"cache_control":${JSON.stringify(cacheMark(options.entry))}`;
    this.head = head(options, safe, all);
    this.#closed = new Fingerprint();
    if (options.thinking.sentBack === "bound") this.#closed.add(JSON.stringify([safe, all]));
  }

  write(message: Message): readonly string[] {
    const { vision } = this.#options.model;
    if (message.role === "tool") this.#results.push(resultBlock(message, vision, this.#ids));
    else if (message.role === "user") this.#others.push(...userBlocks(message, vision));
    else this.#reply(message);
    return [];
  }

  /** Everything before the earlier of the two messages that carry marks. */
  flush(): readonly string[] {
    const users = this.#held.flatMap(({ role }, at) => role === "user" ? [at] : []);
    const keep = users.at(this.#paused ? -2 : -1) ?? 0;
    const settled = this.#held.slice(0, keep);
    this.#held = this.#held.slice(keep);
    return settled.map(({ text }) => text);
  }

  end(request: ModelRequest, started: boolean): string {
    const { thinking, sent } = this.#options;
    if (thinking.sentBack === "bound") sent(this.#digestOfAll());
    const texts = this.#held.map(({ role, text }) => role === "user" ? this.#marked(text) : text);
    if (!this.#paused) texts.push(this.#marked(this.#openMessage()));
    const more = started && texts.length > 0 ? "," : "";
    const mayThink = this.#loopThinks !== false || this.#results.length === 0;
    return `${more}${texts.join(",")}]${tail(this.#options, request, mayThink)}}`;
  }

  #reply(message: AssistantMessage): void {
    const parts = this.#partsOf(message);
    const blocks = assistantBlocks(message, parts, this.#ids);
    if (blocks.length === 0) return;
    if (this.#results.length === 0) this.#loopThinks = undefined;
    if (!this.#paused) this.#close({ role: "user", text: this.#openMessage() });
    this.#results = [];
    this.#others = [];
    this.#close({ role: "assistant", text: `{"role":"assistant","content":[${blocks.join(",")}]}` });
    this.#paused = parts?.at(-1)?.paused === true;
    this.#loopThinks ??= isThought(parts?.[0]?.blocks[0]);
  }

  /** Parts for the model. A thought is bound to everything before it: servers may refuse it elsewhere. */
  #partsOf(message: AssistantMessage): readonly ReplyPart[] | undefined {
    const { model, thinking } = this.#options;
    const parts = fittingParts(message, partsFor(message, KIND, model).map((part) => part.data));
    const keeps = thinking.sentBack === "all" ||
      (thinking.sentBack === "bound" && parts?.[0]?.after === this.#digestOfAll());
    return keeps ? parts : parts?.map((part) => ({ ...part, blocks: part.blocks.filter(isNoThought) }));
  }

  #close(message: WireMessage): void {
    this.#held.push(message);
    if (this.#options.thinking.sentBack === "bound") this.#closed.add(message.text);
  }

  /** Digest of everything before a reply: the closed messages and the open one. */
  #digestOfAll(): string {
    const all = new Fingerprint(this.#closed);
    return (this.#paused ? all : all.add(this.#openMessage())).value;
  }

  #openMessage(): string {
    const blocks = [...this.#results, ...this.#others];
    return `{"role":"user","content":[${blocks.length > 0 ? blocks.join(",") : CONTINUE}]}`;
  }

  /** A message of the user whose last block carries a cache mark. */
  #marked(text: string): string {
    return `${text.slice(0, -"}]}".length)}${this.#mark}}]}`;
  }
}

function isThought(block: Fields | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

function isNoThought(block: Fields): boolean {
  return !isThought(block);
}

/** The parts; undefined where the message was changed since, because nothing of them may be sent then. */
function fittingParts(message: AssistantMessage, data: readonly unknown[]): readonly ReplyPart[] | undefined {
  const parts = oldAnthropicParts(message, data) ?? data;
  if (parts.length === 0 || !parts.every(isReplyPart)) return undefined;
  const blocks = parts.flatMap((part) => part.blocks);
  const texts = (of: "text" | "thinking") =>
    blocks.flatMap((block) => block.type === of ? [String(block[of])] : []);
  const calls = blocks.filter(({ type }) => type === "tool_use").length;
  const fits = calls === (message.calls?.length ?? 0) && consistsOf(message.content, texts("text")) &&
    consistsOf(message.reasoning ?? "", texts("thinking"));
  return fits ? parts : undefined;
}

function isReplyPart(value: unknown): value is ReplyPart {
  return isRecord(value) && typeof value.after === "string" && isFieldsList(value.blocks) &&
    value.digest === digestOf(value.blocks);
}

/** Gives each call the id that the server takes for it: letters, digits, `_` and `-`, each once. */
class WireIds {
  readonly #ids = new Map<string, string>();
  readonly #taken = new Set<string>();

  of(id: string): string {
    const known = this.#ids.get(id);
    if (known !== undefined) return known;
    const plain = id.replace(/[^A-Za-z0-9_-]/g, "_") || "_";
    let wire = plain;
    for (let n = 2; this.#taken.has(wire); n++) wire = `${plain}_${n}`;
    this.#ids.set(id, wire);
    this.#taken.add(wire);
    return wire;
  }
}

function userBlocks(message: UserMessage, vision: boolean): readonly string[] {
  const blocks = contentBlocks(message, vision);
  return blocks.length > 0 ? blocks : [EMPTY];
}

function resultBlock(message: ToolMessage, vision: boolean, ids: WireIds): string {
  const content = contentBlocks(message, vision);
  const id = JSON.stringify(ids.of(message.callId));
  return `{"type":"tool_result","tool_use_id":${id}${
    content.length > 0 ? `,"content":[${content.join(",")}]` : ""
  }}`;
}

/** The content blocks of an assistant's message: as the parts have them, else its text, then its calls. */
function assistantBlocks(
  { content, calls = [] }: AssistantMessage,
  parts: readonly ReplyPart[] | undefined,
  ids: WireIds,
): readonly string[] {
  if (!parts) return [...texts(content), ...calls.map((call) => callBlock(call, ids))];
  const left = calls.values();
  return parts.flatMap(({ blocks }) => blocks).flatMap((block) => {
    if (block.type === "text") return texts(String(block.text));
    const call = block.type === "tool_use" ? left.next().value : undefined;
    return [call ? callBlock(call, ids) : JSON.stringify(block)];
  });
}

/** The arguments go back as the text that came, so that no number changes its form. */
function callBlock(call: ToolCall, ids: WireIds): string {
  const id = JSON.stringify(ids.of(call.id));
  const name = JSON.stringify(wireName(call.name));
  return `{"type":"tool_use","id":${id},"name":${name},"input":${wireArguments(call.arguments)}}`;
}

function contentBlocks(message: UserMessage | ToolMessage, vision: boolean): readonly string[] {
  const images = vision ? message.images ?? [] : [];
  return [...texts(visibleText(message, vision)), ...images.map(imageBlock)];
}

/** A block of this text; none for blanks, which the server refuses. */
function texts(text: string): readonly string[] {
  return text.trim() === "" ? [] : [textBlock(safeText(text))];
}

function textBlock(text: string): string {
  return JSON.stringify({ type: "text", text });
}

function imageBlock({ mime, data }: ImagePart): string {
  return JSON.stringify({ type: "image", source: { type: "base64", media_type: mime, data } });
}

interface BodyOptions {
  readonly entry: ProviderEntry;
  readonly model: ModelInfo;
  readonly thinking: Thinking;
  readonly extra: Fields;
  readonly remote: readonly RemoteServer[];
  /** Called with the digest of each request when its body is written. */
  readonly sent: (name: string) => void;
}

/** Fields of `extra` that are written elsewhere. */
const ELSEWHERE = new Set(["tools", "messages", "max_tokens", "tool_choice", "thinking", "output_config"]);

function cacheMark({ cache_ttl: ttl }: ProviderEntry): Fields {
  return { type: "ephemeral", ...(ttl === "5m" ? {} : { ttl }) };
}

function wireTools(
  tools: readonly ToolSchema[],
  { extra, remote }: Pick<BodyOptions, "extra" | "remote">,
): readonly unknown[] {
  const own = tools.map(({ name, description, parameters }) => ({
    name: wireName(name),
    description,
    input_schema: flatSchema(parameters),
  }));
  return [...own, ...Array.isArray(extra.tools) ? extra.tools : [], ...remoteToolsets(remote)];
}

/** Everything before the messages: the same bytes for a whole conversation. */
function head(
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
  return bodyHead(fields, "messages");
}

function lastMarked(blocks: readonly unknown[], entry: ProviderEntry): readonly unknown[] {
  const last = blocks.at(-1);
  return typeof last !== "object" ? blocks : [...blocks.slice(0, -1), {
    ...last,
    cache_control: cacheMark(entry),
  }];
}

function tail(
  { entry, model, thinking, extra }: BodyOptions,
  request: ModelRequest,
  mayThink: boolean,
): string {
  return bodyTail({
    max_tokens: maxTokens(request.maxOutputTokens ?? replyLimit(model, extra), thinking, request),
    ...(mayThink ? thinking.fields : {}),
    tool_choice: toolChoice(request, entry, extra.tool_choice),
  });
}

/** The limit of an unknown model: every model of the last years takes it. */
const USUAL_LIMIT = 32_000;
/** A higher limit has no use in a step and counts against the limits of an account. */
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

/** The limit of a single request is for its answer; thoughts are added. */
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

export const MCP_BETA = "mcp-client-2025-11-20";

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

/** Entries of the list of tools. The server needs no approval for calls, so only approved tools are there. */
function remoteToolsets(servers: readonly RemoteServer[]): readonly Fields[] {
  return servers.map((server) => ({ type: "mcp_toolset", mcp_server_name: server.name, ...choice(server) }));
}

function choice({ enabledTools, disabledTools, unasked }: RemoteServer): Fields {
  const wanted = unasked === "all" ? enabledTools : unasked;
  if (unasked === "all" && wanted.length === 0) {
    return disabledTools.length > 0 ? { configs: configs(disabledTools, false) } : {};
  }
  const offered = wanted.filter((tool) =>
    (enabledTools.length === 0 || enabledTools.includes(tool)) && !disabledTools.includes(tool)
  );
  return { default_config: { enabled: false }, configs: configs(offered, true) };
}

function configs(tools: readonly string[], enabled: boolean): Fields {
  return Object.fromEntries(tools.map((tool) => [tool, { enabled }]));
}

export interface Thinking {
  readonly fields: Fields;
  /** Thoughts to send back: all, those behind the same text as when they were thought, or none. */
  readonly sentBack: "all" | "bound" | "none";
  /** Tokens for thinking, in addition to the answer. */
  readonly tokens: number;
  /** False when the server refuses sampling parameters with it. */
  readonly samples: boolean;
  readonly betas: readonly string[];
}

/** The server decides; its thoughts are sent back. */
export const UNASKED: Thinking = { fields: {}, sentBack: "bound", tokens: 0, samples: true, betas: [] };

const NONE: Thinking = { fields: {}, sentBack: "none", tokens: 0, samples: true, betas: [] };

/** Matches errors about the request for thinking; errors about earlier thoughts name their message. */
const ABOUT_THINKING = /^(?!.*messages\.\d).*(?:thinking|output_config|\beffort\b)/is;

/** Reports whether the model refused this form of request for thinking. */
export function isThinkingRefused({ error }: ProviderFailure): boolean {
  return error.status === 400 && ABOUT_THINKING.test(error.message);
}

/** Lets a model that has a budget think between its calls, too; others do so anyway. */
const INTERLEAVED = "interleaved-thinking-2025-05-14";

/** Requests visible thoughts: newer models send empty ones otherwise, between calls, too. */
const ADAPTIVE = { type: "adaptive", display: "summarized" };

/** The fields of an effort. `extra`, the user's fields of every body, wins; `limit` is that of the reply. */
export function thinkingOf(
  { entry, model: { reasoning }, effort }: KindOptions,
  extra: Fields,
  limit: number,
): Thinking {
  const style = entry.compat.thinking_style ?? styleOf(reasoning);
  const own = style === "budget" ? withBudget(effort, reasoning, limit) : adaptive(effort, reasoning, limit);
  const { thinking, output_config } = extra;
  const fields = {
    ...own.fields,
    ...(thinking === undefined ? {} : { thinking }),
    ...(output_config === undefined ? {} : { output_config }),
  };
  if (!isRecord(thinking)) return { ...own, fields };
  if (thinking.type === "disabled") return { ...NONE, fields };
  const budget = typeof thinking.budget_tokens === "number" ? thinking.budget_tokens : own.tokens;
  const sentBack = thinking.type === "enabled" ? "all" : "bound";
  return { ...own, fields, sentBack, tokens: budget, samples: false };
}

/** Models with a budget and without the highest level use the budget; other levels are about length. */
function styleOf(reasoning: ReasoningFacts | undefined): "adaptive" | "budget" {
  if (reasoning === undefined) return "adaptive";
  const { levels = [], budget, toggle } = reasoning;
  const byLevel = levels.length > 0 && (!budget || levels.includes("max"));
  return byLevel || !(budget || toggle) ? "adaptive" : "budget";
}

/** An unknown model is asked only when there is an effort; its thoughts are sent back anyway. */
function adaptive(level: string | undefined, reasoning: ReasoningFacts | undefined, limit: number): Thinking {
  if (reasoning?.thinks === false) return NONE;
  if (level === "none") return { ...NONE, fields: { thinking: { type: "disabled" } } };
  if (level === undefined && reasoning === undefined) return UNASKED;
  const effort = level === "minimal" ? "low" : level;
  return {
    fields: { thinking: ADAPTIVE, ...(effort === undefined ? {} : { output_config: { effort } }) },
    sentBack: "bound",
    tokens: tokensFor(effort, {}, limit),
    samples: false,
    betas: [],
  };
}

function withBudget(
  level: string | undefined,
  reasoning: ReasoningFacts | undefined,
  limit: number,
): Thinking {
  if (level === undefined || level === "none" || reasoning?.thinks === false) return NONE;
  const tokens = tokensFor(level, { min: LEAST_BUDGET, ...reasoning?.budget }, limit);
  const effort = reasoning?.levels?.includes(level) ? { output_config: { effort: level } } : {};
  return {
    fields: { thinking: { type: "enabled", budget_tokens: tokens }, ...effort },
    sentBack: "all",
    tokens,
    samples: false,
    betas: [INTERLEAVED],
  };
}

const LEAST_BUDGET = 1024;

function tokensFor(
  level: string | undefined,
  bounds: NonNullable<ReasoningFacts["budget"]>,
  limit: number,
): number {
  return thinkingBudget(level ?? "high", bounds, limit) ?? thinkingBudget("high", bounds, limit) ?? 0;
}
