import { errorMessage } from "../../core/mod.ts";
import { FileLock, type LockResult } from "../../util/lock.ts";
import { SessionBusyError } from "./busy.ts";
import { parentDir, type SessionPaths } from "../paths.ts";

/** Bytes handed over at once; only long lines have more. */
const BUFFER_SIZE = 1 << 16;

/**
 * The append-only file under a session log: holds the lock, hands whole lines to the kernel, and keeps lines
 * in memory while the disk refuses them.
 *
 * Contract: `write` never throws; what it could not store is `backlog`, and is tried again by `flush`.
 */
export class LogFile {
  readonly paths: SessionPaths;
  #file: Deno.FsFile | undefined;
  #lock: FileLock | undefined;
  #size: number;
  #backlog: Iterable<string>[] = [];
  #problem: string | undefined;
  readonly #encoder = new TextEncoder();
  readonly #buffer = new Uint8Array(BUFFER_SIZE);

  private constructor(paths: SessionPaths, size: number) {
    this.paths = paths;
    this.#size = size;
  }

  /** A file that is made when the first line is written. */
  static created(paths: SessionPaths): LogFile {
    return new LogFile(paths, 0);
  }

  /**
   * Locks an existing file for appending. Throws SessionBusyError, or what the system says when there is no
   * such file.
   */
  static existing(paths: SessionPaths): LogFile {
    const log = new LogFile(paths, Deno.statSync(paths.path).size);
    log.#takeLock();
    return log;
  }

  /** The reason lines are only in memory, or undefined when all is on disk. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get backlog(): number {
    return this.#backlog.length;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Drops what follows the last complete line; where that is refused, a line feed keeps it apart from what
   * comes.
   */
  cut(end: number): void {
    try {
      Deno.truncateSync(this.paths.path, end);
      this.#size = end;
    } catch {
      this.write(["\n"]);
    }
  }

  /** Takes a line in pieces, which it may iterate again later. */
  write(line: Iterable<string>): void {
    if (this.#backlog.length > 0) {
      this.#backlog.push(line);
      return;
    }
    try {
      this.#writeLine(line);
    } catch (error) {
      this.#problem = errorMessage(error);
      this.#backlog.push(line);
    }
  }

  /** Tries to store what is only in memory. */
  flush(): void {
    if (this.#backlog.length === 0) return;
    let stored = 0;
    try {
      for (const line of this.#backlog) {
        this.#writeLine(line);
        stored += 1;
      }
      this.#problem = undefined;
    } catch (error) {
      this.#problem = errorMessage(error);
    }
    this.#backlog.splice(0, stored);
  }

  /** Waits until the disk has what was written, so that it survives a power loss. */
  async sync(): Promise<void> {
    try {
      await this.#file?.syncData();
    } catch (error) {
      this.#problem = errorMessage(error);
    }
  }

  close(): void {
    this.flush();
    this.#file?.close();
    this.#file = undefined;
    this.#lock?.release();
    this.#lock = undefined;
  }

  #writeLine(line: Iterable<string>): void {
    const file = this.#file ??= this.#open();
    const buffer = this.#buffer;
    let filled = 0;
    let written = 0;
    const empty = () => {
      for (let at = 0; at < filled;) {
        const count = file.writeSync(buffer.subarray(at, filled));
        at += count;
        written += count;
      }
      filled = 0;
    };
    try {
      for (const text of line) {
        for (let at = 0; at < text.length;) {
          const done = this.#encoder.encodeInto(text.slice(at), buffer.subarray(filled));
          at += done.read;
          filled += done.written;
          if (at < text.length) empty();
        }
      }
      empty();
    } catch (error) {
      // Half a line must not stay in front of the next one.
      if (written > 0) Deno.truncateSync(this.paths.path, this.#size);
      throw error;
    }
    this.#size += written;
  }

  #open(): Deno.FsFile {
    const { path } = this.paths;
    if (!this.#lock) {
      Deno.mkdirSync(parentDir(path), { recursive: true, mode: 0o700 });
      this.#takeLock();
    }
    return Deno.openSync(path, { read: true, append: true, create: true, mode: 0o600 });
  }

  #takeLock(): void {
    let result: LockResult;
    try {
      result = FileLock.tryAcquire(this.paths.lock);
    } catch {
      // Read-only directory or a file system without locks: writing itself will tell whether the session can
      // be kept.
      return;
    }
    if (!result.held) throw new SessionBusyError(this.paths.id, result.owner);
    this.#lock = result.lock;
  }
}
