/** The Chinese catalogue: every text of the program is in it, complete, and nothing else is. */
import ts from "typescript";
import { CLAUSES, LIST } from "../../../src/core/mod.ts";
import catalogue from "../../../src/i18n/zh-CN.json" with { type: "json" };
import { assert, assertEquals } from "../../support/assert.ts";

const ROOT = new URL("../../../", import.meta.url);
const ENTRIES = Object.entries<string>(catalogue);
const USED = new Set([LIST, CLAUSES, ...["src/", "cli/"].flatMap(templatesBelow)]);

function templatesBelow(directory: string): string[] {
  return [...Deno.readDirSync(new URL(directory, ROOT))].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return templatesBelow(`${directory}${name}/`);
    return name.endsWith(".ts") ? templatesOf(Deno.readTextFileSync(new URL(directory + name, ROOT))) : [];
  });
}

/** Finds the templates of tagged literals (`` t`…` ``, `` message`…` ``), with `{}` for each value. */
function templatesOf(source: string): string[] {
  if (!/\b(?:t|message)`/.test(source)) return [];
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && /^(?:t|message)$/.test(node.tag.getText())) {
      const { template } = node;
      const parts = ts.isTemplateExpression(template)
        ? [template.head, ...template.templateSpans.map(({ literal }) => literal)]
        : [template];
      found.push(parts.map(({ text }) => text).join("{}"));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true));
  return found;
}

Deno.test("every text of the program has a Chinese sentence", () => {
  const missing = [...USED].filter((template) => !Object.hasOwn(catalogue, template));
  assertEquals(missing, []);
});

Deno.test("every Chinese sentence belongs to a text of the program", () => {
  assertEquals(ENTRIES.map(([template]) => template).filter((template) => !USED.has(template)), []);
});

Deno.test("the catalogue is sorted, so that changes of several people do not meet at its end", () => {
  const templates = ENTRIES.map(([template]) => template);
  assertEquals(templates, templates.toSorted((a, b) => a < b ? -1 : 1));
});

Deno.test("a Chinese sentence has every value of its text", () => {
  for (const [template, sentence] of ENTRIES) {
    const count = template.split("{}").length - 1;
    const places = [...new Set([...sentence.matchAll(/\{(\d+)\}/g)].map(([, place]) => Number(place)))];
    const all = Array.from({ length: count }, (_, index) => index + 1);
    assertEquals(places.sort((a, b) => a - b), all, `${template}: ${sentence}`);
  }
});

Deno.test("a Chinese sentence is translated, with no words of English", () => {
  for (const [template, sentence] of ENTRIES) {
    assertEquals(englishWords(sentence), [], sentence);
    const isSentence = englishWords(template).length > 0;
    assert(!isSentence || /\p{Script=Han}/u.test(sentence), `${template}: ${sentence}`);
  }
});

/** Commands and programs keep their names, as does what looks like code: context_window, --metrics, .env. */
const NAMES = new Set([
  "reasonix",
  "all",
  "verbose",
  "xclip",
  "pngpaste",
  "ask",
  "auto",
  "approve",
  "edits",
  "yolo",
  "allow",
  "deny",
  "remove",
  "forget",
  "load",
  "login",
  "effort",
  "efforts",
  "code",
  "conversation",
  "online",
  "trust",
  "unload",
  "keys",
  "session",
  "show",
  "test",
  "docs",
  "config",
  "skills",
  "list",
  "not-yet",
  "wl-clipboard",
  "xsel",
  "go",
  "run",
  "setup",
  "doctor",
  "mcp",
  "apt",
  "install",
  "bubblewrap",
  "false",
  "restart",
  "off",
  "add",
  "models",
  "none",
  "resume",
  "clear",
  "untrust",
  "archive",
  "goal",
]);

function englishWords(text: string): string[] {
  // What is quoted as code, and a rule, are written as they are in every language: Bash(go test:*).
  const plain = text.replace(/`[^`]*`/g, "").replace(/\b[A-Z]\w*\([^)]*\)/g, "").replaceAll("{}", "");
  const words = plain.match(/[\w.:/=-]+/g) ?? [];
  return words.filter((word) => /^[a-z]{3,}[.:]?$/.test(word) && !NAMES.has(word));
}
