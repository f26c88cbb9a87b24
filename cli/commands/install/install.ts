import { ReasonixError } from "../../../src/core/mod.ts";
import { exists } from "../../../src/path/probe.ts";
import { writeFileAtomic } from "../../../src/util/atomic_write.ts";
import type { CliContext } from "../../terminal/process.ts";
import { shellLauncher, windowsLauncher } from "./launcher.ts";

const WINDOWS = Deno.build.os === "windows";
const NAME = WINDOWS ? "reasonix.cmd" : "reasonix";

/** Makes the command `reasonix`, which starts this very program, file or address, with this very Deno. */
export async function install(this: CliContext): Promise<void> {
  const program = Deno.mainModule;
  if (Deno.build.standalone) {
    throw new ReasonixError("Cannot install an executable that needs no installing", {
      exit: "usage",
      remedy: `copy ${Deno.execPath()} to a directory of PATH`,
    });
  }
  if (program.endsWith(".ts")) {
    throw new ReasonixError("Cannot install the sources", {
      exit: "usage",
      remedy: "build and install them with: deno task install",
    });
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

/** Takes the command away, whoever made it, and says what stays. */
export async function uninstall(this: CliContext): Promise<void> {
  const directory = commandDirectory(this.process.env);
  const file = `${directory}/${NAME}`;
  if (!exists(file)) {
    throw new ReasonixError(`Cannot find ${file}`, { remedy: "nothing is installed there" });
  }
  await Deno.remove(file);
  // `deno install` keeps a file of settings for each of its commands in a directory of its own.
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

/** Where `deno install` puts commands too. */
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
