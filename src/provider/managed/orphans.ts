import { outputOf } from "../../util/process/process_start.ts";

/**
 * Ends what is left of a server whose keeper was killed. Its group is only ended when one of its processes
 * was started with this key file: numbers of groups are given again.
 */
export function endOrphan(pid: number, keyFile: string): void {
  const groups = Deno.build.os === "linux" ? groupsInProc(keyFile) : groupsFromPs(keyFile);
  if (groups.includes(pid)) endGroup(pid);
}

export function endGroup(pid: number): void {
  signalGroup(pid, "SIGKILL");
}

/** Reports whether anything of a group is left. The signal does nothing to processes that run. */
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
