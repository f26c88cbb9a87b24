import fc from "fast-check";
import { displayWidth } from "../../../src/util/display_width.ts";
import { roughWidth, StreamWrap, wrapText } from "../../../src/view/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";

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
