/** Sentences that come in English alone: all those of the source are said in Chinese. */
import { importReason } from "../../../src/i18n/zh_cn/sayings/import_reasons.ts";
import { sentenceTeller } from "../../../src/i18n/zh_cn/sayings/sentences.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const ROOT = new URL("../../../", import.meta.url);

/** All source below a directory but the catalogues, with literals of several lines put together. */
function sourceBelow(directory: string): string {
  return [...Deno.readDirSync(new URL(directory, ROOT))].map(({ name, isDirectory }) =>
    isDirectory
      ? name === "i18n" ? "" : sourceBelow(`${directory}${name}/`)
      : Deno.readTextFileSync(new URL(`${directory}${name}`, ROOT))
  ).join("").replace(/"\s*\+\s*"/g, "");
}

/** The plain literals behind one of these words. */
function literals(source: string, before: string): string[] {
  const pattern = new RegExp(`(?:${before})\\s*"((?:[^"\\\\]|\\\\.)+)"`, "g");
  return [...source.matchAll(pattern)].map(([, text = ""]) => text);
}

Deno.test("every reason of an import is said in Chinese", () => {
  const source = sourceBelow("src/config/foreign/");
  const reasons = [
    ...literals(source, "\\b(?:why|note|notes):"),
    ...[...source.matchAll(/\bleave\(([^;]+?)\);/g)].flatMap(([, text = ""]) => literals(text, "[,:?]"))
      .filter((text) => text.includes(" ")),
    ...[...source.matchAll(/\bREASONS[^=]*= \{([^}]*)\}/g)].flatMap(([, text = ""]) => literals(text, ":")),
  ];
  const sentences = reasons.filter((text) => text.includes(" "));
  assert(sentences.length > 40, `${reasons.length}`);
  for (const text of sentences) {
    for (const part of importReason(text).split("；")) {
      assert(/\p{Script=Han}/u.test(part), `nobody says "${text}" in Chinese`);
    }
  }
});

Deno.test("a sentence is told by all of it, a part that nobody knows stays, and words are no patterns", () => {
  const tell = sentenceTeller({ "it has {} of {} (*)": "{2} 里有 {1}", "gone": "没了" });
  assertEquals(tell("it has 1 of 3 (*)"), "3 里有 1");
  assertEquals(tell("It has 1 of 3 (x)"), "It has 1 of 3 (x)");
  assertEquals(tell("gone; somewhere"), "没了；somewhere");
  assertEquals(tell("it has a; b of {1} $1 (*)"), "{1} $1 里有 a; b");
  assertEquals(tell(""), "");
});
