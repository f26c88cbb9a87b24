import { Layout } from "../../../../../src/frontend/repl/composer/draft.ts";
import { characterEnds } from "../../../../../src/util/display_width.ts";
import { displayWidth } from "../../../../../src/util/display_width.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";

function layout(text: string, width: number): Layout {
  const made = new Layout(() => undefined);
  made.update(text, width);
  return made;
}

const rows = (text: string, width: number) => {
  const made = layout(text, width);
  return made.shown(0, made.rows);
};

Deno.test("Layout breaks after blanks, next to wide characters, and in words that are wider than a row", () => {
  assertEquals(rows("fix the bug", 8), ["fix the ", "bug"]);
  assertEquals(rows("fix the bug", 7), ["fix the ", "bug"]);
  assertEquals(rows("abcdefghij", 4), ["abcd", "efgh", "ij"]);
  assertEquals(rows("ab cdefghij k", 4), ["ab ", "cdef", "ghij ", "k"]);
  assertEquals(rows("中文测试", 5), ["中文", "测试"]);
  assertEquals(rows("中文ab", 5), ["中文", "ab"]);
  assertEquals(rows("a\n\nb", 5), ["a", "", "b"]);
  // The caret has its own cell, and its own row where necessary.
  assertEquals(rows("abcd", 4), ["abcd"]);
  assertEquals(rows("abcd ", 4), ["abcd ", ""]);
  assertEquals(rows("abcd  ", 4), ["abcd ", " "]);
  assertEquals(rows("abcd  e", 4), ["abcd ", " e"]);
});

/** Text before the caret, width, and the expected cell of the caret. */
const CELLS: readonly (readonly [string, number, number, number])[] = [
  ["", 10, 0, 0],
  ["abc", 10, 0, 3],
  ["中文", 10, 0, 4],
  ["中文字", 5, 1, 2],
  ["👨‍👩‍👧‍👦", 10, 0, 2],
  ["x👨‍👩‍👧‍👦y", 10, 0, 4],
  ["🇩🇪🇫🇷", 10, 0, 4],
  ["👍🏽", 10, 0, 2],
  ["1️⃣", 10, 0, 2],
  ["한글", 10, 0, 4],
  ["\u1112\u1161\u11ab", 10, 0, 2],
  ["e\u0301", 10, 0, 1],
  ["नि", 10, 0, displayWidth("नि")],
  ["क्षि", 10, 0, displayWidth("क्षि")],
  ["ｱｲ", 10, 0, 2],
  ["a\tb", 10, 0, 5],
  ["\t\t", 10, 0, 8],
  ["中\tb", 10, 0, 5],
  ["a\nbc", 10, 1, 2],
  ["\x1b[31m", 10, 0, 5],
  ["\u202e", 10, 0, 1],
  ["abcd", 4, 0, 4],
  ["abcd ", 4, 1, 0],
  ["abcde", 4, 1, 1],
  ["ab cde", 4, 1, 3],
];

Deno.test("Layout puts the caret into the correct cell for every script", () => {
  for (const [text, width, row, column] of CELLS) {
    const place = JSON.stringify(text);
    assertEquals(layout(text, width).cellOf(text.length), { row, column }, place);
    // Later text changes nothing, unless it continues a broken word.
    if (!/\w$/.test(text)) {
      assertEquals(layout(`${text}z`, width).cellOf(text.length), { row, column }, place);
    }
  }
});

Deno.test("Layout shows control characters as symbols and tabs as spaces", () => {
  assertEquals(rows("a\x1b[2J\x07\u202eb", 20), ["a␛[2J␇�b"]);
  assertEquals(rows("a\tb", 20), ["a   b"]);
});

const MIXED =
  "Fix 中文 the 👨‍👩‍👧‍👦 family\tin 🇩🇪 e\u0301 한글 नि\n\n  indented code();\nverylongwordthatdoesnotfit";

Deno.test("Layout keeps rows within the width, loses nothing, and maps each cell back to its offset", () => {
  for (let width = 2; width <= 40; width++) {
    const made = layout(MIXED, width);
    for (const row of made.shown(0, made.rows)) {
      assert(displayWidth(row) <= width + 1, `${width}: ${JSON.stringify(row)}`);
    }
    let at = 0;
    let before = -1;
    for (const line of MIXED.split("\n")) {
      for (const end of [0, ...characterEnds(line)]) {
        const cell = made.cellOf(at + end);
        const order = cell.row * 1000 + cell.column;
        assert(order > before, `${width}: ${at + end} is not behind the one before`);
        assert(cell.column <= width, `${width}: ${at + end} is beyond the caret's cell`);
        assertEquals(made.offsetAt(cell), at + end, `width ${width}, offset ${at + end}`);
        before = order;
      }
      at += line.length + 1;
    }
  }
});

Deno.test("Layout breaks an edited text like a new one", () => {
  const texts = ["a", " ", "中", "👍🏽", "\u0301", "\n", "word", "\t", "🇩", "一二三四五六"];
  const made = new Layout(() => undefined);
  let text = MIXED;
  // Any walk through places and texts will do; it is the same in every run.
  for (let step = 0; step < 400; step++) {
    const at = (step * 37) % (text.length + 1);
    const removed = step % 3 === 0 ? (step * 7) % 5 : 0;
    text = text.slice(0, at) + texts[step % texts.length] + text.slice(at + removed);
    if (!text.isWellFormed()) text = text.toWellFormed();
    made.update(text, 17);
    const fresh = layout(text, 17);
    assertEquals(made.shown(0, made.rows), fresh.shown(0, fresh.rows), `step ${step}`);
    assertEquals(made.cellOf(at), fresh.cellOf(at), `step ${step}`);
  }
});

Deno.test("Layout reuses unchanged lines and rows", () => {
  let asked = 0;
  const made = new Layout(() => {
    asked++;
    return undefined;
  });
  const line = "é".repeat(100);
  made.update(`${line}\n${line}x`, 10);
  asked = 0;
  made.update(`${line}\n${line}xé`, 10);
  assert(asked <= 21, String(asked));
  made.update(`${line}\n${line}xé`, 9);
  assert(asked > 100, String(asked));
});
