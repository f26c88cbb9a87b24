/** Finds processes by a unique mark: a directory of the test or a random word. */

/** A process, distinguished from a later one that gets its number. */
export interface Living {
  readonly pid: number;
  readonly command: string;
  /** Clock ticks from the start of the machine to that of the process. */
  readonly started: string;
}

/**
 * Processes whose environment or command line has the mark, without zombies. Sees the processes of the tests'
 * user; on systems without /proc the command lines of `ps`.
 */
export async function processesWith(mark: string): Promise<Living[]> {
  if (Deno.build.os !== "linux") return await listed(mark);
  const found: Living[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) continue;
    if (!["cmdline", "environ"].some((file) => textOf(`/proc/${name}/${file}`).includes(mark))) continue;
    const living = processOf(Number(name));
    if (living) found.push(living);
  }
  return found;
}

/** Returns the unreaped children of a process, of every thread. */
export function childrenOf(pid: number): Living[] {
  const found: Living[] = [];
  try {
    for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
      const children = textOf(`/proc/${pid}/task/${name}/children`).split(" ").filter((word) => word !== "");
      for (const child of children) {
        found.push(...[processOf(Number(child))].filter((one) => one !== undefined));
      }
    }
  } catch { /* it has ended */ }
  return found;
}

/** Reports whether this process still runs. */
export function isAlive({ pid, started }: Living): boolean {
  return processOf(pid)?.started === started;
}

/** Reports whether a process of this number runs. */
export function isRunning(pid: number): boolean {
  if (Deno.build.os === "linux") return processOf(pid) !== undefined;
  try {
    Deno.kill(pid, "SIGCONT");
    return true;
  } catch {
    return false;
  }
}

/** Waits until `look` finds nothing, and returns its last result. */
export async function gone<T>(look: () => Promise<T[]> | T[], withinMs = 20_000): Promise<T[]> {
  const end = performance.now() + withinMs;
  for (;;) {
    const left = await look();
    if (left.length === 0 || performance.now() > end) return left;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function processOf(pid: number): Living | undefined {
  // The name of the program comes in brackets and may hold anything.
  const [state, ...more] = textOf(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? [];
  const started = more[18];
  return started === undefined || state === "Z" || state === "X"
    ? undefined
    : { pid, started, command: textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").slice(0, 200) };
}

async function listed(mark: string): Promise<Living[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-axo", "pid=,stat=,command="] }).output();
  return new TextDecoder().decode(stdout).split("\n")
    .filter((line) => line.includes(mark) && !/^\s*\d+\s+Z/.test(line))
    .map((line) => ({ pid: Number.parseInt(line), started: "", command: line }))
    .filter(({ pid }) => pid !== Deno.pid);
}

function textOf(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/**
 * Does some work while other threads of this process start programs: until such a program executes, it has
 * every file of the process open.
 */
export async function whileProgramsStart(work: () => void): Promise<void> {
  const source = "for (;;) { await new Deno.Command('true').output(); postMessage(0); }";
  const url = `data:text/javascript,${encodeURIComponent(source)}`;
  const workers = [1, 2].map(() => new Worker(url, { type: "module" }));
  try {
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.onmessage = resolve)));
    work();
  } finally {
    for (const worker of workers) worker.terminate();
  }
}
