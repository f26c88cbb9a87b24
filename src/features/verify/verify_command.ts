import type { EventOf, LocalizedMessage } from "../../core/mod.ts";
import { compileGlobs } from "../../path/glob.ts";

/** A command line that tests what a turn changed. */
export interface VerifyCommand {
  readonly line: string;
  readonly kind: "lint" | "test";
  /** Globs of the changed files that ask for it; without a slash they mean the name in any directory. */
  readonly globs: readonly string[];
  /** Present: the project's own files name it, and nobody has to believe them. */
  readonly defined?: Definition;
}

/** Where a file of the project says what such a command runs. */
export interface Definition {
  /** From the working directory. */
  readonly file: string;
  /** What runs, as it is written there; the command itself where the file only says which tool there is. */
  readonly text: string;
  /** All of the file decides what runs. */
  readonly whole?: boolean;
}

/** What became of a command line. */
export interface VerifyResult extends Pick<EventOf<"verification">, "outcome" | "exitCode"> {
  readonly line: string;
  /** The end of what it printed, or why it was not run. */
  readonly text: string;
  /** The reason for people, where it was not run. */
  readonly why?: LocalizedMessage;
  readonly durationMs: number;
}

type ByGlob = Readonly<Record<string, readonly string[]>>;

/** The commands of the settings, those that look before those that run; each once. */
export function configuredCommands(
  { lint_commands, verify_commands }: { readonly lint_commands: ByGlob; readonly verify_commands: ByGlob },
): VerifyCommand[] {
  return [...commandsOf("lint", lint_commands), ...commandsOf("test", verify_commands)];
}

function commandsOf(kind: VerifyCommand["kind"], table: ByGlob): VerifyCommand[] {
  const globs = new Map<string, string[]>();
  for (const [glob, lines] of Object.entries(table)) {
    for (const line of lines.map((each) => each.trim())) {
      if (line !== "") globs.set(line, [...globs.get(line) ?? [], glob]);
    }
  }
  return [...globs].map(([line, found]) => ({ line, kind, globs: found }));
}

/** Text that no test of a project reads, as far as nobody says otherwise. */
const NO_CODE = /\.(?:md|markdown|txt|rst|adoc)$/i;

/** The changed files that ask for a command. */
export function filesFor(
  { globs, defined }: Pick<VerifyCommand, "globs" | "defined">,
  changed: readonly string[],
): string[] {
  const paths = globs.filter((glob) => glob.includes("/")).map((glob) => glob.replace(/^\//, ""));
  const [asksByPath, asksByName] = [paths, globs].map((each) => compileGlobs(each, { dialect: "ignore" }));
  return changed.filter((path) =>
    !(defined && NO_CODE.test(path)) &&
    (asksByPath?.(path) || asksByName?.(path.slice(path.lastIndexOf("/") + 1)))
  );
}
