import type { Chunk, FinishReason, ToolCall, ToolSchema } from "../../../core/mod.ts";
import { isRecord, safeText } from "../../../util/json.ts";
import { type ProviderFailure, statusIn } from "../../errors.ts";
import { remoteCallChunk, type RemoteServers } from "../../remote/remote_server.ts";
import type { Fields } from "../../wire/message_parts.ts";
import { type Channel, readUsage, type ReplyContext, WireReply } from "../../wire/wire_reply.ts";
import { withoutNulls } from "../../wire/json_schema.ts";
import { ASKS, KIND } from "./responses_request.ts";

/** The facts of its request that a reply of this wire needs in addition. */
export interface ResponseContext extends ReplyContext {
  readonly strictTools: ReadonlyMap<string, ToolSchema>;
  /** Digest of the conversation before the reply, where the server stores it. */
  readonly storedAfter?: string | undefined;
  readonly remote?: RemoteServers | undefined;
}

function callId({ fields }: OutputItem): unknown {
  return fields.call_id || fields.id;
}

function callDelta(item: OutputItem, index: number, remote: RemoteServers | undefined) {
  const name = item.type === ASKS ? askedName(item.fields, remote) : item.fields.name;
  return { index, id: callId(item), function: { name, arguments: item.written } };
}

/** The name of the requested tool in permission rules; empty where the item names none. */
function askedName({ server_label: server, name }: Fields, remote: RemoteServers | undefined): string {
  if (typeof name !== "string" || name === "") return "";
  const label = String(server ?? "");
  // A server that the request does not have is never allowed: no tool of that name is there.
  return remote ? remote.toolName(label, name) : `${label}.${name}`;
}

/** The notice about an item that the server has handled itself. */
function remoteCalls(item: Fields): readonly Chunk[] {
  const { type, server_label: server, name, output, error } = item;
  const failed = error !== undefined && error !== null && error !== "";
  if (type !== "mcp_call" && !(type === "mcp_list_tools" && failed)) return [];
  const tool = type === "mcp_call" ? name : "";
  const call = { server, tool, arguments: item.arguments, output: failed ? error : output, failed };
  return [remoteCallChunk(call)];
}

/** One text at most, then calls as they were written: a message without a part is sent the same way. */
function isPlain(items: readonly Fields[]): boolean {
  return items.every(({ type, phase, ...item }, at) =>
    type === "message" ? at === 0 && phase === undefined : type === "function_call" && !("arguments" in item)
  );
}

/** Events with a piece of a text: the type of their item, and the field of the text. */
const TEXT_EVENTS: Readonly<Record<string, readonly [type: string, field: string]>> = {
  "response.output_text.delta": ["message", "content"],
  "response.refusal.delta": ["message", "content"],
  "response.reasoning_summary_text.delta": ["reasoning", "summary"],
  "response.reasoning_text.delta": ["reasoning", "content"],
  // Names that some servers use.
  "response.reasoning.delta": ["reasoning", "content"],
  "response.reasoning_summary.delta": ["reasoning", "summary"],
};

const CUT: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: "length",
  max_tokens: "length",
  content_filter: "content_filter",
};

/** Codes of failed responses that no repetition helps; others are faults of the server. */
const REFUSED = /^(?:invalid_|image_|unsupported_|empty_|bio_policy|cyber_policy|data_residency)|_policy_/;

const KNOWN_STATUS: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  server_error: 500,
  vector_store_timeout: 504,
};

export class ResponseReply extends WireReply {
  protected override readonly countsFirst = true;
  readonly #facts: ResponseContext;
  readonly #output: OutputItems;
  #id: string | undefined;

