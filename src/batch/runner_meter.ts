import process from "node:process";
import { runProgram } from "../util/process.ts";
import type { RunnerFigures } from "./results_dir.ts";

const SAMPLE_MS = 1000;
/** The unit of processor times in /proc is fixed for programs. */
const TICKS_PER_SECOND = 100;
/** The runtime reads /proc only with all permissions. */
const READ = ["sh", "-c", "getconf PAGESIZE || echo 4096; cat /proc/[0-9]*/stat 2>/dev/null"];

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
      const before = await this.#sample();
      const value = await work();
      const after = await this.#sample();
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
    const sample = await runProgram(READ).then(({ text }) => readStats(text, process.pid), () => undefined);
    for (const task of this.#tasks) task.peak = Math.max(task.peak, sample?.bytes ?? 0);
    return sample;
  }
}

/** Sums up a process and its descendants: the size of a page, then a line of /proc for each process. */
export function readStats(text: string, root: number): Sample | undefined {
  const [page = "", ...lines] = text.split("\n");
  const children = new Map<number, number[]>();
  const facts = new Map<number, Sample>();
  for (const line of lines) {
    // The name of the program is in parentheses and may contain any.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    const [pid, parent] = [Number.parseInt(line), Number(fields[1])];
    // Ended children that were waited for are in the times of their parents.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    facts.set(pid, { bytes: Number(fields[21]) * Number(page), seconds: ticks / TICKS_PER_SECOND });
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
