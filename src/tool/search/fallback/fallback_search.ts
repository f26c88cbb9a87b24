import { LineProcess } from "../../host/line_process.ts";
import { SEARCH_ROLE, selfCommand } from "../../host/self_command.ts";
import { excludeTest } from "../path_filter.ts";
import { type FoundFile, type SearchReport, type SearchRequest, sortedByPath } from "../request.ts";
import type { SearchRoot } from "../ripgrep/search.ts";
import { ScanJob } from "./scan_job.ts";
import { compileMatcher } from "./scan_text.ts";
import type { SearchJob, SearchPart } from "./search_process.ts";
import { walkFiles } from "../walk.ts";

interface Outcome {
  readonly found: FoundFile[];
  readonly stopped?: "limit" | "deadline";
  readonly stuckAt?: string;
}

/** Event-loop turns are given between steps of this length. */
const SLICE_MS = 25;

/** Searches without ripgrep, with the same results. */
export async function fallbackSearch(
  request: SearchRequest,
  root: SearchRoot,
  shownLines: number,
): Promise<SearchReport> {
  await using search = new FallbackSearch(request, root);
  const files: string[] = [];
  const walk = await listFiles(root, files);
  let outcome = await search.scan(files, request);
  if (outcome.stopped === "limit") {
    outcome = await search.scan(sortedByPath(files, (path) => path), { ...request, maxLines: shownLines });
    outcome = { ...outcome, stopped: outcome.stopped ?? "limit" };
  }
  const total = outcome.found.reduce((sum, file) => sum + file.count, 0);
  const stopped = outcome.stopped ?? (walk.timedOut ? "deadline" : undefined);
  return {
    files: sortedByPath(outcome.found, ({ path }) => path),
    total,
    ...(stopped ? { stopped } : {}),
    ...(outcome.stuckAt === undefined ? {} : { stuckAt: outcome.stuckAt }),
  };
}

/**
 * Scans here what is sure to be quick, and the rest in a process that can be killed in the middle of a match.
 */
class FallbackSearch {
  readonly #root: SearchRoot;
  #scanner: Scanner | undefined;
  /** True where no process may be started: whoever forbade it has to put an end to the search. */
  #alone = false;

  constructor(request: SearchRequest, root: SearchRoot) {
    this.#root = root;
    const { matchCost, required } = compileMatcher(request).pattern;
    // Every file could take for ever: the process starts while the tree is walked.
    if (matchCost.repetitions === Infinity && required === "") this.#start();
  }

  async scan(files: readonly string[], request: SearchRequest): Promise<Outcome> {
    const scanner = this.#scanner;
    if (scanner) return await scanner.scan(files, request, this.#root);
    const run = new ScanJob(files, request, !this.#alone);
    const outcome = await this.#scanHere(run);
    if (run.left.length === 0 || outcome.stopped === "deadline") return outcome;
    // The first matches are wanted, and some of them may be in files that were left out.
    if (outcome.stopped === "limit") return await this.scan(files, request);
    const maxLines = request.maxLines - run.total;
    const rest = await this.scan(run.left, { ...request, maxLines });
    return { ...rest, found: [...outcome.found, ...rest.found] };
  }

  async #scanHere(run: ScanJob): Promise<Outcome> {
    const { signal, deadline } = this.#root;
    const found: FoundFile[] = [];
    while (true) {
      for (const file of run.step(SLICE_MS)) found.push(file);
      if (run.left.length > 0) this.#start();
      if (run.done) return { found, ...(run.full ? { stopped: "limit" as const } : {}) };
      await new Promise((resolve) => setTimeout(resolve, 0));
      signal.throwIfAborted();
      if (Date.now() > deadline) return { found, stopped: "deadline" };
    }
  }

  #start(): void {
    if (this.#alone) return;
    try {
      this.#scanner ??= new Scanner();
    } catch (error) {
      if (!(error instanceof Deno.errors.NotCapable)) throw error;
      this.#alone = true;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scanner?.[Symbol.asyncDispose]();
  }
}

async function listFiles(root: SearchRoot, files: string[]): Promise<{ readonly timedOut: boolean }> {
  if ((await Deno.stat(root.root)).isFile) {
    files.push(root.root);
    return { timedOut: false };
  }
  const excluded = excludeTest(root.filter, root.cwd);
  return await walkFiles(
    { ...root, ...(excluded ? { prune: (path, name) => excluded(path, name, true) } : {}) },
    (path) => {
      if (root.included && !root.included(path)) return;
      if (!excluded?.(path, path.slice(path.lastIndexOf("/") + 1), false)) files.push(path);
    },
  );
}

/** Scans files in a process that can be killed in the middle of a match. */
class Scanner {
  #onPart: (part: SearchPart) => void = () => {};
  #onEnd: (remarks: string) => void = () => {};
  readonly #process: LineProcess<SearchJob, SearchPart>;

  constructor() {
    const command = selfCommand({
      role: SEARCH_ROLE,
      module: import.meta.url,
      cpuSeconds: 60,
      sourceEntry: new URL("../../host/worker_entry.ts", import.meta.url),
      flags: ["--allow-read"],
    });
    this.#process = new LineProcess(command, {
      onMessage: (part) => this.#onPart(part),
      onEnd: (remarks) => this.#onEnd(remarks),
    });
  }

  async scan(files: readonly string[], request: SearchRequest, root: SearchRoot): Promise<Outcome> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const found: FoundFile[] = [];
    let next = 0;
    const timer = setTimeout(() => {
      const stuckAt = files[next];
      resolve({ found, stopped: "deadline", ...(stuckAt === undefined ? {} : { stuckAt }) });
    }, Math.max(0, root.deadline - Date.now()));
    const aborted = () => reject(root.signal.reason);
    root.signal.addEventListener("abort", aborted, { once: true });
    if (root.signal.aborted) aborted();
    this.#onPart = (part) => {
      for (const file of part.found) found.push(file);
      next = part.next;
      if (part.done) resolve({ found, ...(part.full ? { stopped: "limit" as const } : {}) });
    };
    this.#onEnd = (remarks) => reject(new Error(`The search process ended early: ${remarks.slice(-300)}`));
    this.#process.send({ files, request });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      root.signal.removeEventListener("abort", aborted);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.kill();
  }
}
