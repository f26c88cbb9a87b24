import { assert, assertEquals } from "../../../../support/assert.ts";
import { Random, SEED } from "../../../../support/seed.ts";
import { TextBuffer } from "../../../../../src/frontend/repl/composer/buffer.ts";
import { characterEnds } from "../../../../../src/util/display_width.ts";

/** A buffer with a text and the caret at `|`. */
function at(text: string): TextBuffer {
  const buffer = new TextBuffer();
  buffer.type(text.replace("|", ""));
  buffer.caret = text.indexOf("|");
  return buffer;
}

function shown(buffer: TextBuffer): string {
  return `${buffer.text.slice(0, buffer.caret)}|${buffer.text.slice(buffer.caret)}`;
}

const CHARACTERS = [
  "a",
  "é",
  "e\u0301",
  "漢",
  "한",
  "\u1112\u1161\u11ab",
  "👨‍👩‍👧‍👦",
  "🇩🇪",
  "👍🏽",
  "नि",
  "क्षि",
  "👩🏽‍💻",
  "1️⃣",
  "\t",
];

Deno.test("characterEnds splits text as the grapheme cluster table does, in every context", () => {
  for (const one of CHARACTERS) {
    for (const two of CHARACTERS) {
      for (const text of [one + two, `x${one}${two}y`, `中${one}文${two}`]) {
        const expected = [...new Intl.Segmenter().segment(text)].map((each) =>
          each.index + each.segment.length
        );
        assertEquals(characterEnds(text), expected, JSON.stringify(text));
      }
    }
  }
});

Deno.test("TextBuffer moves over and deletes grapheme clusters", () => {
  for (const character of CHARACTERS) {
    const buffer = at(`x${character}|y`);
    buffer.move("left");
    assertEquals(shown(buffer), `x|${character}y`, character);
    buffer.move("right");
    buffer.erase("left");
    assertEquals(shown(buffer), "x|y", character);
    buffer.undo();
    assertEquals(buffer.text, `x${character}y`);
  }
});

Deno.test("TextBuffer keeps the caret outside of a cluster that an edit creates", () => {
  const flag = at("🇩|🇪");
  flag.type("x");
  flag.erase("left");
  assertEquals(flag.text, "🇩🇪");
  assert(flag.caret === 0 || flag.caret === 4, String(flag.caret));
});

Deno.test("TextBuffer moves by words, in Chinese by dictionary words", () => {
  const ascii = at("|fix the_bug, now\n");
  const stops: number[] = [];
  for (let count = 0; count < 4; count++) {
    ascii.move("wordRight");
    stops.push(ascii.caret);
  }
  assertEquals(stops, [3, 11, 16, 17]);
  const chinese = at("请修复这个错误|");
  const starts: number[] = [];
  while (chinese.caret > 0) {
    chinese.move("wordLeft");
    starts.push(chinese.caret);
  }
  assert(starts.length > 1 && starts.length < 7, starts.join());
  assertEquals(starts.at(-1), 0);
});

Deno.test("TextBuffer moves by words over blank lines, punctuation and emoji", () => {
  const buffer = at("a\n\n  ..\n👍 b|");
  const starts: number[] = [];
  for (let count = 0; count < 3; count++) {
    buffer.move("wordLeft");
    starts.push(buffer.caret);
  }
  assertEquals(starts, [11, 8, 0]);
});

Deno.test("TextBuffer cuts to the ends of a line and yanks; consecutive cuts are one", () => {
  const buffer = at("one\ntwo |three\nfour");
  buffer.kill("lineEnd");
  assertEquals(shown(buffer), "one\ntwo |\nfour");
  buffer.kill("lineEnd");
  assertEquals(shown(buffer), "one\ntwo |four");
  buffer.kill("wordLeft");
  assertEquals(shown(buffer), "one\n|four");
  buffer.move("end");
  buffer.yank();
  assertEquals(shown(buffer), "one\nfourtwo three\n|");
  buffer.kill("lineStart");
  assertEquals(shown(buffer), "one\nfourtwo three|");
});

