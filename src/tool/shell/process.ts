import { isFile } from "../../path/probe.ts";
import { after } from "../../util/timer.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const WINDOWS = Deno.build.os === "windows";

export interface SpawnPlan {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child; nothing else is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Called once the command has ended; returns notes for the model about files that it made. */
  readonly ended?: () => readonly string[];
  /**
   * Takes the output before the command began. Returns a new plan where it shows that the jail could not be
   * set up and nothing has run.
   */
  readonly again?: (written: string) => SpawnPlan | undefined;
}

export interface ProcessGuard {
  /** Set in the environment of every child, so that those that left their group are found, too. */
  readonly mark: Readonly<Record<string, string>>;
  /** Must have been called before the program may be gone; calling it again does nothing. */
  start(): void;
  add(group: number): void;
  remove(group: number): void;
}

export interface SpawnOptions {
  readonly cwd: string;
  readonly guard?: ProcessGuard | undefined;
  readonly stdin?: "null" | "piped";
}

/** Starts a plan in its own session and process group: no terminal, and one signal reaches all of it. */
function spawnPlan({ command, args, env }: SpawnPlan, options: SpawnOptions): Deno.ChildProcess {
  const { cwd, guard, stdin = "null" } = options;
  // First: a program that is killed while it starts its first command would leave that one behind.
  guard?.start();
  return spawnSession([command, ...args], {
    cwd,
    clearEnv: true,
    env: { ...env, ...guard?.mark },
    stdin,
    stdout: "piped",
    stderr: "piped",
  });
}

function spawnSession(
  [command = "", ...args]: readonly string[],
  options: Omit<Deno.CommandOptions, "args" | "detached">,
): Deno.ChildProcess {
  const starter = sessionStarter();
  return new Deno.Command(starter ?? command, {
    ...options,
    args: starter === undefined ? args : [command, ...args],
    detached: !WINDOWS && starter === undefined,
  }).spawn();
}

let starter: string | undefined | null = null;

/**
 * Starts a program in a session. `detached` does the same, but copies the address space: 2 ms a command in a
 * process of 160 MB.
 */
function sessionStarter(): string | undefined {
  if (starter === null) {
    starter = Deno.build.os === "linux" ? ["/usr/bin/setsid", "/bin/setsid"].find(isFile) : undefined;
  }
  return starter;
}

