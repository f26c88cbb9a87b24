import { displayWidth, fitDisplay, padDisplay } from "../../../src/util/display_width.ts";
import { assertEquals } from "../../support/assert.ts";

Deno.test("displayWidth counts wide characters twice and marks not at all", () => {
  const lines = ["abc", "日本語", "e\u0301", "👩‍👩‍👧", "한글a", ""];
  assertEquals(lines.map(displayWidth), [3, 6, 1, 2, 5, 0]);
});

Deno.test("padDisplay fills up to the width on either side and leaves what is wider", () => {
  assertEquals([padDisplay("日本", 6), padDisplay("7", 3, "left"), padDisplay("wider", 2)], [
    "日本  ",
    "  7",
    "wider",
  ]);
});

Deno.test("fitDisplay cuts between characters as they are seen", () => {
  assertEquals(fitDisplay("fits", 4), "fits");
  assertEquals(fitDisplay("日本語です", 6), "日本…");
  assertEquals(fitDisplay("a👩‍👩‍👧b c", 4), "a👩‍👩‍👧…");
  assertEquals(displayWidth(fitDisplay("ｗｉｄｅ text", 5)), 5);
});
