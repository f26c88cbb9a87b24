import { loadConfig, userConfigFile } from "../../src/config/mod.ts";
import { languageNotice, textsFor } from "../terminal/language.ts";
import type { CliContext } from "../terminal/process.ts";
import { runPaths } from "../terminal/working_directory.ts";
import { saveSetup } from "./save.ts";
import { askSetup, finish } from "./wizard.ts";

/** Words that the wizard ends with, in place of how to run a task. */
export interface SetUpOptions {
  /** File to write; default: the user's configuration. */
  readonly file?: string;
  /** The chat goes on where the wizard ends. */
  readonly inChat?: boolean;
}

/** Asks on the terminal for a provider, tries it and saves it. False: the user gave up, nothing was saved. */
export async function setUp(context: CliContext, { file, inChat = false }: SetUpOptions): Promise<boolean> {
  const paths = runPaths(context);
  const loaded = await loadConfig(paths);
  const notice = await languageNotice(context, loaded);
  if (notice !== undefined) context.process.stderr.write(`! ${notice}\n`);
  const texts = await textsFor("setup", context, loaded);
  const answers = await askSetup(loaded, texts);
  if (!answers) return false;
  const target = file ?? userConfigFile(paths);
  const keys = `${paths.home}/.env`;
  await saveSetup(target, keys, answers, texts.header);
  finish(target, { texts, inChat, ...(answers.key ? { keyFile: keys } : {}) });
  return true;
}
