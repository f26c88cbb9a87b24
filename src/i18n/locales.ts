/** The list of catalogues and of areas, each loaded when its texts are needed. */
import type { Locale } from "./locale.ts";
import { message, textOf } from "../core/mod.ts";
import type { Translate, Translator } from "./translate.ts";

const AREAS = {
  batch: () => import("./en/cli/batch.ts"),
  chat: () => import("./en/chat.ts"),
  composer: () => import("./en/composer.ts"),
  commands: () => import("./en/commands.ts"),
  doctor: () => import("./en/doctor.ts"),
  overlay: () => import("./en/overlay.ts"),
  import: () => import("./en/import.ts"),
  mcp_commands: () => import("./en/mcp/server_commands.ts"),
  mcp_questions: () => import("./en/mcp/asked_by_servers.ts"),
  models: () => import("./en/cli/model_tables.ts"),
  report_commands: () => import("./en/report_commands.ts"),
  run: () => import("./en/run.ts"),
  session_commands: () => import("./en/session_commands.ts"),
  setting_commands: () => import("./en/setting_commands.ts"),
  setup: () => import("./en/setup.ts"),
  start: () => import("./en/start.ts"),
  turn_view: () => import("./en/turn_view.ts"),
};

/** The texts of each area in one language. */
export type Texts = {
  readonly [A in keyof typeof AREAS]: ReturnType<Awaited<ReturnType<(typeof AREAS)[A]>>["texts"]>;
};

const ENGLISH: Translator = {
  t: (strings, ...values) => message(strings, ...values).text,
  text: textOf,
};

const TRANSLATORS: Readonly<Record<Locale, () => Translator | Promise<Translator>>> = {
  "en": () => ENGLISH,
  "zh-CN": async () => (await import("./zh_cn.ts")).translator,
};

/** Loads what gives messages in a language. */
export async function loadTranslator(locale: Locale): Promise<Translator> {
  return await TRANSLATORS[locale]();
}

/** Loads the texts of one area in one language, and nothing else. */
export async function loadTexts<A extends keyof Texts>(area: A, locale: Locale): Promise<Texts[A]> {
  const [{ texts }, translator] = await Promise.all([
    AREAS[area](),
    loadTranslator(locale),
  ]);
  const make: (t: Translate) => unknown = texts;
  return make(translator.t) as Texts[A];
}
