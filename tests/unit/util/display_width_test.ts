import { displayWidth, fitDisplay, padDisplay } from "../../../src/util/display_width.ts";
import { assertEquals } from "../../support/assert.ts";

Deno.test("displayWidth counts wide characters as two columns and combining marks as none", () => {
  const lines = ["abc", "日本語", "e\u0301", "👩‍👩‍👧", "한글a", ""];
  assertEquals(lines.map(displayWidth), [3, 6, 1, 2, 5, 0]);
});

Deno.test("displayWidth handles emoji, flags, marks, syllables and variation selectors", () => {
  const table: Readonly<Record<string, number>> = {
    "👍🏽": 2,
    "👩‍👩‍👧": 2,
    "🇩🇪🇯🇵": 4,
    "🏴\u{e0067}\u{e0062}\u{e007f}": 2,
    "☝🏽": 2,
    "❤": 1,
    "❤️": 2,
    "1️⃣": 2,
    "☕": 2,
    "☕\ufe0e": 1,
    "©™": 2,
    "नमस्ते": 4,
    "한": 2,
    "ᄒ\u1161\u11ab": 2,
    "ｶﾞ": 2,
    "สวัสดี": 4,
    "e\u0301\u0323": 1,
    "\u200b\ufeff\u200d": 0,
    "a\tb": 2,
    "→─█": 3,
    "「漢、字」": 10,
    "𠀀": 2,
    "\x1b[31m漢\x1b[0m": 2,
    "\x1b]8;;https://a.example/\x1b\\a\x1b]8;;\x1b\\": 1,
  };
  for (const [text, cells] of Object.entries(table)) assertEquals(displayWidth(text), cells, text);
});

Deno.test("padDisplay pads to the width on either side and keeps wider text", () => {
  assertEquals([padDisplay("日本", 6), padDisplay("7", 3, "left"), padDisplay("wider", 2)], [
    "日本  ",
    "  7",
    "wider",
  ]);
});

Deno.test("fitDisplay truncates between grapheme clusters", () => {
  assertEquals(fitDisplay("fits", 4), "fits");
  assertEquals(fitDisplay("日本語です", 6), "日本…");
  assertEquals(fitDisplay("a👩‍👩‍👧b c", 4), "a👩‍👩‍👧…");
  assertEquals(displayWidth(fitDisplay("ｗｉｄｅ text", 5)), 5);
});
