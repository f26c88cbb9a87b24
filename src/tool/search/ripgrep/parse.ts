import type { FoundFile, FoundLine, SearchRequest } from "../request.ts";

interface OpenFile {
  readonly path: string;
  count: number;
  readonly lines: FoundLine[];
}

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
/** One character a byte, whatever the bytes are. */
const BYTES = new TextDecoder("latin1");
const COLON = 58;
const DASH = 45;

/** Whole records of the output: their text, in which each character stands for one byte. */
interface Piece {
  readonly text: string;
  readonly bytes: Uint8Array;
  /** Each character is what the byte says, so that parts can be taken from the text. */
  readonly exact: boolean;
}

/** Reads ripgrep's output (with `--null`) piece by piece. */
export class RipgrepParser {
  total = 0;
  readonly #files = new Map<string, OpenFile>();
  readonly #request: SearchRequest;
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array();
  #current: OpenFile | undefined;

  constructor(request: SearchRequest) {
    this.#request = request;
  }

  files(): FoundFile[] {
    return [...this.#files.values()];
  }

  push(bytes: Uint8Array<ArrayBuffer>): void {
    const whole = bytes.lastIndexOf(this.#request.mode === "files" ? 0 : 10) + 1;
    if (whole > 0) {
      this.#records(joined(this.#rest, bytes.subarray(0, whole)));
      this.#rest = bytes.slice(whole);
    } else this.#rest = joined(this.#rest, bytes);
  }

  finish(): void {
    if (this.#rest.length > 0) this.#records(this.#rest);
  }

  #records(bytes: Uint8Array): void {
    const utf8 = UTF8.decode(bytes);
    const exact = utf8.length === bytes.length;
    const piece: Piece = { text: exact ? utf8 : BYTES.decode(bytes), bytes, exact };
    const separator = this.#request.mode === "files" ? "\0" : "\n";
    for (let start = 0; start < bytes.length;) {
      const found = piece.text.indexOf(separator, start);
      const end = found < 0 ? bytes.length : found;
      this.#record(piece, start, end);
      start = end + 1;
    }
  }

  #record(piece: Piece, start: number, end: number): void {
    if (this.#request.mode === "files") {
      this.#open(part(piece, start, end)).count = 1;
      this.total++;
      return;
    }
    const { text } = piece;
    const nul = text.indexOf("\0", start);
    // A separator between groups, or a remark about a binary file.
    if (nul < 0 || nul >= end) return;
    const [number, at] = digits(text, nul + 1);
    if (at === nul + 1) return;
    const file = this.#open(part(piece, start, nul));
    const mark = text.charCodeAt(at);
    if (at === end && this.#request.mode === "count") {
      file.count += number;
      this.total += number;
    } else if (mark === COLON) this.#matched(file, number, piece, [at + 1, end]);
    else if (mark === DASH) file.lines.push({ number, text: part(piece, at + 1, end) });
  }

  #matched(file: OpenFile, number: number, piece: Piece, [at, end]: [number, number]): void {
    file.count++;
    this.total++;
    if (this.#request.mode !== "content") return;
    const [column, colon] = digits(piece.text, at);
    const start = colon + 1;
    file.lines.push({
      number,
      text: part(piece, start, end),
      column: part(piece, start, Math.min(start + column - 1, end)).length,
    });
  }

  #open(path: string): OpenFile {
    if (this.#current?.path === path) return this.#current;
    let file = this.#files.get(path);
    if (!file) {
      file = { path, count: 0, lines: [] };
      this.#files.set(path, file);
    }
    return this.#current = file;
  }
}

function part({ text, bytes, exact }: Piece, start: number, end: number): string {
  return exact ? text.slice(start, end) : UTF8.decode(bytes.subarray(start, end));
}

/** The number at an index, and the index after it. */
function digits(text: string, from: number): [value: number, next: number] {
  let at = from;
  let value = 0;
  for (let digit = text.charCodeAt(at); digit >= 48 && digit <= 57; digit = text.charCodeAt(++at)) {
    value = value * 10 + digit - 48;
  }
  return [value, at];
}

function joined(left: Uint8Array<ArrayBuffer>, right: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (left.length === 0) return right;
  const both = new Uint8Array(left.length + right.length);
  both.set(left);
  both.set(right, left.length);
  return both;
}
