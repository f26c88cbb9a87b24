import { defaultConfigText, userConfigFile } from "../../../src/config/mod.ts";
import { errorMessage, ReasonixError } from "../../../src/core/mod.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { exists } from "../../../src/path/probe.ts";

/** Writes a commented configuration file; on a terminal a short wizard fills in provider, model and key. */
export async function setup(
  this: CliContext,
  flags: { readonly yes?: boolean },
  path?: string,
): Promise<void> {
  const { cwd, home } = runPaths(this);
  const file = path === undefined ? userConfigFile(home) : path.startsWith("/") ? path : `${cwd}/${path}`;
  if (exists(file)) {
    throw new ReasonixError(`Cannot write ${file}: it exists and is not overwritten`, {
      exit: "usage",
      remedy: "change it with `reasonix config set KEY VALUE`, or remove it first",
    });
  }
  const interactive = !flags.yes && Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  const answers = interactive ? await (await import("./wizard.ts")).askSetup() : undefined;
  if (interactive && !answers) {
    this.process.stdout.write("Nothing was written\n");
    return;
  }
  writeNew(file, await defaultConfigText());
  if (answers) await (await import("./wizard.ts")).applySetup(file, `${home}/.env`, answers);
  this.process.stdout.write(`Wrote ${file}\n${answers?.key ? `Saved the key in ${home}/.env\n` : ""}`);
  this.process.stdout.write('Next: reasonix doctor, then reasonix run "explain this project"\n');
}

function writeNew(file: string, text: string): void {
  try {
    Deno.mkdirSync(file.replace(/[/\\][^/\\]*$/, "") || "/", { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(file, text, { createNew: true, mode: 0o600 });
  } catch (error) {
    throw new ReasonixError(`Cannot write ${file}: ${errorMessage(error)}`, {
      remedy: "name a writable place",
    });
  }
}
