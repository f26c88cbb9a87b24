/**
 * The test pages of Mozilla's search for articles. They are not among the files of the project: the test runs
 * where `REASONIX_READABILITY_PAGES` names the directory `test/test-pages` of a clone of mozilla/readability.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { cleanPage } from "../../../plugins/web/page/clean.ts";
import { convert } from "../../../plugins/web/page/convert.ts";

const DIRECTORY = Deno.env.get("REASONIX_READABILITY_PAGES") ?? "";
const URL_OF_PAGE = "http://fakehost/test/page.html";
/** Milliseconds for the slowest page. */
const MAX_MS = 2000;

Deno.test({
  name: "the articles of Mozilla's test pages arrive whole, and little else",
  ignore: DIRECTORY === "",
  async fn() {
    const scores: { readonly name: string; readonly score: number; readonly ms: number }[] = [];
    for (const { name, isDirectory } of Deno.readDirSync(DIRECTORY)) {
      if (!isDirectory) continue;
      const bytes = Deno.readFileSync(`${DIRECTORY}/${name}/source.html`);
      const started = performance.now();
      const { markdown } = await convert({ bytes, url: URL_OF_PAGE });
      const ms = performance.now() - started;
      const expected = Deno.readTextFileSync(`${DIRECTORY}/${name}/expected.html`);
      scores.push({ name, score: wordScore(textOf(markdown), textOfHtml(expected)), ms });
    }
    const listed = (each: (typeof scores)[number]) =>
      `${each.name} ${each.score.toFixed(3)} ${each.ms.toFixed(0)} ms`;
    const mean = scores.reduce((sum, { score }) => sum + score, 0) / scores.length;
    const slowest = scores.toSorted((a, b) => b.ms - a.ms).slice(0, 3).map(listed);
    const worst = scores.toSorted((a, b) => a.score - b.score).slice(0, 5).map(listed);
    const report = `${scores.length} pages, mean ${mean.toFixed(4)}\nworst: ${worst}\nslowest: ${slowest}`;
    assert(scores.length >= 100, report);
    assert(mean >= 0.96, report);
    assertEquals(scores.filter(({ score }) => score < 0.5).map(listed), [], report);
    assertEquals(scores.filter(({ ms }) => ms > MAX_MS).map(listed), [], report);
  },
});

function textOf(markdown: string): string {
  return markdown
    .replace(/\]\([^()\s]*\)/g, "] ")
    .replace(/!\[[^\]]*\]/g, " ")
    .replaceAll("<br>", " ")
    .replace(/\\(?=[\\`*[\]#+.>|~-])|\*+/g, "");
}

function textOfHtml(html: string): string {
  return cleanPage(html, URL_OF_PAGE).html
    .replace(/<(?!\/?(?:a|abbr|b|code|em|font|i|q|s|small|span|strong|sub|sup|u)\b)[^>]*>/g, " ")
    .replace(/<[^>]*>/g, "");
}

/** The harmonic mean of how many words of the result are expected, and how many expected ones are in it. */
function wordScore(actual: string, expected: string): number {
  const [found, wanted] = [wordsOf(actual), wordsOf(expected)];
  const left = new Map<string, number>();
  for (const word of wanted) left.set(word, (left.get(word) ?? 0) + 1);
  let hits = 0;
  for (const word of found) {
    const count = left.get(word) ?? 0;
    if (count > 0) hits++;
    left.set(word, count - 1);
  }
  return found.length + wanted.length === 0 ? 1 : 2 * hits / (found.length + wanted.length);
}

function wordsOf(text: string): string[] {
  return text.toLowerCase()
    .match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}]+/gu) ?? [];
}
