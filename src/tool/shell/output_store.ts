import { CappedFile } from "./capped_file.ts";
import { joinBytes } from "../../util/bytes.ts";
import { decodeAs, detectEncoding, type Encoding } from "../text/encoding.ts";
import { type Caps, type Cut, keepEnds, whereFullText } from "../truncation.ts";
import { attempt } from "../../util/lazy.ts";

const KEPT = 64 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Stores an output of any length in bounded memory: its beginning and end. From a certain size on it also
 * goes to a file.
 */
export class OutputStore {
  totalBytes = 0;
  #newlines = 0;
  #head: Bytes[] = [];
  #headBytes = 0;
  #tail: Bytes | undefined;
  #tailBytes = 0;
  #file: CappedFile | undefined;
  #fileFailed = false;
  /** Bytes that the file does not hold. */
  #leftOut = 0;
  readonly #path: string;
  readonly #maxFile: number | undefined;

  /** `path` is created only when it is needed, and grows to `maxFile` bytes. */
  constructor(path: string, maxFile?: number) {
    this.#path = path;
    this.#maxFile = maxFile;
  }

  push(chunk: Bytes): void {
    this.totalBytes += chunk.length;
    for (let at = 0; at < chunk.length; at++) if (chunk[at] === 10) this.#newlines++;
    if (this.#headBytes < KEPT) {
      this.#head.push(chunk.slice());
      this.#headBytes += chunk.length;
      return;
    }
    if (!this.#file) this.#open();
    this.#write(chunk);
    this.#keepTail(chunk);
  }

  /** The tail is a ring: the newest byte overwrites the oldest. */
  #keepTail(chunk: Bytes): void {
    const ring = this.#tail ??= new Uint8Array(KEPT);
    const kept = chunk.length > KEPT ? chunk.subarray(chunk.length - KEPT) : chunk;
    const at = (this.#tailBytes + chunk.length - kept.length) % KEPT;
    const first = kept.subarray(0, KEPT - at);
    ring.set(first, at);
    ring.set(kept.subarray(first.length), 0);
    this.#tailBytes += chunk.length;
  }

  #tailInOrder(): Bytes {
    if (!this.#tail) return new Uint8Array();
    if (this.#tailBytes <= KEPT) return this.#tail.subarray(0, this.#tailBytes);
    const at = this.#tailBytes % KEPT;
    return joinBytes([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
  }

  /** The result's text, plain and within the caps, and the file with the whole if there is one. */
  finish(caps: Caps): Cut {
    const head = joinBytes(this.#head);
    const tail = this.#tailInOrder();
    const gap = this.totalBytes - head.length - tail.length;
    const parts = (gap > 0 ? [head, fromLineStart(tail)] : [joinBytes([head, tail])]).map(decodeOutput);
    if (parts[0] === undefined) return this.#binary(caps);
    const [begin = "", end = "[binary output]"] = parts.map((part) => part && cleanText(part));
    const plain = (gap > 0 ? `${begin}\n[${gap} bytes left out]\n${end}` : begin).trimEnd();
    if (keepEnds(plain, caps).truncated === undefined && gap === 0) {
      this.close();
      return { text: plain };
    }
    const fullText = this.#keepWhole(head);
    const totals = gap > 0 ? { totalBytes: this.totalBytes, totalLines: this.#newlines + 1 } : {};
    const where = fullText === undefined ? {} : { fullText, next: this.#where(fullText) };
    const cut = keepEnds(plain, caps, { ...totals, ...where });
    if (cut.truncated || gap === 0) return cut;
    return {
      text: fullText === undefined ? cut.text : `${cut.text}\n[${this.#where(fullText)}]`,
      truncated: {
        cut: "middle",
        reason: "bytes",
        ...totals,
        keptBytes: head.length + tail.length,
        ...(fullText === undefined ? {} : { fullText }),
      },
    };
  }

  #where(fullText: string): string {
    return this.#leftOut > 0
      ? `beginning and end, without ${this.#leftOut} bytes between them, are kept in ${fullText}`
      : whereFullText(fullText);
  }

  close(): void {
    this.#leftOut = this.#file?.leftOut ?? this.#leftOut;
    this.#file?.[Symbol.dispose]();
    this.#file = undefined;
  }

  #binary(caps: Caps): Cut {
    const fullText = this.totalBytes > caps.maxBytes ? this.#keepWhole(joinBytes(this.#head)) : undefined;
    this.close();
    const where = fullText === undefined ? "" : `; in ${fullText}`;
    return { text: `[binary output, ${this.totalBytes} bytes${where}]` };
  }

  #keepWhole(head: Bytes): string | undefined {
    if (!this.#file && !this.#fileFailed && head.length > 0) this.#open();
    this.close();
    return this.#fileFailed ? undefined : this.#path;
  }

  #open(): void {
    if (this.#fileFailed) return;
    try {
      Deno.mkdirSync(this.#path.replace(/[\\/][^\\/]*$/, ""), { recursive: true, mode: 0o700 });
      this.#file = new CappedFile(this.#path, this.#maxFile);
    } catch {
      // No space or no right to write: the result still has both ends.
      this.#fileFailed = true;
    }
    for (const chunk of this.#head) this.#write(chunk);
  }

  #write(chunk: Bytes): void {
    if (!this.#file || this.#file.write(chunk) === chunk.length) return;
    this.#fileFailed = true;
    this.close();
  }
}

/** Drops the rest of a line, or of a character, that began before. */
function fromLineStart(bytes: Bytes): Bytes {
  const newline = bytes.subarray(0, 4096).indexOf(10);
  if (newline >= 0) return bytes.subarray(newline + 1);
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.subarray(start);
}

const WINDOW_MS = 200;
const WINDOW_BYTES = 32 * 1024;

/** Shows live output, limited to excerpts. */
export class LiveOutput {
  #left = WINDOW_BYTES;
  #windowEnd = 0;
  #skipped = false;
  #pending = "";
  readonly #decoder = new TextDecoder();
  readonly #show: (text: string) => void;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  push(chunk: Uint8Array): void {
    const now = performance.now();
    if (now > this.#windowEnd) {
      this.#windowEnd = now + WINDOW_MS;
      this.#left = WINDOW_BYTES;
    }
    if (this.#left <= 0) {
      this.#skipped = true;
      return;
    }
    this.#left -= chunk.length;
    const text = this.#pending +
      this.#decoder.decode(chunk.length > WINDOW_BYTES ? chunk.slice(0, WINDOW_BYTES) : chunk, {
        stream: true,
      });
    // An escape sequence may continue in the next chunk.
    const open = text.lastIndexOf("\u001b");
    const keep = open >= 0 && text.length - open < 64 && stripEscapes(text.slice(open)).startsWith("\u001b")
      ? open
      : text.length;
    this.#pending = text.slice(keep);
    const plain = stripEscapes(text.slice(0, keep));
    if (plain === "") return;
    this.#show(this.#skipped ? `\n[…]\n${plain}` : plain);
    this.#skipped = false;
  }
}

const NEWLINE = 10;

/**
 * The output as text; undefined for binary data. Lines that are not UTF-8 are read in the encoding they look
 * like (GBK, Latin-1); a list separated by NUL becomes lines.
 */
export function decodeOutput(bytes: Bytes): string | undefined {
  if (bytes.includes(0)) return decodeWithNuls(bytes);
  if (hasManyControls(bytes)) return undefined;
  return asUtf8(bytes) ?? lineByLine(bytes);
}

function decodeWithNuls(bytes: Bytes): string | undefined {
  const encoding = detectEncoding(bytes.subarray(0, bytes.length & ~1), true)?.encoding;
  if (encoding?.startsWith("utf-16")) return decodeAs(bytes, encoding).replace(/^\ufeff/, "");
  for (let at = bytes.indexOf(0); at >= 0; at = bytes.indexOf(0, at + 1)) {
    if (bytes[at + 1] === 0 || at === 0) return undefined;
  }
  const lines = bytes.map((byte) => byte === 0 ? NEWLINE : byte);
  return hasManyControls(lines) ? undefined : asUtf8(lines);
}

/** Undefined when the bytes are something else; a character that is cut off at the end counts as none. */
function asUtf8(bytes: Bytes): string | undefined {
  return attempt(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true }));
}

/** Each line in UTF-8 if it is that, else in the one encoding that fits all the others. */
function lineByLine(bytes: Bytes): string | undefined {
  const lines: { readonly bytes: Bytes; readonly text: string | undefined }[] = [];
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(NEWLINE, start);
    const line = bytes.subarray(start, found < 0 ? bytes.length : found + 1);
    lines.push({ bytes: line, text: asUtf8(line) });
    start += line.length;
  }
  const odd = lines.filter((line) => line.text === undefined).map((line) => line.bytes);
  const encoding = encodingOf(odd);
  if (encoding === "utf-8" && isMostlyBroken(bytes)) return undefined;
  return lines.map((line) => line.text ?? decodeAs(line.bytes, encoding)).join("");
}

function encodingOf(lines: readonly Bytes[]): Encoding {
  const joined = joinBytes(lines);
  const found = detectEncoding(joined, false)?.encoding;
  if (found === "gb18030") return found;
  if (found !== "windows-1252" || isMostlyBroken(joined)) return "utf-8";
  // Any bytes are Latin-1; next to a whole UTF-8 character the others are more likely damage.
  return /[^\0-\x7f\ufffd]/.test(new TextDecoder().decode(joined)) ? "utf-8" : found;
}

function isMostlyBroken(bytes: Bytes): boolean {
  const text = new TextDecoder().decode(bytes);
  let broken = 0;
  for (let at = text.indexOf("\ufffd"); at >= 0; at = text.indexOf("\ufffd", at + 1)) broken++;
  return broken > text.length / 4;
}

/** Control characters that terminals and text do without; escape sequences are neither. */
function hasManyControls(bytes: Bytes): boolean {
  const sample = bytes.subarray(0, 8192);
  let odd = 0;
  for (const byte of sample) {
    if (byte < 7 || (byte > 13 && byte < 27) || (byte > 27 && byte < 32)) odd++;
  }
  return odd > 2 && odd > sample.length / 10;
}

/** CSI, OSC, DCS and other strings, charset choices, and two-character escapes (ECMA-48). */
const ESCAPES =
  // deno-lint-ignore no-control-regex
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])|\u009b[0-?]*[ -/]*[@-~]/g;
// deno-lint-ignore no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

function stripEscapes(text: string): string {
  return text.includes("\u001b") || text.includes("\u009b") ? text.replace(ESCAPES, "") : text;
}

/** Plain text without escape sequences, with lines as they looked after carriage returns and backspaces. */
export function cleanText(text: string): string {
  let out = stripEscapes(text);
  if (out.includes("\r")) {
    out = out.replaceAll("\r\n", "\n").split("\n").map(afterReturns).join("\n");
  }
  if (out.includes("\b")) out = out.split("\n").map(afterBackspaces).join("\n");
  return out.replace(CONTROLS, "");
}

/** A progress bar overwrites one line; the last state counts. */
function afterReturns(line: string): string {
  if (!line.includes("\r")) return line;
  let shown = "";
  for (const part of line.split("\r")) {
    shown = part.length >= shown.length ? part : part + shown.slice(part.length);
  }
  return shown;
}

function afterBackspaces(line: string): string {
  if (!line.includes("\b")) return line;
  const out: string[] = [];
  for (const char of line) {
    if (char === "\b") out.pop();
    else out.push(char);
  }
  return out.join("");
}
