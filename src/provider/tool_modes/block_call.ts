import type { ToolSchema } from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { jsonEnd } from "./json_value.ts";
import { requiredNames, type TextCall, unescapeMarkers } from "./syntax.ts";

/** A call in blocks as far as it is written. */
export type BlockRead =
  | { readonly state: "open"; readonly name: string }
  | { readonly state: "read"; readonly length: number; readonly call: TextCall; readonly blocks: boolean }
  | { readonly state: "bad"; readonly length: number; readonly name: string; readonly problem: string };

const BEGIN = /[ \t]*%%CMD%%/iy;
const END = /%%END%%/iy;
/** A marker at the beginning of its line. */
const NEXT_MARKER = /^[ \t]*%%(?:BLOCK:|END%%)/gim;
const NEXT_CALL = /[ \t]*%%CMD%%/iy;
const BLOCK = /[ \t]*%%BLOCK:[ \t]*([\w.-]+)[ \t]*%%[ \t]*/iy;
const BLOCK_BEGIN = /[ \t]*%%BLOCK:/iy;
const LINE_END = /^[ \t]*%%END%%/gim;
const KEY = /([A-Za-z_][\w.-]*)[ \t]*=[ \t]*/y;
const BLANKS = /[ \t]*/y;

/** Thrown inside: what keeps a call from being read. */
class Unreadable {
  readonly problem: string;

