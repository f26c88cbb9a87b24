import type { ToolSchema } from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { requiredNames, type TextCall, unescapeMarkers } from "./syntax.ts";

/** A call in the taught form as far as it is written. */
export type TaughtRead =
  | { readonly state: "open"; readonly name: string }
  | { readonly state: "read"; readonly length: number; readonly call: TextCall; readonly blocks: boolean }
  | { readonly state: "bad"; readonly length: number; readonly name: string; readonly problem: string };

const BEGIN = /[ \t]*%%CMD%%/iy;
const END = /%%END%%/iy;
/** A marker at the beginning of its line. */
const NEXT_MARKER = /^[ \t]*%%(?:BLOCK:|END%%)/gim;
const BLOCK = /[ \t]*%%BLOCK:[ \t]*([\w.-]+)[ \t]*%%[ \t]*/iy;
const BLOCK_BEGIN = /[ \t]*%%BLOCK:/iy;
const LINE_END = /^[ \t]*%%END%%/gim;
const END_OF_LINE = /[^\n]*%%END%%[ \t\r]*(?=\n|$)/iy;
const KEY = /([A-Za-z_][\w.-]*)[ \t]*=[ \t]*/y;
const WORD = /[^\s%]*(?:%(?!%)[^\s%]*)*/y;
const BLANKS = /[ \t]*/y;

/** Thrown inside: the reason for which a call cannot be read; without one its end has not come. */
class Unreadable {
  readonly problem: string | undefined;

  constructor(problem?: string) {
    this.problem = problem;
  }
}

/**
 * Reads the call that a text begins with:
 *
 *     %%CMD%% name="tool" key="text" other=JSON
 *     %%BLOCK:key%%
 *     any text
 *     %%END%%
 *
 * Contract: nothing is guessed. A call that is not written as described is "bad" with its reason; one whose
 * end has not come is "open".
 */
export function readTaughtCall(text: string, tools: ReadonlyMap<string, ToolSchema>): TaughtRead {
  return new TaughtReader(text, tools).read();
}

class TaughtReader {
  readonly #text: string;
  readonly #tools: ReadonlyMap<string, ToolSchema>;
  readonly #args = new Map<string, unknown>();
  #at = 0;
  #name = "";
  #problem: string | undefined;
  #blocks = false;

  constructor(text: string, tools: ReadonlyMap<string, ToolSchema>) {
    this.#text = text;
    this.#tools = tools;
  }

