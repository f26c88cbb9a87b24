import { argument, command, flag, optional } from "../command.ts";
import { textsFor } from "../terminal/language.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { defaultConfigText, userConfigFile } from "../../src/config/mod.ts";
import { errorMessage, ReasonixError, usageError } from "../../src/core/mod.ts";
import { exists } from "../../src/path/probe.ts";

/**
 * On a terminal asks for a provider, tries it and adds it to the configuration; without one writes a
 * commented file.
 */
async function setup(
  this: CliContext,
  flags: { readonly yes?: boolean },
  path?: string,
): Promise<void> {
  const paths = runPaths(this);
  const { cwd } = paths;
  const file = path === undefined ? userConfigFile(paths) : path.startsWith("/") ? path : `${cwd}/${path}`;
  if (flags.yes || !Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) {
    if (exists(file)) throw notOverwritten(file);
    writeNew(file, await defaultConfigText());
    const texts = await textsFor("setup", this);
    this.process.stdout.write(`${texts.wroteDefault(file)}\n`);
    return;
  }
  const { setUp } = await import("../setup/wizard.ts");
  await setUp(this, { file });
}

function notOverwritten(file: string): ReasonixError {
  return usageError(
    `Cannot write ${file}: it exists and is not overwritten`,
    "run `reasonix setup` on a terminal to add or change a provider, or change a setting with " +
      "`reasonix config set KEY VALUE`",
  );
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

export const setupCommand = command({
  flags: { yes: flag("Write the default file without questions") },
  args: [optional(argument("File to write (default: your user config)", "path"))],
  run: setup,
});
