/** Printing and child processes for the scripts of this directory. */

const encoder = new TextEncoder();

/** Writes a line to standard output. */
export function say(line = ""): void {
  writeAll(Deno.stdout, encoder.encode(line + "\n"));
}

function writeAll(to: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += to.writeSync(bytes.subarray(done));
}

/** The way a child ended. `output` is its standard output and standard error as they came. */
export interface Finished {
  readonly code: number;
  readonly output: string;
  readonly timedOut: boolean;
}

export interface RunOptions {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Pass the output on while it comes. */
  readonly echo?: boolean;
  readonly limitSeconds?: number;
}

/**
 * Runs a program to its end. The directory of the running Deno comes first in the child's PATH, so that
 * programs which call `deno` find this very one even when it was started by npx.
 */
export async function run(command: string, options: RunOptions): Promise<Finished> {
  const child = new Deno.Command(command, {
    args: [...options.args],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { PATH: searchPath(), ...options.env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill("SIGKILL");
  }, (options.limitSeconds ?? 600) * 1000);
  const parts: string[] = [];
  const [status] = await Promise.all([
    child.status,
    collect(child.stdout, parts, options.echo ? Deno.stdout : undefined),
    collect(child.stderr, parts, options.echo ? Deno.stderr : undefined),
  ]);
  clearTimeout(timer);
  return { code: status.code, output: parts.join(""), timedOut };
}

/** Runs a program whose failure is ours too; returns its output. */
export async function mustRun(command: string, options: RunOptions): Promise<string> {
  const done = await run(command, options);
  if (done.code !== 0) {
    throw new Error(
      `${command} ${options.args.join(" ")} ended with exit code ${done.code}:\n${done.output}`,
    );
  }
  return done.output;
}

/** PATH with the directory of the running Deno first. */
export function searchPath(): string {
  const separator = Deno.build.os === "windows" ? ";" : ":";
  const directory = Deno.execPath().replace(/[\\/][^\\/]*$/, "");
  return [directory, Deno.env.get("PATH") ?? ""].join(separator);
}

async function collect(
  stream: ReadableStream<Uint8Array>,
  into: string[],
  echo: { writeSync(bytes: Uint8Array): number } | undefined,
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    if (echo !== undefined) writeAll(echo, bytes);
    into.push(decoder.decode(bytes, { stream: true }));
  }
}
