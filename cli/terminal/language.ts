import { ReasonixError } from "../../src/core/mod.ts";
import { type LoadedConfig, originText, sourceOf } from "../../src/config/mod.ts";
import {
  type DetectedLocale,
  detectLocale,
  loadTexts,
  loadTranslator,
  type Locale,
  LOCALES,
  type Texts,
} from "../../src/i18n/mod.ts";
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

export async function textsFor<A extends keyof Texts>(
  area: A,
  context: CliContext,
  loaded?: LoadedConfig,
): Promise<Texts[A]> {
  return await loadTexts(area, languageOf(context, loaded).locale);
}

/** Returns a notice about a configured language that does not exist. */
export async function languageNotice(context: CliContext, loaded: LoadedConfig): Promise<string | undefined> {
  const { locale, unknown } = languageOf(context, loaded);
  if (!unknown) return undefined;
  const { name, value } = unknown;
  const place = name === "language" ? ` (${originText(sourceOf(loaded, name))})` : "";
  const texts = await loadTexts("start", locale);
  return texts.unknownLanguage(`${name}${place}`, value, LOCALES.join(", "));
}

/** An error in the language of the user; English where it has no translation. */
export async function inLanguage(error: unknown, locale: Locale): Promise<unknown> {
  if (locale === "en" || !(error instanceof ReasonixError)) return error;
  const { texts, exit, place, cause } = error;
  const translator = await loadTranslator(locale);
  return new ReasonixError(translator.text(texts.message), {
    exit,
    cause,
    ...(place ? { place } : {}),
    ...(texts.remedy === undefined ? {} : { remedy: translator.text(texts.remedy) }),
  });
}

/** The language of a run, which is known for sure only once the configuration is loaded. */
export class Speech {
  readonly #context: CliContext;
  /** False where machines read: they get English, whatever the user speaks. */
  readonly #localized: boolean;
  locale: Locale;
  run: Texts["run"];

  private constructor(context: CliContext, localized: boolean, locale: Locale, run: Texts["run"]) {
    this.#context = context;
    this.#localized = localized;
    this.locale = locale;
    this.run = run;
  }

  static async of(context: CliContext, flags: { readonly outputFormat: string }): Promise<Speech> {
    const localized = flags.outputFormat === "text";
    const locale = localized ? languageOf(context).locale : "en";
    return new Speech(context, localized, locale, await loadTexts("run", locale));
  }

  async configure(loaded: LoadedConfig): Promise<string | undefined> {
    if (!this.#localized) return undefined;
    const { locale } = languageOf(this.#context, loaded);
    if (locale !== this.locale) [this.locale, this.run] = [locale, await loadTexts("run", locale)];
    return await languageNotice(this.#context, loaded);
  }
}
