import { displayWidth, fitDisplay } from "../../../src/util/display_width.ts";
import { diffLines, palette } from "../../../src/view/mod.ts";
import { outputTail } from "../../../src/view/output_tail.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const show = (diff: string, maxLines = 99, columns = 40, colours = false) =>
  diffLines(diff, {
    palette: palette(colours),
    maxLines,
    more: (lines) => `… ${lines} more lines`,
    fit: (line) => fitDisplay(line, columns),
  });

const HEAD = "--- a/x\n+++ b/x\n";

Deno.test("diffLines numbers removed lines as they were and the others as they are", () => {
  assertEquals(show(`${HEAD}@@ -9,3 +9,4 @@\n a\n-b\n+c\n+d\n e\n`), [
    " 9   a",
    "10 - b",
    "10 + c",
    "11 + d",
    "12   e",
  ]);
});

Deno.test("diffLines parts hunks, and leaves no-newline marks out", () => {
  const diff = `${HEAD}@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n@@ -80,2 +80,1 @@\n c\n-d\n`;
  assertEquals(show(diff), [" 1 - a", " 1 + b", "   … ", "80   c", "81 - d"]);
});

Deno.test("diffLines keeps lines with tabs and wide characters within the width, and steers no terminal", () => {
  const text = "\t变量名称很长的一行，用来检查是否在正确的位置截断\x1b[2J\x1b]0;title\x07\r";
  const [line = ""] = show(`${HEAD}@@ -0,0 +1 @@\n+${text}`, 9, 24);
  assertEquals(line, "1 +   变量名称很长的一…");
  assert(displayWidth(line) <= 24);
});

Deno.test("diffLines says how many lines it leaves out, never of one alone", () => {
  const diff = (lines: number) =>
    `${HEAD}@@ -0,0 +1,${lines} @@\n${Array.from({ length: lines }, (_, at) => `+${at}`).join("\n")}`;
  assertEquals(show(diff(5), 4).length, 5);
  assertEquals(show(diff(90_000), 4).slice(-1), ["      … 89996 more lines"]);
});

Deno.test("diffLines colours by meaning", () => {
  assertEquals(show(`${HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+c`, 9, 40, true), [
    "\x1b[2m1   a\x1b[22m",
    "\x1b[31m2 - b\x1b[39m",
    "\x1b[32m2 + c\x1b[39m",
  ]);
});

Deno.test("outputTail takes the last lines of a huge output, and leaves its exit code and sequences out", () => {
  const content = `${"x\n".repeat(200_000)}\x1b[32m\tgreen\x1b[0m\r\nlast\n[exit code 3]\n`;
  assertEquals(outputTail(content, 2), { lines: ["  green", "last"], before: 200_000 });
  assertEquals(outputTail("\n[exit code 1]\n", 4), { lines: [], before: 0 });
  assertEquals(outputTail("", 4), { lines: [], before: 0 });
});
