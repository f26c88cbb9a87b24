import { shellWord } from "../../src/util/process.ts";

/** The command by which a shell starts the program. */
interface Check {
  /** A command line of shell that fails where the program cannot start. */
  readonly test: string;
  readonly error: string;
  readonly code: number;
}

/** Conditions under which the runtime would fail before the program starts, or replace a closed stream. */
const CHECKS: readonly Check[] = [
  {
    // The runtime would replace a closed descriptor by the null device.
    test: "{ true 9>&1; } 2>/dev/null",
    error: "error: Standard output is closed, so the answer would be lost\n" +
      "       Redirect it to /dev/null if that is what you want; nothing was done",
    code: 1,
  },
  {
    test: '[ "$PWD" -ef . ]',
    error: "error: Cannot work in the current directory: it was removed, or it cannot be read\n" +
      "       Change to a directory that exists; nothing was done",
    code: 2,
  },
  {
    test: '[ ! -e "${HOME:-/}" ] || [ -d "${HOME:-/}" ]',
    error: "error: HOME is not a directory\n       Set it to your home directory; nothing was done",
    code: 2,
  },
];

interface ShellCommand {
  /** The runtime with its arguments, or an executable. */
  readonly words: readonly string[];
  /** A comment: what wrote the command and what removes it. */
  readonly about: string;
  readonly checks?: readonly Check[];
  /** Lines of shell after the checks. */
  readonly lines?: readonly string[];
}

/** Returns a POSIX shell script that checks its surroundings and becomes the program. */
export function shellCommand(
  { words, about, checks = [], lines = [] }: ShellCommand,
): string {
  const tests = [...checks, ...CHECKS].map(({ test, error, code }) =>
    `${test} || { printf '%s\\n' ${shellWord(error)} >&2; exit ${code}; }\n`
  );
  return `#!/bin/sh\n# ${about}\n${tests.join("")}${lines.map((line) => `${line}\n`).join("")}exec ${
    words.map(shellWord).join(" ")
  } "$@"\n`;
}
