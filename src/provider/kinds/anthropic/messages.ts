import type { AssistantMessage, Message, Prefix } from "../../../core/mod.ts";
import { Fingerprint } from "../../wire/fingerprint.ts";
import { safeText } from "../../../util/json.ts";
import type { ModelRequest } from "../../provider.ts";
import { partsFor } from "../../wire/message_parts.ts";
import type { MessageWriter } from "../../wire/request_buffer.ts";
import { assistantBlocks, resultBlock, textBlock, userBlocks, WireIds } from "./blocks.ts";
import { type PlacedPart, placeParts, type ReplyBlock } from "./reply_part.ts";
import { type BodyOptions, cacheMark, head, tail, wireTools } from "./request.ts";

export const KIND = "anthropic";

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
  /** Whether the first reply since the user spoke last begins with a thought; absent: there is none. */
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
    this.#loopThinks ??= parts?.[0]?.blocks[0]?.type.endsWith("thinking") === true;
  }

  /**
   * What the model can take of the parts. A thought is bound to all that came before it: where that is no
   * longer the same, after a compaction or with other tools, it is worth nothing, and servers may refuse it.
   */
  #partsOf(message: AssistantMessage): readonly PlacedPart[] | undefined {
    const { model, thinking } = this.#options;
    const data = partsFor(message, KIND, model).map((part) => part.data);
    const placed = data.length > 0 ? placeParts(message, data) : undefined;
    const keeps = thinking.kept === "all" ||
      (thinking.kept === "bound" && placed?.[0]?.after === this.#nameOfAll());
    return keeps ? placed : placed?.map((part) => ({ ...part, blocks: part.blocks.filter(isNoThought) }));
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

function isNoThought({ type }: ReplyBlock): boolean {
  return type !== "thinking" && type !== "redacted_thinking";
}
