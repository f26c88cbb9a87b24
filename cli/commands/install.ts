import { command } from "../command.ts";
import type { CliContext } from "../terminal/process.ts";
import { startFlagsFor } from "../terminal/start_flags.ts";
import { ReasonixError, usageError } from "../../src/core/mod.ts";
import { exists } from "../../src/path/probe.ts";
import { writeFileAtomic } from "../../src/util/atomic_write.ts";

const WINDOWS = Deno.build.os === "windows";
const NAME = WINDOWS ? "reasonix.cmd" : "reasonix";

/** Makes the command `reasonix`, which starts this very program, file or address, with this very Deno. */
async function install(this: CliContext): Promise<void> {
  const program = Deno.mainModule;
  if (Deno.build.standalone) {
    throw usageError(
      "Cannot install an executable that needs no installing",
      `copy ${Deno.execPath()} to a directory of PATH`,
    );
  }
  if (program.endsWith(".ts")) {
    throw usageError("Cannot install the sources", "build and install them with: deno task install");
  }
  const directory = commandDirectory(this.process.env);
  const file = `${directory}/${NAME}`;
  const launch = { runtime: Deno.execPath(), program };
  await Deno.mkdir(directory, { recursive: true });
  await writeFileAtomic(file, WINDOWS ? windowsLauncher(launch) : shellLauncher(launch), { setMode: 0o755 });
  const { stdout, env } = this.process;
  stdout.write(`Installed ${file}\n`);
  const found = (env.PATH ?? "").split(WINDOWS ? ";" : ":");
  if (!found.includes(directory)) stdout.write(`Add ${directory} to PATH, or start it by its path\n`);
  stdout.write("Next: reasonix setup\n");
}

/** Removes the command, and names the files that stay. */
async function uninstall(this: CliContext): Promise<void> {
  const directory = commandDirectory(this.process.env);
  const file = `${directory}/${NAME}`;
  if (!exists(file)) {
    throw new ReasonixError(`Cannot find ${file}`, { remedy: "nothing is installed there" });
  }
  await Deno.remove(file);
  // `deno install` keeps a file of settings for each of its commands in a separate directory.
  await Deno.remove(`${directory}/.reasonix/deno.json`)
    .then(() => Deno.remove(`${directory}/.reasonix`)).catch(() => {});
  const home = this.process.env.REASONIX_HOME ?? `${userHome(this.process.env)}/.reasonix`;
  this.process.stdout.write(`Removed ${file}\n`);
  if (exists(home)) {
    this.process.stdout.write(
      `Configuration, keys and sessions remain in ${home}. To remove them too: ${
        WINDOWS ? "rd /s" : "rm -r"
      } ${home}\n`,
    );
  }
}

function commandDirectory(env: CliContext["process"]["env"]): string {
  return `${env.DENO_INSTALL_ROOT ?? `${userHome(env)}/.deno`}/bin`;
}

function userHome(env: CliContext["process"]["env"]): string {
  const home = WINDOWS ? env.USERPROFILE : env.HOME;
  if (home) return home;
  throw new ReasonixError("Cannot tell your home directory", {
    remedy: `set ${WINDOWS ? "USERPROFILE" : "HOME"}, or DENO_INSTALL_ROOT to where the command belongs`,
  });
}

/** The program that the command `reasonix` starts. */
interface Launch {
  /** Path of the runtime, so that the command also runs where no `deno` is found by name. */
  readonly runtime: string;
  /** The program, as a file or http URL. */
  readonly program: string;
}

/** Conditions under which the runtime would fail before the program starts, or replace a closed stream. */
const CHECKS: readonly { readonly test: string; readonly error: string; readonly code: number }[] = [
  {
    // The runtime would put the null device in the place of a closed descriptor.
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

function shellLauncher({ runtime, program }: Launch): string {
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

function windowsLauncher({ runtime, program }: Launch): string {
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

export const installCommand = command({ run: install });
export const uninstallCommand = command({ run: uninstall });
