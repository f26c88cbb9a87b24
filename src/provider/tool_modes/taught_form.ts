import type { Prefix, ToolCall, ToolSchema } from "../../core/mod.ts";
import { isRecord, parseJson, recordOf } from "../../util/json.ts";
import template from "./addendum.md" with { type: "text" };

export interface TextCall {
  readonly name: string;
  /** A JSON object; of a call that cannot be read the text of the call itself. */
  readonly arguments: string;
}

/** Lines that mean something, and lines that only look so because backslashes are before them. */
const MARKER_LINE = /^([ \t]*)(?=\\*%%(?:CMD|BLOCK|END|RESULT))/gim;
const ESCAPED_LINE = /^([ \t]*)\\(?=\\*%%(?:CMD|BLOCK|END|RESULT))/gim;
const PLAIN_KEY = /^[A-Za-z_][\w.-]*$/;
/** Longer texts are easier to write, and to read, in a block. */
const LONGEST_ATTRIBUTE = 100;

/** The text with a backslash before each line that would be a marker. */
export function escapeMarkers(text: string): string {
  return text.includes("%%") ? text.replace(MARKER_LINE, "$1\\") : text;
}

function unescapeMarkers(text: string): string {
  return text.includes("\\") ? text.replace(ESCAPED_LINE, "$1") : text;
}

/** The call in the taught form, always the same text; a call that could not be read is its own text. */
export function writeCall({ name, arguments: text }: Pick<ToolCall, "name" | "arguments">): string {
  const args = parseJson(text);
  if (!isRecord(args)) return text;
  const head = `%%CMD%% name=${JSON.stringify(name)}`;
  if (!Object.keys(args).every((key) => PLAIN_KEY.test(key))) {
    return `${head} arguments=${JSON.stringify(args)}\n%%END%%`;
  }
  const entries = Object.entries(args);
  const inBlock = (value: unknown) => typeof value === "string" && needsBlock(value);
  const attributes = entries.filter(([, value]) => !inBlock(value))
    .map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  const blocks = entries.filter(([, value]) => inBlock(value))
    .map(([key, value]) => `%%BLOCK:${key}%%\n${escapeMarkers(String(value))}\n`);
  return `${head}${attributes.join("")}\n${blocks.join("")}%%END%%`;
}

function needsBlock(value: string): boolean {
  return value.length > LONGEST_ATTRIBUTE || /["\\\p{Cc}\u2028\u2029]/u.test(value);
}

/** A result as the model reads it. Contract: no text in it can end it or begin another one. */
export function writeResult(number: number, name: string, content: string): string {
  return `%%RESULT%% ${number} name=${JSON.stringify(name)}\n${escapeMarkers(content)}\n%%END%%`;
}

/** An example of a call of the tool: its first text on the first line, further ones in blocks. */
export function exampleCall({ name, parameters }: ToolSchema): string {
  const [first, ...more] = requiredNames(parameters);
  const properties = recordOf(parameters.properties);
  const isText = (key: string) => {
    const property = properties[key];
    return isRecord(property) && property.type === "string" && !Array.isArray(property.enum);
  };
  const attribute = (key: string) => ` ${key}=${isText(key) ? '"…"' : "…"}`;
  const heads = [...(first === undefined ? [] : [first]), ...more.filter((key) => !isText(key))];
  const blocks = more.filter(isText).map((key) => `%%BLOCK:${key}%%\n…\n`);
  return `%%CMD%% name=${JSON.stringify(name)}${heads.map(attribute).join("")}\n${blocks.join("")}%%END%%`;
}

export function requiredNames(parameters: ToolSchema["parameters"]): readonly string[] {
  return Array.isArray(parameters.required)
    ? parameters.required.filter((key): key is string => typeof key === "string")
    : [];
}

/**
 * The prefix of a conversation whose system prompt teaches the model how to call its tools.
 *
 * Contract: the same prefix gives the same bytes.
 */
export function taughtPrefix({ system, tools }: Prefix): Prefix {
  if (tools.length === 0) return { system, tools };
  const [first] = tools;
  const sample = tools.find(({ parameters }) => requiredNames(parameters).length > 1) ?? first;
  const addendum = template.trimEnd()
    .replace("{{example}}", () => sample ? exampleCall(sample) : "")
    .replace("{{tools}}", () => tools.map(toolText).join("\n\n"));
  return { system: `${system}${system === "" ? "" : "\n"}${addendum}\n`, tools: [] };
}

function toolText({ name, description, parameters }: ToolSchema): string {
  const properties = isRecord(parameters.properties) ? Object.entries(parameters.properties) : [];
  const required = requiredNames(parameters);
  const lines = properties.map(([key, property]) => argumentLine(key, property, required.includes(key)));
  return [`## ${name}`, description.trim(), ...(lines.length > 0 ? [lines.join("\n")] : [])]
    .filter((part) => part !== "").join("\n");
}

function argumentLine(key: string, property: unknown, required: boolean): string {
  const { description, ...schema } = recordOf(property);
  const facts = `${typeText(schema)}${required ? ", required" : ""}`;
  const about = typeof description === "string" ? `: ${description.trim().replace(/\s*\n\s*/g, " ")}` : "";
  return `- ${key} (${facts})${about}`;
}

/** A type in words where it is simple, else as JSON Schema. */
function typeText(schema: Readonly<Record<string, unknown>>): string {
  const { type, enum: values, default: usual, minimum, maximum, ...more } = schema;
  const bounds = [
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined ? [] : [`at most ${maximum}`]),
    ...(usual === undefined ? [] : [`default ${JSON.stringify(usual)}`]),
  ];
  if (typeof type !== "string" || Object.keys(more).length > 0) return `JSON: ${JSON.stringify(schema)}`;
  const what = Array.isArray(values)
    ? `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`
    : type;
  return [what, ...bounds].join(", ");
}

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

/** Thrown inside: the reason why a call cannot be read; without one its end is missing. */
class Unreadable {
  constructor(readonly problem?: string) {}
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
  #hasBlocks = false;

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
    return { state: "read", length, call, blocks: this.#hasBlocks };
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
      this.#hasBlocks = true;
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
    return (this.#take(END_OF_LINE) ?? this.#take(LINE_END)) !== undefined;
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

  /** All arguments; `arguments={…}` is replaced by its entries, unless the tool has such an argument. */
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

/** A quoted text with the escapes of JSON; a backslash that begins none is kept. */
function unquoted(inner: string): string {
  return inner.replace(/\\(u[0-9a-fA-F]{4}|[\s\S])/g, (whole, escape: string) => {
    const value = parseJson(`"${whole}"`);
    return typeof value === "string" ? value : escape === "'" ? "'" : whole;
  });
}
