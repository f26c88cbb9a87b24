import { TextBuffer } from "../../../../../src/frontend/repl/composer/buffer.ts";
import { Composer } from "../../../../../src/frontend/repl/composer/composer.ts";
import { Layout } from "../../../../../src/frontend/repl/composer/draft.ts";
import { History, HistoryWalk, searchHistory } from "../../../../../src/frontend/repl/composer/history.ts";
import { Screen } from "../../../../../src/frontend/repl/screen/screen.ts";
import { loadTexts } from "../../../../../src/i18n/mod.ts";
import { characterEnds, displayWidth } from "../../../../../src/util/display_width.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { Random, SEED } from "../../../../support/seed.ts";
import { VirtualTerminal } from "../../../../support/virtual_terminal.ts";
import { removeTree } from "../../../../support/remove_tree.ts";

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

// The composer on a terminal: the position of the caret in xterm and the text before it.

const texts = await loadTexts("composer", "zh-CN");

function open(columns: number, rows = 12) {
  const terminal = new VirtualTerminal({ columns, rows });
  const composer = new Composer({ onSubmit: () => {}, texts: () => texts });
  const screen = new Screen(terminal, composer);
  terminal.start({
    input: (event) => {
      composer.input(event);
      screen.draw();
    },
    resize: () => screen.resized(),
    continued: () => screen.continued(),
    ended: () => {},
  });
  screen.open();
  return { terminal, composer };
}

const TEXTS = [
  "plain ascii",
  "请修复这个错误",
  "日本語のテキスト",
  "한국어 텍스트",
  "👨‍👩‍👧‍👦 family",
  "🇩🇪🇫🇷 flags",
  "👍🏽 tone",
  "1️⃣ key",
  "e\u0301 cafe\u0301",
  "नमस्ते",
  "mixed 中文 and 👩🏽‍💻 and é",
  "a\tb\tc",
  "“quotes” — …",
];

Deno.test("the caret is after the typed text in every script and width", () => {
  for (const text of TEXTS) {
    for (const columns of [80, 20, 11]) {
      const { terminal, composer } = open(columns);
      terminal.type(text);
      // A joined character may change while it is typed: what counts is the end.
      const { caret } = composer.frame(columns, 12);
      const place = `${JSON.stringify(text)} at ${columns}`;
      assertEquals(terminal.caret.column, caret?.column, place);
      terminal.type("|");
      const row = terminal.screen()[terminal.caret.row] ?? "";
      assertEquals(row.endsWith("|"), true, `${place}: ${row}`);
    }
  }
});

Deno.test("the caret is in the correct cell inside a text, and typing there is displayed", () => {
  const { terminal } = open(40);
  terminal.type("请修复这个错误👨‍👩‍👧‍👦吧");
  terminal.press("left", "left");
  terminal.type("，");
  assertEquals(terminal.screen()[0]?.startsWith("> 请修复这个错误，"), true, terminal.screen()[0]);
  terminal.press("home", "right", "delete");
  assertEquals(terminal.caret, { row: 0, column: 4 });
  assertEquals(terminal.screen()[0]?.startsWith("> 请复这个错误，"), true, terminal.screen()[0]);
});

Deno.test("a key at the end of a long draft writes few bytes", () => {
  const { terminal } = open(80, 24);
  for (let count = 0; count < 11; count++) terminal.paste("some words of a long draft ".repeat(30));
  const before = terminal.bytes;
  terminal.type("xyz");
  assertEquals(terminal.bytes - before < 60, true, String(terminal.bytes - before));
  assertEquals(terminal.destructive(), []);
});

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

async function withFile(run: (path: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await run(`${directory}/projects/p/history.jsonl`);
  } finally {
    await removeTree(directory);
  }
}

const keep = (path: string, redact = (text: string) => text) =>
  new History({ path: () => Promise.resolve(path), redactor: () => Promise.resolve(redact) });
const historyTexts = ({ entries }: History) => entries.map(({ text }) => text);