  read(): TaughtRead {
    this.#take(BEGIN);
    try {
      this.#head();
      this.#blockList();
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.#problem ??= error.problem;
      if (error.problem === undefined || !this.#skipToEnd()) return { state: "open", name: this.#name };
    }
    const problem = this.#problem ?? (this.#name === "" ? 'its first line has no name="…"' : undefined);
    const length = this.#at;
    if (problem !== undefined) return { state: "bad", length, name: this.#name, problem };
    const call = { name: this.#name, arguments: JSON.stringify(this.#arguments()) };
    return { state: "read", length, call, blocks: this.#blocks };
  }

  /** Reads `key=value` up to the first block or the end. */
  #head(): void {
    for (;;) {
      const line = /[\n\r]/.test(this.#take(/\s*/y)?.[0] ?? "");
      if (this.#at >= this.#text.length) throw new Unreadable();
      if (this.#sees(END) || (line && this.#sees(BLOCK_BEGIN))) return;
      if (line && this.#sees(BEGIN)) {
        this.#problem ??= "it is not closed by a line %%END%%";
        return;
      }
      const start = this.#at;
      const key = this.#take(KEY)?.[1];
      if (key === undefined || (line && !this.#isArgument(key))) {
        this.#at = start;
        return this.#body();
      }
      this.#set(key, this.#value(key));
    }
  }

  #value(key: string): unknown {
    const first = this.#text[this.#at] ?? "";
    if (first === '"' || first === "'") {
      const end = quoteEnd(this.#text, this.#at);
      if (end < 0) throw new Unreadable();
      const inner = this.#text.slice(this.#at + 1, end);
      this.#at = end + 1;
      if (!/[^\s%]/.test(this.#text[this.#at] ?? " ")) return unquoted(inner);
      throw new Unreadable(
        `the value of ${key} has a quote in its middle; put it in a block %%BLOCK:${key}%%`,
      );
    }
    if (first === "{" || first === "[") {
      const end = jsonEnd(this.#text, this.#at);
      if (end < 0) throw new Unreadable();
      const value = parseJson(this.#text.slice(this.#at, end));
      if (value === undefined) throw new Unreadable(`the value of ${key} is not valid JSON`);
      this.#at = end;
      return value;
    }
    const text = this.#take(WORD)?.[0] ?? "";
    if (text === "") throw new Unreadable(`${key} has no value`);
    const value = parseJson(text);
    return value === undefined ? text : value;
  }

  /** Reads lines without a marker: all arguments as JSON, or the one text that is still missing. */
  #body(): void {
    const end = this.#nextMarker();
    const body = this.#text.slice(this.#at, end).trim();
    this.#at = end;
    this.#take(BLANKS);
    const object = parseJson(body);
    if (isRecord(object)) {
      for (const [key, value] of Object.entries(object)) this.#set(key, value);
      return;
    }
    const tool = this.#tools.get(this.#name);
    const missing = tool ? requiredNames(tool.parameters).filter((key) => !this.#args.has(key)) : [];
    const [only, ...others] = missing;
    if (only === undefined || others.length > 0) {
      const shown = body.length > 60 ? `${body.slice(0, 60)}…` : body;
      throw new Unreadable(`${JSON.stringify(shown)} belongs to no argument; put it in a block`);
    }
    this.#set(only, unescapeMarkers(body));
  }

  #blockList(): void {
    while (!this.#take(END)) {
      if (this.#problem !== undefined && this.#sees(BEGIN)) return;
      const key = this.#take(BLOCK)?.[1];
      if (key === undefined) throw new Unreadable("a block has no name: %%BLOCK:name%%");
      this.#blocks = true;
      this.#set(key, this.#block());
    }
  }

  #block(): string {
    const lineEnd = this.#text.indexOf("\n", this.#at);
    const line = this.#text.slice(this.#at, lineEnd < 0 ? undefined : lineEnd);
    const inline = /%%END%%\s*$/i.exec(line);
    if (inline) {
      this.#at += inline.index;
      return line.slice(0, inline.index);
    }
    if (lineEnd < 0) throw new Unreadable();
    const from = line.trim() === "" ? lineEnd + 1 : this.#at;
    this.#at = lineEnd + 1;
    this.#at = this.#nextMarker();
    const content = this.#text.slice(from, Math.max(from, this.#at - 1));
    this.#take(BLANKS);
    return unescapeMarkers(line.endsWith("\r") ? content.replace(/\r$/, "") : content);
  }

  /** Passes all of a call that cannot be read: its lines may be meant as content. */
  #skipToEnd(): boolean {
    LINE_END.lastIndex = this.#at;
    const length = this.#sees(END_OF_LINE)
      ? END_OF_LINE.lastIndex
      : LINE_END.test(this.#text)
      ? LINE_END.lastIndex
      : -1;
    if (length >= 0) this.#at = length;
    return length >= 0;
  }

  #isArgument(key: string): boolean {
    if (this.#name === "") return key === "name";
    const properties = this.#tools.get(this.#name)?.parameters.properties;
    return isRecord(properties) ? Object.hasOwn(properties, key) || key === "arguments" : true;
  }

  #set(key: string, value: unknown): void {
    if (key === "name" && this.#name === "") this.#name = String(value);
    else if (this.#args.has(key)) throw new Unreadable(`${key} is given twice`);
    else this.#args.set(key, value);
  }

  /** All arguments; `arguments={…}` stands for those in it, unless the tool has an argument of that name. */
  #arguments(): Record<string, unknown> {
    const { arguments: whole, ...others } = Object.fromEntries(this.#args);
    const properties = this.#tools.get(this.#name)?.parameters.properties;
    const own = isRecord(properties) && Object.hasOwn(properties, "arguments");
    return isRecord(whole) && !own ? { ...whole, ...others } : Object.fromEntries(this.#args);
  }

  #nextMarker(): number {
    NEXT_MARKER.lastIndex = this.#at;
    const found = NEXT_MARKER.exec(this.#text);
    if (!found) throw new Unreadable();
    return found.index;
  }

  #sees(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    return pattern.test(this.#text);
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at = pattern.lastIndex;
    return found ?? undefined;
  }
}

/** Index behind the JSON object or list that begins at `start`; -1 when it is not closed. */
export function jsonEnd(text: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    else if (quoted) at += char === "\\" ? 1 : 0;
    else if (char === "{" || char === "[") depth++;
    else if ((char === "}" || char === "]") && --depth === 0) return at + 1;
  }
  return -1;
}

/** Index of the quote that closes the one at `start`; -1 when there is none. */
function quoteEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === text[start]) return at;
  }
  return -1;
}

/** A quoted text with the escapes of JSON; a backslash that begins none stands for itself. */
function unquoted(inner: string): string {
  return inner.replace(/\\(u[0-9a-fA-F]{4}|[\s\S])/g, (whole, escape: string) => {
    const value = parseJson(`"${whole}"`);
    return typeof value === "string" ? value : escape === "'" ? "'" : whole;
  });
}
