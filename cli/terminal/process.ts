import type { RunPaths } from "../../src/run/mod.ts";
import { type EnvLookup, reasonixHome } from "../../src/config/mod.ts";
import { errorMessage, EXIT, formatLocation, message, ReasonixError } from "../../src/core/mod.ts";
import { isAbsolute } from "../../src/path/lexical.ts";
import { realDirectory } from "../../src/path/real_path.ts";
import { attempt } from "../../src/util/lazy.ts";
import { printableJson, terminalSafe } from "../../src/util/terminal_text.ts";
import { palette, roughWidth, wantsColor, wrapText } from "../../src/view/mod.ts";

export interface CliContext {
  readonly process: {
    readonly stdout: StandardOutput;
    readonly stderr: { write(text: string): void };
    readonly env: Readonly<Record<string, string | undefined>>;
    exitCode?: number | string | null;
  };
}

export interface StandardOutput {
  /** Writes text for people without what could steer a terminal: names come from repositories and servers. */
  write(text: string): void;
  /** Writes a value as JSON in which controls are escaped, so that it is exact. */
  json(value: unknown): void;
  /** Writes text as it is: a file, a script, or colored lines whose parts are safe. */
  exact(text: string): void;
}

/** Writes text at once; for commands whose output is short. */
function writeAll(target: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) at += target.writeSync(bytes.subarray(at));
}

interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a program with the streams of this one, passes signals on, and resolves to its exit code. */
export async function runInPlace({ command, args, env }: ChildCommand): Promise<number> {
  const streams = { stdin: "inherit", stdout: "inherit", stderr: "inherit" } as const;
  const child = new Deno.Command(command, { args: [...args], clearEnv: true, env, ...streams }).spawn();
  const windows = Deno.build.os === "windows";
  const signals: Deno.Signal[] = windows ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGHUP"];
  const listeners = signals.map((signal) => [signal, () => attempt(() => child.kill(signal))] as const);
  for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
  const { code } = await child.status;
  for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
  return code;
}

/** Standard input and output of a command that speaks a protocol over them. */
export function protocolStreams() {
  return { input: Deno.stdin.readable, output: Deno.stdout };
}

/** Standard output for a command that waits for a slow reader. */
export function standardOutput() {
  return Deno.stdout;
}

/** Environment variables read on demand: listing them all at start would cost more than it gives. */
function lazyEnv(): Record<string, string | undefined> {
  return new Proxy({}, { get: (_target, key) => typeof key === "string" ? Deno.env.get(key) : undefined });
}

/**
 * A reader that went away (`| head -1`) has what it wanted, so the rest is dropped and the command just ends.
 */
function writeToReader(text: string): void {
  try {
    writeAll(Deno.stdout, text);
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return;
    throw new ReasonixError(message`Cannot write to standard output: ${errorMessage(error)}`);
  }
}

/** A complaint that cannot be written has nowhere else to go. */
function writeComplaint(text: string): void {
  try {
    writeAll(Deno.stderr, complaint(text));
  } catch { /* there is no other output */ }
}

const ERROR = "error: ";

/** A safe text for standard error, broken between words for the terminal, the word "error:" in red. */
function complaint(text: string): string {
  const isTerminal = Deno.stderr.isTerminal();
  const { bad } = palette(!Deno.args.includes("--no-color") && wantsColor(lazyEnv(), isTerminal));
  const columns = isTerminal ? Deno.consoleSize().columns || 80 : Infinity;
  return terminalSafe(text).split("\n").map((line) => {
    const indent = line.startsWith(ERROR) ? " ".repeat(ERROR.length) : /^ */.exec(line)?.[0] ?? "";
    return wrapText(line, columns, roughWidth, indent).join("\n").replace(/^error:/, bad);
  }).join("\n");
}

export function processContext(): CliContext {
  return {
    process: {
      stdout: {
        write: (text) => writeToReader(terminalSafe(text)),
        json: (value) => writeToReader(`${printableJson(JSON.stringify(value, null, 2))}\n`),
        exact: writeToReader,
      },
      stderr: { write: writeComplaint },
      env: lazyEnv(),
    },
  };
}

/**
 * Returns an error of a command as the user reads it: place, message, remedy. Anything that is not meant for
 * the user is a defect and says so.
 */
