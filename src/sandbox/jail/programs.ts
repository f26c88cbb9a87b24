import { isFile } from "../../path/probe.ts";

/** Paths of the program of each jail. Not from PATH: a repository may have put a directory there. */
export const JAIL_PROGRAMS = {
  bubblewrap: ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"],
  seatbelt: ["/usr/bin/sandbox-exec"],
  podman: containerProgram("podman"),
  docker: containerProgram("docker"),
} as const;

function containerProgram(name: string): string[] {
  return ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"]
    .map((directory) => `${directory}/${name}`);
}

/** The program of a jail, or undefined where it is not installed. Cheaper than loading the jail to ask it. */
export function findJailProgram(name: keyof typeof JAIL_PROGRAMS): string | undefined {
  const paths: readonly string[] = JAIL_PROGRAMS[name];
  return paths.find(isFile);
}
