/**
 * Installs the program from a clone: `deno task install`. The command it makes names this Deno by its path,
 * so that it also runs where no `deno` is found by name: after npx, in cron jobs, in hooks.
 */
import { bundle } from "./bundle.ts";
import { PERMISSION_FLAGS } from "./permissions.ts";
import { mustRun, say } from "./process.ts";

const NAME = "reasonix";

/** Directory that `deno install` puts commands into. */
function commandDirectory(): string {
  const home = Deno.env.get(Deno.build.os === "windows" ? "USERPROFILE" : "HOME") ?? "";
  return `${Deno.env.get("DENO_INSTALL_ROOT") ?? `${home}/.deno`}/bin`;
}

/** The text of an installed command, with the runtime named by its path. */
function withRuntime(command: string, runtime: string): string {
  const named = Deno.build.os === "windows"
    ? command.replace(/^@deno(?:\.exe)? /m, () => `@"${runtime}" `)
    : command.replace(/^exec deno /m, () => `exec '${runtime.replaceAll("'", `'\\''`)}' `);
  if (named === command) throw new Error("Cannot find the runtime in the installed command");
  return named;
}

if (import.meta.main) {
  const { path } = await bundle();
  await mustRun(Deno.execPath(), {
    args: ["install", "-g", "-f", "--quiet", ...PERMISSION_FLAGS, "-n", NAME, "--no-config", path],
  });
  const directory = commandDirectory();
  const file = `${directory}/${NAME}${Deno.build.os === "windows" ? ".cmd" : ""}`;
  await Deno.writeTextFile(file, withRuntime(await Deno.readTextFile(file), Deno.execPath()));
  say(`Installed ${file}`);
  const found = (Deno.env.get("PATH") ?? "").split(Deno.build.os === "windows" ? ";" : ":");
  if (!found.includes(directory)) say(`Add ${directory} to PATH, or start it by its path`);
}
