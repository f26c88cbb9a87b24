import { type Message, ReasonixError } from "../../core/mod.ts";
import type { EventNodes } from "./event_nodes.ts";
import { messageOf } from "./messages.ts";

/** A message, or the index of the event in the file that it comes from. */
export type MessageEntry = Message | number;

/**
 * The messages of a conversation. Those of a session that was opened may stay in its file until somebody
 * wants them: a session of any length can then be opened without having all its texts in memory.
 *
 * Contract: the array is the same one until `replace`; a message that was read is the same object ever after.
 */
export class MessageList {
  readonly #nodes: EventNodes;
  #entries: MessageEntry[] = [];
  /** How many are still in the file, and the first one that may be. */
  #filed = 0;
  #from = 0;

  constructor(nodes: EventNodes) {
    this.#nodes = nodes;
  }

  get length(): number {
    return this.#entries.length;
  }

  /** All messages; reads those that are still in the file. */
  get all(): Message[] {
    this.readAhead(this.#filed);
    return this.#entries as Message[];
  }

  /** The entries as they are; nothing is read. */
  get entries(): readonly MessageEntry[] {
    return this.#entries;
  }

  /** One message; read from the file for this once where it is there. */
  at(index: number): Message | undefined {
    const entry = this.#entries.at(index);
    return typeof entry === "number" ? this.#load([entry])[0] : entry;
  }

  push(entry: MessageEntry): void {
    if (typeof entry === "number") this.#filed += 1;
    this.#entries.push(entry);
  }

  replace(entries: MessageEntry[]): void {
    this.#entries = entries;
    this.#filed = entries.filter((entry) => typeof entry === "number").length;
    this.#from = 0;
  }

  /** Reads so many of the messages that are still in the file; false when there are none left. */
  readAhead(most: number): boolean {
    const wanted = Math.min(most, this.#filed);
    const found: number[] = [];
    const indexes: number[] = [];
    let at = this.#from;
    for (; found.length < wanted && at < this.#entries.length; at++) {
      const entry = this.#entries[at];
      if (typeof entry !== "number") continue;
      found.push(at);
      indexes.push(entry);
    }
    const messages = this.#load(indexes);
    found.forEach((index, position) => {
      const message = messages[position];
      if (message) this.#entries[index] = message;
    });
    this.#from = at;
    this.#filed -= found.length;
    return this.#filed > 0;
  }

  #load(indexes: readonly number[]): Message[] {
    if (indexes.length === 0) return [];
    const messages = this.#nodes.read(indexes).flatMap((event) => messageOf(event) ?? []);
    if (messages.length === indexes.length) return messages;
    throw new ReasonixError("Cannot read the messages of the session: its file is another one now", {
      remedy: "go on in a new session, or bring the file back as it was",
    });
  }
}
