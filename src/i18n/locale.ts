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
  /** What was set for this program alone, and names no language that it has. */
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
