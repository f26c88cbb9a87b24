import type { Message, Prefix, ToolSchema } from "../../../core/mod.ts";
import type { ProviderEntry } from "../../../config/mod.ts";
import type { ModelInfo, ModelRequest } from "../../provider.ts";
import { MessageWriter } from "./messages.ts";

const FIRST_CAPACITY = 64 * 1024;
const encoder = new TextEncoder();

type Fields = Record<string, unknown>;

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

/** The facts a request body depends on besides the conversation. */
export interface BodyOptions {
  readonly entry: ProviderEntry;
  readonly model: ModelInfo;
  readonly effort?: string;
}

/**
 * Writes request bodies. Each message is serialised and encoded once into a buffer that grows with the
 * conversation, and `messages` is the last part of the body before the few fields that vary between requests:
 * so request n is a byte prefix of request n+1 up to the end of its messages, and a step costs one copy of
 * the body.
 */
export class RequestWriter {
  readonly #options: BodyOptions;
  readonly #conversations = new WeakMap<readonly Message[], Conversation>();

  constructor(options: BodyOptions) {
    this.#options = options;
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
    const end = encoder.encode(`]${tail(this.#options, request)}}`);
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
    const writer = new MessageWriter({
      compat: this.#options.entry.compat,
      vision: this.#options.model.vision,
    });
    const conversation: Conversation = {
      prefix: request.prefix,
      writer,
      count: 0,
      last: undefined,
      buffer: new Uint8Array(capacityFor(request.messages)),
      length: 0,
      started: false,
      callIds: new Set(),
    };
    write(conversation, head(this.#options, request.prefix.tools));
    append(conversation, writer.system(request.prefix.system));
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

/** Fields that `extra` may set but that belong to the single request. */
function tailNames(entry: ProviderEntry): readonly string[] {
  return [entry.compat.max_tokens_field, "tool_choice"];
}

function extras(entry: ProviderEntry): Fields {
  return { ...entry.extra_body, ...entry.extra };
}

/** Everything before the messages: the same bytes for a whole conversation. */
function head({ entry, model, effort }: BodyOptions, tools: readonly ToolSchema[]): string {
  const { compat } = entry;
  const extra = extras(entry);
  for (const name of [...tailNames(entry), "messages"]) delete extra[name];
  const own = tools.map((tool) => ({ type: "function", function: wireTool(tool) }));
  const all = Array.isArray(extra.tools) ? [...own, ...extra.tools] : own;
  delete extra.tools;
  const fields: Fields = {
    model: model.id,
    stream: true,
    ...(compat.stream_usage ? { stream_options: { include_usage: true } } : {}),
    temperature: entry.temperature,
    top_p: entry.top_p,
    seed: entry.seed,
    ...extra,
    ...effortField(compat.effort_field, effort ?? entry.effort, extra),
    ...(all.length > 0 ? { tools: all, parallel_tool_calls: compat.parallel_tool_calls } : {}),
  };
  return `${JSON.stringify(fields).slice(0, -1)},"messages":[`;
}

function wireTool({ name, description, parameters }: ToolSchema): Fields {
  return { name, description, parameters };
}

function effortField(place: string, effort: string | undefined, extra: Fields): Fields {
  if (effort === undefined || effort === "") return {};
  if (place === "reasoning_effort") return { reasoning_effort: effort };
  const given = extra.reasoning;
  return { reasoning: { ...(typeof given === "object" && given !== null ? given : {}), effort } };
}

/** Fields that differ from request to request, with their leading comma. */
function tail({ entry, model }: BodyOptions, request: ModelRequest): string {
  const extra = extras(entry);
  const field = entry.compat.max_tokens_field;
  const hasTools = request.prefix.tools.length > 0;
  const choice = hasTools && entry.compat.tool_choice && request.toolChoice === "none"
    ? "none"
    : extra.tool_choice;
  const fields = JSON.stringify({
    [field]: request.maxOutputTokens ?? extra[field] ?? model.maxOutputTokens,
    tool_choice: choice,
  });
  return fields === "{}" ? "" : `,${fields.slice(1, -1)}`;
}
