import type { KeyPath } from "../problem.ts";

/** Offsets of a key and of its value in the text. For a table both are those of its header. */
interface Span {
  readonly key: number;
  readonly value: number;
}

const SEPARATOR = "\u0000";
const BARE_KEY = /[A-Za-z0-9_-]/;

/**
 * Finds where keys and values stand in a TOML text. Only problems need this, so it is no part of parsing: the
 * text has been accepted by the parser, and this walk only has to agree with it on where things begin.
 */
export class Positions {
  readonly #text: string;
  readonly #spans = new Map<string, Span>();
  /** Number of entries of each array of tables so far. */
  readonly #entries = new Map<string, number>();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#document();
  }

  /**
   * 1-based line and column, counted in UTF-16 units; the nearest enclosing key when the path itself is not
   * written.
   */
  find(path: KeyPath, at: "key" | "value"): { line: number; column: number } | undefined {
    for (let length = path.length; length > 0; length--) {
      const span = this.#spans.get(path.slice(0, length).join(SEPARATOR));
      if (span) return lineAndColumn(this.#text, span[length === path.length ? at : "key"]);
    }
    return undefined;
  }

  #document(): void {
    let table: KeyPath = [];
    while (this.#skipSpace(), this.#at < this.#text.length) {
      table = this.#peek() === "[" ? this.#header() : (this.#pair(table), table);
    }
  }

  #header(): KeyPath {
    const start = this.#at;
    const isArray = this.#text.startsWith("[[", this.#at);
    this.#at += isArray ? 2 : 1;
    const keys = this.#keys();
    this.#at += isArray ? 2 : 1;
    const parent = this.#resolve(keys.slice(0, -1));
    const path = [...parent, ...keys.slice(-1)];
    if (!isArray) return this.#mark(this.#resolve(keys), start, start);
    const count = this.#entries.get(path.join(SEPARATOR)) ?? 0;
    this.#entries.set(path.join(SEPARATOR), count + 1);
    if (count === 0) this.#mark(path, start, start);
    return this.#mark([...path, count], start, start);
  }

  /** `[a.b]` after `[[a]]` means the last entry of `a`. */
  #resolve(keys: readonly string[]): KeyPath {
    const path: (string | number)[] = [];
    for (const key of keys) {
      path.push(key);
      const count = this.#entries.get(path.join(SEPARATOR));
      if (count !== undefined) path.push(count - 1);
    }
    return path;
  }

  #pair(table: KeyPath): void {
    const start = this.#at;
    const path = [...table, ...this.#keys()];
    this.#at++;
    this.#skipSpace();
    this.#mark(path, start, this.#at);
    this.#value(path);
  }

  #value(path: KeyPath): void {
    const first = this.#peek();
    const start = this.#at;
    if (first === '"' || first === "'") this.#string();
    else if (first === "[") this.#array(path);
    else if (first === "{") this.#inlineTable(path);
    else this.#skipWhile((char) => !/[,\]}#\n\r]/.test(char));
    // Only a text that the parser refuses has no value here; the walk must end all the same.
    if (this.#at === start) this.#at++;
  }

  #array(path: KeyPath): void {
    this.#at++;
    for (let index = 0; this.#more("]"); index++) {
      const item = [...path, index];
      this.#mark(item, this.#at, this.#at);
      this.#value(item);
    }
  }

  #inlineTable(path: KeyPath): void {
    this.#at++;
    while (this.#more("}")) this.#pair(path);
  }

  /** Reports whether another item follows; steps over commas, or over the closing bracket. */
  #more(close: string): boolean {
    this.#skipSpace();
    while (this.#peek() === ",") {
      this.#at++;
      this.#skipSpace();
    }
    if (this.#at >= this.#text.length) return false;
    if (this.#peek() !== close) return true;
    this.#at++;
    return false;
  }

  #keys(): string[] {
    const keys: string[] = [];
    do {
      this.#skipWhile((char) => char === " " || char === "\t" || char === ".");
      const start = this.#at;
      const quote = this.#peek();
      if (quote === '"' || quote === "'") {
        this.#string();
        const raw = this.#text.slice(start + 1, this.#at - 1);
        keys.push(quote === '"' ? unescape(raw) : raw);
      } else {
        this.#skipWhile((char) => BARE_KEY.test(char));
        if (this.#at === start) this.#at++;
        keys.push(this.#text.slice(start, this.#at));
      }
      this.#skipWhile((char) => char === " " || char === "\t");
    } while (this.#peek() === ".");
    return keys;
  }

  #string(): void {
    const quote = this.#text[this.#at] ?? "";
    const long = this.#text.startsWith(quote.repeat(3), this.#at);
    const end = long ? quote.repeat(3) : quote;
    this.#at += end.length;
    while (this.#at < this.#text.length && !this.#text.startsWith(end, this.#at)) {
      this.#at += quote === '"' && this.#peek() === "\\" ? 2 : 1;
    }
    this.#at += end.length;
    // A long string may end in up to two quotes of its own.
    while (long && this.#peek() === quote) this.#at++;
  }

  #skipSpace(): void {
    while (this.#at < this.#text.length) {
      if (this.#peek() === "#") this.#skipWhile((char) => char !== "\n");
      else if (/[\s\uFEFF]/.test(this.#peek())) this.#at++;
      else return;
    }
  }

  #skipWhile(test: (char: string) => boolean): void {
    while (this.#at < this.#text.length && test(this.#peek())) this.#at++;
  }

  #peek(): string {
    return this.#text[this.#at] ?? "";
  }

  #mark(path: KeyPath, key: number, value: number): KeyPath {
    // `a.b = 1` writes the tables on its way, too; the first place counts.
    for (let length = 1; length < path.length; length++) {
      const parent = path.slice(0, length).join(SEPARATOR);
      if (!this.#spans.has(parent)) this.#spans.set(parent, { key, value: key });
    }
    const name = path.join(SEPARATOR);
    if (!this.#spans.has(name)) this.#spans.set(name, { key, value });
    return path;
  }
}

function unescape(raw: string): string {
  try {
    return String(JSON.parse(`"${raw}"`));
  } catch {
    // An escape that JSON does not know: such a key is not one of ours.
    return raw;
  }
}

function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  // A byte order mark is no column that anybody sees.
  const shift = lineStart === 0 && text.startsWith("\uFEFF") ? 0 : 1;
  return { line: before.split("\n").length, column: offset - lineStart + shift };
}
