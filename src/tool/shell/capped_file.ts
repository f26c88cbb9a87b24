import { writeFully } from "../../util/atomic_write.ts";
import { readFully } from "../../util/file_bytes.ts";
type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes that one output may take on the disk: a runaway command must not fill it. */
const MAX_OUTPUT_FILE = 64 * 1024 * 1024;

const BLOCK = 1024 * 1024;

/** The line between beginning and end; of constant length, so that it can be overwritten in place. */
const gapLine = (leftOut: number): Bytes =>
  new TextEncoder().encode(`\n[${String(leftOut).padStart(16)} bytes left out]\n`);

/**
 * A file that keeps the beginning and the end of a stream within a limit.
 *
 * Contract: what is in the file is in order at any time. When it is full, part of its middle goes, and a line
 * that counts what was left out takes its place. Positions are those of the stream.
 */
export class CappedFile implements Disposable {
  total = 0;
  #size = 0;
  #leftOut = 0;
  readonly #path: string;
  readonly #file: Deno.FsFile;
  readonly #limit: number;
  readonly #head: number;

  constructor(path: string, limit = MAX_OUTPUT_FILE) {
    this.#path = path;
    this.#file = Deno.openSync(path, { read: true, write: true, create: true, truncate: true, mode: 0o600 });
    this.#limit = limit;
    this.#head = Math.floor(limit / 4);
  }

  get leftOut(): number {
    return this.#leftOut;
  }

  /** Writes a chunk; returns the number of bytes that the disk accepted. */
  write(chunk: Bytes): number {
    let at = 0;
    try {
      while (at < chunk.length) {
        if (this.#size >= this.#limit) this.#dropMiddle();
        const written = this.#file.writeSync(chunk.subarray(at, at + this.#limit - this.#size));
        at += written;
        this.#size += written;
        this.total += written;
      }
    } catch {
      // A full disk must not end the command: its output is lost, its end is still reported.
    }
    return at;
  }

  /** Bytes from a position on, or from the next one that is kept; after the end as well. */
  read(from: number): { readonly from: number; readonly bytes: Bytes } {
    const tail = this.#leftOut > 0 ? this.#head + this.#leftOut : 0;
    const start = Math.max(from, tail);
    const bytes = new Uint8Array(Math.max(0, this.total - start));
    if (bytes.length === 0) return { from: start, bytes };
    using file = Deno.openSync(this.#path);
    file.seekSync(start - this.#shift, Deno.SeekMode.Start);
    return { from: start, bytes: readFully(file, bytes) };
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }

  get #shift(): number {
    return this.#leftOut > 0 ? this.#leftOut - gapLine(0).length : 0;
  }

  #dropMiddle(): void {
    const shift = this.#shift;
    const kept = Math.floor((this.#limit - this.#head - gapLine(0).length) / 2);
    const block = new Uint8Array(Math.min(BLOCK, kept));
    let to = this.#head + gapLine(0).length;
    for (let from = this.#size - kept; from < this.#size; from += block.length) {
      this.#file.seekSync(from, Deno.SeekMode.Start);
      const moved = readFully(this.#file, block);
      this.#file.seekSync(to, Deno.SeekMode.Start);
      writeFully(this.#file, moved);
      to += moved.length;
    }
    this.#leftOut = this.#size + shift - kept - this.#head;
    this.#file.seekSync(this.#head, Deno.SeekMode.Start);
    writeFully(this.#file, gapLine(this.#leftOut));
    this.#file.truncateSync(to);
    this.#file.seekSync(to, Deno.SeekMode.Start);
    this.#size = to;
  }
}
