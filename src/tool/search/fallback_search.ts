import { runInWorker, selfCommand } from "../host/worker.ts";
import { ScanJob, type SearchPart, type SearchTask } from "./fallback_scan.ts";
import { excludeTest } from "./path_filter.ts";
import {
  type FoundFile,
  reportOf,
  type SearchReport,
  type SearchRequest,
  type SearchRoot,
  sortedByPath,
} from "./request.ts";
import { walkFiles } from "./walk.ts";

type Outcome = Omit<SearchReport, "total">;

const SLICE_MS = 25;

/** Searches without ripgrep, with the same results. */
export async function fallbackSearch(
  request: SearchRequest,
  root: SearchRoot,
  shownLines: number,
): Promise<SearchReport> {
  const files: string[] = [];
  const walk = await listFiles(root, files);
  let outcome = await scan(files, request, root);
  if (outcome.stopped === "limit") {
    const first = { ...request, maxLines: shownLines };
    outcome = await scanInProcess(sortedByPath(files, (path) => path), first, root);
    outcome = { ...outcome, stopped: outcome.stopped ?? "limit" };
  }
  return reportOf({ ...walk.timedOut ? { stopped: "deadline" } : {}, ...outcome });
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

/** Scans here where the search is certainly fast, and the other files in a search process. */
async function scan(files: readonly string[], request: SearchRequest, root: SearchRoot): Promise<Outcome> {
  const job = new ScanJob(files, request, { leaveLong: true });
  const here = await scanHere(job, root);
  if (job.left.length === 0 || here.stopped) return here;
  const maxLines = request.maxLines - job.total;
  const rest = await scanInProcess(job.left, { ...request, maxLines }, root);
  return { ...rest, files: [...here.files, ...rest.files] };
}

async function scanHere(job: ScanJob, { signal, deadline }: SearchRoot): Promise<Outcome> {
  const found: FoundFile[] = [];
  while (true) {
    found.push(...job.step(SLICE_MS));
    if (job.done) return { files: found, ...(job.full ? { stopped: "limit" as const } : {}) };
    await new Promise((resolve) => setTimeout(resolve, 0));
    signal.throwIfAborted();
    if (Date.now() > deadline) return { files: found, stopped: "deadline" };
  }
}

async function scanInProcess(
  files: readonly string[],
  request: SearchRequest,
  root: SearchRoot,
): Promise<Outcome> {
  const command = selfCommand({
    role: "search",
    module: import.meta.url,
    cpuSeconds: 60,
    sourceEntry: new URL("../host/worker_entry.ts", import.meta.url),
    flags: ["--allow-read"],
  });
  const found: FoundFile[] = [];
  let next = 0;
  try {
    return await runInWorker<SearchTask, SearchPart, Outcome>(command, {
      task: { files, request },
      onMessage(part) {
        found.push(...part.found);
        next = part.next;
        return part.done ? { files: found, ...(part.full ? { stopped: "limit" } : {}) } : undefined;
      },
      limitMs: Math.max(0, root.deadline - Date.now()),
      onLimit() {
        const stuckAt = files[next];
        return { files: found, stopped: "deadline", ...(stuckAt === undefined ? {} : { stuckAt }) };
      },
      signal: root.signal,
    });
  } catch (error) {
    // Where no process may be started, the process that runs this search can be killed instead.
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    return await scanHere(new ScanJob(files, request, { leaveLong: false }), root);
  }
}