  constructor(context: ResponseContext) {
    super(KIND, context, /function_call/);
    this.#facts = context;
    this.#output = new OutputItems(
      (channel, text) => this.spoken.append(channel, text),
      (item) => this.remoteCalls.push(...remoteCalls(item)),
    );
  }

  protected override settle(): undefined {
    this.#output.calls.forEach((item, index) => this.calls.add(callDelta(item, index, this.#facts.remote)));
  }

  /** Without data where text and calls in their usual order are the whole reply. */
  protected override finished(written: readonly ToolCall[]) {
    const { strictTools, storedAfter: after } = this.#facts;
    const calls = written.map((call) => {
      const tool = strictTools.get(call.name);
      return tool ? { ...call, arguments: withoutNulls(call.arguments, tool.parameters) } : call;
    });
    // Without a name an item is no call, so those that are left have the places of the calls.
    const named = this.#output.calls.filter(({ fields }) =>
      typeof fields.name === "string" && fields.name !== ""
    );
    const items = this.#output.list.flatMap((item): readonly Fields[] => {
      if (item.type !== "function_call" && item.type !== ASKS) return storedItem(item);
      const at = named.indexOf(item);
      if (at < 0) return [];
      if (item.type === ASKS) return [present(item.fields)];
      const [was, is] = [written[at]?.arguments, calls[at]?.arguments];
      return [{ type: item.type, ...(was === is || was === undefined ? {} : { arguments: was }) }];
    });
    const sameIds = named.every((item, at) => calls[at]?.id === callId(item));
    const stores = after !== undefined && this.#id !== undefined && this.finish !== undefined && sameIds;
    const stored = stores ? { stored: { id: this.#id, after } } : {};
    return { calls, data: stores || !isPlain(items) ? { items, ...stored } : undefined };
  }

  protected override add(event: unknown): void {
    if (!isRecord(event)) return;
    const { type } = event;
    const text = typeof type === "string" ? TEXT_EVENTS[type] : undefined;
    if (text) return this.#text(event, ...text);
    const { item, output_index: index } = event;
    switch (type) {
      case "response.output_item.added":
        if (isRecord(item)) this.#added(item, index);
        return;
      case "response.output_item.done":
        if (isRecord(item)) this.#done(item, index);
        return;
      case "response.function_call_arguments.delta":
        if (typeof event.delta === "string") {
          const item = this.#output.at(event, "function_call");
          item.written += event.delta;
          this.#announce(item);
        }
        return;
      case "response.function_call_arguments.done":
        if (typeof event.arguments === "string") {
          this.#output.at(event, "function_call").written = event.arguments;
        }
        return;
    }
    if (isRecord(event.response)) return this.#response(event.response);
    if (Array.isArray(event.output) || event.object === "response") return this.#response(event);
    if (type === "error" || (event.error !== undefined && event.error !== null)) {
      throw this.#reported(isRecord(event.error) ? event.error : event);
    }
    if (type === undefined && (typeof event.message === "string" || typeof event.detail === "string")) {
      throw this.#reported(event);
    }
  }

  #text(event: Fields, type: string, field: string): void {
    if (typeof event.delta !== "string") return;
    const at = event.summary_index ?? event.content_index ?? 0;
    const item = this.#output.at(event, type);
    this.#output.speak(item, type === "message" ? "content:0" : `${field}:${at}`, event.delta);
  }

  #added(item: Fields, index: unknown): void {
    this.#announce(this.#output.announce(item, index));
  }

  #done(item: Fields, index: unknown): void {
    this.#announce(this.#output.finish(item, index));
  }

  #announce(item: OutputItem): void {
    const { type, fields: { name }, written } = item;
    const id = callId(item);
    if (type !== "function_call" || typeof name !== "string") return;
    this.announce(
      { id: typeof id === "string" ? id : "", name, parts: [written], size: written.length },
      item,
    );
  }

  /** The response object as it stands: at the beginning of a stream empty, at its end whole. */
  #response(response: Fields): void {
    const { id, status, usage, output, error } = response;
    if (typeof id === "string" && id !== "") this.#id = id;
    if (isRecord(usage)) this.usage = readUsage(usage) ?? this.usage;
    if (isRecord(error) && (status === undefined || status === "failed")) throw this.#reported(error);
    if (status === "failed" || status === "cancelled") {
      throw this.#reported({ code: "server_error", message: `the response is ${status}` });
    }
    if (Array.isArray(output)) this.#output.settle(output);
    if (status === "completed") this.finish = "stop";
    if (status === "incomplete") this.finish = cutReason(response.incomplete_details);
    if (status === undefined && Array.isArray(output)) this.finish = "stop";
    // Nothing follows the event that ends a response.
    this.stopped = this.finish !== undefined && this.usage !== undefined;
  }

  #reported(error: Fields): ProviderFailure {
    const code = typeof error.code === "string" ? error.code : "";
    const status = statusIn(error) ?? KNOWN_STATUS[code] ?? (REFUSED.test(code) ? 400 : undefined);
    return this.reported(error, { status });
  }
}

