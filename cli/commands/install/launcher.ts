import { startFlagsFor } from "../../terminal/start_flags.ts";

/** What the command `reasonix` starts. */
export interface Launch {
  /** Path of the runtime, so that the command also runs where no `deno` is found by name. */
  readonly runtime: string;
  /** The program, as a file or http URL. */
  readonly program: string;
}

/** Without it the runtime would put the null device in the place of a closed descriptor. */
const CLOSED = "error: Standard output is closed, so nobody would see the answer\n" +
  "       Redirect it to /dev/null if that is what you want; nothing was done";

/** The text of the command for a POSIX shell. */
export function shellLauncher({ runtime, program }: Launch): string {
  const words = [runtime, "run", ...startFlagsFor(program), "--no-config", program];
  return [
    "#!/bin/sh",
    "# Written by `reasonix install`; `reasonix uninstall` removes it.",
    `{ true 9>&1; } 2>/dev/null || { printf '%s\\n' ${quoted(CLOSED)} >&2; exit 1; }`,
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
