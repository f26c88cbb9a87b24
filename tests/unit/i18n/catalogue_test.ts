/** The Chinese catalogue has exactly the messages of the program, complete. */
import ts from "typescript";
import { CLAUSES, LIST } from "../../../src/core/mod.ts";
import catalogue from "../../../src/i18n/zh-CN.json" with { type: "json" };
import { appFor } from "../../../cli/app.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const ROOT = new URL("../../../", import.meta.url);
const ARGUMENT = "What to do; - reads standard input";
const ENTRIES = Object.entries<string>(catalogue);
const FILES = ["src/", "cli/"].flatMap(filesBelow);
const USED = new Set([
  LIST,
  CLAUSES,
  ...await helpOf("run"),
  ...FILES.flatMap((file) => templatesOf(sourceOf(file))),
]);

/** Headings of the help. */
const HEADINGS = new Set(literalsOf(sourceOf("cli/help.ts")));

function literalsOf(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true));
  return found;
}

/** Collects the texts of `--help` of the program and of one command. */
async function helpOf(command: string): Promise<string[]> {
  const { root } = await appFor(command);
  if (!("getAllEntries" in root)) return [];
  return [
    root.brief,
    ...root.getAllEntries().flatMap(({ name, target, hidden }) => {
      if (name.original !== command || !("parameters" in target)) return hidden ? [] : [target.brief];
      const flags = Object.values(target.parameters.flags ?? {}) as { brief: string; hidden?: boolean }[];
      const shown = flags.filter((flag) => !flag.hidden).map(({ brief }) => brief);
      return [target.brief, target.fullDescription ?? "", ARGUMENT, ...shown];
    }),
  ];
}

function filesBelow(directory: string): string[] {
  return [...Deno.readDirSync(new URL(directory, ROOT))].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${directory}${name}/`) : name.endsWith(".ts") ? [directory + name] : []
  );
}

function sourceOf(file: string): string {
  return Deno.readTextFileSync(new URL(file, ROOT));
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

Deno.test("every message has a Chinese translation", () => {
  const missing = [...USED].filter((template) => !Object.hasOwn(catalogue, template));
  assertEquals(missing, []);
});

/** Packages whose errors a model reads. */
const FOR_MODELS = /^src\/(?:tool|lsp|mcp|memory|path|context|control|features\/lsp)\//;

/** Finds messages and remedies of errors that are plain strings, which no catalogue can translate. */
function plainErrors(source: string): string[] {
  if (!/\b(?:ReasonixError|usageError|withRemedy)\(/.test(source)) return [];
  const found: string[] = [];
  const check = (text: ts.Node | undefined): void => {
    if (text === undefined) return;
    if (ts.isConditionalExpression(text)) [text.whenTrue, text.whenFalse].forEach(check);
    else if (ts.isStringLiteral(text) || ts.isTemplateExpression(text)) {
      if (/[a-z]{2}/.test(text.getText().replace(/\$\{[^}]*\}|^.\/.*/g, ""))) found.push(text.getText());
    }
  };
  const visit = (node: ts.Node): void => {
    if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      /^(?:ReasonixError|usageError|withRemedy)$/.test(node.expression.getText())
    ) {
      const [text, more] = node.arguments ?? [];
      check(text);
      if (more && ts.isObjectLiteralExpression(more)) {
        for (const property of more.properties) {
          if (ts.isPropertyAssignment(property) && property.name.getText() === "remedy") {
            check(property.initializer);
          }
        }
      } else check(more);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true));
  return found;
}

Deno.test("every user-visible error is a message, not a plain string", () => {
  const plain = FILES.filter((file) => !FOR_MODELS.test(file))
    .flatMap((file) => plainErrors(sourceOf(file)).map((text) => `${file}: ${text}`));
  assertEquals(plain, []);
});

Deno.test("every Chinese translation belongs to a message", () => {
  assertEquals(
    ENTRIES.map(([template]) => template).filter((template) =>
      !USED.has(template) && !HEADINGS.has(template)
    ),
    [],
  );
});

Deno.test("the catalogue is sorted", () => {
  const templates = ENTRIES.map(([template]) => template);
  assertEquals(templates, templates.toSorted((a, b) => a < b ? -1 : 1));
});

Deno.test("a Chinese translation has every placeholder of its message", () => {
  for (const [template, sentence] of ENTRIES) {
    const count = template.split("{}").length - 1;
    const places = [...new Set([...sentence.matchAll(/\{(\d+)\}/g)].map(([, place]) => Number(place)))];
    const all = Array.from({ length: count }, (_, index) => index + 1);
    assertEquals(places.sort((a, b) => a - b), all, `${template}: ${sentence}`);
  }
});

Deno.test("a Chinese translation differs from the English text", () => {
  for (const [template, sentence] of ENTRIES) {
    const isProse = ENGLISH.test(plain(template));
    assert(
      !isProse || !/\p{L}/u.test(plain(sentence)) || /\p{Script=Han}/u.test(sentence),
      `${template}: ${sentence}`,
    );
    assert(!ENGLISH.test(plain(sentence)), sentence);
  }
});

/** Words of which every English sentence has some, and no command or setting. */
const ENGLISH =
  /(?<![\w.-])(?:a|an|the|is|are|was|not|no|of|to|and|or|for|with|in|on|it|its|this|that|be|you|your|cannot)(?![\w.=-])/;

/** Removes quoted code. */
function plain(text: string): string {
  return text.replace(/`[^`]*`|"[^"]*"|\{[^}]*\}/g, "");
}
