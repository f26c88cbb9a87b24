import { exists } from "../../path/probe.ts";
import { environmentOf, readEnv } from "../../path/read_env.ts";
import { parseJson } from "../../util/json.ts";
import { linesOf } from "../../util/lines.ts";
import { VERSION } from "../../util/version.ts";
import { attempt } from "../../util/lazy.ts";
import { unlessAborted } from "../../util/timer.ts";
import { readPieceOf } from "../../util/file_bytes.ts";

interface LineHandlers<Out> {
  readonly onMessage: (message: Out) => void;
  /** The process ended without being killed; `errorOutput` is the end of its standard error. */
  readonly onEnd: (errorOutput: string) => void;
}

/**
 * A child process spoken to in lines of JSON.
 *
 * A process and not a worker thread: the runtime's `Worker.terminate()` returns at once, but a thread in a
 * loop never ends and keeps a core busy. A process ends when it is killed, whatever it does.
 */
export class LineProcess<In, Out> {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #done: Promise<void>;
  #killed = false;
  #errorOutput = "";

  constructor(command: SelfCommand, handlers: LineHandlers<Out>) {
    this.#child = new Deno.Command(command.command, {
      args: [...command.args],
      clearEnv: true,
      env: { ...command.env },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#done = this.#run(handlers);
  }

  get pid(): number {
    return this.#child.pid;
  }

  send(message: In): void {
    // A process that is gone says so by its end.
    this.#writer.write(asLine(message)).catch(() => {});
  }