Deno.test("TextBuffer undoes by words and redoes until other text is typed", () => {
  const buffer = new TextBuffer();
  for (const character of "add a test") buffer.type(character);
  buffer.undo();
  assertEquals(buffer.text, "add a ");
  buffer.undo();
  buffer.undo();
  assertEquals(buffer.text, "add ");
  buffer.redo();
  assertEquals(shown(buffer), "add a|");
  buffer.type("!");
  buffer.redo();
  assertEquals(shown(buffer), "add a!|");
  for (let count = 0; count < 20; count++) buffer.undo();
  assertEquals(buffer.text, "");
});

/** A text as a list of lines of characters: the simple model for comparison. */
class Model {
  characters: string[] = [];
  caret = 0;

  get text(): string {
    return this.characters.join("");
  }

  insert(text: string): void {
    const all = this.characters.slice(0, this.caret).join("") + text;
    const whole = all + this.characters.slice(this.caret).join("");
    this.characters = segments(whole);
    let length = 0;
    this.caret = this.characters.findIndex((each) => (length += each.length) >= all.length) + 1;
    if (all === "") this.caret = 0;
  }

  /** Removes characters; the rest may join into clusters. */
  remove(from: number, to: number): void {
    const before = this.characters.slice(0, from).join("");
    const all = before + this.characters.slice(to).join("");
    this.characters = segments(all);
    let length = 0;
    this.caret = before === ""
      ? 0
      : this.characters.findIndex((each) => (length += each.length) >= before.length) + 1;
  }

  get lineStart(): number {
    return this.caret === 0 ? 0 : this.characters.lastIndexOf("\n", this.caret - 1) + 1;
  }

  get lineEnd(): number {
    const end = this.characters.indexOf("\n", this.caret);
    return end < 0 ? this.characters.length : end;
  }
}

function segments(text: string): string[] {
  return [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
}

Deno.test("TextBuffer equals a list of characters for any input", () => {
  const texts = [...CHARACTERS, "\n", " ", "foo bar", "\u0301", "\u200d", "🇩", "\ud7ff", "中文\n字"];
  for (let walk = 0; walk < 40; walk++) {
    const seed = SEED + walk;
    const random = new Random(seed);
    const next = (limit: number) => random.below(limit);
    const buffer = new TextBuffer();
    const model = new Model();
    const history: string[] = [];
    for (let step = 0; step < 60; step++) {
      const what = next(8);
      if (what < 3) {
        const text = texts[next(texts.length)] ?? "";
        buffer.replace(buffer.caret, buffer.caret, text);
        model.insert(text);
        history.push(buffer.text);
      } else if (what === 3) {
        buffer.move("left");
        model.caret = Math.max(0, model.caret - 1);
      } else if (what === 4) {
        buffer.move("right");
        model.caret = Math.min(model.characters.length, model.caret + 1);
      } else if (what === 5) {
        buffer.erase("left");
        if (model.caret > 0) model.remove(model.caret - 1, model.caret);
      } else if (what === 6) {
        buffer.move("lineStart");
        model.caret = model.lineStart;
      } else {
        buffer.move("lineEnd");
        model.caret = model.lineEnd;
      }
      const place = `seed ${seed}, step ${step}, action ${what}: ${JSON.stringify(model.text)}`;
      assertEquals(buffer.text, model.text, place);
      assertEquals(buffer.caret, model.characters.slice(0, model.caret).join("").length, place);
    }
    const last = buffer.text;
    for (let count = 0; count < 100; count++) buffer.undo();
    assertEquals(buffer.text, "", `seed ${seed}`);
    for (let count = 0; count < 100; count++) buffer.redo();
    assertEquals(buffer.text, last, `seed ${seed}`);
  }
});