export function errorText(error: unknown): string {
  const word = "error: ";
  if (isIncomplete(error)) return `${word}${error.message}`;
  if (!(error instanceof ReasonixError)) {
    const text = error instanceof Error ? error.stack ?? error.message : String(error);
    return `${word}Internal error; please report it\n${text}`;
  }
  const remedy = error.remedy ? `\n${" ".repeat(word.length)}${error.remedy}` : "";
  const place = error.place ? `${formatLocation(error.place)}: ` : "";
  return `${word}${place}${error.message}${remedy}`;
}

/** Reports whether a file of the program is missing; the loader of the bundle names it and the remedy. */
function isIncomplete(error: unknown): error is Error {
  return error instanceof Error && error.name === "IncompleteInstallation";
}

/** Records a defect in the program's log, where the user has switched it on. */
export async function logDefect(error: unknown, context: CliContext): Promise<void> {
  if (error instanceof ReasonixError || isIncomplete(error)) return;
  try {
    const paths = runPaths(context);
    const [{ loadTrustedConfig }, { loadLog }] = await Promise.all([
      import("../../src/run/mod.ts"),
      import("../../src/features/mod.ts"),
    ]);
    const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
    if (loaded.config.log.level === "off") return;
    await (await loadLog()).logFailure("program.failed", error, { loaded, paths });
  } catch { /* the user has seen the defect */ }
}

/** Returns the exit code of an error; a defect counts as a failure. */
export function exitCodeOf(error: unknown): number {
  return EXIT[error instanceof ReasonixError ? error.exit : "failed"];
}

/**
 * Returns the exit code of a command line. Negative codes are the parser's own: an unknown command or flag is
 * a usage error, the rest a defect.
 */
export function finalExitCode(context: CliContext): number {
  const code = Number(context.process.exitCode ?? 0);
  return code >= 0 ? code : code <= -4 ? EXIT.usage : EXIT.failed;
}

export interface SignalHandlers {
  /** The first Ctrl-C, or a request to terminate: stop cleanly. */
  readonly stop: (reason: "interrupted" | "terminated") => void;
  readonly exit: (code: number) => void;
}

/**
 * Ctrl-C reaches every process of the job, and a launcher that waits for this one passes it on: within this
 * time it is the same one.
 */
const SAME_SIGNAL_MS = 300;

/** Listens until the returned function is called. */
export function onSignals(
  handlers: SignalHandlers,
  now: () => number = () => performance.now(),
): () => void {
  let stopping = false;
  let first = -Infinity;
  const hasLauncher = lazyEnv().REASONIX_LAUNCHED?.includes(`:${Deno.pid}:`) === true;
  const listen = (signal: Deno.Signal, reason: "interrupted" | "terminated", code: number): () => void => {
    const listener = () => {
      if (hasLauncher && now() - first < SAME_SIGNAL_MS) return;
      if (stopping) handlers.exit(code);
      stopping = true;
      first = now();
      handlers.stop(reason);
    };
    Deno.addSignalListener(signal, listener);
    return () => Deno.removeSignalListener(signal, listener);
  };
  const removers = [listen("SIGINT", "interrupted", EXIT.interrupt)];
  if (Deno.build.os === "windows") removers.push(listen("SIGBREAK", "terminated", EXIT.terminated));
  else {
    removers.push(
      listen("SIGTERM", "terminated", EXIT.terminated),
      listen("SIGHUP", "terminated", EXIT.terminated),
    );
  }
  return () => removers.forEach((remove) => remove());
}

export function runPaths(context: CliContext, dir?: string): RunPaths {
  ensureHome();
  const env: EnvLookup = (name) => context.process.env[name];
  const cwd = realDirectory(
    dir ?? ".",
    dir === undefined ? message`work in the current directory` : message`work in ${dir}`,
  );
  // A relative home belongs to the process: a directory that a session names must not bring one along.
  return { cwd, home: reasonixHome(env, attempt(() => Deno.cwd()) ?? cwd), env };
}

/**
 * Services and containers start programs without HOME. Shells then take `~` from the system's list of users;
 * so does this program, in its whole environment, because rules and confinement have to mean the directory
 * that commands mean. A relative HOME would be another directory wherever the program is started, one in the
 * project among them; it counts as none.
 */
function ensureHome(): void {
  const given = Deno.env.get("HOME") || Deno.env.get("USERPROFILE");
  if (given && isAbsolute(given)) return;
  if (given) Deno.env.delete("HOME");
  const home = process.getBuiltinModule("node:os").homedir();
  if (home) Deno.env.set("HOME", home);
}
