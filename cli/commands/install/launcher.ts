import { startFlagsFor } from "../../terminal/start_flags.ts";

/** What the command `reasonix` starts. */
export interface Launch {
  /** Path of the runtime, so that the command also runs where no `deno` is found by name. */
  readonly runtime: string;
  /** The program, as a file or http URL. */
  readonly program: string;
}

/** What the runtime would take otherwise, or end at with words of its own, before the program is asked. */
const CHECKS: readonly { readonly test: string; readonly error: string; readonly code: number }[] = [
  {
    // The runtime would put the null device in the place of a closed descriptor.
    test: "{ true 9>&1; } 2>/dev/null",
    error: "error: Standard output is closed, so nobody would see the answer\n" +
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

/** The text of the command for a POSIX shell. */
export function shellLauncher({ runtime, program }: Launch): string {
  const words = [runtime, "run", ...startFlagsFor(program), "--no-config", program];
  return [
    "#!/bin/sh",
    "# Written by `reasonix install`; `reasonix uninstall` removes it.",
    ...CHECKS.map(({ test, error, code }) =>
      `${test} || { printf '%s\\n' ${quoted(error)} >&2; exit ${code}; }`
    ),
    `exec ${words.map(word).join(" ")} "$@"`,
    "",
  ].join("\n");
}

/** The text of the command for Windows. */
export function windowsLauncher({ runtime, program }: Launch): string {
  const flags = ["run", ...startFlagsFor(program), "--no-config"];
  return `@rem Written by reasonix install\r\n@"${runtime}" ${flags.join(" ")} "${
    program.replaceAll("%", "%%")
  }" %*\r\n`;
}

function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quoted(text);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
