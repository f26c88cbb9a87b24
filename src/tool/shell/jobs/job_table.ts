import type { EventBodies } from "../../../core/event_schema.ts";
import { CappedFile } from "../capped_file.ts";
import { DiskWatch, type FreeSpace } from "../disk_watch.ts";
import { type ProcessGuard, ShellProcess, type SpawnPlan } from "../process.ts";
import { unlessAborted } from "../../../util/timer.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export type JobChange = Readonly<EventBodies["job.change"]>;

export interface JobView {
  readonly id: string;
  readonly command: string;
  readonly status: "running" | "exited" | "killed";
  readonly exitCode?: number;
  readonly signal?: string;
  readonly reason?: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly outputFile: string;
}

export interface JobUpdate {
  readonly view: JobView;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly skipped: number;
  /** Bytes since the last look that were lost because the disk is full. */
  readonly dropped: number;
}

export interface JobSpec {
  readonly command: string;
  readonly plan: SpawnPlan;
  readonly cwd: string;
  readonly dir: string;
  /** Megabytes that must stay free on the disks of both directories; 0: none. */
  readonly minFreeDiskMb: number;
}

/** The background commands of a session; they end with it. */
export interface Jobs {
  start(spec: JobSpec): JobView;
  list(): readonly JobView[];
  get(id: string): JobView | undefined;
  /** Output since the last call for this job. */
  newOutput(id: string): JobUpdate | undefined;
  /** Resolves when the job has ended or the time is up. */
  ended(id: string, milliseconds: number, signal: AbortSignal): Promise<void>;
  kill(id: string): Promise<JobView | undefined>;
}

const encoder = new TextEncoder();

const MAX_OUTPUT = 256 * 1024;

const MAX_RUNNING = 128;

interface Job {
  view: JobView;
  readonly process: ShellProcess;
  readonly file: CappedFile;
  read: number;
  dropped: number;
  killed: boolean;
  readonly ended: Promise<void>;
}

export interface JobTableOptions {
  readonly guard?: ProcessGuard;
  readonly onChange?: (change: JobChange) => void;
  readonly freeSpace?: FreeSpace | undefined;
  readonly maxFile?: number;
}

export class JobTable implements Jobs {
  readonly #jobs = new Map<string, Job>();
  readonly #options: JobTableOptions;
  #started = 0;

  constructor(options: JobTableOptions = {}) {
    this.#options = options;
  }

  start(spec: JobSpec): JobView {
    const running = this.list().filter((job) => job.status === "running").length;
    if (running >= MAX_RUNNING) throw new RangeError(`${running} jobs are running already`);
    const id = `job-${++this.#started}`;
    Deno.mkdirSync(spec.dir, { recursive: true, mode: 0o700 });
    const outputFile = `${spec.dir}/${id}.txt`;
    const file = new CappedFile(outputFile, this.#options.maxFile);
    const { guard, freeSpace: free } = this.#options;
    const onOutput = (chunk: Bytes) => {
      job.dropped += chunk.length - file.write(chunk);
    };
    let process: ShellProcess;
    try {
      process = new ShellProcess(spec.plan, { cwd: spec.cwd, guard, lasting: true, onOutput });
    } catch (error) {
      file[Symbol.dispose]();
      throw error;
    }
    const { minFreeDiskMb: floorMb, cwd, dir } = spec;
    const watch = new DiskWatch({ directories: [cwd, dir], floorMb, free }, (reason) => {
      job.view = { ...job.view, reason };
      void this.kill(id, 100);
    });
    const job: Job = {
      view: { id, command: spec.command, status: "running", startedAt: Date.now(), outputFile },
      process,
      file,
      read: 0,
      dropped: 0,
      killed: false,
      ended: process.ended.then((end) => {
        watch[Symbol.dispose]();
        for (const note of spec.plan.ended?.() ?? []) onOutput(encoder.encode(`[${note}]\n`));
        this.#ended(job, end);
      }),
    };
    this.#jobs.set(id, job);
    this.#options.onChange?.({ job: id, command: spec.command, status: "started" });
    return job.view;
  }

  list(): readonly JobView[] {
    return [...this.#jobs.values()].map((job) => job.view);
  }

  get(id: string): JobView | undefined {
    return this.#find(id)?.view;
  }

  newOutput(id: string): JobUpdate | undefined {
    const job = this.#find(id);
    if (!job) return undefined;
    const { from, bytes } = job.file.read(Math.max(job.read, job.file.total - MAX_OUTPUT));
    const skipped = from - job.read;
    // A character may have come only in part; it is handed out with the rest of it.
    const whole = job.view.status === "running" ? bytes.subarray(0, wholeCharacters(bytes)) : bytes;
    job.read += skipped + whole.length;
    const { dropped } = job;
    job.dropped = 0;
    return { view: job.view, bytes: whole, skipped, dropped };
  }

  async ended(id: string, milliseconds: number, signal: AbortSignal): Promise<void> {
    const job = this.#find(id);
    if (job?.view.status !== "running") return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    await unlessAborted(Promise.race([job.ended, late]), signal).finally(() => clearTimeout(timer));
  }

  async kill(id: string, graceMs = 1000): Promise<JobView | undefined> {
    const job = this.#find(id);
    if (!job) return undefined;
    if (job.view.status === "running") {
      job.killed = true;
      await job.process.kill(graceMs);
      await job.ended;
    }
    return job.view;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#jobs.keys()].map((id) => this.kill(id, 150)));
  }

  /** A bare number is enough. */
  #find(id: string): Job | undefined {
    return this.#jobs.get(id) ?? this.#jobs.get(`job-${id}`);
  }

  #ended(job: Job, end: { readonly code: number; readonly signal?: string }): void {
    job.file[Symbol.dispose]();
    const status = job.killed ? "killed" : "exited";
    job.view = {
      ...job.view,
      status,
      exitCode: end.code,
      ...(end.signal === undefined ? {} : { signal: end.signal }),
      endedAt: Date.now(),
    };
    this.#options.onChange?.({ job: job.view.id, command: job.view.command, status });
  }
}

/** Length without an unfinished UTF-8 character at the end. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
