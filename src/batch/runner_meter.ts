import process from "node:process";
import { lazy } from "../util/lazy.ts";
import { runProgram } from "../util/process.ts";
import type { RunnerFigures } from "./results_dir.ts";

const SAMPLE_MS = 1000;
/** The unit of processor times in /proc is fixed for programs. */
const TICKS_PER_SECOND = 100;
/** The runtime reads /proc only with all permissions. */
const READ = ["sh", "-c", "exec cat /proc/[0-9]*/stat"];
const PAGE_SIZE = ["getconf", "PAGESIZE"];

interface Sample {
  readonly bytes: number;
  readonly seconds: number;
}

/**
 * Memory and processor time of this process and those below it, from samples of /proc while tasks run. The
 * peak of a cgroup would count the cache of files, which grows up to any limit.
 */
export class RunnerMeter {
  readonly #jobs: number;
  readonly #tasks = new Set<{ peak: number }>();
  readonly #page = lazy(async () =>
    Number((await runProgram(PAGE_SIZE).catch(() => undefined))?.text) || 4096
  );
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(jobs: number) {
    this.#jobs = jobs;
  }

  /** Does the work of a task; the figures are undefined where the system has none. */
  async measure<T>(work: () => Promise<T>): Promise<[T, RunnerFigures | undefined]> {
    const task = { peak: 0 };
    this.#tasks.add(task);
    this.#timer ??= setInterval(() => void this.#sample(), SAMPLE_MS);
    try {
      const begin = this.#sample();
      const value = await work();
      const [before, after] = [await begin, await this.#sample()];
      if (!before || !after) return [value, undefined];
      const seconds = Math.round((after.seconds - before.seconds) * 100) / 100;
      return [value, { peak_memory_bytes: task.peak, cpu_seconds: seconds, jobs: this.#jobs }];
    } finally {
      this.#tasks.delete(task);
      if (this.#tasks.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  async #sample(): Promise<Sample | undefined> {
    if (process.platform !== "linux") return undefined;
    const [text, page] = await Promise.all([
      runProgram(READ).then(({ text }) => text, () => ""),
      this.#page(),
    ]);
    const sample = readStats(text, { root: process.pid, page });
    for (const task of this.#tasks) task.peak = Math.max(task.peak, sample?.bytes ?? 0);
    return sample;
  }
}

/** Sums up a process and its descendants from the `stat` of all processes; `page` has bytes. */
export function readStats(
  text: string,
  { root, page }: { readonly root: number; readonly page: number },
): Sample | undefined {
  const children = new Map<number, number[]>();
  const facts = new Map<number, Sample>();
  for (const line of text.split("\n")) {
    // The name of the program is in parentheses and may contain any.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    const [pid, parent] = [Number.parseInt(line), Number(fields[1])];
    // Ended children that were waited for are in the times of their parents.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    facts.set(pid, { bytes: Number(fields[21]) * page, seconds: ticks / TICKS_PER_SECOND });
    children.set(parent, [...children.get(parent) ?? [], pid]);
  }
  if (!facts.has(root)) return undefined;
  let [bytes, seconds] = [0, 0];
  const waiting = [root];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    bytes += facts.get(pid)?.bytes ?? 0;
    seconds += facts.get(pid)?.seconds ?? 0;
    waiting.push(...children.get(pid) ?? []);
  }
  return { bytes, seconds };
}
