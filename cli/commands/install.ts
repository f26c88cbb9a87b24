import { command } from "../command.ts";
import type { CliContext } from "../terminal/process.ts";
import { installationOf, managerOf } from "../release/channel.ts";
import {
  commandText,
  directoryOf,
  nameIn,
  removeStore,
  storeOf,
  switchCommand,
  userHome,
} from "../release/store.ts";
import { shellCommand } from "../terminal/shell_command.ts";
import { startFlagsFor } from "../terminal/start_flags.ts";
import { message, ReasonixError, usageError } from "../../src/core/mod.ts";
import { exists } from "../../src/path/probe.ts";

const WINDOWS = Deno.build.os === "windows";

/**
 * Makes the command `reasonix`, which starts this very program. A version in the store is started from there;
 * any other file or address from where it is, with this very Deno.
 */
export const installCommand = command({
  async run() {
    const { stdout, env } = this.process;
    const { channel, program } = installationOf();
    const manager = managerOf(channel);
    if (manager) {
      throw usageError(
        message`Cannot install the program: ${manager.name} installed it already`,
        message`start it with: reasonix`,
      );
    }
    const store = storeOf(env, channel);
    if (Deno.build.standalone && nameIn(program) === undefined) {
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
    await switchCommand(store, WINDOWS ? windowsLauncher() : shellLauncher());
    stdout.write(`Installed ${store.command}\n`);
    const directory = directoryOf(store.command);
    const isFound = (env.PATH ?? "").split(WINDOWS ? ";" : ":").includes(directory);
    if (!isFound) {
      stdout.write(`Add ${directory} to PATH, or start it by its path\n`);
      if (!WINDOWS) stdout.write(`  ${pathLine(directory, env)}\n`);
    }
    stdout.write("Next: reasonix setup\n");
  },
});

/** The line that adds a directory to PATH for new shells of this user. */
function pathLine(directory: string, env: CliContext["process"]["env"]): string {
  const home = env.HOME ?? "";
  const short = home !== "" && directory.startsWith(`${home}/`)
    ? `$HOME${directory.slice(home.length)}`
    : directory;
  const shell = env.SHELL?.replace(/^.*\//, "");
  if (shell === "fish") return `fish_add_path "${short}"`;
  const file = shell === "zsh" ? "~/.zshrc" : shell === "bash" ? "~/.bashrc" : "~/.profile";
  return `echo 'export PATH="${short}:$PATH"' >> ${file}`;
}

/** Removes the command with all that updates have kept, and names the files that stay. */
export const uninstallCommand = command({
  async run() {
    const { env } = this.process;
    const { channel, program } = installationOf();
    const manager = managerOf(channel);
    if (manager) {
      throw usageError(
        message`Cannot remove ${program}: it belongs to ${manager.name}`,
        message`remove it with: ${manager.remove}`,
      );
    }
    if (WINDOWS && channel === "script") {
      throw usageError(
        message`Cannot remove ${program} while it runs`,
        message`remove it with install.ps1 -Uninstall`,
      );
    }
    if (channel === "executable") {
      const { removeExecutable } = await import("../release/executable.ts");
      removeExecutable(program);
      return reportRemoval(this, program);
    }
    const stores = [storeOf(env, channel), storeOf(env, channel === "script" ? "address" : "script")];
    const store = stores.find((store) => exists(store.command) && commandText(store) !== undefined);
    if (store === undefined) {
      throw new ReasonixError(message`Cannot find ${stores[0]?.command ?? ""}`, {
        remedy: message`nothing is installed there`,
      });
    }
    await removeStore(store, stores);
    const directory = directoryOf(store.command);
    // `deno install` keeps files of settings for each of its commands in a separate directory.
    for (const name of ["deno.json", "deno.lock", ""]) {
      await Deno.remove(`${directory}/.reasonix/${name}`).catch(() => {});
    }
    reportRemoval(this, store.command);
  },
});

function reportRemoval({ process: { env, stdout } }: CliContext, removed: string): void {
  stdout.write(`Removed ${removed}\n`);
  const home = env.REASONIX_HOME ?? `${userHome(env)}/.reasonix`;
  if (!exists(home)) return;
  const remove = `${WINDOWS ? "rd /s" : "rm -r"} ${home}`;
  stdout.write(`Configuration, keys and sessions remain in ${home}. To remove them too: ${remove}\n`);
}

/** The path of the runtime is absolute: the command also runs where no `deno` is found by name. */
function shellLauncher(): string {
  return shellCommand({
    words: programWords(),
    about: "Written by `reasonix install`; `reasonix uninstall` removes it.",
  });
}

/** The shell reads this file line by line, and an update may replace it: nothing is read after the line. */
function windowsLauncher(): string {
  const [runtime = "", ...words] = programWords();
  const program = words.pop();
  const start = program === undefined
    ? `"${runtime}"`
    : `"${runtime}" ${words.join(" ")} "${program.replaceAll("%", "%%")}"`;
  return `@rem Written by reasonix install\r\n@${start} %* & exit /b\r\n`;
}

/** The words that start this program. */
function programWords(): readonly string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const program = Deno.mainModule;
  return [Deno.execPath(), "run", ...startFlagsFor(program), "--no-config", program];
}