Deno.test("History is restored in the next process, each entry once at its last position", async () => {
  await withFile(async (path) => {
    const first = keep(path);
    for (const text of ["one", "two\nlines", "one", "三"]) first.add([text]);
    first.add(["see ", { kind: "paste", content: "a\tb\n" }, { kind: "file", path: "/x.png" }]);
    await first.close();
    const second = keep(path);
    assertEquals(second.loaded, false);
    second.add(["new"]);
    await second.load();
    await second.close();
    assertEquals(historyTexts(second), ["two\nlines", "one", "三", "see ", "new"]);
    assertEquals(second.entries[3]?.pieces, [
      "see ",
      { kind: "paste", content: "a\tb\n" },
      { kind: "file", path: "/x.png" },
    ]);
    if (Deno.build.os !== "windows") assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("History writes no secret to disk and keeps typed text in memory", async () => {
  await withFile(async (path) => {
    const history = keep(path, (text) => text.replaceAll("hunter22", "[redacted]"));
    history.add(["use hunter22 ", { kind: "paste", content: "key=hunter22" }]);
    const unknown = new History({
      path: () => Promise.resolve(path),
      redactor: () => Promise.reject(new Error()),
    });
    unknown.add(["token ghp_" + "a1B2".repeat(10)]);
    await Promise.all([history.close(), unknown.close()]);
    const stored = await Deno.readTextFile(path);
    assert(!/hunter22|a1B2/.test(stored), stored);
    assertEquals(historyTexts(history), ["use hunter22 "]);
  });
});

Deno.test("History closes without waiting for a session and redacts text that looks like a secret", async () => {
  await withFile(async (path) => {
    const history = new History({ path: () => Promise.resolve(path), redactor: () => new Promise(() => {}) });
    history.add(["token ghp_" + "a1B2".repeat(10)]);
    await history.close();
    const stored = await Deno.readTextFile(path);
    assert(stored.includes("token") && !stored.includes("a1B2"), stored);
  });
});

Deno.test("History skips invalid lines and continues after a truncated line", async () => {
  await withFile(async (path) => {
    const first = keep(path);
    first.add(["good"]);
    await first.close();
    const odd = [
      "{",
      "[]",
      '{"pieces":"x"}',
      '{"pieces":[{"kind":"paste"}]}',
      '{"pieces":[7]}',
      "",
      '{"pieces":["cu',
    ];
    await Deno.writeTextFile(path, odd.join("\n"), { append: true });
    const second = keep(path);
    second.add(["after"]);
    await second.close();
    const third = keep(path);
    await third.load();
    assertEquals(historyTexts(third), ["good", "after"]);
  });
});

Deno.test("History loses no line when several processes write at the same time", async () => {
  await withFile(async (path) => {
    const source = new URL("../../../../../src/frontend/repl/composer/history.ts", import.meta.url);
    const code = (name: string) =>
      `import { History } from ${JSON.stringify(source.href)};
       const history = new History({ path: () => Promise.resolve(${JSON.stringify(path)}) });
       for (let count = 0; count < 100; count++) history.add(["${name} " + count + " " + "x".repeat(200)]);
       await history.close();`;
    const runs = ["a", "b", "c"].map((name) =>
      new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          "--no-check",
          "--config",
          "deno.json",
          `data:text/typescript,${encodeURIComponent(code(name))}`,
        ],
        cwd: new URL("../../../../../", import.meta.url),
      }).output()
    );
    for (const { code, stderr } of await Promise.all(runs)) {
      assertEquals(code, 0, new TextDecoder().decode(stderr));
    }
    const history = keep(path);
    await history.load();
    assertEquals(history.entries.length, 300);
  });
});

Deno.test("History keeps its file below 2 MB and omits entries that are too long", async () => {
  await withFile(async (path) => {
    const history = keep(path);
    for (let count = 0; count < 30; count++) history.add([`${count} ${"中".repeat(40_000)}`]);
    history.add(["x".repeat(300_000)]);
    await history.close();
    assert(Deno.statSync(path).size <= 2 * 1024 * 1024, String(Deno.statSync(path).size));
    const next = keep(path);
    await next.load();
    assertEquals(next.entries.at(-1)?.text.slice(0, 3), "29 ");
    assert(next.entries.length >= 8, String(next.entries.length));
    assertEquals(history.entries.at(-1)?.text.length, 300_000);
  });
});

Deno.test("History works without a writable file", async () => {
  const history = keep("/dev/null/history.jsonl");
  history.add(["kept"]);
  await history.close();
  await history.load();
  assertEquals(historyTexts(history), ["kept"]);
});

function entries(...all: string[]) {
  const history = new History();
  for (const text of all) history.add([text]);
  return history.entries;
}

Deno.test("HistoryWalk visits entries that begin like the draft and returns to it", () => {
  const walk = new HistoryWalk(entries("fix a", "test", "fix b"), ["fix"], "fix");
  assertEquals(walk.newer(), undefined);
  assertEquals(walk.older(), ["fix b"]);
  assertEquals(walk.older(), ["fix a"]);
  assertEquals(walk.older(), undefined);
  assertEquals(walk.newer(), ["fix b"]);
  assertEquals(walk.newer(), ["fix"]);
  assertEquals(walk.newer(), undefined);
});

Deno.test("searchHistory searches backward, case-sensitive only for a query with capitals", () => {
  const all = entries("Fix the Parser", "parser test", "other");
  assertEquals(searchHistory(all, "parser")?.text, "parser test");
  assertEquals(searchHistory(all, "parser", 1)?.at, 8);
  assertEquals(searchHistory(all, "Parser")?.entry, 0);
  assertEquals(searchHistory(all, "none"), undefined);
});
