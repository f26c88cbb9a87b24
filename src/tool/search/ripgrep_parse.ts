import type { FoundFile, FoundLine, SearchRequest } from "./request.ts";

interface OpenFile {
  readonly path: string;
  count: number;
  readonly lines: FoundLine[];
}

const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });
const COLON = 58;
const DASH = 45;
const NEWLINE = 10;

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

  push(piece: Uint8Array<ArrayBuffer>): void {
    let bytes = piece;
    if (this.#rest.length > 0) {
      bytes = new Uint8Array(this.#rest.length + piece.length);
      bytes.set(this.#rest);
      bytes.set(piece, this.#rest.length);
    }
    const separator = this.#request.mode === "files" ? 0 : NEWLINE;
    let start = 0;
    for (let end = bytes.indexOf(separator); end >= 0; end = bytes.indexOf(separator, start)) {
      this.#record(bytes, start, end);
      start = end + 1;
    }
    this.#rest = bytes.slice(start);
  }

  finish(): void {
    if (this.#rest.length > 0) this.#record(this.#rest, 0, this.#rest.length);
  }

  #record(bytes: Uint8Array, start: number, end: number): void {
    if (this.#request.mode === "files") {
      this.#open(decode(bytes, start, end)).count = 1;
      this.total++;
      return;
    }
    const nul = bytes.indexOf(0, start);
    // A separator between groups, or a remark about a binary file.
    if (nul < 0 || nul >= end) return;
    let at = nul + 1;
    let number = 0;
    for (let digit = bytes[at]; digit !== undefined && digit >= 48 && digit <= 57; digit = bytes[++at]) {
      number = number * 10 + digit - 48;
    }
    if (at === nul + 1) return;
    const file = this.#open(decode(bytes, start, nul));
    if (at === end && this.#request.mode === "count") {
      file.count += number;
      this.total += number;
    } else if (bytes[at] === COLON) this.#matched(file, number, bytes.subarray(at + 1, end));
    else if (bytes[at] === DASH) file.lines.push({ number, text: decode(bytes, at + 1, end) });
  }

  #matched(file: OpenFile, number: number, bytes: Uint8Array): void {
    file.count++;
    this.total++;
    if (this.#request.mode !== "content") return;
    const colon = bytes.indexOf(COLON);
    const column = Number(decode(bytes, 0, colon));
    const text = bytes.subarray(colon + 1);
    file.lines.push({
      number,
      text: decode(text, 0, text.length),
      column: decode(text, 0, Math.min(column - 1, text.length)).length,
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

function decode(bytes: Uint8Array, start: number, end: number): string {
  return DECODER.decode(bytes.subarray(start, end));
}
