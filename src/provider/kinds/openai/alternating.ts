import type { Message, Prefix } from "../../../core/mod.ts";
import type { ModelRequest } from "../../provider.ts";
import type { MessageWriter } from "../../wire/request_buffer.ts";
import { ChatMessages, type WireMessage } from "./messages.ts";
import type { BodyOptions } from "./request.ts";

/** Stands where the template wants the user to have spoken. */
const GO_ON: WireMessage = { role: "user", content: "Continue." };
/** Stands between results of tools and what the user says right after them. */
const READ: WireMessage = { role: "assistant", content: "(read)" };

/**
 * The messages of one conversation for chat templates in which user and assistant must take turns. What the
 * user says without an answer in between is one message, the last of which stays open: what follows an
 * aborted request becomes part of it.
 */
export class AlternatingMessages implements MessageWriter {
  readonly head: string;
  readonly first: readonly string[];
  readonly #inner: ChatMessages;
  /** The message of the user that may still grow. */
  #open: WireMessage | undefined;
  #lastRole: string | undefined;

  constructor(options: BodyOptions, prefix: Prefix) {
    this.#inner = new ChatMessages(options, prefix);
    this.head = this.#inner.head;
    this.first = this.#take(this.#inner.opening);
  }

  write(message: Message): readonly string[] {
    return this.#take(this.#inner.wire(message));
  }

  flush(): readonly string[] {
    return this.#take(this.#inner.pending());
  }

  end(request: ModelRequest, started: boolean): string {
    const open = this.#open ? `${started ? "," : ""}${JSON.stringify(this.#open)}` : "";
    return `${open}${this.#inner.end(request)}`;
  }

  /** What can no longer change once these messages have come. */
  #take(messages: readonly WireMessage[]): string[] {
    const closed: WireMessage[] = [];
    for (const message of messages) {
      if (message.role === "user") {
        if (this.#lastRole === "tool") closed.push(READ);
        this.#open = this.#open ? joined(this.#open, message) : message;
      } else {
        const wantsUser = message.role === "assistant" && this.#lastRole !== "tool";
        if (this.#open || (wantsUser && this.#lastRole !== "user")) closed.push(this.#open ?? GO_ON);
        this.#open = undefined;
        closed.push(message);
      }
      this.#lastRole = message.role;
    }
    return closed.map((message) => JSON.stringify(message));
  }
}

function joined(first: WireMessage, second: WireMessage): WireMessage {
  const [a, b] = [first.content, second.content];
  if (typeof a === "string" && typeof b === "string") {
    return { ...first, content: [a, b].filter((text) => text !== "").join("\n\n") };
  }
  return { ...first, content: [...partsOf(a), ...partsOf(b)] };
}

function partsOf(content: WireMessage["content"]): readonly unknown[] {
  if (typeof content !== "string") return content ?? [];
  return content === "" ? [] : [{ type: "text", text: content }];
}
