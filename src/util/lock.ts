import { errorMessage } from "../core/mod.ts";
import { isRecord, parseJson } from "./json.ts";
import { attempt } from "./lazy.ts";

export interface LockOwner {
  readonly pid?: number;
  /** RFC 3339. */
  readonly since?: string;
  /** The command that the process executes, such as "chat". */
  readonly program?: string;
}

export type LockResult =
  | { readonly held: true; readonly lock: FileLock }
  | { readonly held: false; readonly owner: LockOwner };

/**
 * An operating-system lock on a file next to the guarded one. The kernel releases it when the process ends.
 */
export class FileLock {
  readonly #file: Deno.FsFile;
  readonly #path: string;

  private constructor(file: Deno.FsFile, path: string) {
    this.#file = file;
    this.#path = path;
  }

  /**
   * Takes the lock at once, in the name of a program, or says who has it. Throws only when the file cannot be
   * made or locked at all.
   */
  static tryAcquire(path: string, program?: string): LockResult {
    for (;;) {
      const file = open(path);
      let locked: boolean;
      try {
        locked = file.tryLockSync(true);
      } catch (error) {
        throw refused(file, path, error);
      }
      if (!locked) {
        file.close();
        return { held: false, owner: readOwner(path) };
      }
      const lock = FileLock.#claim(file, path, program);
      if (lock) return { held: true, lock };
    }
  }

  /** The one that has a lock; undefined: none has. Takes nothing. */
  static ownerOf(path: string): LockOwner | undefined {
    const file = attempt(() => Deno.openSync(path, { read: true }));
    // Not `using`: the bundler drops it where its value is used once, in the next statement.
    const isFree = !file || (attempt(() => file.tryLockSync(false)) ?? true);
    // A program that is just being started has the file open, too: closing it does not unlock it yet.
    attempt(() => file?.unlockSync());
    file?.close();
    return isFree ? undefined : readOwner(path);
  }

  static async acquire(path: string): Promise<FileLock> {
    for (;;) {
      const file = open(path);
      try {
        await file.lock(true);
      } catch (error) {
        throw refused(file, path, error);
      }
      const lock = FileLock.#claim(file, path);
      if (lock) return lock;
    }
  }

  /** The previous holder removes the file while it has the lock: the opened one may be gone. */
  static #claim(file: Deno.FsFile, path: string, program?: string): FileLock | undefined {
    if (!isCurrent(file, path)) {
      file.close();
      return undefined;
    }
    const owner = { pid: Deno.pid, since: new Date().toISOString(), program };
    file.truncateSync(0);
    file.writeSync(new TextEncoder().encode(JSON.stringify(owner)));
    return new FileLock(file, path);
  }

  release(): void {
    // On systems that refuse to remove an open file it stays behind, unlocked.
    attempt(() => Deno.removeSync(this.#path));
    this.#file.close();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

function open(path: string): Deno.FsFile {
  return Deno.openSync(path, { read: true, write: true, create: true, mode: 0o600 });
}

function refused(file: Deno.FsFile, path: string, error: unknown): Error {
  file.close();
  return new Error(`Cannot lock ${path}: ${errorMessage(error)}`, { cause: error });
}

function isCurrent(file: Deno.FsFile, path: string): boolean {
  try {
    const opened = file.statSync();
    const present = Deno.statSync(path);
    return opened.ino === present.ino && opened.dev === present.dev;
  } catch {
    return false;
  }
}

function readOwner(path: string): LockOwner {
  try {
    const value = parseJson(Deno.readTextFileSync(path));
    if (!isRecord(value)) return {};
    const { pid, since, program } = value;
    return {
      ...(typeof pid === "number" ? { pid } : {}),
      ...(typeof since === "string" ? { since } : {}),
      ...(typeof program === "string" ? { program } : {}),
    };
  } catch {
    return {};
  }
}
