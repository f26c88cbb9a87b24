import { isRecord } from "../../../util/json.ts";
import type { Channel } from "../../wire/delta_template.ts";
import { ASKS } from "./remote_calls.ts";
import { type LayoutItem, type ReasoningText, SEPARATOR } from "./layout.ts";

export type Fields = Readonly<Record<string, unknown>>;
type Field = ReasoningText[0];

/** A text of an item, as far as it was said. */
interface Piece {
  readonly name: string;
  readonly field: Field | undefined;
  said: string;
}

/** One item of a reply while it comes in. */
export interface OutputItem {
  readonly type: string;
  /** Place that the server gives it; some give all the same one. */
  readonly index: unknown;
  readonly id: unknown;
  fields: Fields;
  done: boolean;
  readonly pieces: Piece[];
  /** Arguments of a call, as far as they came in pieces. */
  written: string;
}

/** Says a text that has just come. */
export type Say = (channel: Channel, text: string) => void;

/**
 * The items of one reply. Servers send them in pieces, whole when they are done, and all of them again with
 * the end of the reply; some leave out one or two of these. What came first is said, what comes again only
 * completes it.
 */
export class OutputItems {
  readonly list: OutputItem[] = [];
  readonly #say: Say;
  readonly #saidIn = new Set<Channel>();

  constructor(say: Say) {
    this.#say = say;
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
  announce(item: Fields, index: unknown): void {
    const known = this.#withId(item);
    if (known === undefined || known.done) this.open(item, index);
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

  /** A further piece of a text of an item. */
  speak(item: OutputItem, name: string, text: string): void {
    if (text === "") return;
    const piece = item.pieces.find((known) => known.name === name) ?? this.#begin(item, name);
    piece.said += text;
    this.#say(channelOf(piece.field), text);
  }

  /** An item as a whole. */
  finish(whole: Fields, index: unknown): void {
    const place = { output_index: index, item_id: whole.id };
    const known = this.#unfinished(place, String(whole.type)) ?? this.#withId(whole);
    this.#complete(known ?? this.open(whole, index), whole);
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
    item.done = true;
    const given = item.fields.arguments;
    if (typeof given === "string" && given.length > item.written.length) item.written = given;
    else if (isRecord(given)) item.written = JSON.stringify(given);
    for (const [name, text] of textsOf(whole)) {
      const said = item.pieces.find((piece) => piece.name === name)?.said ?? "";
      if (text.startsWith(said)) this.speak(item, name, text.slice(said.length));
    }
  }

  #begin(item: OutputItem, name: string): Piece {
    const field = item.type !== "reasoning" ? undefined : name.startsWith("summary") ? "summary" : "content";
    const channel = channelOf(field);
    // Parts of a text are one text; items and the parts of a summary stand apart.
    const parts = field === undefined ? item.pieces[0] : undefined;
    if (parts) return parts;
    if (this.#saidIn.has(channel)) this.#say(channel, SEPARATOR);
    this.#saidIn.add(channel);
    const piece: Piece = { name, field, said: "" };
    item.pieces.push(piece);
    return piece;
  }
}

function channelOf(field: Field | undefined): Channel {
  return field === undefined ? "text" : "reasoning";
}

/** The texts of a whole item, each with a name that says where in the item it stands. */
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

/** The fields of a reasoning item that go back with it: all but its texts, and what is only a report. */
function sealed({ summary: _s, content: _c, status: _t, type: _y, ...rest }: Fields): Fields {
  return present(rest);
}

function present(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}

/** What is to be remembered of an item; undefined for what was not said, or has not ended. */
export function layoutItem(item: OutputItem, callAt: (item: OutputItem) => number): LayoutItem | undefined {
  if (item.type === "reasoning") {
    const texts = item.pieces.map(({ field, said }) => [field ?? "summary", said.length] as const);
    return { reasoning: sealed(item.fields), texts };
  }
  if (item.type === "function_call") return { call: callAt(item) };
  if (item.type === ASKS) return { call: callAt(item), asks: present(item.fields) };
  if (item.type !== "message") return item.type !== "" && item.done ? { item: item.fields } : undefined;
  const [piece] = item.pieces;
  if (piece === undefined) return undefined;
  const { phase } = item.fields;
  return { text: piece.said.length, ...(typeof phase === "string" ? { phase } : {}) };
}