function cutReason(details: unknown): FinishReason {
  const reason = isRecord(details) ? details.reason : undefined;
  return typeof reason === "string" ? CUT[reason] ?? "unknown" : "unknown";
}

type Field = "summary" | "content";

/** Separates texts of a reply that are separate on the wire. */
const SEPARATOR = "\n\n";

interface Piece {
  readonly name: string;
  readonly field: Field | undefined;
  text: string;
}

interface OutputItem {
  readonly type: string;
  /** Index that the server gives it; some give all items the same. */
  readonly index: unknown;
  readonly id: unknown;
  fields: Fields;
  done: boolean;
  readonly pieces: Piece[];
  /** Arguments of a call, as far as they came in pieces. */
  written: string;
}

/**
 * The items of one reply. Servers send them in pieces, whole when they are done, and all of them again with
 * the end of the reply; some leave out one or two of these. The first form is shown, a later one only
 * completes it.
 */
class OutputItems {
  readonly list: OutputItem[] = [];
  readonly #say: (channel: Channel, text: string) => void;
  readonly #onDone: (item: Fields) => void;
  readonly #spoken = new Set<Channel>();

  /** `say` gets each text that has just come, `onDone` the fields of each item that is whole. */
  constructor(say: (channel: Channel, text: string) => void, onDone: (item: Fields) => void) {
    this.#say = say;
    this.#onDone = onDone;
  }

  get calls(): readonly OutputItem[] {
    return this.list.filter(({ type }) => type === "function_call" || type === ASKS);
  }

  open(item: Fields, index: unknown): OutputItem {
    const { type } = item;
    const opened: OutputItem = {
      type: typeof type === "string" ? type : "",
      index,
      id: item.id,
      fields: item,
      done: false,
      pieces: [],
      written: "",
    };
    this.list.push(opened);
    return opened;
  }

  /** An item that the server announces; some announce one twice. */
  announce(item: Fields, index: unknown): OutputItem {
    const known = this.#withId(item);
    return known === undefined || known.done ? this.open(item, index) : known;
  }

  /** The item that an event is about, which is opened when the server has not announced it. */
  at(place: Fields, type: string): OutputItem {
    return this.#unfinished(place, type) ?? this.open({ type, id: place.item_id }, place.output_index);
  }