  async kill(): Promise<void> {
    this.#killed = true;
    // It may have ended already.
    attempt(() => this.#child.kill("SIGKILL"));
    await this.#done;
  }

  async #run(handlers: LineHandlers<Out>): Promise<void> {
    const errorOutput = this.#collectErrorOutput();
    for await (const message of readLines<Out>(this.#child.stdout)) {
      if (!this.#killed) handlers.onMessage(message);
    }
    await errorOutput;
    await this.#child.status;
    await this.#writer.close().catch(() => {});
    if (!this.#killed) handlers.onEnd(this.#errorOutput.trim());
  }

  async #collectErrorOutput(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stderr) {
      this.#errorOutput = (this.#errorOutput + decoder.decode(chunk, { stream: true })).slice(-2000);
    }
  }
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Parses each line; output that is not JSON is ignored. */
export async function* readLines<T>(stream: AsyncIterable<Bytes>): AsyncGenerator<T> {
  for await (const line of linesOf(stream)) {
    const value = parseJson(line) as T | undefined;
    if (value !== undefined) yield value;
  }
}

const ENCODER = new TextEncoder();

function asLine(message: unknown): Bytes {
  return ENCODER.encode(`${JSON.stringify(message)}\n`);
}

/**
 * The input and output of a worker process, set by its entry module: libraries do not use standard streams.
 */
export interface LinePort {
  /** Pieces may share memory: each is read before the next one is requested. */
  readonly input: AsyncIterable<Bytes>;
  /** Writes at once, as much as fits; returns the number of bytes written. */
  readonly write: (bytes: Bytes) => number;
}

export function sendMessage(port: LinePort, message: unknown): void {
  const bytes = asLine(message);
  for (let at = 0; at < bytes.length;) at += port.write(bytes.subarray(at));
}

/** First argument of a worker process, followed by its role. */
export const WORKER_FLAG = "--worker=";

/** Tools that change files, searches without ripgrep, checks of answers against a JSON Schema. */
type WorkerRole = "tools" | "search" | "schema";

export interface SelfCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface SelfOptions {
  readonly role: WorkerRole;
  /** `import.meta.url` of the asking module: the sources, or the one file they were bundled into. */
  readonly module: string;
  readonly sourceEntry: URL;
  /** Processor time after which the kernel ends the process if it is orphaned. */
  readonly cpuSeconds?: number;
  /** Permission and other flags of `deno run`, also `--config=FILE`. A compiled program has its own. */
  readonly flags: readonly string[];
}

const RUNTIME_ENV = [
  "PATH",
  "HOME",
  "DENO_DIR",
  "XDG_CACHE_HOME",
  "TMPDIR",
  "USERPROFILE",
  "LOCALAPPDATA",
  "SystemRoot",
];

/** Returns the command line that starts this program as a worker, from sources, bundle or executable. */
export function selfCommand(options: SelfOptions): SelfCommand {
  const role = `${WORKER_FLAG}${options.role}`;
  const program = ownProgram(options.module);
  const entry = isBundled(options.module)
    ? fileOfBuild("./reasonix.worker.js", program) ?? program
    : options.sourceEntry.href;
  return limited(startOf(entry, { words: [role], flags: options.flags }), options.cpuSeconds);
}

interface PluginOptions {
  /** Arguments of the entry of plugins: the name of one, and a command of it. */
  readonly words: readonly string[];
  /** Makes permission and other flags of `deno run`; the files of the program are below `directory`. */
  readonly flags: (directory: string) => readonly string[];
}

/**
 * Returns the command line that starts a plugin of this program. A compiled program starts it within itself,
 * without flags. Undefined where the file of the plugins is missing or from another build.
 */
export function pluginCommand({ words, flags }: PluginOptions): SelfCommand | undefined {
  const module = import.meta.url;
  if (Deno.build.standalone) return startOf(module, { words: ["plugin", ...words], flags: [] });
  const entry = isBundled(module)
    ? fileOfBuild("./reasonix.plugins.js", ownProgram(module))
    : new URL("../../../plugins/main.ts", module).href;
  if (entry === undefined) return undefined;
  const { fileURLToPath } = process.getBuiltinModule("node:url");
  const directory = fileURLToPath(new URL(isBundled(module) ? "." : "..", entry)).replace(/[/\\]$/, "");
  return startOf(entry, { words, flags: flags(directory) });
}

/** Returns the command line that starts a module of this program with the environment of the runtime. */
function startOf(
  entry: string,
  { words, flags }: { readonly words: readonly string[]; readonly flags: readonly string[] },
): SelfCommand {
  const env = { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1", ...environmentOf(RUNTIME_ENV) };
  const command = ownExecutable();
  if (Deno.build.standalone) return { command, args: words, env };
  // The bundle needs no import map, and must not take one from where it happens to lie. It also holds all
  // packages it needs.
  const configured = flags.some((flag) => flag.startsWith("--config="));
  const own = isBundled(entry)
    ? [...(configured ? [] : ["--no-config"]), "--no-npm"]
    : configured
    ? [`--import-map=${new URL("../../../deno.json", import.meta.url).href}`]
    : [];
  const still = ["--quiet", "--no-prompt", "--no-lock", ...importFlags(entry)];
  return { command, args: ["run", ...still, ...own, ...flags, entry, ...words], env };
}

function isBundled(module: string): boolean {
  return !module.endsWith(".ts");
}

const HEAD_BYTES = 512;

/**
 * Returns the executable of this process: the runtime or a compiled program, which `reasonix update` keeps
 * under this name when it has replaced it.
 */
function ownExecutable(): string {
  // The system adds this when an update has replaced the file.
  const path = Deno.execPath().replace(/ \(deleted\)$/, "");
  if (!Deno.build.standalone) return path;
  const kept = path.replace(/(?:\.exe)?$/, (suffix) => `-${VERSION}${suffix}`);
  return exists(kept) && isNewerThanProcess(path) ? kept : path;
}

function isNewerThanProcess(path: string): boolean {
  return attempt(() => (Deno.statSync(path).mtime?.getTime() ?? 0) > performance.timeOrigin) ?? true;
}

/**
 * Returns the file of this program. An update by npm replaces that of a running one, for which `reasonix
 * update` has kept the old files.
 */
function ownProgram(module: string): string {
  if (!/^file:.*\.js$/.test(module)) return module;
  const [, version] = /^\/\/ Reasonix ([^ ,]+)/.exec(buildOf(new URL(module)) ?? "") ?? [];
  if (version === VERSION) return module;
  const home = readEnv("REASONIX_HOME") ?? `${readEnv("HOME") ?? readEnv("USERPROFILE")}/.reasonix`;
  const kept = `${home}/kept/${VERSION}/reasonix.js`;
  return exists(kept) ? process.getBuiltinModule("node:url").pathToFileURL(kept).href : module;
}

/**
 * Another file of the program, such as that with only the code of workers, which starts in half the time.
 * Undefined where it is missing or from another build, and for remote programs.
 */
function fileOfBuild(name: string, program: string): string | undefined {
  const file = new URL(name, program);
  if (file.protocol !== "file:") return undefined;
  const build = buildOf(file);
  return build !== undefined && build === buildOf(new URL(program)) ? file.href : undefined;
}

function buildOf(bundle: URL): string | undefined {
  const head = attempt(() => readPieceOf(bundle, 0, HEAD_BYTES));
  return new TextDecoder().decode(head).split("\n").find((line) => line.startsWith("// Reasonix "));
}

/**
 * Forbids remote code, which is otherwise fetched from some well-known hosts. A program started from an
 * address may load that one file from the cache.
 */
function importFlags(entry: string): string[] {
  const { protocol, host } = new URL(entry);
  return protocol === "http:" || protocol === "https:"
    ? ["--cached-only", `--allow-import=${host}`]
    : ["--no-remote", "--deny-import"];
}

function limited(command: SelfCommand, cpuSeconds: number | undefined): SelfCommand {
  if (cpuSeconds === undefined || Deno.build.os === "windows") return command;
  const script = `ulimit -t ${cpuSeconds}; exec "$0" "$@"`;
  return { ...command, command: "/bin/sh", args: ["-c", script, command.command, ...command.args] };
}

interface WorkerTask<In, Out, Result> {
  readonly task: In;
  readonly onMessage: (message: Out) => Result | undefined;
  readonly limitMs: number;
  readonly onLimit: () => Result;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs one task in a new process. Rejects when the signal aborts, when the process ends early, and with
 * `NotCapable` where no process may be started.
 */
export async function runInWorker<In, Out, Result>(
  command: SelfCommand,
  { task, onMessage, limitMs, onLimit, signal }: WorkerTask<In, Out, Result>,
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const worker = new LineProcess<In, Out>(command, {
    onMessage(message) {
      const result = onMessage(message);
      if (result !== undefined) resolve(result);
    },
    onEnd: (errorOutput) => reject(new Error(`The worker process ended early: ${errorOutput.slice(-300)}`)),
  });
  const timer = setTimeout(() => resolve(onLimit()), limitMs);
  worker.send(task);
  try {
    return await unlessAborted(promise, signal);
  } finally {
    clearTimeout(timer);
    await worker.kill();
  }
}
