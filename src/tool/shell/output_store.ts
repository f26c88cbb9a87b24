import { CappedFile } from "./capped_file.ts";
import { cleanText, decodeOutput, stripEscapes } from "./decode_output.ts";
import { type Caps, type Cut, keepEnds, whereFullText } from "../truncation.ts";

/** Kept in memory from the beginning and from the end of an output. */
const KEPT = 64 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Takes in an output of any length in bounded memory: its beginning and end stay, and from a certain size on
 * it goes to a file, whole or, when it is longer than the file may be, again by its beginning and end.
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
    return joined([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
  }

  /** The result's text, plain and within the caps, and the file with the whole if there is one. */
  finish(caps: Caps): Cut {
    const head = joined(this.#head);
    const tail = this.#tailInOrder();
    const gap = this.totalBytes - head.length - tail.length;
    const parts = (gap > 0 ? [head, fromLineStart(tail)] : [joined([head, tail])]).map(decodeOutput);
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
    const fullText = this.totalBytes > caps.maxBytes ? this.#keepWhole(joined(this.#head)) : undefined;
    this.close();
    const where = fullText === undefined ? "" : `; in ${fullText}`;
    return { text: `[binary output, ${this.totalBytes} bytes${where}]` };
  }

  /** Sees to it that the whole output is in the file. */
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
      // No room or no right to write: the result still has both ends.
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

function joined(chunks: readonly Bytes[]): Bytes {
  const [only] = chunks;
  if (chunks.length === 1 && only) return only;
  const out = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}

/** Leaves out the rest of a line, or of a character, that began before. */
function fromLineStart(bytes: Bytes): Bytes {
  const newline = bytes.subarray(0, 4096).indexOf(10);
  if (newline >= 0) return bytes.subarray(newline + 1);
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.subarray(start);
}

/** Live text per window; a program that prints more is shown in excerpts. */
const WINDOW_MS = 200;
const WINDOW_BYTES = 32 * 1024;

/**
 * Passes output on to readers as it comes, within limits: they want to see that something happens, not each
 * of a billion bytes.
 */
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
    // An escape sequence may go on in the next chunk.
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
