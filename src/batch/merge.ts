import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import process from "node:process";
import {
  addSpending,
  errorMessage,
  message,
  NO_SPENDING,
  ReasonixError,
  type Spending,
} from "../core/mod.ts";
import { attempt } from "../util/lazy.ts";
import { FileLock } from "../util/lock.ts";
import type { TaskResult } from "./result.ts";
import type { ResultEntry, ResultsDir, RunningTask } from "./results_dir.ts";

/** Numbers of tasks: done, with another result, and those whose last attempt is no result. */
interface Counts {
  done: number;
  not: number;
  open: number;
}

type NamedTask = RunningTask & { readonly id: string };

/** Longer than a runner takes to renew its sign, and a machine to see it. */
const SILENT_MS = 5 * 60 * 1000;

/** The results of a batch as they are at a time. */
export interface BatchTotals extends Counts, Spending {
  readonly file: string;
  readonly tasks: number;
  /** Ids of the tasks without a result or an attempt; those that run are among them. */
  readonly missing: readonly string[];
  /** Tasks without a result that a runner works on, and those whose runner gave no sign for minutes. */
  readonly running: readonly NamedTask[];
  readonly silent: readonly NamedTask[];
  /** By the name of the machine. */
  readonly hosts: Readonly<Record<string, Readonly<Counts>>>;
  /** Begin of the first task and end of the last one that there is; RFC 3339. */
  readonly oldest?: string;
  readonly newest?: string;
  /** Files that are in place of results. */
  readonly damage: readonly string[];
}

/** Sums up a directory; `visit` gets each entry in the order of the file. */
export function totalsOf(dir: ResultsDir, visit: (entry: ResultEntry) => void = () => {}): BatchTotals {
  const counts: Counts = { done: 0, not: 0, open: 0 };
  const hosts: Record<string, Counts> = {};
  const missing: string[] = [];
  const damage: string[] = [];
  const [running, silent]: [NamedTask[], NamedTask[]] = [[], []];
  const signs = dir.running();
  let spending = NO_SPENDING;
  let [oldest, newest] = [Infinity, -Infinity];
  for (const entry of dir.entries()) {
    visit(entry);
    const sign = signs.get(entry.index);
    if (sign && !entry.isFinal) {
      const list = Date.now() - Date.parse(sign.seen) > SILENT_MS ? silent : running;
      list.push({ id: entry.id, ...sign });
    }
    if (entry.damage !== undefined) damage.push(entry.damage);
    if (!entry.stored) {
      missing.push(entry.id);
      continue;
    }
    const { host, started, result } = entry.stored;
    const kind = !entry.isFinal ? "open" : result.ok ? "done" : "not";
    counts[kind] += 1;
    (hosts[host] ??= { done: 0, not: 0, open: 0 })[kind] += 1;
    if (result.session !== null) {
      spending = addSpending(spending, { usage: result.usage, cost: result.cost ?? undefined });
    }
    oldest = Math.min(oldest, Date.parse(started));
    newest = Math.max(newest, Date.parse(started) + result.duration_ms);
  }
  const { file, count } = dir.manifest;
  const times = Number.isFinite(oldest) && Number.isFinite(newest)
    ? { oldest: new Date(oldest).toISOString(), newest: new Date(newest).toISOString() }
    : {};
  return { file, tasks: count, ...counts, missing, running, silent, hosts, ...spending, ...times, damage };
}

/** One file in which results are lines. Undefined: the task has no line in it. */
export type ResultFormat = (entry: ResultEntry, dir: ResultsDir) => string | undefined;

export const RESULT_FORMATS: Readonly<Record<"jsonl" | "swe-bench", ResultFormat>> = {
  jsonl: ({ stored }, { path }) => {
    if (!stored) return undefined;
    const { result } = stored;
    return JSON.stringify(result.patch ? { ...result, patch: `${path}/${result.patch}` } : result);
  },
  "swe-bench": ({ stored, isFinal }, dir) =>
    stored && isFinal ? JSON.stringify(predictionOf(stored.result, dir)) : undefined,
};

/** A prediction as the evaluation of SWE-bench reads it; an empty patch counts as an attempt that failed. */
function predictionOf({ id, model, patch }: TaskResult, { path }: ResultsDir) {
  if (patch === undefined) {
    throw new ReasonixError(message`Cannot write a prediction of ${id}: its result has no patch`, {
      exit: "usage",
      remedy: message`run the tasks with --worktree, or give them a repo, in another directory of results`,
    });
  }
  const text = patch === null ? "" : readFileSync(`${path}/${patch}`, "utf8");
  return { instance_id: id, model_name_or_path: model, model_patch: text };
}

const CHUNK = 1 << 18;

/**
 * Writes the results in the order of the file; lines come in pieces. Returns the sums. Results that are put
 * in place meanwhile are in it or not, as a whole.
 */
export function mergeResults(
  dir: ResultsDir,
  format: ResultFormat,
  write: (text: string) => void,
): BatchTotals {
  let text = "";
  const totals = totalsOf(dir, (entry) => {
    const line = format(entry, dir);
    if (line !== undefined) text += `${line}\n`;
    if (text.length < CHUNK) return;
    write(text);
    text = "";
  });
  write(text);
  return totals;
}

/** Calls `work` with a writer of a file, which gets the content when it is complete. */
export function replaceFile<T>(path: string, work: (write: (text: string) => void) => T): T {
  const unwritable = (error: unknown) =>
    new ReasonixError(message`Cannot write results to ${path}: ${errorMessage(error)}`, {
      exit: "usage",
      remedy: message`give --results another file`,
      cause: error,
    });
  const temporary = `${path}.new-${process.pid}`;
  let lock: FileLock | undefined;
  try {
    const taken = FileLock.tryAcquire(`${path}.lock`);
    if (!taken.held) {
      const who = taken.owner.pid === undefined ? "another process" : `process ${taken.owner.pid}`;
      throw new ReasonixError(message`Cannot write results to ${path}: ${who} merges into it`, {
        exit: "usage",
        remedy: message`wait for it to end, or give --results another file`,
      });
    }
    lock = taken.lock;
    const file = openSync(temporary, "w");
    try {
      const encoder = new TextEncoder();
      const value = work((text) => {
        const bytes = encoder.encode(text);
        for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
      });
      fsyncSync(file);
      renameSync(temporary, path);
      return value;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw error instanceof ReasonixError ? error : unwritable(error);
  } finally {
    attempt(() => rmSync(temporary));
    lock?.release();
  }
}
