import type { Chunk, ToolCall } from "../core/mod.ts";
import { isRecord, parseJson, safeText } from "../util/json.ts";
import { attempt } from "../util/lazy.ts";

/** One piece of a tool call as it comes over the wire; servers leave out what they like. */
export interface CallDelta {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null;
}

/** A call as far as it has arrived. */
export interface CallSoFar {
  readonly id: string;
  readonly name: string;
  /** The arguments in pieces, and their length in characters. */
  readonly parts: readonly string[];
  readonly size: number;
}

interface Slot extends CallSoFar {
  readonly index: number | undefined;
  id: string;
  name: string;
  parts: string[];
  size: number;
}

/** `nameless` counts calls that never got a name. */
export interface CollectedCalls {
  readonly calls: readonly ToolCall[];
  readonly nameless: number;
}

/** Collects tool calls from deltas: by index, id or order; names may be split, arguments may be objects. */
export class ToolCallCollector {
  readonly #slots: Slot[] = [];

  get size(): number {
    return this.#slots.length;
  }

  add(delta: CallDelta): CallSoFar {
    const id = typeof delta.id === "string" ? delta.id : "";
    const name = typeof delta.function?.name === "string" ? delta.function.name : "";
    const args = delta.function?.arguments;
    const slot = this.#find(delta, id, name) ?? this.#open(delta);
    if (slot.id === "") slot.id = id;
    if (name !== "") slot.name = joinName(slot, name);
    if (typeof args === "string") {
      if (args !== "") slot.parts.push(args);
      slot.size += args.length;
    } else if (args !== null && typeof args === "object") {
      const text = JSON.stringify(args);
      [slot.parts, slot.size] = [[text], text.length];
    }
    return slot;
  }

  /** Reports whether every call has arguments that are complete as they stand; none may be yet to come. */
  complete(): boolean {
    return this.#slots.every(({ parts }) => parts.length > 0 && plainArguments(parts.join("")) !== undefined);
  }

  /**
   * The calls in order of appearance with unique ids.
   * `taken` holds ids of earlier calls of the conversation; `prefix` makes ids for calls that have none;
   * `repair` is off where the reply was cut, because then missing text looks like a slip.
   */
  async finish(taken: ReadonlySet<string>, prefix: string, repair: boolean): Promise<CollectedCalls> {
    const used = new Set(taken);
    const calls: ToolCall[] = [];
    const named = this.#slots.filter((slot) => slot.name.trim() !== "");
    for (const [at, slot] of named.entries()) {
      const text = slot.parts.join("");
      const args = plainArguments(text) ?? (repair ? await repairArguments(text) : text);
      const id = unique(slot.id || `${prefix}_${at}`, used);
      used.add(id);
      calls.push({ id, name: safeText(slot.name.trim()), arguments: safeText(args) });
    }
    const nameless = this.#slots.filter((slot) => slot.name.trim() === "" && slot.parts.length > 0).length;
    return { calls, nameless };
  }

  #open(delta: CallDelta): Slot {
    const index = typeof delta.index === "number" ? delta.index : undefined;
    const slot: Slot = { index, id: "", name: "", parts: [], size: 0 };
    this.#slots.push(slot);
    return slot;
  }

  #find(delta: CallDelta, id: string, name: string): Slot | undefined {
    const slot = typeof delta.index === "number"
      ? this.#slots.findLast((s) => s.index === delta.index)
      : this.#slots.findLast((s) => id === "" || s.id === id);
    if (slot === undefined || name === "") return slot;
    if (id !== "" && slot.id !== "" && id !== slot.id) return undefined;
    const sameCall = id !== "" && id === slot.id && typeof delta.index === "number";
    return sameCall || !startsNextCall(slot, name, delta.function?.arguments) ? slot : undefined;
  }
}

/** Reports whether a named delta behind complete arguments is the next call, without an index. */
function startsNextCall(slot: Slot, name: string, args: unknown): boolean {
  const text = slot.parts.join("");
  if (!text.trimEnd().endsWith("}") || plainArguments(text) === undefined) return false;
  return name !== slot.name || (args !== undefined && args !== null && args !== "");
}

/** Appends a piece of a name, unless the server repeats the name or the name up to here plus more. */
function joinName(slot: Slot, piece: string): string {
  if (piece.startsWith(slot.name)) return piece;
  return slot.parts.length > 0 ? slot.name : slot.name + piece;
}

