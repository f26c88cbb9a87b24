import { loadConfig } from "../../src/config/mod.ts";
import { EXIT, ReasonixError } from "../../src/core/mod.ts";
import { loadTexts } from "../../src/i18n/mod.ts";
import { displayWidth } from "../../src/util/display_width.ts";
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
  let { locale } = languageOf(context);
  try {
    const loaded = await loadConfig(runPaths(context));
    const notice = await languageNotice(context, loaded);
    if (notice !== undefined) stderr.write(`! ${notice}\n`);
    ({ locale } = languageOf(context, loaded));
    const usesEnvironment = await requireProvider(loaded, locale);
    if (Deno.stdin.isTerminal() && Deno.stdout.isTerminal()) return undefined;
    const texts = await loadTexts("start", locale);
    const noChat = new ReasonixError(texts.noChat, { remedy: texts.noChatRemedy });
    stderr.write(`${errorText(noChat, texts.error, displayWidth(texts.error))}\n`);
    if (usesEnvironment !== undefined) stderr.write(`· ${usesEnvironment}\n`);
    return EXIT.usage;
  } catch (error) {
    const { error: word } = await loadTexts("start", locale);
    stderr.write(`${errorText(error, word, displayWidth(word))}\n`);
    return error instanceof ReasonixError ? EXIT.usage : exitCodeOf(error);
  }
}
