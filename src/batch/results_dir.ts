import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import process from "node:process";
import { errorMessage, type LocalizedMessage, message, ReasonixError, usageError } from "../core/mod.ts";
import { exists, isDirectory, sortedEntries } from "../path/probe.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";
import { canonicalJson, isRecord, parseJson, recordOf } from "../util/json.ts";
import { attempt } from "../util/lazy.ts";
import { isTaskResult, type TaskResult } from "./result.ts";
import type { BatchTask } from "./task.ts";
import { sha256 } from "../util/digest.ts";

/** Names the batch that a directory of results belongs to; every runner of the batch would write the same. */
export interface BatchManifest {
  readonly v: 1;
  /** Name of the tasks file, without its directory. */
  readonly file: string;
  /** Of the tasks, the model and the work trees: results of anything else are those of another batch. */
  readonly digest: string;
  readonly count: number;
  readonly ids: readonly string[];
  /** Directory of each result in `tasks`, in the order of the file. */
  readonly names: readonly string[];
}

/** The figures of the process that ran a task, while it did. */
export interface RunnerFigures {
  /** Of the process and those below it. */
  readonly peak_memory_bytes: number;
  readonly cpu_seconds: number;
  /** Tasks that it ran at the same time, at most. */
  readonly jobs: number;
}

/** The circumstances of a run of a task. */
export interface RunFacts {
  /** RFC 3339. */
  readonly started: string;
  /** Commit that its work tree began with. */
  readonly base?: string;
  readonly repo?: string;
  /** Absent where the system has none. */
  readonly runner?: RunnerFigures;
  /** Absent: as configured. */
  readonly confinement?: "container";
}

/** The content of a result.json. */
export interface StoredResult extends RunFacts {
  readonly v: 1;
  /** Position in the tasks file, from 0. */
  readonly index: number;
  readonly digest: string;
  readonly host: string;
  /** Its `patch` is relative to the directory of results. */
  readonly result: TaskResult;
}

export interface ResultEntry {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  /** Its result, or else its last attempt. */
  readonly stored?: StoredResult;
  /** Reports whether that is a result: no runner does the task again. */
  readonly isFinal: boolean;
  /** A file in place of the result that is none, and what it is. */
  readonly damage?: string;
}

/** A task that a runner works on, as the file says that the runner renews while it lives. RFC 3339. */
export interface RunningTask {
  readonly host: string;
  readonly started: string;
  /** When the runner last renewed the file, by the clock of the file server. */
  readonly seen: string;
}

/** Files of a result, to be copied; absent: there are none. */
interface ResultFiles {
  readonly patch?: string | undefined;
  readonly session?: string | undefined;
}

const MANIFEST = "batch.json";
const RESULT = "result.json";
const PATCH = "changes.patch";
const SESSION = "session.jsonl";
/** Begins the names of files that are being written: for moments, so that old ones are of killed runners. */
const UNFINISHED = ".new-";
const ABANDONED_MS = 24 * 60 * 60 * 1000;
/** Files of runners, which are of killed ones when they are old. */
const RUNNING = "running";
const RENEW_MS = 60_000;

export function manifestOf(
  { tasks, text, file, model = "", worktree = false }: {
    readonly tasks: readonly BatchTask[];
    /** The content of the file. */
    readonly text: string;
    readonly file: string;
    readonly model?: string | undefined;
    readonly worktree?: boolean | undefined;
  },
): BatchManifest {
  // Tasks as read have directories of this machine.
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return {
    v: 1,
    file: file.slice(file.lastIndexOf("/") + 1),
    digest: sha256(canonicalJson([{ model, worktree }, lines])),
    count: tasks.length,
    ids: tasks.map(({ id }) => id),
    names: taskNames(tasks),
  };
}