  #unfinished({ output_index: index, item_id: id }: Fields, type: string): OutputItem | undefined {
    const same = this.list.filter((item) => item.type === type && !item.done);
    return same.findLast((item) => index !== undefined && item.index === index) ??
      same.findLast((item) => id !== undefined && item.id === id) ??
      (index === undefined && id === undefined ? same.at(-1) : undefined);
  }

  #withId({ type, id }: Fields): OutputItem | undefined {
    return id ? this.list.find((item) => item.type === type && item.id === id) : undefined;
  }

  speak(item: OutputItem, name: string, text: string): void {
    if (text === "") return;
    const piece = item.pieces.find((known) => known.name === name) ?? this.#begin(item, name);
    piece.text += text;
    this.#say(channelOf(piece.field), text);
  }

  finish(whole: Fields, index: unknown): OutputItem {
    const place = { output_index: index, item_id: whole.id };
    const item = this.#unfinished(place, String(whole.type)) ?? this.#withId(whole) ??
      this.open(whole, index);
    this.#complete(item, whole);
    return item;
  }

  /** All items, with the end of the reply: each completes the one of its type that has the same place. */
  settle(all: readonly unknown[]): void {
    const seen = new Map<string, number>();
    for (const whole of all.filter(isRecord)) {
      const type = String(whole.type);
      const at = seen.get(type) ?? 0;
      seen.set(type, at + 1);
      const known = this.list.filter((item) => item.type === type)[at];
      this.#complete(known ?? this.open(whole, undefined), whole);
    }
  }

  #complete(item: OutputItem, whole: Fields): void {
    // A server that repeats an item may leave out what is long.
    item.fields = { ...item.fields, ...present(whole) };
    if (!item.done) this.#onDone(item.fields);
    item.done = true;
    const given = item.fields.arguments;
    if (typeof given === "string" && given.length > item.written.length) item.written = given;
    else if (isRecord(given)) item.written = JSON.stringify(given);
    for (const [name, text] of textsOf(whole)) {
      const shown = item.pieces.find((piece) => piece.name === name)?.text ?? "";
      if (text.startsWith(shown)) this.speak(item, name, text.slice(shown.length));
    }
  }

  #begin(item: OutputItem, name: string): Piece {
    const field = item.type !== "reasoning" ? undefined : name.startsWith("summary") ? "summary" : "content";
    const channel = channelOf(field);
    // Parts of a text are one text; items and the parts of a summary stand apart.
    const parts = field === undefined ? item.pieces[0] : undefined;
    if (parts) return parts;
    if (this.#spoken.has(channel)) this.#say(channel, SEPARATOR);
    this.#spoken.add(channel);
    const piece: Piece = { name, field, text: "" };
    item.pieces.push(piece);
    return piece;
  }
}

function channelOf(field: Field | undefined): Channel {
  return field === undefined ? "text" : "reasoning";
}

/** The texts of a whole item, each with the name of its field and index. */
function textsOf(item: Fields): readonly (readonly [name: string, text: string])[] {
  const named = (name: string, value: unknown) =>
    (Array.isArray(value) ? value : typeof value === "string" ? [{ text: value }] : []).flatMap(
      (part: unknown, at) => {
        const text = isRecord(part) ? part.text ?? part.refusal : undefined;
        return typeof text === "string" ? [[`${name}:${at}`, text] as const] : [];
      },
    );
  if (item.type === "reasoning") {
    return [...named("content", item.content), ...named("summary", item.summary)];
  }
  return item.type === "message" ? joined(named("content", item.content)) : [];
}

function joined(texts: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  return texts.length === 0 ? [] : [["content:0", texts.map(([, text]) => text).join("")]];
}

function present(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}

/** An item as it goes back, unless it is a call; none when it is empty or has not ended. */
function storedItem({ type, fields, pieces, done }: OutputItem): readonly Fields[] {
  if (type === "reasoning") {
    // Its status and what it lacks are only a report.
    const { id, summary: _s, content: _c, status: _t, type: _y, ...rest } = present(fields);
    const texts = (wanted: Field, type: string) =>
      pieces.flatMap(({ field, text }) => field === wanted ? [{ type, text: safeText(text) }] : []);
    const content = texts("content", "reasoning_text");
    return [{
      type,
      ...(id === undefined ? {} : { id }),
      ...rest,
      summary: texts("summary", "summary_text"),
      ...(content.length > 0 ? { content } : {}),
    }];
  }
  if (type !== "message") return type !== "" && done ? [fields] : [];
  const [piece] = pieces;
  const phase = typeof fields.phase === "string" ? { phase: fields.phase } : {};
  return piece ? [{ type, content: safeText(piece.text), ...phase }] : [];
}
