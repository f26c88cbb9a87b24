import type { Program } from "./program.ts";
import { ARCHIVES } from "./programs/archives.ts";
import { BUILDERS } from "./programs/builders.ts";
import { DATABASES } from "./programs/databases.ts";
import { FILES } from "./programs/files.ts";
import { FINDERS } from "./programs/finders.ts";
import { GIT } from "./programs/git.ts";
import { INTERPRETERS } from "./programs/interpreters.ts";
import { NETWORK } from "./programs/network.ts";
import { READERS } from "./programs/readers.ts";
import { SHELLS } from "./programs/shells.ts";
import { SYSTEM } from "./programs/system.ts";
import { TEXT_PROGRAMS } from "./programs/text_programs.ts";
import { WRAPPERS } from "./programs/wrappers.ts";

const TABLES: readonly (readonly Program[])[] = [
  READERS,
  FILES,
  FINDERS,
  TEXT_PROGRAMS,
  ARCHIVES,
  GIT,
  SHELLS,
  WRAPPERS,
  INTERPRETERS,
  BUILDERS,
  DATABASES,
  NETWORK,
  SYSTEM,
];

/** Everything that is known of programs, a row each. */
export const PROGRAMS: readonly Program[] = TABLES.flat();

/** Rows by name; a name ending in `#` is that of a program whose versions have names of their own. */
const BY_NAME: ReadonlyMap<string, Program> = new Map(
  PROGRAMS.flatMap((row) => namesOf(row).map((name) => [name, row] as const)),
);

function namesOf({ names, sub }: Program): string[] {
  return names.split(" ").flatMap((name) =>
    sub === undefined ? [name] : sub.split(" ").map((word) => `${name} ${word}`)
  );
}

/** Returns what is known of a program by its bare name, or of a subcommand by both names. */
export function programNamed(name: string): Program | undefined {
  const plain = name.replace(/\.exe$|\.distrib$/, "");
  return BY_NAME.get(plain) ?? BY_NAME.get(`${plain}#`) ??
    BY_NAME.get(plain.replace(/[-.]?\d[\d.]*$/, "#")) ??
    (/^ld-[\w.-]+\.so/.test(plain)
      ? BY_NAME.get("ld.so")
      : /^mkfs\./.test(plain)
      ? BY_NAME.get("mkfs")
      : undefined);
}
