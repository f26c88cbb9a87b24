import fc from "fast-check";
import { safeLine } from "../../../src/frontend/repl/screen/line.ts";
import { displayWidth, fitDisplay } from "../../../src/util/display_width.ts";
import { callLine, outputTail } from "../../../src/view/call_lines.ts";
import { diffRows } from "../../../src/view/diff.ts";
import {
  type Block,
  diffLines,
  loadDiffMarks,
  loadMarkdown,
  MarkdownBlocks,
  palette,
  roughWidth,
  StreamWrap,
  type Theme,
  ThemedPalette,
  wantsColor,
  wrapText,
} from "../../../src/view/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";
import { spansOf } from "../../../scripts/terminal/spans.ts";

const show = (diff: string, maxLines = 99, columns = 40, colors = false) =>
  diffLines(diff, {
    palette: palette(colors),
    maxLines,
    more: (lines) => `… ${lines} more lines`,
    fit: (line) => fitDisplay(line, columns),
  });

const HEAD = "--- a/x\n+++ b/x\n";

Deno.test("diffLines numbers removed lines by the old file and others by the new one", () => {
  assertEquals(show(`${HEAD}@@ -9,3 +9,4 @@\n a\n-b\n+c\n+d\n e\n`), [
    " 9   a",
    "10 - b",
    "10 + c",
    "11 + d",
    "12   e",
  ]);
});

Deno.test("diffLines separates hunks and omits no-newline markers", () => {
  const diff = `${HEAD}@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n@@ -80,2 +80,1 @@\n c\n-d\n`;
  assertEquals(show(diff), [" 1 - a", " 1 + b", "   … ", "80   c", "81 - d"]);
});

Deno.test("diffLines keeps lines with tabs and wide characters within the width, without control codes", () => {
  const text = "\t变量名称很长的一行，用来检查是否在正确的位置截断\x1b[2J\x1b]0;title\x07\r";
  const [line = ""] = show(`${HEAD}@@ -0,0 +1 @@\n+${text}`, 9, 24);
  assertEquals(line, "1 +   变量名称很长的一…");
  assert(displayWidth(line) <= 24);
});

Deno.test("diffLines counts omitted lines and never omits a single one", () => {
  const diff = (lines: number) =>
    `${HEAD}@@ -0,0 +1,${lines} @@\n${Array.from({ length: lines }, (_, at) => `+${at}`).join("\n")}`;
  assertEquals(show(diff(5), 4).length, 5);
  assertEquals(show(diff(200_000), 4).slice(-1), ["       … 199996 more lines"]);
});

Deno.test("diffLines colors added and removed lines", () => {
  assertEquals(show(`${HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+c`, 9, 40, true), [
    "\x1b[2m1   a\x1b[22m",
    "\x1b[31m2 - b\x1b[39m",
    "\x1b[32m2 + c\x1b[39m",
  ]);
});

Deno.test("outputTail returns the last lines of a huge output without exit code and sequences", () => {
  const content = `${"x\n".repeat(200_000)}\x1b[32m\tgreen\x1b[0m\r\nlast\n[exit code 3]\n`;
  assertEquals(outputTail(content, 2), { lines: ["  green", "last"], before: 200_000 });
  assertEquals(outputTail("\n[exit code 1]\n", 4), { lines: [], before: 0 });
  assertEquals(outputTail("", 4), { lines: [], before: 0 });
});