/** Characters of arguments from which on their beginning is announced, and the most of it. */
const ANNOUNCED = { from: 64, most: 2048 };

/**
 * Announces calls while their arguments arrive: the name at once, then the beginning of the arguments each
 * time that they are twice as long.
 *
 * Contract: a call is announced a few times, however many pieces it comes in.
 */
export class CallAnnouncer {
  readonly #taken: ReadonlySet<string>;
  readonly #prefix: string;
  readonly #calls = new Map<object, { readonly id: string; due: number }>();
  readonly #used = new Set<string>();
  #chunks: Chunk[] = [];

  /** As {@linkcode ToolCallCollector.finish} makes the ids. */
  constructor(taken: ReadonlySet<string>, prefix: string) {
    this.#taken = taken;
    this.#prefix = prefix;
  }

  add({ id, name, parts, size }: CallSoFar, key: object): void {
    // A server that sends the id later would get its call announced twice.
    const known = this.#calls.get(key) ??
      (name.trim() === "" || id === "" && size === 0 ? undefined : this.#begin(id, key));
    if (!known || size < known.due) return;
    known.due = size >= ANNOUNCED.most ? Infinity : Math.max(ANNOUNCED.from, size * 2);
    const text = size < ANNOUNCED.from ? "" : parts.join("").slice(0, ANNOUNCED.most);
    this.#chunks.push({
      type: "call_progress",
      id: known.id,
      name: safeText(name.trim()),
      ...(text === "" ? {} : { arguments: safeText(text.replace(/[\ud800-\udbff]$/, "")) }),
    });
  }

  take(): readonly Chunk[] {
    return this.#chunks.length === 0 ? this.#chunks : this.#chunks.splice(0);
  }

  #begin(id: string, key: object) {
    const has = (each: string) => this.#taken.has(each) || this.#used.has(each);
    const call = { id: unique(id || `${this.#prefix}_${this.#calls.size}`, { has }), due: 0 };
    this.#used.add(call.id);
    this.#calls.set(key, call);
    return call;
  }
}

function unique(id: string, used: Pick<ReadonlySet<string>, "has">): string {
  if (!used.has(id)) return id;
  let n = 2;
  while (used.has(`${id}_${n}`)) n++;
  return `${id}_${n}`;
}

const STRINGS =
  /"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|'(?:[^'"\\]|\\(?:["'\\/bfnrt]|u[0-9a-fA-F]{4}))*'/g;
const NUMBER_OR_WORD =
  /^(?:[\s{}[\],:]|""|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null|True|False|None)\b|[A-Za-z_$][\w$]*(?=\s*:))*$/;
const FENCE = /^```(?:json)?\s*([\s\S]*?)\s*```$/;

/** The text of a JSON object, "{}" for no text; undefined when it needs {@linkcode repairArguments}. */
export function plainArguments(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "null" || trimmed === "{}") return "{}";
  const value = parseJson(trimmed);
  if (isRecord(value)) return text;
  return typeof value === "string" && isRecord(parseJson(value)) ? value : undefined;
}

/**
 * Repairs malformed arguments when there is one way to read them: a trailing or missing comma, closing
 * brackets missing at the end, single quotes, bare keys, Python's constants, raw line breaks in strings, a
 * code fence.
 *
 * Contract: nothing is invented. An unfinished string or number, a key without a value, an unescaped quote or
 * an unknown escape can be read in several ways: then the text comes back as it was and is not valid JSON.
 */
export async function repairArguments(text: string): Promise<string> {
  const bare = text.trim().replace(FENCE, "$1");
  const outside = bare.replace(STRINGS, '""');
  if (!bare.startsWith("{") || !NUMBER_OR_WORD.test(outside)) return text;
  if (!/["}\]]$/.test(outside.trimEnd()) || /[:][\s]*[,}\]]|[,][\s]*,/.test(outside)) return text;
  const { jsonrepair } = await import("jsonrepair");
  const repaired = attempt(() => jsonrepair(bare));
  const isWhole = repaired !== undefined && isRecord(parseJson(repaired)) &&
    nulls(repaired.replace(STRINGS, '""')) === nulls(outside);
  return isWhole ? repaired : text;
}

function nulls(text: string): number {
  return text.match(/\b(?:null|None)\b/g)?.length ?? 0;
}
