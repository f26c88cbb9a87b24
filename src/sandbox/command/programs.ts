import { isFile } from "../../path/probe.ts";

/** Where the program of each jail is looked for. Not on PATH: a repository may have put a directory there. */
export const JAIL_PROGRAMS = {
  bubblewrap: ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"],
  seatbelt: ["/usr/bin/sandbox-exec"],
} as const;

/** The program of a jail, or undefined where it is not installed. Cheaper than loading the jail to ask it. */
export function findJailProgram(name: keyof typeof JAIL_PROGRAMS): string | undefined {
  return JAIL_PROGRAMS[name].find((path: string) => isFile(path));
}
