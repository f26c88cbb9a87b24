/** The list of catalogues and of areas, each loaded when its texts are needed. */
import { message, textOf } from "../core/mod.ts";
import type { Translate, Translator } from "./translate.ts";

const AREAS = {
  batch: () => import("./en/cli/batch.ts"),
  chat: () => import("./en/chat.ts"),
  composer: () => import("./en/composer.ts"),
  commands: () => import("./en/commands.ts"),
  details: () => import("./en/details.ts"),
  doctor: () => import("./en/doctor.ts"),
  overlay: () => import("./en/overlay.ts"),
  full: () => import("./en/full.ts"),
  import: () => import("./en/import.ts"),
  mcp_commands: () => import("./en/mcp/server_commands.ts"),
  mcp_questions: () => import("./en/mcp/asked_by_servers.ts"),
  models: () => import("./en/cli/model_tables.ts"),
  report_commands: () => import("./en/report_commands.ts"),
  run: () => import("./en/run.ts"),
  serve: () => import("./en/cli/serve.ts"),
  session_commands: () => import("./en/session_commands.ts"),
  setting_commands: () => import("./en/setting_commands.ts"),
  setup: () => import("./en/setup.ts"),
  start: () => import("./en/start.ts"),
  turn_view: () => import("./en/turn_view.ts"),
  update: () => import("./en/cli/update.ts"),
  web: () => import("./en/web.ts"),
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

/** Languages of the interface. */
export const LOCALES = ["en", "zh-CN"] as const;
export type Locale = (typeof LOCALES)[number];

export interface LocaleSources {
  readonly env: (name: string) => string | undefined;
  /** The setting `language`; empty or absent when it is not set. */
  readonly language?: string;
  /** The language of the operating system, asked for where no variable names one. */
  readonly system?: () => string | undefined;
}

export interface DetectedLocale {
  readonly locale: Locale;
  /** A setting of this program that names no known language. */
  readonly unknown?: { readonly name: "REASONIX_LANG" | "language"; readonly value: string };
}

/** The user's choice among the system's variables, the first that is set (POSIX, section 8.2). */
const SYSTEM_VARIABLES = ["LC_ALL", "LC_MESSAGES", "LANG"];

/**
 * Returns the language of the interface. What is meant for this program comes first, the strongest in front:
 * REASONIX_LANG, AGENT_LANG (shared with other agents), the setting `language`. Then the system's own:
 * LC_ALL, LC_MESSAGES, LANG. A name of the first group that is not known is passed over; one of the second
 * means English.
 */
export function detectLocale({ env, language, system }: LocaleSources): DetectedLocale {
  let unknown: DetectedLocale["unknown"];
  const own = [
    { name: "REASONIX_LANG", value: env("REASONIX_LANG") },
    { name: "AGENT_LANG", value: env("AGENT_LANG") },
    { name: "language", value: language },
  ] as const;
  for (const { name, value = "" } of own) {
    if (value.trim() === "") continue;
    const locale = matchLocale(value);
    if (locale) return { locale, ...(unknown ? { unknown } : {}) };
    if (name !== "AGENT_LANG") unknown ??= { name, value };
  }
  const named = SYSTEM_VARIABLES.map(env).find((value) => value) ?? system?.() ?? "";
  return { locale: matchLocale(named) ?? "en", ...(unknown ? { unknown } : {}) };
}

/**
 * Finds the language for a name as systems write it: zh_CN.UTF-8, zh-Hans, zh_TW, C, en_GB@euro. Every kind
 * of Chinese gets the one there is.
 */
function matchLocale(name: string): Locale | undefined {
  const [language = ""] = name.trim().toLowerCase().split(/[-_.@]/);
  if (language === "zh") return "zh-CN";
  return language === "en" || language === "c" || language === "posix" ? "en" : undefined;
}
