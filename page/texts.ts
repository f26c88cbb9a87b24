/** The texts of the page: areas of the interface, in the language of the server. */
import { signal } from "@preact/signals";
import { message, type Text, textOf } from "../src/core/texts.ts";
import { texts as chat } from "../src/i18n/en/chat.ts";
import { texts as overlay } from "../src/i18n/en/overlay.ts";
import { texts as run } from "../src/i18n/en/run.ts";
import { texts as turns } from "../src/i18n/en/turn_view.ts";
import { texts as web } from "../src/i18n/en/web.ts";
import type { Translate, Translator } from "../src/i18n/translate.ts";
import { store, stored } from "./api.ts";

const ENGLISH: Translator = { t: (strings, ...values) => message(strings, ...values).text, text: textOf };
const LOCALE = "reasonix.locale";

/** The areas that the page shows; all of them are in its main file. */
function areas(t: Translate) {
  const all = web(t);
  return { web: all, chat: chat(t), overlay: overlay(t), rows: { ...run(t), ...turns(t), ...all.rows } };
}

const current = signal({ locale: "en", of: (text: Text): string => ENGLISH.text(text), ...areas(ENGLISH.t) });

/** The texts in the current language; a component that reads them is drawn again when it changes. */
export function texts(): typeof current.value {
  return current.value;
}

/** Changes the language; the sentences of another one than English are loaded when they are needed. */
export async function speak(locale: string): Promise<void> {
  store(LOCALE, locale);
  if (locale === current.value.locale) return;
  const translator = locale === "zh-CN" ? (await import("../src/i18n/zh_cn.ts")).translator : ENGLISH;
  document.documentElement.lang = locale;
  current.value = { locale, of: (text) => translator.text(text), ...areas(translator.t) };
}

/** The language before the server has said which one: the last one, else that of the browser. */
export function firstLocale(): string {
  return stored(LOCALE) ?? (/^zh\b/i.test(navigator.language) ? "zh-CN" : "en");
}
