/** Texts of the interface in several languages. */
export { type DetectedLocale, detectLocale, type Locale, LOCALES, type LocaleSources } from "./locale.ts";
export { loadTexts, loadTranslator, type Texts } from "./locales.ts";
export type { Translator } from "./translate.ts";
