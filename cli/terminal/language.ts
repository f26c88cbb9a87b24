import { type LoadedConfig, sourceOf } from "../../src/config/mod.ts";
import { type DetectedLocale, detectLocale, loadTexts, LOCALES, type Texts } from "../../src/i18n/mod.ts";
import { originText } from "./origin_text.ts";
import type { CliContext } from "./process.ts";

/** Returns the language that a command speaks; without a configuration only the environment decides. */
export function languageOf({ process }: CliContext, loaded?: LoadedConfig): DetectedLocale {
  return detectLocale({
    env: (name) => process.env[name],
    ...(loaded ? { language: loaded.config.language } : {}),
    // Windows sets none of the variables.
    ...(Deno.build.os === "windows" ? { system: () => navigator.language } : {}),
  });
}

/** Loads the texts of an area in the language of the user. */
export async function textsFor<A extends keyof Texts>(
  area: A,
  context: CliContext,
  loaded?: LoadedConfig,
): Promise<Texts[A]> {
  return await loadTexts(area, languageOf(context, loaded).locale);
}

/** Returns a line about a language that was asked for and is not there. */
export async function languageNotice(context: CliContext, loaded: LoadedConfig): Promise<string | undefined> {
  const { locale, unknown } = languageOf(context, loaded);
  if (!unknown) return undefined;
  const { name, value } = unknown;
  const place = name === "language" ? ` (${originText(sourceOf(loaded, name))})` : "";
  const texts = await loadTexts("start", locale);
  return texts.unknownLanguage(`${name}${place}`, value, LOCALES.join(", "));
}