/** A name of each task that file systems can have; two that they might take for the same get a suffix. */
export function taskNames(tasks: readonly Pick<BatchTask, "id">[]): string[] {
  const counts = new Map<string, number>();
  for (const { id } of tasks) counts.set(id.toLowerCase(), (counts.get(id.toLowerCase()) ?? 0) + 1);
  return tasks.map(({ id }) => {
    const name = id.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^\./, "_").slice(0, 80);
    return name === id && counts.get(id.toLowerCase()) === 1 ? id : `${name}-${sha256(id).slice(0, 6)}`;
  });
}

/** Names in a directory of results; the last two are those of scripts of engines. */
const KNOWN = /^(?:\.gitignore|\.new-.*|batch\.json|failed|running|tasks|log|parallel\.tsv)$/;

/** Keeps results out of work trees that are made of the repository around them, and out of commits. */
function hideFromGit(directory: string): void {
  const names = sortedEntries(directory).map(({ name }) => name);
  if (names.includes(".gitignore") || !names.every((name) => KNOWN.test(name))) return;
  writeFileSync(`${directory}/.gitignore`, "*\n");
}

/**
 * A directory of results that runners on many machines write into without a server. A result is put in place
 * by one rename of a finished directory, which fails where one is already: no lock, so NFS will do.
 */
export class ResultsDir {
  readonly path: string;
  readonly manifest: BatchManifest;

  private constructor(path: string, manifest: BatchManifest) {
    this.path = path;
    this.manifest = manifest;
  }

  /**
   * Opens a directory for a runner, and makes it. Throws a ReasonixError (usage) where it cannot be written,
   * or has the results of another batch: before a task is begun.
   */
  static open(path: string, manifest: BatchManifest): ResultsDir {
    const unusable = (reason: string) =>
      cannotUse(path, reason, message`give --results-dir another directory`);
    try {
      for (const each of ["tasks", "failed", RUNNING]) mkdirSync(`${path}/${each}`, { recursive: true });
      removeAbandoned(path, UNFINISHED);
      removeAbandoned(`${path}/${RUNNING}`, "");
      const real = realpathSync(path);
      hideFromGit(real);
      if (!exists(`${real}/${MANIFEST}`)) writeOnce(real, manifest);
      else {
        const probe = unfinished(real);
        writeSynced(probe, new Uint8Array(4096));
        rmSync(probe);
      }
      const present = readManifest(real);
      if (present.digest === manifest.digest) return new ResultsDir(real, present);
      throw unusable(
        `it has the results of another batch (${present.file}, ${present.count} tasks), another --model or ` +
          "another --worktree",
      );
    } catch (error) {
      throw error instanceof ReasonixError ? error : unusable(reasonOf(error));
    }
  }

  /** Opens a directory to read it. Throws a ReasonixError (usage) for one that has no results. */
  static read(path: string): ResultsDir {
    const real = attempt(() => realpathSync(path));
    const remedy = message`give the directory of run --tasks FILE --results-dir DIR`;
    if (real === undefined) throw cannotUse(path, "it does not exist", remedy);
    if (!isDirectory(real)) throw cannotUse(path, "it is not a directory", remedy);
    if (!exists(`${real}/${MANIFEST}`)) throw cannotUse(path, `it has no ${MANIFEST}`, remedy);
    return new ResultsDir(real, readManifest(real));
  }

  entry(index: number): ResultEntry {
    const { ids, names } = this.manifest;
    const [id = "", name = ""] = [ids[index], names[index]];
    const read = this.#read(index, `tasks/${name}/${RESULT}`);
    const shared = { index, id, name };
    if (typeof read === "object") return { ...shared, stored: read, isFinal: true };
    const failed = this.#read(index, `failed/${name}.json`);
    return {
      ...shared,
      isFinal: false,
      ...(typeof failed === "object" ? { stored: failed } : {}),
      ...(read === undefined ? {} : { damage: read }),
    };
  }

  /** Every task of the file, in its order. */
  *entries(): Generator<ResultEntry> {
    for (let index = 0; index < this.manifest.count; index++) yield this.entry(index);
  }

