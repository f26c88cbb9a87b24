import type {
  AssistantMessage,
  ImagePart,
  Message,
  Prefix,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "../../../core/mod.ts";
import { isRecord, safeText } from "../../../util/json.ts";
import type { ModelRequest } from "../../provider.ts";
import { digestOf, Fingerprint } from "../../wire/fingerprint.ts";
import {
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
import { type BodyOptions, cacheMark, head, tail, wireTools } from "./request.ts";

export const KIND = "anthropic";

/** The data of the part that a reply leaves behind: its content blocks as they go back, in their order. */
export interface ReplyPart {
  /** Name of everything that was sent before the reply. */
  readonly after: string;
  /** One of type "tool_use" is only its type: the calls of the message are those of its parts in order. */
  readonly blocks: readonly Fields[];
  /** Name of the blocks: a changed thought would be refused. */
  readonly digest: string;
  /** The reply was not at its end: it continues where it is sent back as the last message. */
  readonly paused?: boolean;
}

/** The server wants something in every message. */
const EMPTY = textBlock("(empty message)");
/** Stands where the server wants a message of the user and the conversation has none. */
const GO_ON = textBlock("Continue.");

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
 * twenty. Since the two marks move on, what they may still change stays out of the bytes that are kept.
 */
export class AnthropicMessages implements MessageWriter {
  readonly head: string;
  readonly first: readonly string[] = [];
  readonly #options: BodyOptions;
  readonly #mark: string;
  readonly #ids = new WireIds();
  /** Names what was closed so far, from the system prompt on. */
  readonly #closed: Fingerprint;
  /** Messages that are complete but may still get or lose a mark. */
  #held: WireMessage[] = [];
  /** Blocks of the user's message that is still open. */
  #results: string[] = [];
  #others: string[] = [];
  /** True when the last message is a reply that goes on where it is sent back. */
  #paused = false;
  /** True when the first reply after the last user message begins with a thought; absent without a reply. */
  #loopThinks: boolean | undefined;

  constructor(given: BodyOptions, { system, tools }: Prefix) {
    // What is asked beside the conversation has no tools, those of MCP servers neither.
    const options = tools.length > 0 ? given : { ...given, remote: [] };
    this.#options = options;
    const safe = safeText(system);
    const all = wireTools(tools, options);
    this.#mark = `,"cache_control":${JSON.stringify(cacheMark(options.entry))}`;
    this.head = head(options, safe, all);
    this.#closed = new Fingerprint();
    if (options.thinking.kept === "bound") this.#closed.add(JSON.stringify([safe, all]));
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
    if (thinking.kept === "bound") sent(this.#nameOfAll());
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

  /**
   * The parts that the model can take. A thought is bound to all that came before it: where that is no
   * longer the same, after a compaction or with other tools, it is worth nothing, and servers may refuse it.
   */
  #partsOf(message: AssistantMessage): readonly ReplyPart[] | undefined {
    const { model, thinking } = this.#options;
    const parts = fittingParts(message, partsFor(message, KIND, model).map((part) => part.data));
    const keeps = thinking.kept === "all" ||
      (thinking.kept === "bound" && parts?.[0]?.after === this.#nameOfAll());
    return keeps ? parts : parts?.map((part) => ({ ...part, blocks: part.blocks.filter(isNoThought) }));
  }

  #close(message: WireMessage): void {
    this.#held.push(message);
    if (this.#options.thinking.kept === "bound") this.#closed.add(message.text);
  }

  /** Names all that goes before a reply: what is closed, and the open message. */
  #nameOfAll(): string {
    const all = new Fingerprint(this.#closed);
    return (this.#paused ? all : all.add(this.#openMessage())).value;
  }

  #openMessage(): string {
    const blocks = [...this.#results, ...this.#others];
    return `{"role":"user","content":[${blocks.length > 0 ? blocks.join(",") : GO_ON}]}`;
  }

  /** A message of the user whose last block marks the end of what is to be cached. */
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

/** The parts, unless they do not fit the message as it is now: then nothing of them may be sent. */
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

/** The content blocks of a user's message as JSON texts. */
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

/** A block of this text; none where the server would refuse it because nothing can be seen in it. */
function texts(text: string): readonly string[] {
  return text.trim() === "" ? [] : [textBlock(safeText(text))];
}

function textBlock(text: string): string {
  return JSON.stringify({ type: "text", text });
}

function imageBlock({ mime, data }: ImagePart): string {
  return JSON.stringify({ type: "image", source: { type: "base64", media_type: mime, data } });
}
