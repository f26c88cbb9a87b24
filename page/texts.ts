/** The texts of the page: areas of the interface, in the language of the server. */
import { signal } from "@preact/signals";
import { message, textOf } from "../src/core/texts.ts";
import { texts as chat } from "../src/i18n/en/chat.ts";
import { texts as details } from "../src/i18n/en/details.ts";
import { texts as overlay } from "../src/i18n/en/overlay.ts";
import { texts as run } from "../src/i18n/en/run.ts";
import { texts as turns } from "../src/i18n/en/turn_view.ts";
import { texts as web } from "../src/i18n/en/web.ts";
import {
  type Catalogue,
  CatalogueTranslator,
  type Translate,
  type Translator,
} from "../src/i18n/translate.ts";
import { report, store, stored } from "./api.ts";

const ENGLISH: Translator = { t: (strings, ...values) => message(strings, ...values).text, text: textOf };
const LOCALE = "reasonix.locale";

/** The areas that the page shows; all of them are in its main file. */
function areas(t: Translate) {
  const rows = { ...run(t), ...turns(t) };
  return { web: web(t), details: details(t), chat: chat(t), overlay: overlay(t), rows };
}

const current = signal({ locale: "en", of: ENGLISH.text, ...areas(ENGLISH.t) });

/** The texts in the current language; a component that reads them is drawn again when it changes. */
export function texts(): typeof current.value {
  return current.value;
}

/** Changes the language of the page. */
export async function speak(locale: string): Promise<void> {
  store(LOCALE, locale);
  if (locale === current.value.locale) return;
  const { sentences, rest } = document.documentElement.dataset;
  if (locale === "zh-CN") await load(locale, {}, [sentences, rest]);
  else use(locale, ENGLISH);
}

/** Loads the first of these files of sentences, and the others when a sentence is not in it. */
async function load(locale: string, known: Catalogue, [file, ...others]: (string | undefined)[]) {
  if (file === undefined) return;
  const sentences: Catalogue = { ...known, ...await (await fetch(file)).json() };
  let more = () => void load(locale, sentences, others).catch(report);
  use(locale, new CatalogueTranslator(sentences, () => (more(), more = () => {})));
}

/** The texts change, and every component that reads them. */
function use(locale: string, translator: Translator): void {
  document.documentElement.lang = locale;
  current.value = { locale, of: (text) => translator.text(text), ...areas(translator.t) };
}

/** The language before the server has said which one: the last one, else that of the browser. */
export function firstLocale(): string {
  return stored(LOCALE) ?? (/^zh\b/i.test(navigator.language) ? "zh-CN" : "en");
}