// deno-lint-ignore no-control-regex
const withoutColors = (line: string) => line.replace(/\x1b\[[\d;]*m/g, "");
const marks = await loadDiffMarks(palette(true));
const colouredDiff = (diff: string, theme: Theme = "dark", columns = 60) =>
  diffLines(diff, {
    palette: new ThemedPalette(true, theme).palette,
    maxLines: 99,
    more: String,
    fit: (line) => fitDisplay(line, columns),
    marks,
  });
const TS = "--- a/src/x.ts\n+++ b/src/x.ts\n";

Deno.test("diffLines highlights syntax and keeps the emphasis of changed words", () => {
  const diff = `${TS}@@ -1,2 +1,2 @@\n const a = 1;\n-const b = "x";\n+const b = "y";\n`;
  assertEquals(colouredDiff(diff), [
    "\x1b[2m1   \x1b[22m\x1b[35mconst\x1b[39m a = \x1b[33m1\x1b[39m;",
    '\x1b[31m2 - \x1b[39m\x1b[48;5;52m\x1b[35mconst\x1b[39m b = \x1b[32m"\x1b[39m\x1b[49m' +
    '\x1b[48;5;88m\x1b[32mx\x1b[39m\x1b[49m\x1b[48;5;52m\x1b[32m"\x1b[39m;\x1b[49m',
    '\x1b[32m2 + \x1b[39m\x1b[48;5;22m\x1b[35mconst\x1b[39m b = \x1b[32m"\x1b[39m\x1b[49m' +
    '\x1b[48;5;28m\x1b[32my\x1b[39m\x1b[49m\x1b[48;5;22m\x1b[32m"\x1b[39m;\x1b[49m',
  ]);
  const themes = (["light", "high-contrast"] as const).map((theme) => colouredDiff(diff, theme)[2] ?? "");
  assert(themes[0]?.includes("\x1b[48;5;194m\x1b[38;5;90mconst"), themes[0]);
  assert(themes[1]?.includes("\x1b[48;5;22m\x1b[1mconst") && themes[1].includes("\x1b[7m"), themes[1]);
});

Deno.test("diffRows returns numbers, words and tokens of each row", () => {
  const diff =
    "--- a/x.ts\n+++ b/x.ts\n@@ -9,3 +9,3 @@\n a\n-const b = 1;\n+const b = 2;\n e\n@@ -30 +30 @@\n-f\n";
  const { rows, left, width } = diffRows(diff, { most: 4, marks });
  assertEquals({ left, width }, { left: 2, width: 2 });
  const shown = rows.map(({ tokens = [], ...row }) => ({
    ...row,
    tokens: tokens.filter(({ meaning }) => meaning).map(({ text, meaning }) => `${meaning} ${text}`),
  }));
  const row = { language: "ts", words: [[10, 11]] };
  const none = { language: "ts", words: undefined, tokens: [] };
  assertEquals<unknown>(shown, [
    { mark: " ", old: 9, fresh: 9, text: "a", ...none },
    {
      mark: "-",
      old: 10,
      fresh: undefined,
      text: "const b = 1;",
      ...row,
      tokens: ["keyword const", "number 1"],
    },
    {
      mark: "+",
      old: undefined,
      fresh: 10,
      text: "const b = 2;",
      ...row,
      tokens: ["keyword const", "number 2"],
    },
    { mark: " ", old: 11, fresh: 11, text: "e", ...none },
  ]);
  assertEquals(diffRows(diff).rows.map(({ mark, words, tokens }) => [mark, words, tokens].join("")), [
    ..." -+ …-",
  ]);
});

Deno.test("callLine returns the end of a call as a mark and a result", () => {
  const texts = {
    written: (_: unknown, english: string) => english,
    seconds: (count: string) => `${count} s`,
    skipped: (summary: string) => `skipped: ${summary}`,
    blocked: (summary: string) => `blocked: ${summary}`,
    notExecuted: "not executed",
    stopped: (summary: string) => `stopped: ${summary}`,
    linesAbove: String,
    moreLines: String,
  };
  const end = { v: 1, seq: 1, time: "", type: "tool.end", callId: "c", name: "bash", content: "" } as const;
  const line = (
    outcome: "ok" | "error" | "blocked" | "aborted" | "skipped",
    durationMs: number,
    summary = "s",
  ) => {
    const { mark, title, result } = callLine("t", { ...end, outcome, durationMs, summary }, texts);
    return `${mark} ${title} | ${result}`;
  };
  assertEquals(line("ok", 10), "✓ t | s");
  assertEquals(line("ok", 1200, ""), "✓ t | 1.2 s");
  assertEquals(line("error", 1200), "✗ t | s · 1.2 s");
  assertEquals(line("blocked", 0), "⊘ t | blocked: s");
  assertEquals(line("aborted", 0), "✗ t | stopped: s");
  assertEquals(line("skipped", 1200), "– t | skipped: s");
});

Deno.test("diffLines highlights removed lines in the old text and added ones in the new text", () => {
  const lines = colouredDiff(`${TS}@@ -1,3 +1,2 @@\n-/*\n let x = 1;\n-*/\n+let y = 2;\n`);
  assert(lines[1]?.includes("\x1b[35mlet\x1b[39m"), lines[1]);
  assert(lines[2]?.includes("\x1b[2m*/\x1b[22m"), lines[2]);
  assert(lines[3]?.includes("\x1b[35mlet\x1b[39m"), lines[3]);
});

Deno.test("diffLines shows code without colors if language or colors are missing", async () => {
  const hunk = "@@ -0,0 +1 @@\n+const a = 1;\n";
  assertEquals(colouredDiff(`--- a/x.unknown\n+++ b/x.unknown\n${hunk}`), [
    "\x1b[32m1 + const a = 1;\x1b[39m",
  ]);
  assertEquals(colouredDiff(`--- /dev/null\n+++ b/x.ts\n${hunk}`)[0]?.includes("\x1b[35mconst"), true);
  assertEquals((await loadDiffMarks(palette(false))).syntax, undefined);
});

Deno.test("diffLines truncates colored lines to the width and recognizes each file of several diffs", () => {
  const python = "--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n--- x\n+def f(): pass\n";
  const lines = colouredDiff(`${TS}@@ -0,0 +1 @@\n+const name = "a long text";\n${python}`, "dark", 24);
  assertEquals(lines.map(withoutColors), [
    '1 + const name = "a lon…',
    "  … ",
    "1 - -- x",
    "1 + def f(): pass",
  ]);
  assert(lines[3]?.includes("\x1b[35mdef\x1b[39m"), lines[3]);
});

const renderer = await loadMarkdown({ palette: palette(false), links: false });
const plain = (text: string, columns: number) => renderer.render(text, columns);
const colouredMarkdown = await loadMarkdown({ palette: palette(true), links: false });

Deno.test("a table of wide characters keeps its borders at 40 columns", () => {
  const lines = plain("| 文件 | 说明 |\n| - | - |\n| a.md | 这一格的文字比较长，需要换行显示才放得下 |", 40);
  assertEquals(new Set(lines.map(displayWidth)), new Set([40]));
  assert(lines.length > 5, "the long cell takes several lines");
});

Deno.test("lines of code stay whole and unchanged", () => {
  const code = 'const a = "11"; // $& \\1 `x` 宽字符 and a line that is much wider than the terminal';
  const lines = plain(`Text\n\n\`\`\`ts\n${code}\n\n  return;\n\`\`\``, 30);
  assert(lines.includes(`  ${code}`), lines.join("\n"));
  assert(lines.includes("    return;"));
});

Deno.test("Markdown has no escape sequence without colors, and complete ones with colors", () => {
  const text =
    "# Head\n\n*a* **b** `c` ~~d~~ [link](https://example.org)\n\n> quote\n\n- item\n\n```\ncode\n```";
  // deno-lint-ignore no-control-regex
  assert(!/\x1b\[\d/.test(plain(text, 40).join("\n")));
  for (const line of colouredMarkdown.render(text, 40)) {
    const [after] = spansOf(`${line}\nnext`)[1] ?? [];
    assertEquals(Object.values(after?.style ?? {}).filter(Boolean), [], JSON.stringify(line));
  }
});

Deno.test("a block of punctuation is shown unchanged, quickly", () => {
  for (const sign of ["*", "_", "A_", "![a](", "\\", "1. ", "- "]) {
    const text = `${sign.repeat(100_000)}x`;
    const start = performance.now();
    const lines = plain(text, 80);
    assert(performance.now() - start < 5000, sign);
    assertEquals(lines.join("").replaceAll(" ", ""), text.replaceAll(" ", ""));
  }
  assertEquals(plain(`${"word *bold* ".repeat(100)}`, 2000).length, 1);
});

function blocksOf(text: string, size = text.length): Block[] {
  const blocks = new MarkdownBlocks();
  const got: Block[] = [];
  for (let at = 0; at < text.length; at += size) got.push(...blocks.push(text.slice(at, at + size)));
  const rest = blocks.end();
  return rest ? [...got, rest] : got;
}

Deno.test("MarkdownBlocks returns the same blocks for any chunks", () => {
  const text = "One\ntwo\n\n- a\n\n- b\n\n```\nx\n\ny\n```\n\n| a |\n| - |\n| 1 |\n\nend\n# Head\nText:\n" +
    "~~~ts\nx\n```\n~~~\n1. a\n   ```\n   b\n   ```\n\n   c\n2. d\n\nlast";
  const whole = [
    "One\ntwo",
    "- a\n\n- b",
    "```\nx\n\ny\n```",
    "| a |\n| - |\n| 1 |",
    "end",
    "# Head",
    "Text:",
    "~~~ts\nx\n```\n~~~",
    "1. a\n   ```\n   b\n   ```\n\n   c\n2. d",
    "last",
  ];
  for (const size of [1, 2, 3, 5, 8, 999]) {
    assertEquals(blocksOf(text, size).map(({ source }) => source), whole, `pieces of ${size}`);
  }
});

Deno.test("MarkdownBlocks recognizes fenced code, its language and its lines while they arrive", () => {
  assertEquals(blocksOf("```ts x\na\n\nb\n```\nend").map(({ code }) => code), [
    { info: "ts x", lines: ["a", "", "b"] },
    undefined,
  ]);
  const blocks = new MarkdownBlocks();
  const shown: unknown[] = [];
  for (const piece of ["``", "`ts\n", "a\nb", "\n`", "``"]) {
    blocks.push(piece);
    shown.push(blocks.open?.code?.lines);
  }
  assertEquals(shown, [undefined, [], ["a", "b"], ["a", "b"], ["a", "b"]]);
  assertEquals(blocks.end()?.code, { info: "ts", lines: ["a", "b"] });
});

Deno.test("MarkdownBlocks ends a block without a blank line before fenced code and headings", () => {
  const sources = (text: string) => blocksOf(text).map(({ source }) => source);
  assertEquals(sources("Look:\n```\nx\n```\nand\n## On\ntext"), [
    "Look:",
    "```\nx\n```",
    "and",
    "## On",
    "text",
  ]);
  assertEquals(sources("- a\n  ```\n  # no heading\n  ```\n- b"), ["- a\n  ```\n  # no heading\n  ```\n- b"]);
  assertEquals(sources("a `` b\n``` inline ``` code\nc"), ["a `` b\n``` inline ``` code\nc"]);
});

Deno.test("MarkdownBlocks emits finished items of a long list, and no parts of other blocks", () => {
  const blocks = new MarkdownBlocks();
  blocks.push("1. a\n2. b\n   more\n3. c\n   - d\n   - e");
  assertEquals(blocks.takeItems(9), undefined);
  assertEquals(blocks.takeItems(2)?.source, "1. a\n2. b\n   more");
  assertEquals(blocks.takeItems(0), undefined);
  assertEquals(blocks.end(), { source: "3. c\n   - d\n   - e", follows: true });
  blocks.push("a\nb\nc\nd\n");
  assertEquals(blocks.takeItems(1), undefined);
});

Deno.test("code is highlighted after its language is loaded, with complete sequences on each line", async () => {
  const code = "/* a\nb */ const x = `1\n2` // <&>\"'";
  const source = `\`\`\`ts\n${code}\n\`\`\``;
  assertEquals(colouredMarkdown.prepare("text `x` only"), undefined);
  await colouredMarkdown.prepare(source);
  assertEquals(colouredMarkdown.prepare(source), undefined);
  const lines = colouredMarkdown.code(code, "ts title=a");
  // deno-lint-ignore no-control-regex
  assertEquals(lines.join("\n").replace(/\x1b\[[0-9;]*m/g, ""), code);
  assertEquals(lines[0], "\x1b[2m/* a\x1b[22m");
  assert(lines[1]?.startsWith("\x1b[2mb */\x1b[22m \x1b[35mconst\x1b[39m"), lines[1]);
  assertEquals(colouredMarkdown.code("a\nb", "no-such-language"), ["\x1b[36ma\x1b[39m", "\x1b[36mb\x1b[39m"]);
});

Deno.test("links are limited to web addresses and files if the terminal shows links, else written out", async () => {
  const text = "[a](https://example.org) [b](javascript:x) [c](mailto:a@b.c) [d](file:///x)";
  assertEquals(plain(text, 99), ["a (https://example.org) b (javascript:x) c (mailto:a@b.c) d (file:///x)"]);
  const linked = await loadMarkdown({ palette: palette(false), links: true });
  const link = (label: string, to: string) => `\x1b]8;;${to}\x1b\\${label}\x1b]8;;\x1b\\`;
  const shown = [link("a", "https://example.org"), "b", link("c", "mailto:a@b.c"), link("d", "file:///x")];
  assertEquals(linked.render(text, 99), [shown.join(" ")]);
  await loadMarkdown({ palette: palette(false), links: false });
});

const THEMES = ["dark", "light", "high-contrast", "none"] as const;

Deno.test("NO_COLOR overrides the variables that force colors, which override the terminal", () => {
  const cases: [Parameters<typeof wantsColor>[0], boolean, boolean][] = [
    [{}, true, true],
    [{}, false, false],
    [{ TERM: "dumb" }, true, false],
    [{ TERM: "dumb", FORCE_COLOR: "1" }, true, true],
    [{ NO_COLOR: "1" }, true, false],
    [{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
    [{ NO_COLOR: "" }, true, true],
    [{ NO_COLOR: "", FORCE_COLOR: "" }, false, false],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ FORCE_COLOR: "3" }, false, true],
    [{ FORCE_COLOR: "0" }, true, false],
    [{ FORCE_COLOR: "false" }, true, false],
    [{ CLICOLOR_FORCE: "1" }, false, true],
    [{ CLICOLOR_FORCE: "0" }, false, false],
    [{ CLICOLOR_FORCE: "0" }, true, true],
    [{ FORCE_COLOR: "0", CLICOLOR_FORCE: "1" }, true, false],
  ];
  for (const [env, terminal, wanted] of cases) {
    assertEquals(wantsColor(env, terminal), wanted, JSON.stringify([env, terminal]));
  }
});

Deno.test("a palette keeps an empty text empty, and every text unchanged without colors", () => {
  for (const theme of THEMES) {
    const { palette } = new ThemedPalette(true, theme);
    for (const [meaning, style] of Object.entries(palette)) assertEquals(style(""), "", meaning);
  }
  const without = [
    palette(false),
    new ThemedPalette(false, "light").palette,
    new ThemedPalette(true, "none").palette,
  ];
  for (const styles of without) {
    for (const [meaning, style] of Object.entries(styles)) assertEquals(style("x"), "x", meaning);
  }
});

Deno.test("every style of every theme closes its sequences", () => {
  for (const theme of THEMES) {
    for (const [meaning, style] of Object.entries(new ThemedPalette(true, theme).palette)) {
      // A line with an open style would get a reset.
      assertEquals(safeLine(style("x"), 80), style("x"), `${theme} ${meaning}`);
    }
  }
});

Deno.test("ThemedPalette uses its current theme", () => {
  const themed = new ThemedPalette(true);
  const { dim } = themed.palette;
  assertEquals(dim("x"), "\x1b[2mx\x1b[22m");
  themed.theme = "light";
  assertEquals(dim("x"), "\x1b[38;5;241mx\x1b[39m");
  themed.theme = "high-contrast";
  assertEquals(dim("x"), "x");
});

const wrap = (text: string, columns: number, indent = "") => wrapText(text, columns, displayWidth, indent);

Deno.test("wrapText breaks at blanks and continues under the indent", () => {
  assertEquals(wrap("· one two three four", 10, "  "), ["· one two", "  three", "  four"]);
  assertEquals(wrap("exactly ten", 11), ["exactly ten"]);
  assertEquals(wrap("", 10), [""]);
});

Deno.test("wrapText keeps a word wider than the terminal whole, and breaks after it", () => {
  const path = "/a/path/that/is/wider/than/this";
  assertEquals(wrap(`see ${path} there`, 12), ["see", path, "there"]);
});

Deno.test("wrapText breaks between wide characters except before closing punctuation", () => {
  assertEquals(wrap("这是一段，没有空格的文字。", 10), ["这是一段，", "没有空格的", "文字。"]);
  assertEquals(wrap("宽字，ok", 6), ["宽字，", "ok"]);
  for (const line of wrap("修改了 README.md 里的标题🎉和说明，共三处。".repeat(9), 20)) {
    assert(displayWidth(line) <= 21, line);
  }
});

Deno.test("wrapText keeps percent signs and list dots at the ends of lines", () => {
  assertEquals(wrap("in 20 (15 cached, 72 %) · out 5", 20), ["in 20 (15 cached,", "72 %) · out 5"]);
  assertEquals(wrap("one two · three four", 8), ["one", "two ·", "three", "four"]);
});

Deno.test("StreamWrap writes the same for any chunks and loses nothing", () => {
  const word = fc.constantFrom(
    "word",
    "a",
    " ",
    "  ",
    "\n",
    "宽",
    "，",
    "\t",
    "-",
    "🎉",
    "a-much-longer-word",
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 60 }), fc.integer({ min: 1, max: 7 }), (words, size) => {
      const text = words.join("");
      const stream = new StreamWrap(() => 12, displayWidth);
      let streamed = "";
      for (let at = 0; at < text.length; at += size) streamed += stream.push(text.slice(at, at + size));
      streamed += stream.end();
      assertEquals(streamed, wrap(text, 12).join("\n"));
      assertEquals(streamed.replace(/\s/g, ""), text.replace(/\s/g, ""));
    }),
    { seed: SEED },
  );
});

Deno.test("StreamWrap follows a terminal that becomes narrower", () => {
  let columns = 20;
  const stream = new StreamWrap(() => columns, displayWidth);
  const first = stream.push("one two three four ");
  columns = 8;
  assertEquals((first + stream.push("five six seven ") + stream.end()).split("\n"), [
    "one two three four",
    "five six",
    "seven",
  ]);
});

Deno.test("roughWidth equals the width of Latin and CJK text", () => {
  for (const text of ["plain", "中文，标点。", "かなカナ", "한글", "Ünïcödé"]) {
    assertEquals(roughWidth(text), displayWidth(text), text);
  }
});
