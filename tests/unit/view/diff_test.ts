import { displayWidth, fitDisplay } from "../../../src/util/display_width.ts";
import { diffLines, loadDiffMarks, palette, type Theme, ThemedPalette } from "../../../src/view/mod.ts";
import { outputTail } from "../../../src/view/call_lines.ts";
import { assert, assertEquals } from "../../support/assert.ts";

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
  assertEquals(show(diff(90_000), 4).slice(-1), ["      … 89996 more lines"]);
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
const plain = (line: string) => line.replace(/\x1b\[[\d;]*m/g, "");
const marks = await loadDiffMarks(palette(true));
const coloured = (diff: string, theme: Theme = "dark", columns = 60) =>
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
  assertEquals(coloured(diff), [
    "\x1b[2m1   \x1b[22m\x1b[35mconst\x1b[39m a = \x1b[33m1\x1b[39m;",
    '\x1b[31m2 - \x1b[39m\x1b[48;5;52m\x1b[35mconst\x1b[39m b = \x1b[32m"\x1b[39m\x1b[49m' +
    '\x1b[48;5;88m\x1b[32mx\x1b[39m\x1b[49m\x1b[48;5;52m\x1b[32m"\x1b[39m;\x1b[49m',
    '\x1b[32m2 + \x1b[39m\x1b[48;5;22m\x1b[35mconst\x1b[39m b = \x1b[32m"\x1b[39m\x1b[49m' +
    '\x1b[48;5;28m\x1b[32my\x1b[39m\x1b[49m\x1b[48;5;22m\x1b[32m"\x1b[39m;\x1b[49m',
  ]);
  const themes = (["light", "high-contrast"] as const).map((theme) => coloured(diff, theme)[2] ?? "");
  assert(themes[0]?.includes("\x1b[48;5;194m\x1b[38;5;90mconst"), themes[0]);
  assert(themes[1]?.includes("\x1b[48;5;22m\x1b[1mconst") && themes[1].includes("\x1b[7m"), themes[1]);
});

Deno.test("diffLines highlights removed lines in the old text and added ones in the new text", () => {
  const lines = coloured(`${TS}@@ -1,3 +1,2 @@\n-/*\n let x = 1;\n-*/\n+let y = 2;\n`);
  assert(lines[1]?.includes("\x1b[35mlet\x1b[39m"), lines[1]);
  assert(lines[2]?.includes("\x1b[2m*/\x1b[22m"), lines[2]);
  assert(lines[3]?.includes("\x1b[35mlet\x1b[39m"), lines[3]);
});

Deno.test("diffLines shows code without colors if language or colors are missing", async () => {
  const hunk = "@@ -0,0 +1 @@\n+const a = 1;\n";
  assertEquals(coloured(`--- a/x.unknown\n+++ b/x.unknown\n${hunk}`), ["\x1b[32m1 + const a = 1;\x1b[39m"]);
  assertEquals(coloured(`--- /dev/null\n+++ b/x.ts\n${hunk}`)[0]?.includes("\x1b[35mconst"), true);
  assertEquals((await loadDiffMarks(palette(false))).syntax, undefined);
});

Deno.test("diffLines truncates colored lines to the width and recognizes each file of several diffs", () => {
  const python = "--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n--- x\n+def f(): pass\n";
  const lines = coloured(`${TS}@@ -0,0 +1 @@\n+const name = "a long text";\n${python}`, "dark", 24);
  assertEquals(lines.map(plain), ['1 + const name = "a lon…', "  … ", "1 - -- x", "1 + def f(): pass"]);
  assert(lines[3]?.includes("\x1b[35mdef\x1b[39m"), lines[3]);
});
