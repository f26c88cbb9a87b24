import { command } from "../command.ts";
import type { CliContext } from "../terminal/process.ts";
import { installationOf, managerOf } from "../release/channel.ts";
import { shellCommand } from "../terminal/shell_command.ts";
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

/** The path of the runtime is absolute: the command also runs where no `deno` is found by name. */
function shellLauncher(): string {
  const program = Deno.mainModule;
  return shellCommand({
    words: [Deno.execPath(), "run", ...startFlagsFor(program), "--no-config", program],
    about: "Written by `reasonix install`; `reasonix uninstall` removes it.",
  });
}

function windowsLauncher(): string {
  const flags = ["run", ...startFlagsFor(Deno.mainModule), "--no-config"].join(" ");
  const program = Deno.mainModule.replaceAll("%", "%%");
  return `@rem Written by reasonix install\r\n@"${Deno.execPath()}" ${flags} "${program}" %*\r\n`;
}
