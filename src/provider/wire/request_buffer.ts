import type { Message } from "../../core/mod.ts";
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
  /** Returns entries that have to follow the written messages before the request can be sent. */
  flush(): readonly string[];
  /** The end of the body of this request; `started`: the list has an entry. */
  end(request: ModelRequest, started: boolean): string;
}

interface Conversation {
  readonly writer: MessageWriter;
  buffer: Uint8Array<ArrayBuffer>;
  length: number;
  /** True once the list has an entry, so that the next one needs a comma. */
  started: boolean;
  readonly callIds: Set<string>;
}

/**
 * Holds request bodies. Each message is serialized and encoded once into a buffer that grows with the
 * conversation; only the few fields behind the messages vary between requests. So request n is a byte prefix
 * of request n+1 up to the end of its messages, and a step costs one copy of the body at most.
 */
export class RequestBuffer {
  readonly #begin: (request: ModelRequest) => MessageWriter;
  #conversations = new ConversationStates<Conversation>();

  /** `begin` makes the writer of a conversation, again after its prefix was reset. */
  constructor(begin: (request: ModelRequest) => MessageWriter) {
    this.#begin = begin;
  }

  /** Makes all writers again, because what they write has changed. */
  reset(): void {
    this.#conversations = new ConversationStates();
  }

  /** The body, valid until the next call for the same conversation. */
  body(request: ModelRequest): Uint8Array<ArrayBuffer> {
    const { messages, prefix } = request;
    const { state, added } = this.#conversations.read(messages, () => this.#open(request), prefix);
    for (const message of added) {
      append(state, state.writer.write(message));
      if (message.role === "assistant") message.calls?.forEach(({ id }) => state.callIds.add(id));
    }
    append(state, state.writer.flush());
    const end = encoder.encode(state.writer.end(request, state.started));
    reserve(state, end.length);
    state.buffer.set(end, state.length);
    return state.buffer.subarray(0, state.length + end.length);
  }

  callIds({ messages }: ModelRequest): ReadonlySet<string> {
    return this.#conversations.get(messages)?.callIds ?? new Set();
  }

  #open(request: ModelRequest): Conversation {
    const conversation: Conversation = {
      writer: this.#begin(request),
      buffer: new Uint8Array(capacityFor(request.messages)),
      length: 0,
      started: false,
      callIds: new Set(),
    };
    write(conversation, conversation.writer.head);
    append(conversation, conversation.writer.first);
    return conversation;
  }
}

/** Room for a resumed conversation: growing to it would leave as many bytes behind. */
function capacityFor(messages: readonly Message[]): number {
  let characters = 0;
  for (const message of messages) {
    const calls = message.role === "assistant" ? message.calls ?? [] : [];
    characters += message.content.length + calls.reduce((sum, call) => sum + call.arguments.length, 0) + 100;
  }
  return FIRST_CAPACITY + Math.ceil(characters * 1.2);
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

/** Up to this many bytes the copy that `fetch` makes of a body costs less than reading a stream. */
const LARGEST_COPY = 256 * 1024;

/** A body for `fetch` with these bytes; they must stay as they are until the reply has begun. */
export async function requestBody(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer> | Blob> {
  return bytes.length > LARGEST_COPY && await (blobStream ??= supportsBlobStream())
    ? new SharedBytesBlob(bytes)
    : bytes;
}

let blobStream: Promise<boolean> | undefined;

/** Reports whether the runtime reads a blob through its `stream()`; the body would be empty otherwise. */
async function supportsBlobStream(): Promise<boolean> {
  return (await new Response(new SharedBytesBlob(new Uint8Array(3))).bytes()).length === 3;
}

/**
 * A blob that lends its bytes instead of holding a copy. `fetch` copies bytes that it is given, and the
 * collector lets those copies pile up: at 2 MB a request takes 4 ms and the process 59 MB this way, 11 ms and
 * 129 MB with plain bytes. A stream without a length would go out in chunks, which many servers refuse.
 */
class SharedBytesBlob extends Blob {
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    super();
    this.#bytes = bytes;
  }

  override get size(): number {
    return this.#bytes.length;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const bytes = this.#bytes;
    return new ReadableStream({
      start(controller) {
        controller.enqueue(bytes);
        controller.close();
      },
    });
  }
}

interface Entry<State> {
  readonly key: unknown;
  readonly state: State;
  count: number;
  last: Message | undefined;
}

/**
 * States of conversations, which are arrays that only grow. A state begins again when the `key` of its
 * conversation changes, and when the array was compacted: then its last known message has moved.
 */
export class ConversationStates<State> {
  readonly #entries = new WeakMap<readonly Message[], Entry<State>>();

  get(messages: readonly Message[]): State | undefined {
    return this.#entries.get(messages)?.state;
  }

  /** Returns the state of a conversation and the messages since the last call for it. */
  read(
    messages: readonly Message[],
    begin: () => State,
    key?: unknown,
  ): { readonly state: State; readonly added: readonly Message[] } {
    const known = this.#entries.get(messages);
    const continues = known?.key === key && known !== undefined && known.count <= messages.length &&
      (known.count === 0 || messages[known.count - 1] === known.last);
    const entry = continues ? known : { key, state: begin(), count: 0, last: undefined };
    this.#entries.set(messages, entry);
    const added = messages.slice(entry.count);
    entry.count = messages.length;
    entry.last = messages.at(-1);
    return { state: entry.state, added };
  }
}
