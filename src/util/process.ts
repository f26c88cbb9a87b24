/** Programs of this machine: finding them, running them to their end, and what the system knows of them. */
import { isFile } from "../path/probe.ts";
import { environmentOf, readEnv } from "../path/read_env.ts";
import { existingRealPath } from "../path/real_path.ts";
import { attempt } from "./lazy.ts";
import { after } from "./timer.ts";

const WINDOWS = Deno.build.os === "windows";

/**
 * An installed program, except in directories in which a repository or a jailed command may have put one, and
 * links to these.
 */
export function findProgram(
  name: string,
  searchPath: string,
  untrusted: readonly string[],
): string | undefined {
  const areas = [
    ...new Set(untrusted.flatMap((directory) => [directory, existingRealPath(directory) ?? directory])),
  ];
  const own = (path: string) =>
    areas.some((area) => path === area || path.startsWith(area.endsWith("/") ? area : `${area}/`));
  for (const directory of searchPath.split(WINDOWS ? ";" : ":")) {
    if (!/^(?:\/|[A-Za-z]:)/.test(directory) || own(directory)) continue;
    const path = `${directory}/${name}${WINDOWS ? ".exe" : ""}`;
    const real = existingRealPath(path);
    if (real !== undefined && !own(real) && isFile(real)) return path;
  }
  return undefined;
}

export interface ProgramOptions {
  readonly cwd?: string;
  /** The whole environment; absent: that of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input; absent: none. */
  readonly input?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ProgramResult {
  readonly code: number;
  readonly stdout: Uint8Array<ArrayBuffer>;
  readonly text: string;
  readonly errors: string;
}

/** Runs a program to its end, whatever its exit code. Throws when it cannot be started. */
export async function runProgram(
  command: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const child = spawn(command, options);
  const [{ code, stdout, stderr }] = await Promise.all([child.output(), feedText(child, options)]);
  const decoder = new TextDecoder();
  return { code, stdout, text: decoder.decode(stdout), errors: decoder.decode(stderr) };
}

/** Hands over the output of a program as it comes, and ends the program early when `take` returns false. */
export async function streamProgram(
  command: readonly string[],
  take: (chunk: Uint8Array<ArrayBuffer>) => boolean,
  options: ProgramOptions = {},
): Promise<Pick<ProgramResult, "code" | "errors"> & { readonly endedEarly: boolean }> {
  const child = spawn(command, options);
  const errors = textOf(child.stderr);
  const fed = feedText(child, options);
  let endedEarly = false;
  for await (const chunk of child.stdout) {
    endedEarly = !take(chunk);
    if (!endedEarly) continue;
    // It may have ended meanwhile.
    attempt(() => child.kill("SIGKILL"));
    break;
  }
  const [{ code }] = await Promise.all([child.status, fed]);
  return { code, errors: await errors, endedEarly };
}

function spawn(
  [program = "", ...args]: readonly string[],
  { cwd, env, input, signal }: ProgramOptions,
): Deno.ChildProcess {
  return new Deno.Command(program, {
    args,
    ...(cwd === undefined ? {} : { cwd }),
    ...(env ? { clearEnv: true, env: { ...env } } : {}),
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    ...(signal ? { signal } : {}),
  }).spawn();
}

async function feedText(child: Deno.ChildProcess, { input }: ProgramOptions): Promise<void> {
  if (input !== undefined) await feed(child.stdin, new TextEncoder().encode(input));
}

/** Runs a program with the standard streams of this one, and returns its exit code. */
export async function runInTerminal(
  [program = "", ...args]: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<number> {
  const options = { args, cwd, clearEnv: true, env: { ...env } };
  return (await new Deno.Command(program, options).spawn().status).code;
}

/** Writes the standard input of a program. False when the program ended before it had read everything. */
export async function feed(stdin: WritableStream<Uint8Array>, input: Uint8Array): Promise<boolean> {
  const writer = stdin.getWriter();
  try {
    await writer.write(input);
    await writer.close();
    return true;
  } catch {
    await writer.abort().catch(() => {});
    return false;
  }
}

const MAX_BYTES = 64 * 1024;

export interface HelperOutput {
  readonly code: number;
  /** Without the white space around it. */
  readonly output: string;
  readonly errors: string;
  /** It did not end in time; everything else says nothing then. */
  readonly late: boolean;
}

export interface HelperOptions {
  readonly limitMs: number;
  /** Ends what is left of it, with all that it started. */
  readonly end: () => Promise<void>;
  readonly signal?: AbortSignal;
}

export function shellCommand(line: string): [program: string, ...args: string[]] {
  return WINDOWS ? ["cmd.exe", "/d", "/s", "/c", line] : ["/bin/sh", "-c", line];
}

/** A word as POSIX shells read it, quoted where it needs that. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Waits for a helper and ends it when it takes too long, but does not wait for its background processes. */
export async function helperOutput(
  child: Deno.ChildProcess,
  { limitMs, end, signal }: HelperOptions,
): Promise<HelperOutput> {
  const limit = Promise.withResolvers<"late">();
  const stop = () => limit.resolve("late");
  const clear = after(limitMs, stop);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const texts = Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  try {
    const status = await Promise.race([child.status, limit.promise]);
    await end();
    const read = await Promise.race([texts, limit.promise]);
    if (status === "late" || read === "late") return { code: 0, output: "", errors: "", late: true };
    return { code: status.code, output: read[0].trim(), errors: read[1], late: false };
  } finally {
    clear();
    signal?.removeEventListener("abort", stop);
  }
}

async function textOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    if (text.length < MAX_BYTES) text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The environment variables that git needs to find its programs and the user's settings. */
const NAMES = ["HOME", "XDG_CONFIG_HOME", "PATH", "USERPROFILE", "SYSTEMROOT"];

/**
 * The environment of a git that inspects a repository: no prompts, no fetches, no variables that name another
 * repository.
 */
export function gitEnvironment(): Record<string, string> {
  return {
    ...environmentOf(NAMES),
    LC_ALL: "C",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    // Older versions do not know this one: callers forbid all protocols too.
    GIT_NO_LAZY_FETCH: "1",
  };
}

export function findGit(root: string): string | undefined {
  return findProgram("git", readEnv("PATH") ?? "", [root]);
}

/** Identifies a running process by its start time; undefined for a zombie. */
export function processStart(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  return Deno.build.os === "linux" ? startInProc(pid) : startFromPs(pid);
}

function startInProc(pid: number): string | undefined {
  const text = systemText([`/proc/${pid}/stat`]);
  // The name of the program is in parentheses and may contain any.
  const [state, ...fields] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return text === "" || state === "Z" || state === "X" ? undefined : fields[18];
}

function startFromPs(pid: number): string | undefined {
  const line = outputOf("ps", ["-o", "stat=,lstart=", "-p", String(pid)]).trim();
  return line !== "" && !line.startsWith("Z") ? line.replace(/^\S+\s+/, "") : undefined;
}

/**
 * The text of system files such as those of /proc, or "". A program reads them, since the runtime allows that
 * only with all permissions.
 */
export function systemText(paths: readonly string[]): string {
  return outputOf("cat", ["--", ...paths]);
}

/** Returns the output of a short-lived program; "" when it is not installed. */
export function outputOf(program: string, args: readonly string[]): string {
  try {
    const { stdout } = new Deno.Command(program, {
      args: [...args],
      env: { LC_ALL: "C" },
      stdin: "null",
      stderr: "null",
    }).outputSync();
    return new TextDecoder().decode(stdout);
  } catch {
    return "";
  }
}