  /**
   * Puts a result in place, whole and only once; false: that of another runner was first, and stays. Throws a
   * ReasonixError when it cannot be written; nothing is left then.
   */
  put(index: number, run: RunFacts, result: TaskResult, files: ResultFiles): boolean {
    const name = this.manifest.names[index] ?? "";
    const target = `${this.path}/tasks/${name}`;
    const directory = unfinished(this.path);
    try {
      mkdirSync(directory);
      for (const [to, from] of [[PATCH, files.patch], [SESSION, files.session]] as const) {
        if (from !== undefined) writeSynced(`${directory}/${to}`, readFileSync(from));
      }
      const patch = files.patch === undefined ? {} : { patch: `tasks/${name}/${PATCH}` };
      const text = this.#text(index, run, { ...result, ...patch });
      writeSynced(`${directory}/${RESULT}`, new TextEncoder().encode(text));
      return moveOnce(directory, target, text);
    } catch (error) {
      throw new ReasonixError(
        message`Cannot store the result of ${result.id} in ${this.path}: ${reasonOf(error)}`,
        {
          remedy:
            message`free space there or make it writable, and run the command again; nothing is repeated`,
          cause: error,
        },
      );
    } finally {
      attempt(() => rmSync(directory, { recursive: true }));
    }
  }

  /** Writes down an attempt after which the task is still open, in place of the one before. */
  async fail(index: number, run: RunFacts, result: TaskResult): Promise<void> {
    const name = this.manifest.names[index] ?? "";
    // Its patch is in the home of this machine.
    const { patch: _patch, ...shared } = result;
    await writeFileAtomic(`${this.path}/failed/${name}.json`, this.#text(index, run, shared));
  }

  #text(index: number, run: RunFacts, result: TaskResult): string {
    const { digest } = this.manifest;
    const stored: StoredResult = { v: 1, index, digest, host: hostname(), ...run, result };
    return `${JSON.stringify(stored)}\n`;
  }

  /** The tasks that runners work on by their files, which those of killed runners keep; by their index. */
  running(): Map<number, RunningTask> {
    const tasks = new Map<number, RunningTask>();
    for (const { name } of sortedEntries(`${this.path}/${RUNNING}`)) {
      const path = `${this.path}/${RUNNING}/${name}`;
      const sign = recordOf(parseJson(attempt(() => readFileSync(path, "utf8")) ?? ""));
      const seen = attempt(() => statSync(path).mtime.toISOString());
      if (sign.digest !== this.manifest.digest || seen === undefined || !Array.isArray(sign.tasks)) continue;
      for (const { index, started } of sign.tasks.map(recordOf)) {
        if (typeof index !== "number" || typeof started !== "string" || !(Date.parse(started) > 0)) continue;
        const before = tasks.get(index);
        if (!before || before.seen < seen) tasks.set(index, { host: String(sign.host), started, seen });
      }
    }
    return tasks;
  }

  /** The result in a file; a text says why there is a file without one. */
  #read(index: number, file: string): StoredResult | string | undefined {
    const path = `${this.path}/${file}`;
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") return `${path}: ${reasonOf(error)}`;
      const directory = path.slice(0, -RESULT.length - 1);
      if (!file.endsWith(`/${RESULT}`) || sortedEntries(directory).length === 0) return undefined;
      // A runner may have put it in place in the meantime.
      return exists(path) ? this.#read(index, file) : `${directory} has no ${RESULT}`;
    }
    const value = parseJson(text);
    if (!isStoredResult(value)) return `${path} is half a result`;
    const { digest, ids } = this.manifest;
    const isOurs = value.digest === digest && value.result.id === ids[index];
    return isOurs ? value : `${path} is the result of another task`;
  }
}

/** The file by which a runner says which tasks it works on. Without it nothing fails but the status. */
export class RunnerSign implements Disposable {
  readonly #dir: ResultsDir;
  readonly #file: string;
  readonly #tasks = new Map<number, string>();
  readonly #timer = setInterval(() => this.#write(), RENEW_MS);

