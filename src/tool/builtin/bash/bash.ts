import { errorMessage, message, ReasonixError, type Text } from "../../../core/mod.ts";
import { contains } from "../../../path/lexical.ts";
import { isDirectory, isFile } from "../../../path/probe.ts";
import { DiskWatch } from "../../shell/disk_watch.ts";
import { describeJob, jobText } from "../../shell/jobs/job_tools.ts";
import { LiveOutput, OutputStore } from "../../shell/output_store.ts";
import { type ProcessEnd, ShellProcess, type SpawnPlan } from "../../shell/process.ts";
import {
  type Arguments,
  errorResult,
  failure,
  type ToolContext,
  type ToolResult,
  type ToolSettings,
  writesHint,
} from "../../tool.ts";
import { type Caps, type Cut, DEFAULT_CAPS, spillPath } from "../../truncation.ts";

/** Returns the failure of a command that cannot start whatever the user answers. */
export async function cannotBegin(args: Arguments, context: ToolContext): Promise<ToolResult | undefined> {
  const refusal = unusable(String(args.command));
  if (refusal || args.workdir === undefined) return refusal;
  return await workingDirectory(context, args.workdir).then(() => undefined, (error) => {
    if (error instanceof ReasonixError) return errorResult(error);
    throw error;
  });
}

function unusable(command: string): ToolResult | undefined {
  if (command.trim() === "") return failure("Cannot run an empty command");
  return command.includes("\0")
    ? failure("Cannot run a command with a NUL character", "leave it out")
    : undefined;
}

export async function bash(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const command = String(args.command);
  const refusal = unusable(command);
  if (refusal) return refusal;
  try {
    const shell = findShell(context.settings.shell, Deno.env.get("PATH") ?? "");
    const directory = await workingDirectory(context, args.workdir);
    if (args.run_in_background === true) return await startJob(command, shell, directory.path, context);
    const wanted = { timeoutMs: args.timeout_ms, maxChars: args.max_output_chars };
    return await runForeground(new Foreground(command, shell, directory, context), context, wanted);
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof ReasonixError) return errorResult(error);
    return failure(`Cannot run the command: ${errorMessage(error)}`);
  }
}

interface Wanted {
  readonly timeoutMs: unknown;
  readonly maxChars: unknown;
}

/** Runs a command, and again with a network or without the jail when that stopped it and a person agrees. */
async function runForeground(
  foreground: Foreground,
  { jail, signal }: ToolContext,
  wanted: Wanted,
): Promise<ToolResult> {
  const { argv, cwd } = foreground;
  const result = await foreground.run(jail.wrap(argv, { cwd }), wanted);
  const { exitCode = 0, content: output } = result;
  if (!result.isError || exitCode === 0 || !jail.escape) return result;
  const escape = await jail.escape({ argv, cwd, exitCode, output }, signal);
  if (escape === undefined) return result;
  if (typeof escape === "string") return { ...result, content: `${output}\n[${escape}]` };
  const free = await foreground.again().run(escape.plan, wanted);
  return { ...free, content: `[${escape.note}]\n${free.content}` };
}

class Foreground {
  #side = "";
  /** Output that was written before the command itself started, while nothing shows that it has. */
  #before: string | undefined = "";
  #timedOut = false;
  #diskFull: string | undefined;
  readonly #command: string;
  readonly #shell: Shell;
  readonly #directory: WorkingDirectory;
  readonly #context: ToolContext;

  constructor(command: string, shell: Shell, directory: WorkingDirectory, context: ToolContext) {
    this.#command = command;
    this.#shell = shell;
    this.#directory = directory;
    this.#context = context;
  }

  get argv(): readonly string[] {
    return this.#shell.argv(this.#command, this.#shell.reports);
  }

  get cwd(): string {
    return this.#directory.path;
  }

