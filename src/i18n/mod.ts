/** Texts of the interface in several languages. */
export { type DetectedLocale, detectLocale, type Locale, LOCALES, type LocaleSources } from "./locale.ts";
export { loadTexts, type Texts } from "./locales.ts";
