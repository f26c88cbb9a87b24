/** The list of catalogues: one line per area of each language, loaded when its texts are needed. */
import type { Locale } from "./locale.ts";

const EN = {
  chat: () => import("./en/chat.ts"),
  composer: () => import("./en/composer.ts"),
  doctor: () => import("./en/doctor.ts"),
  overlay: () => import("./en/overlay.ts"),
  import: () => import("./en/import.ts"),
  run: () => import("./en/run.ts"),
  setup: () => import("./en/setup.ts"),
  start: () => import("./en/start.ts"),
};

/** The texts of each area; English is what the other languages have to match. */
export type Texts = {
  readonly [A in keyof typeof EN]: Awaited<ReturnType<(typeof EN)[A]>>["texts"];
};

type Catalogue = { readonly [A in keyof Texts]: () => Promise<{ readonly texts: Texts[A] }> };

const CATALOGUES: Readonly<Record<Locale, Catalogue>> = {
  "en": EN,
  "zh-CN": {
    chat: () => import("./zh_cn/chat.ts"),
    composer: () => import("./zh_cn/composer.ts"),
    doctor: () => import("./zh_cn/doctor.ts"),
    overlay: () => import("./zh_cn/overlay.ts"),
    import: () => import("./zh_cn/import.ts"),
    run: () => import("./zh_cn/run.ts"),
    setup: () => import("./zh_cn/setup.ts"),
    start: () => import("./zh_cn/start.ts"),
  },
};

/** Loads the texts of one area in one language, and nothing else. */
export async function loadTexts<A extends keyof Texts>(area: A, locale: Locale): Promise<Texts[A]> {
  return (await CATALOGUES[locale][area]()).texts;
}
