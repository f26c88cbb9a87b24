import { loadConfig } from "../../src/config/mod.ts";
import { EXIT, ReasonixError } from "../../src/core/mod.ts";
import { loadTexts } from "../../src/i18n/mod.ts";
import { languageNotice, languageOf } from "../terminal/language.ts";
import { type CliContext, errorText, exitCodeOf } from "../terminal/process.ts";
import { requireProvider } from "../terminal/require_provider.ts";
import { runPaths } from "../terminal/working_directory.ts";

/**
 * Says what to type instead of the bare name of the program: `reasonix setup` where nothing is set up.
 * Returns the exit code; undefined when the chat can be opened.
 */
export async function welcome(context: CliContext): Promise<number | undefined> {
  const { stderr } = context.process;
  try {
    const loaded = await loadConfig(runPaths(context));
    const notice = await languageNotice(context, loaded);
    if (notice !== undefined) stderr.write(`! ${notice}\n`);
    const { locale } = languageOf(context, loaded);
    const usesEnvironment = await requireProvider(loaded, locale);
    if (Deno.stdin.isTerminal() && Deno.stdout.isTerminal()) return undefined;
    const texts = await loadTexts("start", locale);
    stderr.write(`error: ${texts.noChat}\n       ${texts.noChatRemedy}\n`);
    if (usesEnvironment !== undefined) stderr.write(`· ${usesEnvironment}\n`);
    return EXIT.usage;
  } catch (error) {
    stderr.write(`${errorText(error)}\n`);
    return error instanceof ReasonixError ? EXIT.usage : exitCodeOf(error);
  }
}
