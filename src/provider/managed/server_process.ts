import { processEnvironment } from "../../path/read_env.ts";
import { outputOf, runProgram } from "../../util/process.ts";
import { attempt } from "../../util/lazy.ts";

/**
 * A server and its supervisor, a small shell, are one process group. Each user of the server holds the pipe
 * open for writing, and the kernel closes it with the process, however that ends. When the last user is gone,
 * the shell reads the end of the pipe, removes the pipe and ends the group. When the server ends on its own,
 * its exit code is left in a file, and the shell ends, too.
 *
 * The pipe is opened in both directions first: a starter that was killed in between would keep the shell
 * waiting forever otherwise.
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

export interface SupervisedCommand {
  readonly command: readonly string[];
  /** Named pipe that the users of the server hold open. */
  readonly pipe: string;
  readonly log: string;
}

/** Starts the supervisor and its server, detached from the terminal; returns its pid, which is the group. */
export function startSupervisor({ command, pipe, log }: SupervisedCommand): number {
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", SCRIPT, "supervisor", pipe, log, ...command],
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

export async function makePipe(path: string): Promise<void> {
  const { code, errors } = await runProgram(["mkfifo", "-m", "600", path]);
  if (code !== 0) throw new Error(errors.trim());
}

/** Holds the server of a pipe until it is closed or this process ends; undefined without a pipe. */
export function openPipe(path: string): Deno.FsFile | undefined {
  return attempt(() =>
    Deno.lstatSync(path).isFifo ? Deno.openSync(path, { read: true, write: true }) : undefined
  );
}

/** Variables that a server needs: paths, caches, and settings of GPUs and threads; no keys or tokens. */
const PASSED =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|XDG_\w+|(?:DY)?LD_LIBRARY_PATH|(?:CUDA|HIP|HSA|ROCR|ROCM|GPU|AMD|NVIDIA|GGML|VK|ONEAPI|SYCL|ZES|OMP|GOMP|KMP|MKL|OPENBLAS|METAL)_\w+)$/;
const SECRET = /TOKEN|KEY|SECRET|PASS|CREDENTIAL/i;

function serverEnvironment(): Record<string, string> {
  const entries = Object.entries(processEnvironment());
  return Object.fromEntries(entries.filter(([name]) => PASSED.test(name) && !SECRET.test(name)));
}

/** Ends the group of a killed supervisor, if a process of it was started with this key file. */
export function endOrphan(pid: number, keyFile: string): void {
  const groups = Deno.build.os === "linux" ? groupsInProc(keyFile) : groupsFromPs(keyFile);
  if (groups.includes(pid)) endGroup(pid);
}

export function endGroup(pid: number): void {
  signalGroup(pid, "SIGKILL");
}

/** Reports whether a process of the group runs. The signal has no effect on running processes. */
export function groupRuns(pid: number): boolean {
  return signalGroup(pid, "SIGCONT");
}

function signalGroup(pid: number, signal: Deno.Signal): boolean {
  try {
    Deno.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Prints the line about each process whose arguments hold a text. */
const FIND = 'for file in $(grep -lsF -- "$1" /proc/[0-9]*/cmdline); do cat "${file%cmdline}stat"; done';

function groupsInProc(text: string): number[] {
  const lines = outputOf("/bin/sh", ["-c", FIND, "find", text]).split("\n");
  return lines.map((line) => Number(line.slice(line.lastIndexOf(")") + 2).split(" ")[2]));
}

function groupsFromPs(text: string): number[] {
  const lines = outputOf("ps", ["-axww", "-o", "pgid=,command="]).split("\n");
  return lines.filter((line) => line.includes(text)).map((line) => Number.parseInt(line));
}
