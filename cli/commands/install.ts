import { command } from "../command.ts";
import type { CliContext } from "../terminal/process.ts";
import { installationOf, managerOf } from "../release/channel.ts";
import { startFlagsFor } from "../terminal/start_flags.ts";
import { message, ReasonixError, usageError } from "../../src/core/mod.ts";
import { exists } from "../../src/path/probe.ts";
import { writeFileAtomic } from "../../src/util/atomic_write.ts";

const WINDOWS = Deno.build.os === "windows";

/** Makes the command `reasonix`, which starts this very program, file or address, with this very Deno. */
export const installCommand = command({
  async run() {
    const manager = managerOf(installationOf().channel);
    if (manager) {
      throw usageError(
        message`Cannot install the program: ${manager.name} installed it already`,
        message`start it with: reasonix`,
      );
    }
    if (Deno.build.standalone) {
      throw usageError(
        message`Cannot install an executable that needs no installing`,
        message`copy ${Deno.execPath()} to a directory of PATH`,
      );
    }
    if (Deno.mainModule.endsWith(".ts")) {
      throw usageError(
        message`Cannot install the sources`,
        message`build and install them with: deno task install`,
      );
    }
    const { stdout, env } = this.process;
    const { directory, file } = installed(env);
    await Deno.mkdir(directory, { recursive: true });
    await writeFileAtomic(file, WINDOWS ? windowsLauncher() : shellLauncher(), { setMode: 0o755 });
    stdout.write(`Installed ${file}\n`);
    const isFound = (env.PATH ?? "").split(WINDOWS ? ";" : ":").includes(directory);
    if (!isFound) stdout.write(`Add ${directory} to PATH, or start it by its path\n`);
    stdout.write("Next: reasonix setup\n");
  },
});

/** Removes the command, and names the files that stay. */
export const uninstallCommand = command({
  async run() {
    const { channel, program } = installationOf();
    const manager = managerOf(channel);
    if (manager) {
      throw usageError(
        message`Cannot remove ${program}: it belongs to ${manager.name}`,
        message`remove it with: ${manager.remove}`,
      );
    }
    const { stdout, env } = this.process;
    const { directory, file } = installed(env);
    if (!exists(file)) {
      throw new ReasonixError(message`Cannot find ${file}`, { remedy: message`nothing is installed there` });
    }
    await Deno.remove(file);
    // `deno install` keeps a file of settings for each of its commands in a separate directory.
    await Deno.remove(`${directory}/.reasonix/deno.json`)
      .then(() => Deno.remove(`${directory}/.reasonix`)).catch(() => {});
    stdout.write(`Removed ${file}\n`);
    const home = env.REASONIX_HOME ?? `${userHome(env)}/.reasonix`;
    if (!exists(home)) return;
    const remove = `${WINDOWS ? "rd /s" : "rm -r"} ${home}`;
    stdout.write(`Configuration, keys and sessions remain in ${home}. To remove them too: ${remove}\n`);
  },
});

type Env = CliContext["process"]["env"];

function installed(env: Env): { readonly directory: string; readonly file: string } {
  const directory = `${env.DENO_INSTALL_ROOT ?? `${userHome(env)}/.deno`}/bin`;
  return { directory, file: `${directory}/${WINDOWS ? "reasonix.cmd" : "reasonix"}` };
}

function userHome(env: Env): string {
  const home = WINDOWS ? env.USERPROFILE : env.HOME;
  if (home) return home;
  throw new ReasonixError(message`Cannot determine your home directory`, {
    remedy: message`set ${
      WINDOWS ? "USERPROFILE" : "HOME"
    }, or DENO_INSTALL_ROOT to where the command belongs`,
  });
}

interface Check {
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

export interface ShellCommand {
  readonly runtime: string;
  /** Path or address. */
  readonly program: string;
  readonly flags: readonly string[];
  /** A comment: what wrote the command and what removes it. */
  readonly about: string;
  readonly checks?: readonly Check[];
  /** Lines of shell after the checks. */
  readonly lines?: readonly string[];
}

/** Returns a POSIX shell script that checks its surroundings and becomes the program. */
export function shellCommand(
  { runtime, program, flags, about, checks = [], lines = [] }: ShellCommand,
): string {
  const words = [runtime, "run", ...flags, "--no-config", program];
  const tests = [...checks, ...CHECKS].map(({ test, error, code }) =>
    `${test} || { printf '%s\\n' ${quoted(error)} >&2; exit ${code}; }\n`
  );
  return `#!/bin/sh\n# ${about}\n${tests.join("")}${lines.map((line) => `${line}\n`).join("")}exec ${
    words.map((word) => /^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word)).join(" ")
  } "$@"\n`;
}

/** The path of the runtime is absolute: the command also runs where no `deno` is found by name. */
function shellLauncher(): string {
  const program = Deno.mainModule;
  return shellCommand({
    runtime: Deno.execPath(),
    program,
    flags: startFlagsFor(program),
    about: "Written by `reasonix install`; `reasonix uninstall` removes it.",
  });
}

function windowsLauncher(): string {
  const flags = ["run", ...startFlagsFor(Deno.mainModule), "--no-config"].join(" ");
  const program = Deno.mainModule.replaceAll("%", "%%");
  return `@rem Written by reasonix install\r\n@"${Deno.execPath()}" ${flags} "${program}" %*\r\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
