/**
 * Memory of a process and all below it, from Linux' /proc: proportional shares (PSS), so that pages of
 * several processes count once; and its processor time.
 */

/** The largest shares that were seen while a program ran, in MB. */
export interface TreeMemory {
  /** Of all its processes at once. */
  readonly tree: number;
  /** Of the largest process below the first one that is the same runtime; 0 when there was none. */
  readonly worker: number;
}

/**
 * Sampling takes processor time, which would distort times of the same run. A peak between two samples is
 * missed.
 */
const LOOK_MS = 5;

/** Follows a process until it ends. */
export function watchTree(pid: number): { stop(): TreeMemory | undefined } {
  let [tree, worker] = [0, 0];
  const timer = setInterval(() => {
    const shares = sharesOf(pid);
    tree = Math.max(tree, sum(shares.map(({ share }) => share)));
    for (const { share, runtime } of shares.slice(1)) if (runtime) worker = Math.max(worker, share);
  }, LOOK_MS);
  return {
    stop() {
      clearInterval(timer);
      return tree === 0 ? undefined : { tree, worker };
    },
  };
}

/** The share of a process and all below it, in MB. */
export function treeShare(pid: number): number {
  return sum(sharesOf(pid).map(({ share }) => share));
}

/** The share of one process, in MB; 0 when it is gone. */
export function ownShare(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;
}

/** The resident memory of a process, in MB. */
export function residentSize(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

/** Milliseconds that the threads of a process have had a processor. */
export function processorTime(pid: number): number {
  let sum = 0;
  for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
    sum += Number(Deno.readTextFileSync(`/proc/${pid}/task/${name}/schedstat`).split(" ")[0]);
  }
  return sum / 1e6;
}

/** Processes below one, each after its parent. */
export function descendants(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendants(child)]);
}

interface Share {
  readonly share: number;
  /** It is the program of the first process. */
  readonly runtime: boolean;
}

function sharesOf(root: number): Share[] {
  const program = link(`/proc/${root}/exe`);
  const visit = (pid: number, parentLine: string | undefined): Share[] => {
    const line = read(`/proc/${pid}/cmdline`);
    const runtime = link(`/proc/${pid}/exe`) === program;
    // A process that is about to become another one shows the memory of its parent as its own.
    if (runtime && line === parentLine) return [];
    return [{ share: ownShare(pid), runtime }, ...childrenOf(pid).flatMap((child) => visit(child, line))];
  };
  return visit(root, undefined);
}

function childrenOf(pid: number): number[] {
  try {
    return [...Deno.readDirSync(`/proc/${pid}/task`)].flatMap(({ name }) =>
      read(`/proc/${pid}/task/${name}/children`).split(" ").filter((child) => child !== "").map(Number)
    );
  } catch {
    return [];
  }
}

/** A file of /proc; empty when its process is gone. */
function read(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

function link(path: string): string {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return "";
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
