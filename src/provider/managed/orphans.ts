import type { ProcessName } from "./server_files.ts";

/**
 * Ends what is left of a server whose keeper was killed. Its group is only ended when one of its processes
 * was started with this key file: numbers of groups are given again.
 */
export function endOrphan({ pid }: ProcessName, keyFile: string): void {
  if (commandsOfGroup(pid).some((command) => command.includes(keyFile))) endGroup(pid);
}

export function endGroup(pid: number): void {
  try {
    Deno.kill(-pid, "SIGKILL");
  } catch { /* nothing is left of it */ }
}

function commandsOfGroup(group: number): string[] {
  return Deno.build.os === "linux" ? commandsInProc(group) : commandsFromPs(group);
}

function commandsInProc(group: number): string[] {
  return [...Deno.readDirSync("/proc")].flatMap(({ name }) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = Deno.readTextFileSync(`/proc/${name}/stat`);
      const [, , itsGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(itsGroup) === group
        ? [Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ")]
        : [];
    } catch {
      return [];
    }
  });
}

function commandsFromPs(group: number): string[] {
  try {
    const { stdout } = new Deno.Command("ps", { args: ["-axww", "-o", "pgid=,command="], stderr: "null" })
      .outputSync();
    return new TextDecoder().decode(stdout).split("\n").filter((line) => Number.parseInt(line) === group);
  } catch {
    return [];
  }
}
