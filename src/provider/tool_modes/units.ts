import { JsonExtent } from "./json_value.ts";
import type { TextCall } from "./syntax.ts";
import { readFunctionTags, readInvokes, readJsonCalls } from "./trained_calls.ts";

/** Whether more of the reply will come: yes, no, or no because it was cut at the output limit. */
export type Ending = "open" | "ended" | "cut";

export type UnitRead =
  /** More text is needed. */
  | { readonly state: "open" }
  /** No call after all. */
  | { readonly state: "text" }
  | { readonly state: "read"; readonly length: number; readonly calls: readonly TextCall[] }
  /** Meant as a call without doubt, but not readable. */
  | { readonly state: "bad"; readonly length: number; readonly name: string };

/** One candidate for a call: the text it stands in begins with its mark. */
export interface Unit {
  /**
   * - "certain": its mark means nothing else and its end cannot be mistaken.
   * - "likely": a call only when nothing but calls follows.
   */
  readonly trust: "certain" | "likely";
  /** True when texts stand in the call as they are. */
  readonly blocks: boolean;
  /** Name of the tool, as soon as it can be told. */
  readonly name: string | undefined;
  /** What comes just before a long call may end: until it has come there is no use in reading. */
  readonly ends: RegExp;
  /**
   * `held` is all that came since the mark, the mark included. Reading later gives what reading at once gave.
   */
  read(held: string, ending: Ending): UnitRead;
}

export const OPEN: UnitRead = { state: "open" };
export const TEXT: UnitRead = { state: "text" };
/** Longer gaps are no part of a call: a reply that runs away in blanks must not be looked at ever again. */
export const LONGEST_GAP = 200;
/** Ends that turn out to be none; a text may be full of them. */
export const MOST_TRIES = 50;
/** First keys of an object that is a call. */
const KEYS = new Set(["name", "arguments", "parameters", "function", "type", "id"]);
const FIRST_KEY = /^\[?\s*\{\s*"([^"\\]{0,40})"/;
const MAY_HAVE_KEY = /^\[?\s*(?:\{\s*(?:"[^"\\]{0,40})?)?$/;
const NAME_IN_JSON = /"name"\s*:\s*"([^"\\]{1,100})"/;

/** Where JSON stands behind a mark. */
interface JsonForm {
  /** Before the JSON; its first group names the tool when the JSON is only its arguments. */
  readonly head: RegExp;
  /** Behind the JSON. */
  readonly tail?: string;
  /** Matches a head whose end has not come yet. */
  readonly unfinished?: RegExp;
}

/** A JSON object or list of them, with or without a mark around it. */
export class JsonUnit implements Unit {
  readonly trust: Unit["trust"];
  readonly blocks = false;
  readonly ends: RegExp;
  readonly #form: JsonForm;
  #extent: JsonExtent | undefined;
  #from = 0;
  #end = -1;
  #tool: string | undefined;
  name: string | undefined;

  constructor(form: JsonForm, trust: Unit["trust"]) {
    this.#form = form;
    this.trust = trust;
    // Without a tail only the end of the reply makes sure.
    this.ends = form.tail === undefined ? /$^/ : new RegExp(form.tail);
  }

  read(held: string, ending: Ending): UnitRead {
    if (this.#extent === undefined) {
      const begun = this.#begin(held, ending);
      if (begun) return begun;
    }
    this.name ??= this.#tool ?? NAME_IN_JSON.exec(held.slice(this.#from, this.#from + 300))?.[1];
    if (this.#end < 0) this.#end = this.#extent?.end(held) ?? -1;
    if (this.#end < 0) return ending === "open" ? OPEN : this.#bad(held.length);
    const length = this.#tail(held, ending);
    if (length === "open") return OPEN;
    const calls = length === "missing" ? undefined : this.#calls(held.slice(this.#from, this.#end));
    if (calls && length !== "missing") return { state: "read", length, calls };
    const tail = this.#form.tail;
    const close = tail === undefined ? this.#end : held.indexOf(tail, this.#end);
    if (close >= 0) return this.#bad(close + (tail?.length ?? 0));
    return ending === "open" ? OPEN : this.#bad(held.length);
  }

  /** Looks for the beginning of the JSON; returns what there is to say before it is found. */
  #begin(held: string, ending: Ending): UnitRead | undefined {
    const begin = held.slice(0, LONGEST_GAP);
    const head = this.#form.head.exec(begin);
    if (!head) return ending === "open" && held.length < LONGEST_GAP ? OPEN : TEXT;
    this.#tool = head[1];
    this.#from = head[0].length;
    const json = held.slice(this.#from, this.#from + LONGEST_GAP);
    const key = FIRST_KEY.exec(json)?.[1];
    const fits = this.#tool === undefined ? key !== undefined && KEYS.has(key) : json.startsWith("{");
    const more = MAY_HAVE_KEY.test(json) || this.#form.unfinished?.test(begin) === true;
    if (!fits) return ending === "open" && more && held.length < LONGEST_GAP ? OPEN : TEXT;
    this.#extent = new JsonExtent(this.#from);
    return undefined;
  }

  #tail(held: string, ending: Ending): number | "open" | "missing" {
    const { tail } = this.#form;
    if (tail === undefined) return this.#end;
    const rest = held.slice(this.#end, this.#end + LONGEST_GAP).trimStart();
    if (rest.startsWith(tail)) return held.indexOf(tail, this.#end) + tail.length;
    // Servers that stop at the closing tag leave it out.
    if (rest === "" && ending === "ended") return held.length;
    return ending === "open" && tail.startsWith(rest) ? "open" : "missing";
  }

  #calls(json: string): readonly TextCall[] | undefined {
    return this.#tool === undefined
      ? readJsonCalls(json)
      : readJsonCalls(`{"name":${JSON.stringify(this.#tool)},"arguments":${json}}`);
  }

  #bad(length: number): UnitRead {
    return { state: "bad", length, name: this.name ?? "" };
  }
}

/** Tags around calls whose arguments are texts. */
interface TagForm {
  /** The opening tag with the name of the tool in its first group. */
  readonly head: RegExp;
  /** The closing tag, as the source of a pattern. */
  readonly tail: string;
  /** A tag that may follow, because the opening one may stand in another. */
  readonly outer?: string;
}

/** Arguments as texts between tags: what stands in them may hold such tags, too. */
export class TagUnit implements Unit {
  readonly trust = "likely";
  readonly blocks = false;
  readonly #form: TagForm;
  readonly ends: RegExp;
  readonly #tail: RegExp;
  #searched = 0;
  #tries = 0;
  #found: { readonly end: number; readonly calls: readonly TextCall[] } | undefined;
  name: string | undefined;

