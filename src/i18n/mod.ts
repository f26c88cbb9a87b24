/** Texts of the interface in several languages. */
export {
  type DetectedLocale,
  detectLocale,
  loadTexts,
  loadTranslator,
  type Locale,
  LOCALES,
  type LocaleSources,
  type Texts,
} from "./locales.ts";
export type { Translator } from "./translate.ts";
