import { absolutePath, normalize } from "../path/lexical.ts";
import { exists, isFile } from "../path/probe.ts";
import { formatLocation } from "../core/mod.ts";
import type { HookSource } from "./hook.ts";

/** Words that a shell knows by itself, as far as lines begin with them. */
const BUILT_IN: ReadonlySet<string> = new Set(
  ("alias bg break case cd command continue do done echo elif else esac eval exec exit export false fc fg fi for " +
    "function getopts hash if jobs kill local printf pwd read readonly return set shift source test then time times trap true type ulimit " +
    "umask unalias unset until wait while").split(" "),
);

interface Around {
  readonly cwd: string;
  readonly env: (name: string) => string | undefined;
}

/** Says of each hook whose line begins with a program that is not there, where it stands. */
export function missingCommands(hooks: readonly HookSource[], around: Around): string[] {
  return hooks.flatMap(({ command, event, place }) => {
    const missing = missingCommand(command, around);
    if (missing === undefined) return [];
    const at = place ? `${formatLocation(place)}: ` : "";
    return [
      `${at}The program ${
        JSON.stringify(missing)
      } of a hook for ${event} is not there, so the hook will fail`,
    ];
  });
}

/** The first word of a line if it is a plain one and names no program. */
function missingCommand(line: string, { cwd, env }: Around): string | undefined {
  const word = /^\s*"?([\w./~+-]+)"?(?=[\s;|&]|$)/.exec(line)?.[1];
  if (word === undefined || Deno.build.os === "windows" || BUILT_IN.has(word) || word === ".") {
    return undefined;
  }
  if (word.includes("/")) {
    return exists(normalize(absolutePath(word, { cwd, home: env("HOME") }))) ? undefined : word;
  }
  const found = (env("PATH") ?? "").split(":").some((directory) => isFile(`${directory || cwd}/${word}`));
  return found ? undefined : word;
}
