import {
  fileText,
  itemText,
  plainText,
  StyledLines,
} from "../../../../../src/frontend/repl/overlay/styled_lines.ts";
import { rowsOfLine, withoutStyles } from "../../../../../src/frontend/repl/screen/line.ts";
import { type DiffMarks, loadDiffMarks, palette } from "../../../../../src/view/mod.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { Random, SEED, soakSize } from "../../../../support/seed.ts";

const colors = palette(true);
const marks = await loadDiffMarks(colors);
const style = { palette: colors, marks };
const code = (lines: number) =>
  Array.from({ length: lines }, (_, at) => `const value${at} = "text ${at}"; /* 字 */`);
const all = (lines: StyledLines) => Array.from({ length: lines.length }, (_, at) => lines.line(at));

Deno.test("StyledLines gives a line the same colors in whatever order lines are read", () => {
  for (let round = 0; round < soakSize(100, 3); round++) {
    const random = new Random(SEED + round);
    const added = code(300).map((line) => `+${line}`).join("\n");
    const diff =
      `--- a.ts\n+++ a.ts\n@@ -0,0 +1,300 @@\n${added}\n@@ -400,2 +700,2 @@\n-let a = 1;\n+let a = 2;\n b\n`;
    const make = () =>
      new StyledLines([
        plainText(["head"], colors.dim),
        fileText("a.ts", code(200).join("\n"), style),
        plainText([]),
        itemText({ kind: "diff", title: "", text: diff }, style),
      ]);
    const expected = all(make());
    const lines = make();
    assertEquals(lines.length, 1 + 200 + 303 + 1);
    for (let read = 0; read < 600; read++) {
      const at = random.below(lines.length);
      assertEquals(lines.line(at), expected[at]);
      assertEquals(withoutStyles(lines.line(at)), lines.plain(at));
    }
  }
});

Deno.test("rows of StyledLines are those of all its lines, and are found without styles", () => {
  const text = ["short", "字".repeat(50), "", "👩‍👩‍👧‍👦".repeat(9), "x".repeat(100), "e\u0301".repeat(40)];
  const lines = new StyledLines([fileText("a.ts", text.join("\n"), style), plainText(text, colors.dim)]);
  for (const columns of [1, 2, 7, 30, 200]) {
    const rows = lines.rows(columns);
    const whole = all(lines).flatMap((line) => rowsOfLine(line, columns));
    assertEquals(rows.length, whole.length);
    assertEquals(rows.plain(), whole.map(withoutStyles));
    assertEquals(rows.slice(0, Infinity).map(withoutStyles), whole.map(withoutStyles));
    for (let from = 0; from < rows.length; from += 3) {
      assertEquals(rows.slice(from, from + 5), rows.slice(0, Infinity).slice(from, from + 5));
    }
  }
  assertEquals(new StyledLines([]).rows(80).slice(0, 10), []);
});

Deno.test("a part of a diff compares only the words of its lines", () => {
  let compared = 0;
  const counting: DiffMarks = {
    ...marks,
    words(old, fresh) {
      compared++;
      return marks.words(old, fresh);
    },
  };
  const side = (sign: string) => code(2000).map((line) => `${sign}${line}${sign}`).join("\n");
  const text = `--- a.ts\n+++ a.ts\n@@ -1,2000 +1,2000 @@\n${side("-")}\n${side("+")}\n`;
  const lines = new StyledLines([itemText({ kind: "diff", title: "", text }, { ...style, marks: counting })]);
  assert(lines.line(100).includes("\x1b[48;5;88m"), "the changed word of a removed line");
  assert(lines.line(3990).includes("\x1b[48;5;28m"), "the changed word of an added line");
  assert(compared <= 2 * 64, `${compared} lines`);
});