  again(): Foreground {
    return new Foreground(this.#command, this.#shell, this.#directory, this.#context);
  }

  async run(plan: SpawnPlan, wanted: Wanted): Promise<ToolResult> {
    const { signal, settings, services } = this.#context;
    signal.throwIfAborted();
    const limit = timeLimit(settings.bashTimeoutSeconds * 1000, wanted.timeoutMs);
    const store = new OutputStore(spillPath(this.#context));
    const live = new LiveOutput((text) => this.#context.progress(text));
    const output = (chunk: Uint8Array<ArrayBuffer>, before?: string) => {
      this.#before = before === undefined ? undefined : this.#before?.concat(before);
      store.push(chunk);
      live.push(chunk);
    };
    const decoder = new TextDecoder();
    const guard = services?.shell?.guard;
    const child = new ShellProcess(plan, {
      cwd: this.cwd,
      guard,
      onOutput: (chunk) => output(chunk),
      ...(this.#shell.reports
        ? { onErrorOutput: (chunk) => this.#onSide(decoder.decode(chunk, { stream: true }), chunk, output) }
        : {}),
    });
    using _watch = this.#watchDisk(child);
    const aborted = () => void child.kill();
    signal.addEventListener("abort", aborted, { once: true });
    const timer = limit === 0 ? undefined : setTimeout(() => {
      this.#timedOut = true;
      void child.kill(1000);
    }, limit);
    try {
      const end = await child.ended;
      const notes = plan.ended?.() ?? [];
      signal.throwIfAborted();
      const next = end.code !== 0 && this.#shell.reports && this.#before
        ? plan.again?.(this.#before)
        : undefined;
      if (next) return await this.again().run(next, wanted);
      return await this.#result(end, store.finish(capsOf(wanted)), { limit, notes });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      store.close();
    }
  }

  #watchDisk(child: ShellProcess): DiskWatch {
    const { cwd, outputDir, settings, services } = this.#context;
    const directories = [...new Set([cwd, this.#directory.path, outputDir])];
    return new DiskWatch(
      { directories, floorMb: settings.minFreeDiskMb, free: services?.freeSpace },
      (why) => {
        this.#diskFull = why;
        void child.kill();
      },
    );
  }

  /** Text before the mark comes from the jail or the shell, and is output like any other. */
  #onSide(
    text: string,
    chunk: Uint8Array<ArrayBuffer>,
    output: (chunk: Uint8Array<ArrayBuffer>, before?: string) => void,
  ): void {
    if (this.#side.length > 0 || text.startsWith(DIRECTORY_MARK)) {
      this.#side = (this.#side + text).slice(0, 8192);
      this.#before = undefined;
      return;
    }
    const mark = text.indexOf(DIRECTORY_MARK);
    if (mark < 0) return output(chunk, text);
    output(new TextEncoder().encode(text.slice(0, mark)));
    this.#side = text.slice(mark);
  }

  async #result(
    end: ProcessEnd,
    cut: Cut,
    { limit, notes: made }: { readonly limit: number; readonly notes: readonly string[] },
  ): Promise<ToolResult> {
    const notes = this.#directory.note === undefined ? [] : [this.#directory.note];
    if (this.#diskFull !== undefined) notes.push(`[stopped: ${this.#diskFull}]`);
    else if (this.#timedOut) notes.push(this.#stopped(limit));
    else if (end.signal !== undefined) notes.push(`[ended by ${end.signal}]`);
    else if (end.code !== 0) notes.push(`[exit code ${end.code}${signalName(end.code)}]`);
    if (this.#directory.lasting && this.#side !== "") {
      const note = await leftOff(this.#context, this.#side.slice(1).replace(/\n$/, ""));
      if (note !== undefined) notes.push(note);
    }
    const failed = this.#timedOut || this.#diskFull !== undefined || end.code !== 0;
    const hint = failed ? writesHint(this.#context.settings.writes, cut.text) : undefined;
    if (hint !== undefined) notes.push(hint);
    notes.push(...made.map((note) => `[${note}]`));
    const text = cut.text === "" && notes.length === 0 ? "(no output)" : cut.text;
    return {
      content: [...(text === "" ? [] : [text]), ...notes].join("\n"),
      summary: this.#summary(end),
      exitCode: end.code,
      ...(failed ? { isError: true } : {}),
      ...(end.signal === undefined ? {} : { signal: end.signal }),
      ...(cut.truncated ? { truncated: cut.truncated } : {}),
    };
  }

  /** Points to background jobs, the only way for a command that needs longer. */
  #stopped(limit: number): string {
    const atCap = limit === this.#context.settings.bashTimeoutSeconds * 1000;
    return `[stopped after ${limit / 1000} s${
      atCap ? ", the most a call may take" : ""
    }; start servers, watchers ` +
      `and ${atCap ? "longer work" : "lasting work"} with run_in_background]`;
  }

  #summary(end: ProcessEnd): Text {
    if (this.#diskFull !== undefined) return message`disk full`;
    return this.#timedOut ? message`timed out` : end.signal ?? message`exit ${end.code ?? ""}`;
  }
}

/** Milliseconds a command may take; 0 means no limit. A call can ask for less than the cap, not for more. */
function timeLimit(cap: number, wanted: unknown): number {
  if (typeof wanted !== "number") return cap;
  return cap === 0 ? wanted : Math.min(cap, wanted);
}

/** No byte is more than a character, so that the bound holds in every script. */
function capsOf({ maxChars }: Wanted): Caps {
  return typeof maxChars === "number"
    ? { ...DEFAULT_CAPS, maxBytes: Math.min(DEFAULT_CAPS.maxBytes, maxChars) }
    : DEFAULT_CAPS;
}

/** A shell (and a jail) reports the signal that ended its command as 128 plus the number. */
function signalName(code: number): string {
  const name = { 130: "SIGINT", 134: "SIGABRT", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM" }[code];
  return name === undefined ? "" : `, ${name}`;
}

/** Lets a command that fails at once report it in the result of the call that started it. */
const FIRST_LOOK_MS = 100;

async function startJob(
  command: string,
  shell: Shell,
  cwd: string,
  context: ToolContext,
): Promise<ToolResult> {
  const jobs = context.services?.jobs;
  if (!jobs) {
    return failure("Cannot run in the background: this session has no jobs", "run it in the foreground");
  }
  const plan = context.jail.wrap(shell.argv(command, false), { cwd });
  const { minFreeDiskMb } = context.settings;
  const { id } = jobs.start({ command, plan, cwd, dir: context.outputDir, minFreeDiskMb });
  await jobs.ended(id, FIRST_LOOK_MS, context.signal);
  const update = jobs.newOutput(id);
  if (!update) return failure(`Cannot find ${id} again`);
  const { text, truncated } = jobText(update);
  return {
    content: [describeJob(update.view), ...(text === "" ? [] : [text])].join("\n"),
    summary: `${id} ${update.view.status}`,
    ...(truncated ? { truncated } : {}),
  };
}

interface WorkingDirectory {
  readonly path: string;
  /** The next command starts where this one ends. */
  readonly lasting: boolean;
  readonly note?: string;
}

/** Returns the directory of a command: the requested one, else where the last command ended. */
async function workingDirectory(context: ToolContext, wanted: unknown): Promise<WorkingDirectory> {
  const memory = context.services?.shell;
  if (typeof wanted === "string" && wanted !== "") {
    const path = await context.paths.read(wanted);
    if (!isDirectory(path)) {
      throw new ReasonixError(`Cannot run in ${wanted}: it is not a directory`, {
        remedy: "name an existing directory",
      });
    }
    if (!(await isInside(context, path))) {
      throw new ReasonixError(`Cannot run in ${wanted}: it is outside the workspace`, {
        remedy: "leave workdir out and use absolute paths in the command",
      });
    }
    return { path, lasting: false };
  }
  if (memory?.cwd === undefined) return { path: context.cwd, lasting: memory !== undefined };
  if (isDirectory(memory.cwd)) return { path: memory.cwd, lasting: true };
  const note = `[${memory.cwd} is gone; ran in ${context.cwd}]`;
  delete memory.cwd;
  return { path: context.cwd, lasting: true, note };
}

/**
 * Remembers the directory in which a command ended, if it is in the workspace; returns a note for the model.
 */
async function leftOff(context: ToolContext, directory: string): Promise<string | undefined> {
  const memory = context.services?.shell;
  if (!memory || !directory.startsWith("/")) return undefined;
  if (directory === (memory.cwd ?? context.cwd)) return undefined;
  const before = memory.cwd ?? await Deno.realPath(context.cwd);
  if (directory === before) return undefined;
  if (await isInside(context, directory)) {
    memory.cwd = directory;
    return `[now in ${directory}]`;
  }
  return `[${directory} is outside the workspace; the next command starts in ${before} again]`;
}

/** Inside the working directory, or in another directory that tools may write to. */
async function isInside(context: ToolContext, directory: string): Promise<boolean> {
  const [root, real] = await Promise.all([
    Deno.realPath(context.cwd),
    Deno.realPath(directory).catch(() => directory),
  ]);
  if (contains(root, real)) return true;
  return await context.paths.write(real).then(() => true, () => false);
}

interface Shell {
  /** It reports where a command left off (see {@linkcode DIRECTORY_MARK}). */
  readonly reports: boolean;
  argv(command: string, reporting: boolean): string[];
}

/** On standard error: everything after this is the directory in which the command ended. */
const DIRECTORY_MARK = "\u001e";

// By way of a variable, so that the command has no arguments and its syntax errors show nothing but its own
// text.
const TAKE = `REASONIX_LINE=$1; set --;`;
const RUN = `eval "$REASONIX_LINE";`;

// Both streams go through one pipe, so that lines keep their order; the other pipe carries the directory. The
// command runs without the descriptor of that second pipe, and `exit` inside it still runs the trap.
const REPORTING =
  `${TAKE} exec 9>&2 2>&1; trap '{ printf "\\036"; pwd -P; } 2>/dev/null >&9' EXIT; { ${RUN} } 9>&-`;
const PLAIN = `exec 2>&1; ${TAKE} ${RUN}`;

// The console's own code page would garble everything that is not ASCII.
const UTF8 =
  "[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false); $OutputEncoding = [Console]::OutputEncoding; ";
const EXIT = "\nif ($null -ne $LASTEXITCODE) { exit $LASTEXITCODE } elseif (-not $?) { exit 1 }";

const WINDOWS = Deno.build.os === "windows";

/** Returns the shell of the settings: a given path, else the preferred one, else the system's. */
function findShell({ prefer, path }: ToolSettings["shell"], searchPath: string): Shell {
  return shellAt(path || installedShell(prefer, searchPath));
}

function installedShell(prefer: ToolSettings["shell"]["prefer"], searchPath: string): string {
  const names = prefer === "bash" || (prefer === "auto" && !WINDOWS)
    ? ["bash", "sh"]
    : ["pwsh", "powershell"];
  if (prefer === "powershell") names.reverse();
  const usual = WINDOWS ? [] : ["/bin", "/usr/bin", "/usr/local/bin"];
  // A relative directory would let the workspace choose the shell.
  const directories = [...usual, ...searchPath.split(WINDOWS ? ";" : ":")]
    .filter((directory) => /^(?:\/|[A-Za-z]:)/.test(directory));
  const paths = names.flatMap((name) =>
    directories.map((directory) => WINDOWS ? `${directory}\\${name}.exe` : `${directory}/${name}`)
  );
  const path = paths.find(isFile);
  if (path !== undefined) return path;
  throw new ReasonixError(`Cannot find a shell (looked for ${names.join(", ")})`, {
    remedy: "set [tools.shell] path in the configuration",
  });
}

function shellAt(path: string): Shell {
  const name = path.replace(/^.*[\\/]/, "").toLowerCase();
  if (/^(?:pwsh|powershell)/.test(name)) {
    const options = ["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"];
    return { reports: false, argv: (command) => [path, ...options, UTF8 + command + EXIT] };
  }
  const shell = /^bash/.test(name) ? [path, "--noprofile", "--norc"] : [path];
  return {
    reports: true,
    argv: (command, reporting) => [...shell, "-c", reporting ? REPORTING : PLAIN, "bash", command],
  };
}
