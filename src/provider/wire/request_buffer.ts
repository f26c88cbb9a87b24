import type { Message, Prefix } from "../../core/mod.ts";
import type { ModelRequest } from "../provider.ts";

const FIRST_CAPACITY = 64 * 1024;
const encoder = new TextEncoder();

/** Writes the messages of one conversation in the form of a wire. */
export interface MessageWriter {
  /** The body up to its first message, the opening bracket of the list included. */
  readonly head: string;
  /** Entries of the list before the conversation, as JSON texts, such as the system prompt. */
  readonly first: readonly string[];
  /** Returns the entries of a message, as JSON texts; called once for each message, in order. */
  write(message: Message): readonly string[];
  /** Returns entries that have to follow the messages so far before the request can be sent. */
  flush(): readonly string[];
  /**
   * The end of the body, closing brackets included, after a list that has messages or is still empty. What it
   * writes belongs to this request alone.
   */
  end(request: ModelRequest, started: boolean): string;
}

/** The encoded form of one conversation, kept from request to request. */
interface Conversation {
  readonly prefix: Prefix;
  readonly writer: MessageWriter;
  /** Messages already encoded, the last of them, and the bytes they take. */
  count: number;
  last: Message | undefined;
  buffer: Uint8Array<ArrayBuffer>;
  length: number;
  /** True once a message has been written, so that the next one needs a comma. */
  started: boolean;
  readonly callIds: Set<string>;
}

/**
 * Holds request bodies. Each message is serialised and encoded once into a buffer that grows with the
 * conversation, and the messages are the last part of the body before the few fields that vary between
 * requests: so request n is a byte prefix of request n+1 up to the end of its messages, and a step costs one
 * copy of the body.
 */
export class RequestBuffer {
  readonly #begin: (request: ModelRequest) => MessageWriter;
  readonly #conversations = new WeakMap<readonly Message[], Conversation>();

  /** `begin` is asked for a writer for each conversation, and again after its prefix was reset. */
  constructor(begin: (request: ModelRequest) => MessageWriter) {
    this.#begin = begin;
  }

  /** The body, valid until the next call for the same conversation. */
  body(request: ModelRequest): Uint8Array<ArrayBuffer> {
    const conversation = this.#conversation(request);
    for (let at = conversation.count; at < request.messages.length; at++) {
      const message = request.messages[at];
      if (message === undefined) break;
      append(conversation, conversation.writer.write(message));
      if (message.role === "assistant") message.calls?.forEach((call) => conversation.callIds.add(call.id));
      conversation.last = message;
    }
    append(conversation, conversation.writer.flush());
    conversation.count = request.messages.length;
    const end = encoder.encode(conversation.writer.end(request, conversation.started));
    reserve(conversation, end.length);
    conversation.buffer.set(end, conversation.length);
    return conversation.buffer.subarray(0, conversation.length + end.length);
  }

  /** Ids of all calls in the conversation so far. */
  callIds(request: ModelRequest): ReadonlySet<string> {
    return this.#conversations.get(request.messages)?.callIds ?? new Set();
  }

  #conversation(request: ModelRequest): Conversation {
    const known = this.#conversations.get(request.messages);
    if (known && known.prefix === request.prefix && stillBegins(request.messages, known)) return known;
    const conversation: Conversation = {
      prefix: request.prefix,
      writer: this.#begin(request),
      count: 0,
      last: undefined,
      buffer: new Uint8Array(capacityFor(request.messages)),
      length: 0,
      started: false,
      callIds: new Set(),
    };
    write(conversation, conversation.writer.head);
    append(conversation, conversation.writer.first);
    this.#conversations.set(request.messages, conversation);
    return conversation;
  }
}

/**
 * Room for a conversation that begins with this many messages: growing to it would leave as many bytes
 * behind.
 */
function capacityFor(messages: readonly Message[]): number {
  let characters = 0;
  for (const message of messages) {
    const calls = message.role === "assistant" ? message.calls ?? [] : [];
    characters += message.content.length + calls.reduce((sum, call) => sum + call.arguments.length, 0) + 100;
  }
  return FIRST_CAPACITY + Math.ceil(characters * 1.2);
}

/** A compacted conversation may keep its array: then the message that was last is not where it was. */
function stillBegins(messages: readonly Message[], known: Conversation): boolean {
  return known.count <= messages.length && (known.count === 0 || messages[known.count - 1] === known.last);
}

function append(conversation: Conversation, texts: readonly string[]): void {
  for (const text of texts) {
    write(conversation, conversation.started ? `,${text}` : text);
    conversation.started = true;
  }
}

function write(conversation: Conversation, text: string): void {
  // Three bytes per UTF-16 unit is the worst case; large texts are measured first instead of reserving that
  // much.
  if (text.length > FIRST_CAPACITY) {
    const bytes = encoder.encode(text);
    reserve(conversation, bytes.length);
    conversation.buffer.set(bytes, conversation.length);
    conversation.length += bytes.length;
    return;
  }
  reserve(conversation, text.length * 3);
  conversation.length += encoder.encodeInto(text, conversation.buffer.subarray(conversation.length)).written;
}

function reserve(conversation: Conversation, more: number): void {
  const needed = conversation.length + more;
  if (needed <= conversation.buffer.length) return;
  const bigger = new Uint8Array(Math.max(needed, conversation.buffer.length * 2));
  bigger.set(conversation.buffer.subarray(0, conversation.length));
  conversation.buffer = bigger;
}