/** Sends a signal to a process, or to a group by its negative number; false when there is none any more. */
function signalProcess(target: number, signal: Deno.Signal): boolean {
  try {
    Deno.kill(target, signal);
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
}

/** SIGCONT does nothing to a process that runs, and fails when there is none. */
function groupAlive(group: number): boolean {
  return signalProcess(WINDOWS ? group : -group, "SIGCONT");
}

async function groupEnded(group: number, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (groupAlive(group) && performance.now() < end) await sleep(POLL_MS);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const POLL_MS = 10;

export interface ProcessEnd {
  readonly code: number;
  readonly signal?: string;
}

export interface ProcessOptions extends SpawnOptions {
  readonly lasting?: boolean;
  /** The chunk is only valid during the call. */
  readonly onOutput: (chunk: Bytes) => void;
  /** Takes standard error; absent: it counts as output. */
  readonly onErrorOutput?: (chunk: Bytes) => void;
}

const GRACE_MS = 100;

/** Wait for output after the shell has ended: the rest of the pipe, or output of `>(tee …)`. */
const DRAIN_MS = 40;

const UNANNOUNCED_MS = 50;

const PIECE = 64 * 1024;

/**
 * A command with its output.
 *
 * Contract: when `ended` resolves, the output is complete and nothing of the group is left. The constructor
 * throws where the command cannot be started.
 */
export class ShellProcess {
  readonly ended: Promise<ProcessEnd>;
  readonly #child: Deno.ChildProcess;
  readonly #options: ProcessOptions;
  readonly #readers: ReadableStreamBYOBReader[] = [];
  #killing: Promise<void> | undefined;
  readonly #started = performance.now();
  #exited = false;
  #drained = false;

  constructor(plan: SpawnPlan, options: ProcessOptions) {
    this.#child = spawnPlan(plan, options);
    this.#options = options;
    this.ended = this.#guarded();
  }

  get pid(): number {
    return this.#child.pid;
  }

  get stdin(): WritableStream<Uint8Array> {
    return this.#child.stdin;
  }

  async kill(graceMs = GRACE_MS): Promise<void> {
    await (this.#killing ??= this.#kill(graceMs));
  }

  async #kill(graceMs: number): Promise<void> {
    if (WINDOWS) {
      await new Deno.Command("taskkill", {
        args: ["/T", "/F", "/PID", String(this.pid)],
        stdout: "null",
        stderr: "null",
      })
        .output().catch(() => {});
      return;
    }
    if (!this.#signal("SIGTERM")) return;
    const end = performance.now() + graceMs;
    // Where orphans are not reaped a dead group looks alive; closed pipes show as well that it has ended.
    while (performance.now() < end && groupAlive(this.pid) && !(this.#exited && this.#drained)) {
      await sleep(POLL_MS / 2);
    }
    this.#signal("SIGKILL");
  }

  /** Signals the group, or the one process that has not become a group yet. */
  #signal(signal: Deno.Signal): boolean {
    if (signalProcess(-this.pid, signal)) return true;
    return !this.#exited && signalProcess(this.pid, signal);
  }

  /** A short command is not announced: should the program end just then, the guard finds it by its mark. */
  async #guarded(): Promise<ProcessEnd> {
    const { guard, lasting } = this.#options;
    if (!guard) return await this.#run();
    const timer = setTimeout(() => guard.add(this.pid), lasting ? 0 : UNANNOUNCED_MS);
    const end = await this.#run();
    clearTimeout(timer);
    if (lasting || performance.now() - this.#started > UNANNOUNCED_MS) guard.remove(this.pid);
    return end;
  }

  async #run(): Promise<ProcessEnd> {
    const { onOutput, onErrorOutput = onOutput } = this.#options;
    const drained = Promise.all([
      this.#read(this.#child.stdout, onOutput),
      this.#read(this.#child.stderr, onErrorOutput),
    ])
      .then(() => this.#drained = true);
    const status = await this.#child.status;
    this.#exited = true;
    // Usually the pipes end with the shell; a child in the background that holds them is not waited for.
    if (WINDOWS || this.#killing || groupAlive(this.pid)) {
      await within(drained, DRAIN_MS);
      await this.kill();
    }
    if (!(await within(drained, DRAIN_MS))) {
      for (const reader of this.#readers) reader.cancel().catch(() => {});
      await drained;
    }
    return { code: status.code, ...(status.signal ? { signal: status.signal } : {}) };
  }

  async #read(stream: ReadableStream<Bytes>, push: (chunk: Bytes) => void): Promise<void> {
    const reader = stream.getReader({ mode: "byob" });
    this.#readers.push(reader);
    // One buffer goes back and forth: a gigabyte of output leaves no garbage behind.
    let buffer = new ArrayBuffer(PIECE);
    while (true) {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done || !value) return;
      push(value);
      buffer = value.buffer;
    }
  }
}

async function within(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => timer = setTimeout(() => resolve(false), milliseconds));
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Time for a server to end once its input is closed, and again after TERM. */
const SERVER_GRACE_MS = 500;
/** Time to read the last output of an ended server, whose children may hold the stream. */
const SERVER_DRAIN_MS = 200;

export class ServerProcess {
  readonly child: Deno.ChildProcess;
  readonly #guard: ProcessGuard | undefined;
  #gone = false;

  constructor(plan: SpawnPlan, { cwd, guard }: Omit<SpawnOptions, "stdin">) {
    this.child = spawnPlan(plan, { cwd, guard, stdin: "piped" });
    this.#guard = guard;
    guard?.add(this.child.pid);
  }

  /**
   * Passes its output to `push` until the process has ended and its output is read; returns its status.
   * Rejects when `push` throws.
   */
  async output(push: (chunk: Bytes) => void | Promise<void>): Promise<Deno.CommandStatus> {
    const { stdout, status } = this.child;
    const reader = stdout.getReader();
    const drained = status.then(() => after(SERVER_DRAIN_MS, () => void reader.cancel().catch(() => {})));
    // What failed, the status says.
    const next = () => reader.read().catch(() => undefined);
    for (let read = await next(); read && !read.done; read = await next()) await push(read.value);
    (await drained)();
    return await status;
  }

  /** Waits for the end, then sends TERM and KILL to the group. Resolves when nothing of the group is left. */
  async end(graceMs = SERVER_GRACE_MS): Promise<void> {
    if (this.#gone) return;
    const group = this.child.pid;
    const target = WINDOWS ? group : -group;
    await groupEnded(group, graceMs);
    if (groupAlive(group)) {
      signalProcess(target, "SIGTERM");
      await groupEnded(group, SERVER_GRACE_MS);
    }
    if (groupAlive(group)) signalProcess(target, "SIGKILL");
    await this.child.status;
    this.#gone = true;
    this.#guard?.remove(group);
  }
}

const MARK = "REASONIX_GUARD";

/** Ends what carries the mark `$1`, after each of the pauses, where /proc shows environments. */
const SWEEP = `for pause in $pauses; do
  sleep "$pause"
  for file in $(grep -lsF -- "$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}"
  done
done`;

/**
 * Reads `+group` and `-group` lines until its input ends, which happens when the program ends, however that
 * comes about. Then it ends the groups that are left and what carries the mark of this session. A program
 * that was killed, and so has not said `=`, may have been about to start a command, whose mark shows a
 * moment later.
 */
const SCRIPT = `trap '' HUP INT TERM QUIT
groups=' '
pauses='0 0 0.05 0.2'
while read -r line; do
  group=\${line#?}
  case $line in
    +*) groups="$groups$group " ;;
    -*) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
    =) pauses='0 0' ;;
  esac
done
for group in $groups; do kill -KILL "-$group"; done
${SWEEP}`;

/**
 * One small shell a session, started with its first command and outside of every group, so that not even a
 * SIGKILL of the program leaves a process behind. It works wherever there is a shell, on all Unix systems.
 */
export class GuardProcess implements ProcessGuard {
  readonly mark: Readonly<Record<string, string>>;
  #child: Deno.ChildProcess | undefined;
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #off: boolean;
  readonly #value = crypto.randomUUID();

  constructor() {
    this.#off = Deno.build.os === "windows";
    this.mark = this.#off ? {} : { [MARK]: this.#value };
  }

  start(): void {
    if (!this.#off && !this.#writer) this.#spawn();
  }

  add(group: number): void {
    this.#send(`+${group}\n`);
  }

  remove(group: number): void {
    this.#send(`-${group}\n`);
  }

  /** Has the guard end what is left, also after the program has ended. Nothing can be added afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#off = true;
    await this.#writer?.write(new TextEncoder().encode("=\n")).catch(() => {});
    await this.#writer?.close().catch(() => {});
  }

  async ended(): Promise<void> {
    this.#child?.ref();
    await this.#child?.status;
  }

  #send(line: string): void {
    this.start();
    this.#writer?.write(new TextEncoder().encode(line)).catch(() => {});
  }

  #spawn(): void {
    try {
      const child = spawnSession(["/bin/sh", "-c", SCRIPT, "guard", `${MARK}=${this.#value}`], {
        clearEnv: true,
        env: { PATH: "/usr/bin:/bin" },
        cwd: "/",
        stdin: "piped",
        stdout: "null",
        stderr: "null",
      });
      child.unref();
      this.#child = child;
      this.#writer = child.stdin.getWriter();
    } catch {
      // No such shell, or not allowed to run one: commands still end with their call.
      this.#off = true;
    }
  }
}
