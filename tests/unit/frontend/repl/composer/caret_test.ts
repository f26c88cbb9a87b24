/** The composer on a terminal: the position of the caret in xterm and the text before it. */
import { Composer } from "../../../../../src/frontend/repl/composer/composer.ts";
import { Screen } from "../../../../../src/frontend/repl/screen/screen.ts";
import { loadTexts } from "../../../../../src/i18n/mod.ts";
import { assertEquals } from "../../../../support/assert.ts";
import { VirtualTerminal } from "../../../../support/virtual_terminal.ts";

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
