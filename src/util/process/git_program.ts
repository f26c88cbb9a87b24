import { findProgram } from "../find_program.ts";
import { readEnv } from "../../path/read_env.ts";

/** What git needs of the environment: its programs and the user's settings. */
const NAMES = ["HOME", "XDG_CONFIG_HOME", "PATH", "USERPROFILE", "SYSTEMROOT"];

/**
 * The whole environment of a git that looks at a repository for the program itself: it asks nobody, fetches
 * nothing, and no variable leads it to another repository.
 */
export function gitEnvironment(): Record<string, string> {
  const own = NAMES.flatMap((name) => {
    const value = readEnv(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(own),
    LC_ALL: "C",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    // Older versions do not know this one: callers forbid all protocols besides.
    GIT_NO_LAZY_FETCH: "1",
  };
}

/** The installed git, not one that came with the repository or that a command of the agent has put there. */
export function findGit(root: string): string | undefined {
  return findProgram("git", readEnv("PATH") ?? "", [root]);
}