  constructor(form: TagForm) {
    this.#form = form;
    this.ends = new RegExp(form.tail);
    this.#tail = new RegExp(form.tail, "g");
  }

  read(held: string, ending: Ending): UnitRead {
    if (this.name === undefined) {
      const head = this.#form.head.exec(held.slice(0, LONGEST_GAP));
      if (!head) return ending === "open" && held.length < LONGEST_GAP ? OPEN : TEXT;
      this.name = head[1] ?? "";
    }
    this.#found ??= this.#find(held);
    if (!this.#found) {
      return ending === "open" ? OPEN : { state: "bad", length: held.length, name: this.name };
    }
    const { end, calls } = this.#found;
    const { outer } = this.#form;
    if (outer === undefined) return { state: "read", length: end, calls };
    const rest = held.slice(end, end + LONGEST_GAP).trimStart();
    if (rest.startsWith(outer)) {
      return { state: "read", length: held.indexOf(outer, end) + outer.length, calls };
    }
    if (ending === "open" && outer.startsWith(rest) && held.length < end + LONGEST_GAP) return OPEN;
    return { state: "read", length: end, calls };
  }

  /** Looks for the closing tag behind which the text is a call; others belong to the arguments. */
  #find(held: string): { end: number; calls: readonly TextCall[] } | undefined {
    this.#tail.lastIndex = this.#searched;
    for (let tail = this.#tail.exec(held); tail && this.#tries < MOST_TRIES; tail = this.#tail.exec(held)) {
      const end = this.#tail.lastIndex;
      this.#searched = end;
      if (!held.slice(Math.max(0, tail.index - LONGEST_GAP), tail.index).trimEnd().endsWith(">")) continue;
      this.#tries++;
      const text = held.slice(0, end);
      const calls = readFunctionTags(text.replace(/^<tool_call>/, "")) ??
        readInvokes(text.replace(/^<(?:\w+:)?function_calls>|<\/(?:\w+:)?function_calls>$/g, ""));
      if (calls) return { end, calls };
    }
    // The tag may be in the making.
    this.#searched = Math.max(this.#searched, held.length - 40);
    return undefined;
  }
}

/** A code fence with nothing but calls in it. */
export class FenceUnit implements Unit {
  readonly trust = "likely";
  readonly blocks = false;
  readonly name = undefined;
  readonly ends: RegExp;
  readonly #close: RegExp;
  readonly #readAll: (text: string) => readonly TextCall[] | undefined;
  #searched: number;
  readonly #from: number;

  /** `fence`: the marks of the opening line, which is `from` characters long. */
  constructor(fence: string, from: number, readAll: (text: string) => readonly TextCall[] | undefined) {
    this.#close = new RegExp(`^ {0,3}${fence}+[ \\t\\r]*(?:\\n|$)`, "gm");
    this.ends = new RegExp(`\\n {0,3}${fence}`);
    this.#from = from;
    this.#searched = from;
    this.#readAll = readAll;
  }

  read(held: string, ending: Ending): UnitRead {
    const begin = held.slice(this.#from, this.#from + LONGEST_GAP).trimStart();
    if (begin !== "" && !mayBeginCalls(begin)) return TEXT;
    if (begin === "" && held.length > this.#from + LONGEST_GAP) return TEXT;
    this.#close.lastIndex = this.#searched;
    const found = this.#close.exec(held);
    if (!found || (ending === "open" && !found[0].endsWith("\n"))) {
      if (ending !== "open" && !found) return TEXT;
      this.#searched = Math.max(this.#from, held.lastIndexOf("\n") + 1);
      return OPEN;
    }
    const calls = this.#readAll(held.slice(this.#from, found.index));
    const length = found.index + found[0].trimEnd().length;
    return calls ? { state: "read", length, calls } : TEXT;
  }
}

function mayBeginCalls(text: string): boolean {
  if (text.startsWith("%") || text.startsWith("<") || text.startsWith("[T")) return true;
  const key = FIRST_KEY.exec(text)?.[1];
  return key === undefined ? MAY_HAVE_KEY.test(text) : KEYS.has(key);
}
