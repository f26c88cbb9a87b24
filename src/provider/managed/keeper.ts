import { processEnvironment } from "../../path/read_env.ts";

/**
 * A server and the small shell that keeps it are one process group. Whoever uses the server holds the pipe
 * open for writing, and the kernel closes it with the process, however that ends: when the last one is gone
 * the shell reads the end of the pipe, takes the pipe away, so that nobody joins any more, and ends the
 * group. When the server ends by itself, its exit code is left in a file, and the shell ends, too.
 *
 * The pipe is opened in both directions first: a starter that was killed in between would keep the shell
 * waiting for ever otherwise.
 */
const SCRIPT = `trap '' HUP INT TERM QUIT
umask 077
pipe=$1 log=$2
shift 2
exec 3<>"$pipe" || exit 1
exec <"$pipe" 3>&-
(
  "$@" </dev/null >>"$log" 2>&1
  echo $? >"$pipe.code"
  mv "$pipe.code" "$pipe.exit"
  kill -KILL "-$$"
) &
while read -r line; do :; done
rm -f "$pipe"
kill -KILL "-$$"`;

export interface KeptCommand {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Named pipe that the users of the server hold. */
  readonly pipe: string;
  /** What the server says is appended here. */
  readonly log: string;
}

/** Starts the keeper with its server, away from the terminal; returns its process, which is the group. */
export function startKeeper({ command, pipe, log }: KeptCommand): number {
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", SCRIPT, "keeper", pipe, log, ...command],
    clearEnv: true,
    env: serverEnvironment(),
    cwd: "/",
    stdin: "null",
    stdout: "null",
    stderr: "null",
    detached: true,
  }).spawn();
  child.unref();
  // Who is not waited for stays behind as a dead process.
  child.status.catch(() => {});
  return child.pid;
}

/** Makes a named pipe that only the user can open. */
export async function makePipe(path: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("mkfifo", { args: ["-m", "600", path], stdout: "null" })
    .output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
}

/**
 * Holds the server of a pipe until it is closed, or this process ends. Undefined when the pipe is gone, or is
 * none.
 */
export function holdPipe(path: string): Deno.FsFile | undefined {
  try {
    if (!Deno.lstatSync(path).isFifo) return undefined;
    return Deno.openSync(path, { read: true, write: true });
  } catch {
    return undefined;
  }
}

/**
 * What a server gets of the environment: where programs, libraries and caches are, and what libraries for
 * GPUs and threads read. Keys and tokens of the user are nothing that it needs.
 */
const PASSED =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|XDG_\w+|(?:DY)?LD_LIBRARY_PATH|(?:CUDA|HIP|HSA|ROCR|ROCM|GPU|AMD|NVIDIA|GGML|VK|ONEAPI|SYCL|ZES|OMP|GOMP|KMP|MKL|OPENBLAS|METAL)_\w+)$/;
const SECRET = /TOKEN|KEY|SECRET|PASS|CREDENTIAL/i;

function serverEnvironment(): Record<string, string> {
  const entries = Object.entries(processEnvironment());
  return Object.fromEntries(entries.filter(([name]) => PASSED.test(name) && !SECRET.test(name)));
}