  constructor(dir: ResultsDir) {
    this.#dir = dir;
    this.#file = `${dir.path}/${RUNNING}/${runnerName()}.json`;
  }

  begin(index: number): void {
    this.#tasks.set(index, new Date().toISOString());
    this.#write();
  }

  end(index: number): void {
    this.#tasks.delete(index);
    this.#write();
  }

  #write(): void {
    const { path, manifest: { digest } } = this.#dir;
    const tasks = [...this.#tasks].map(([index, started]) => ({ index, started }));
    attempt(() => {
      const file = unfinished(path);
      writeFileSync(file, `${JSON.stringify({ v: 1, digest, host: hostname(), tasks })}\n`);
      renameSync(file, this.#file);
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    attempt(() => rmSync(this.#file));
  }
}

function isStoredResult(value: unknown): value is StoredResult {
  return isRecord(value) && typeof value.started === "string" && isTaskResult(value.result);
}

function isManifest(value: unknown): value is BatchManifest {
  return isRecord(value) && value.v === 1 && Array.isArray(value.ids) && Array.isArray(value.names);
}

function cannotUse(path: string, reason: string, remedy: LocalizedMessage): ReasonixError {
  return usageError(message`Cannot use ${path} for results: ${reason}`, remedy);
}

/** The reason of a system error, without the name of the call and its files. */
function reasonOf(error: unknown): string {
  return (errorMessage(error).split("\n", 1)[0] ?? "").replace(
    /^E[A-Z]+: | \(os error \d+\).*$|, \w+(?: '.*)?$/g,
    "",
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function unfinished(path: string): string {
  return `${path}/${UNFINISHED}${runnerName()}`;
}

/** A name that no other runner has, on this machine or on another one. */
function runnerName(): string {
  const host = hostname().replace(/[^\w.-]/g, "_");
  return `${host}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`;
}

function removeAbandoned(path: string, prefix: string): void {
  for (const { name } of sortedEntries(path)) {
    if (!name.startsWith(prefix)) continue;
    const since = attempt(() => statSync(`${path}/${name}`).mtimeMs) ?? Infinity;
    if (Date.now() - since > ABANDONED_MS) attempt(() => rmSync(`${path}/${name}`, { recursive: true }));
  }
}

/** Writes a new file; a disk or server that has no space for it says so before this returns. */
function writeSynced(path: string, bytes: Uint8Array): void {
  const file = openSync(path, "wx");
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The first one to link the manifest wins; all have the same. */
function writeOnce(path: string, manifest: BatchManifest): void {
  const file = unfinished(path);
  const target = `${path}/${MANIFEST}`;
  writeSynced(file, new TextEncoder().encode(`${JSON.stringify(manifest)}\n`));
  try {
    linkSync(file, target);
  } catch (error) {
    // Not every file system has links.
    if (codeOf(error) !== "EEXIST" && !exists(target)) renameSync(file, target);
  } finally {
    attempt(() => rmSync(file));
  }
}

function readManifest(path: string): BatchManifest {
  const file = `${path}/${MANIFEST}`;
  const value = parseJson(attempt(() => readFileSync(file, "utf8")) ?? "");
  if (isManifest(value)) return value;
  throw usageError(
    message`Cannot use ${path} for results: ${file} is damaged or of another version`,
    message`remove that file, and run a runner of the batch again`,
  );
}

/**
 * Renames a directory; false where the target has content already. A server may get the request twice and
 * refuse the second: the target says whether the first was done.
 */
function moveOnce(directory: string, target: string, text: string): boolean {
  try {
    renameSync(directory, target);
    return true;
  } catch (error) {
    const present = attempt(() => readFileSync(`${target}/${RESULT}`, "utf8"));
    if (present === text) return true;
    if (present === undefined) throw error;
    return false;
  }
}
