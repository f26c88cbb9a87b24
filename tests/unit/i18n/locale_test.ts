import { detectLocale, type LocaleSources } from "../../../src/i18n/mod.ts";
import { assertEquals } from "../../support/assert.ts";

function detect(variables: Record<string, string>, rest: Omit<LocaleSources, "env"> = {}) {
  return detectLocale({ env: (name) => variables[name], ...rest });
}

Deno.test("detectLocale reads locale names of systems, and defaults to English", () => {
  for (const name of ["zh_CN.UTF-8", "zh-Hans", "zh_TW", "zh", "ZH-cn", "zh_HK.Big5-HKSCS", "zh_CN@pinyin"]) {
    assertEquals(detect({ LANG: name }), { locale: "zh-CN" }, name);
  }
  for (const name of ["C", "POSIX", "C.UTF-8", "en_US.UTF-8", "en", "de_DE", "zhx", "", "汉语", "."]) {
    assertEquals(detect({ LANG: name }), { locale: "en" }, name);
  }
  assertEquals(detect({}), { locale: "en" });
});

Deno.test("detectLocale prefers the program's setting to the system's", () => {
  const all = { REASONIX_LANG: "zh", AGENT_LANG: "en", LC_ALL: "en", LC_MESSAGES: "en", LANG: "en" };
  assertEquals(detect(all, { language: "en" }).locale, "zh-CN");
  assertEquals(detect({ AGENT_LANG: "zh", LC_ALL: "en" }, { language: "en" }).locale, "zh-CN");
  assertEquals(detect({ LC_ALL: "en", LANG: "en" }, { language: "zh-CN" }).locale, "zh-CN");
  assertEquals(detect({ LC_ALL: "zh_CN", LC_MESSAGES: "en", LANG: "en" }).locale, "zh-CN");
  assertEquals(detect({ LC_MESSAGES: "zh_CN", LANG: "en" }).locale, "zh-CN");
  assertEquals(detect({ REASONIX_LANG: "C", LANG: "zh_CN" }).locale, "en");
});

Deno.test("detectLocale ignores an empty variable, and an unknown LC_ALL means English", () => {
  assertEquals(detect({ REASONIX_LANG: " ", LC_ALL: "", LANG: "zh_CN" }, { language: "" }).locale, "zh-CN");
  assertEquals(detect({ LC_ALL: "fr_FR.UTF-8", LANG: "zh_CN.UTF-8" }), { locale: "en" });
});

Deno.test("detectLocale queries the system only when no variable names a language", () => {
  assertEquals(detect({}, { system: () => "zh-Hans-CN" }).locale, "zh-CN");
  assertEquals(detect({ LANG: "C" }, { system: () => "zh-Hans-CN" }).locale, "en");
  assertEquals(detect({}, { system: () => undefined }).locale, "en");
});

Deno.test("detectLocale skips an unknown name and reports the first of our variables", () => {
  assertEquals(detect({ REASONIX_LANG: "fr", LANG: "zh_CN" }), {
    locale: "zh-CN",
    unknown: { name: "REASONIX_LANG", value: "fr" },
  });
  assertEquals(detect({ REASONIX_LANG: "fr" }, { language: "zh" }).unknown?.name, "REASONIX_LANG");
  assertEquals(detect({ AGENT_LANG: "fr" }, { language: "klingon" }), {
    locale: "en",
    unknown: { name: "language", value: "klingon" },
  });
  assertEquals(detect({ AGENT_LANG: "fr" }), { locale: "en" });
});