  constructor(problem: string) {
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
 * Contract: nothing is guessed. What is not written as described is "bad" with its reason; a call whose end
 * is not there yet is "open".
 */
export function readBlockCall(text: string, tools: ReadonlyMap<string, ToolSchema>): BlockRead {
  return new BlockReader(text, tools).read();
}

class BlockReader {
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

  read(): BlockRead {
    this.#take(BEGIN);
    try {
      if (this.#head() && this.#blockList()) return this.#closed();
      return { state: "open", name: this.#name };
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.#problem ??= error.problem;
      return this.#skipToEnd() ? this.#closed() : { state: "open", name: this.#name };
    }
  }

  #closed(): BlockRead {
    const problem = this.#problem ?? (this.#name === "" ? 'its first line has no name="…"' : undefined);
    const length = this.#at;
    if (problem !== undefined) return { state: "bad", length, name: this.#name, problem };
    const call = { name: this.#name, arguments: JSON.stringify(this.#arguments()) };
    return { state: "read", length, call, blocks: this.#blocks };
  }

  /** Reads `key=value` up to the first block or the end; false when the text ends before. */
  #head(): boolean {
    for (;;) {
      const line = this.#blank();
      if (this.#at >= this.#text.length) return false;
      if (this.#sees(END)) return true;
      if (line && this.#sees(BLOCK_BEGIN)) return true;
      if (line && this.#sees(NEXT_CALL)) {
        this.#problem ??= "it is not closed by a line %%END%%";
        return true;
      }
      const start = this.#at;
      const key = this.#take(KEY)?.[1];
      if (key === undefined || (line && !this.#isArgument(key))) {
        this.#at = start;
        return this.#body();
      }
      if (!this.#value(key)) return false;
    }
  }

  /** A value of the head; false when the text ends before it does. */
  #value(key: string): boolean {
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") {
      const end = quoteEnd(this.#text, this.#at);
      if (end < 0) return false;
      const inner = this.#text.slice(this.#at + 1, end);
      this.#at = end + 1;
      if (/[^\s%]/.test(this.#text[end + 1] ?? " ")) {
        throw new Unreadable(
          `the value of ${key} has a quote in its middle; put it in a block %%BLOCK:${key}%%`,
        );
      }
      this.#set(key, unquoted(inner));
      return true;
    }
    if (first === "{" || first === "[") {
      const end = jsonEnd(this.#text, this.#at);
      if (end < 0) return false;
      const value = parseJson(this.#text.slice(this.#at, end));
      if (value === undefined) throw new Unreadable(`the value of ${key} is not valid JSON`);
      this.#at = end;
      this.#set(key, value);
      return true;
    }
    const word = /[^\s%]*(?:%(?!%)[^\s%]*)*/y;
    const text = this.#take(word)?.[0] ?? "";
    if (text === "") throw new Unreadable(`${key} has no value`);
    const value = parseJson(text);
    this.#set(key, value === undefined ? text : value);
    return true;
  }

  /** Lines without a marker: all arguments as JSON, or the one text that is still missing. */
  #body(): boolean {
    const end = this.#nextMarker();
    if (end === undefined) return false;
    const body = this.#text.slice(this.#at, end).trim();
    this.#at = end;
    this.#take(BLANKS);
    const object = parseJson(body);
    if (isRecord(object)) {
      for (const [key, value] of Object.entries(object)) this.#set(key, value);
      return true;
    }
    const tool = this.#tools.get(this.#name);
    const missing = tool ? requiredNames(tool.parameters).filter((key) => !this.#args.has(key)) : [];
    const [only, ...others] = missing;
    if (only === undefined || others.length > 0) {
      const shown = body.length > 60 ? `${body.slice(0, 60)}…` : body;
      throw new Unreadable(`${JSON.stringify(shown)} belongs to no argument; put it in a block`);
    }
    this.#set(only, unescapeMarkers(body));
    return true;
  }

  /** Reads all blocks and the end; false when the text ends before. */
  #blockList(): boolean {
    for (;;) {
      if (this.#take(END)) return true;
      if (this.#problem !== undefined && this.#sees(NEXT_CALL)) return true;
      const key = this.#take(BLOCK)?.[1];
      if (key === undefined) throw new Unreadable("a block has no name: %%BLOCK:name%%");
      this.#blocks = true;
      if (!this.#block(key)) return false;
    }
  }

  #block(key: string): boolean {
    const lineEnd = this.#text.indexOf("\n", this.#at);
    const line = this.#text.slice(this.#at, lineEnd < 0 ? undefined : lineEnd);
    const inline = /%%END%%\s*$/i.exec(line);
    if (inline) {
      this.#set(key, line.slice(0, inline.index));
      this.#at += inline.index;
      return true;
    }
    if (lineEnd < 0) return false;
    const carriage = line.endsWith("\r");
    const from = line.trim() === "" ? lineEnd + 1 : this.#at;
    this.#at = lineEnd + 1;
    const end = this.#nextMarker();
    if (end === undefined) return false;
    const content = this.#text.slice(from, Math.max(from, end - 1));
    this.#set(key, unescapeMarkers(carriage ? content.replace(/\r$/, "") : content));
    this.#at = end;
    this.#take(BLANKS);
    return true;
  }

  /** Passes all of a call that cannot be read: whatever stands in it may be meant as content. */
  #skipToEnd(): boolean {
    const line = /[^\n]*%%END%%[ \t\r]*(?=\n|$)/iy;
    LINE_END.lastIndex = this.#at;
    const length = this.#sees(line) ? line.lastIndex : LINE_END.test(this.#text) ? LINE_END.lastIndex : -1;
    if (length >= 0) this.#at = length;
    return length >= 0;
  }

  #isArgument(key: string): boolean {
    if (this.#name === "") return key === "name";
    const properties = this.#tools.get(this.#name)?.parameters.properties;
    return isRecord(properties) ? Object.hasOwn(properties, key) || key === "arguments" : true;
  }

  #set(key: string, value: unknown): void {
    if (key === "name" && this.#name === "") {
      this.#name = String(value);
    } else if (this.#args.has(key)) throw new Unreadable(`${key} is given twice`);
    else this.#args.set(key, value);
  }

  /** All arguments; `arguments={…}` stands for those in it, unless the tool has an argument of that name. */
  #arguments(): Record<string, unknown> {
    const whole = this.#args.get("arguments");
    const properties = this.#tools.get(this.#name)?.parameters.properties;
    const own = isRecord(properties) && Object.hasOwn(properties, "arguments");
    if (!isRecord(whole) || own) return Object.fromEntries(this.#args);
    this.#args.delete("arguments");
    return { ...whole, ...Object.fromEntries(this.#args) };
  }

  /** Passes blanks and line ends; tells whether a line ended. */
  #blank(): boolean {
    const blank = this.#take(/\s*/y)?.[0] ?? "";
    return /[\n\r]/.test(blank);
  }

  #nextMarker(): number | undefined {
    NEXT_MARKER.lastIndex = this.#at;
    return NEXT_MARKER.exec(this.#text)?.index;
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

/** Index of the quote that closes the one at `start`; -1 when there is none. */
function quoteEnd(text: string, start: number): number {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === quote) return at;
  }
  return -1;
}

/** A quoted text with the escapes of JSON; a backslash that begins none stands for itself. */
function unquoted(inner: string): string {
  if (!inner.includes("\\")) return inner;
  return inner.replace(/\\(u[0-9a-fA-F]{4}|[\s\S])/g, (whole, escape: string) => {
    const value = parseJson(`"${whole}"`);
    return typeof value === "string" ? value : escape === "'" ? "'" : whole;
  });
}
