import fc from "fast-check";
import { Screen } from "../../../../src/frontend/repl/screen/screen.ts";
import type { Frame } from "../../../../src/frontend/repl/screen/view.ts";
import { displayWidth } from "../../../../src/util/display_width.ts";
import { assertEquals } from "../../../support/assert.ts";
import { VirtualTerminal, type VirtualTerminalOptions } from "../../../support/virtual_terminal.ts";
import { SEED } from "../../../support/seed.ts";

/** A screen whose view shows `frame`, which the test sets. */
function open(options: VirtualTerminalOptions = {}) {
  const terminal = new VirtualTerminal(options);
  const state: { frame: Frame } = { frame: { lines: ["> "], caret: { row: 0, column: 2 } } };
  const screen = new Screen(terminal, { frame: () => state.frame });
  terminal.start({
    input: () => screen.draw(),
    resize: () => screen.resized(),
    continued: () => screen.continued(),
    ended: () => {},
  });
  screen.open();
  return { terminal, state, screen };
}

// deno-lint-ignore no-control-regex
const plain = (line: string) => line.replace(/\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\/g, "").trimEnd();

Deno.test("screen shows printed lines above the live region, and the caret in its cell", () => {
  const { terminal, state, screen } = open({ columns: 20, rows: 5 });
  state.frame = { lines: ["> 漢字 👩‍👩‍👧", "status"], caret: { row: 0, column: 9 } };
  screen.print(["one", "two", "three", "four"]);
  screen.draw();
  assertEquals(terminal.screen(), ["two", "three", "four", "> 漢字 👩‍👩‍👧", "status"]);
  assertEquals(terminal.scrollback(), ["one"]);
  assertEquals(terminal.caret, { row: 3, column: 9 });
  assertEquals(terminal.destructive(), []);
});

const text = fc.string({
  unit: fc.constantFrom("a", "b", " ", "é", "漢", "字", "👍🏽", "👩‍👩‍👧", "🇩🇪", "한", "ñ", "…"),
  maxLength: 24,
});
const line = fc.oneof(
  fc.constantFrom("", "status", "> hello", "same line that stays"),
  text,
  text.map((part) => `\x1b[31m${part}\x1b[39m end`),
  text.map((part) => `x \x1b]8;;https://a.example/\x1b\\${part}\x1b]8;;\x1b\\ y`),
);
const step = fc.record({
  printed: fc.array(line, { maxLength: 4 }),
  /** Live lines that become history as they are. */
  finished: fc.nat(3),
  changed: fc.option(fc.tuple(fc.nat(9), line), { nil: undefined }),
  inserted: fc.option(fc.tuple(fc.nat(9), line), { nil: undefined }),
  removed: fc.option(fc.nat(9), { nil: undefined }),
});

Deno.test("screen equals a full redraw after any change", () => {
  fc.assert(
    fc.property(fc.integer({ min: 3, max: 12 }), fc.array(step, { maxLength: 25 }), (rows, steps) => {
      const { terminal, state, screen } = open({ columns: 40, rows });
      const history: string[] = [];
      let live: string[] = ["> ", "status"];
      for (const { printed, finished, changed, inserted, removed } of steps) {
        const out = [...printed, ...live.slice(0, finished)];
        live = live.slice(finished);
        if (changed) live[Math.min(changed[0], live.length)] = changed[1];
        if (inserted) live.splice(inserted[0], 0, inserted[1]);
        if (removed !== undefined) live.splice(removed, 1);
        live = live.slice(-rows);
        if (live.length === 0) live = [">"];
        const row = live.length - 1;
        state.frame = { lines: live, caret: { row, column: displayWidth(plain(live[row] ?? "")) } };
        screen.print(out);
        screen.draw();
        history.push(...out.map(plain));
        const expected = [...history, ...live.map(plain)];
        const shown = [...terminal.scrollback(), ...terminal.screen()];
        while (shown.length > expected.length && shown.at(-1) === "") shown.pop();
        assertEquals(shown, expected);
        const top = expected.length - terminal.scrollback().length - live.length;
        assertEquals(terminal.caret, { row: top + row, column: displayWidth(plain(live[row] ?? "")) });
      }
      assertEquals(terminal.destructive(), []);
    }),
    { numRuns: 300, seed: SEED },
  );
});

Deno.test("screen puts the caret into its cell after any text", () => {
  const table: readonly [text: string, cells: number][] = [
    ["", 0],
    ["plain", 5],
    ["漢字かな", 8],
    ["ｱｲｳ", 3],
    ["ｆｕｌｌ", 8],
    ["한글", 4],
    ["각", 2],
    ["é", 1],
    ["👍🏽", 2],
    ["👩‍👩‍👧", 2],
    ["🇩🇪🇯🇵", 4],
    ["❤️", 2],
    ["1️⃣", 2],
    ["नमस्ते", 4],
    ["mixed 漢 👩‍👩‍👧 x", 13],
  ];
  for (const [text, cells] of table) {
    for (const after of ["", "|", "漢", " tail 👍🏽"]) {
      const { terminal, state, screen } = open({ columns: 60, rows: 5 });
      state.frame = { lines: [`> ${text}${after}`], caret: { row: 0, column: 2 + displayWidth(text) } };
      screen.draw();
      assertEquals(terminal.caret, { row: 0, column: 2 + cells }, text + after);
      assertEquals(terminal.screen()[0], `> ${text}${after}`.trimEnd());
    }
  }
});

Deno.test("screen puts the caret after its text on a terminal that does not join emoji", () => {
  const { terminal, state, screen } = open({ columns: 60, rows: 5, graphemes: false });
  state.frame = { lines: ["> 👩‍👩‍👧 tail"], caret: { row: 0, column: 4 } };
  screen.draw();
  assertEquals(terminal.caret.column, 5, "three people of a cell each, and the prompt");
});

Deno.test("screen hides the cursor while the view has no caret and restores it at the end", async () => {
  const { terminal, state, screen } = open({ columns: 20, rows: 5 });
  state.frame = { lines: ["Allow?", "yes", "no"] };
  screen.draw();
  assertEquals(terminal.writes.at(-1)?.includes("\x1b[?25l"), true);
  state.frame = { lines: ["Allow?", "YES", "no"] };
  screen.draw();
  assertEquals(terminal.count("\x1b[?25h"), 0);
  await screen.close();
  assertEquals(terminal.count("\x1b[?25h"), 1);
  assertEquals(terminal.screen().join(""), "");
});

Deno.test("screen passes only text, colors and links, and truncates long lines", () => {
  const { terminal, screen } = open({ columns: 12, rows: 12 });
  const dirty = [
    "a\x1b[2Jb\x1b[H\x1b[3Jc",
    "\x1b]0;title\x07t\x1b]52;c;YQ==\x1b\\u",
    "\x1bcx\x1b(0y\x1bPq#0\x1b\\z",
    "bell\x07 back\x08 \x9b2J",
    "tab\there",
    "two\r\nlines",
    "\x1b[31munended",
    "\x1b]8;;https://a.example/\x1b\\link without end",
    "漢字漢字漢字漢字漢字",
    "\x1b[1",
  ];
  screen.print(dirty);
  screen.draw();
  assertEquals(terminal.screen().slice(0, 10), [
    "abc",
    "tu",
    "xyz",
    "bell back 2J",
    "tab    here",
    "two lines",
    "unended",
    "link withou…",
    "漢字漢字漢…",
    "1",
  ]);
  const written = terminal.writes.join("");
  assertEquals(terminal.destructive(), []);
  for (const part of ["\x1b]0", "\x1b]52", "\x1bP", "\x1b(0", "\x07", "\x9b"]) {
    assertEquals(written.includes(part), false, JSON.stringify(part));
  }
  assertEquals(written.includes("\x1b[31munended\x1b[0m"), true);
  assertEquals(terminal.count("\x1b]8;;\x1b\\"), 1);
});

Deno.test("screen skips frames while a slow terminal accepts one, then draws the newest", async () => {
  const { terminal, state, screen } = open({ columns: 20, rows: 8 });
  terminal.hold();
  const before = terminal.writes.length;
  for (let count = 0; count < 1000; count++) {
    state.frame = { lines: [`frame ${count}`] };
    screen.print([`line ${count}`]);
    screen.draw();
  }
  assertEquals(terminal.writes.length, before + 1);
  await terminal.release();
  assertEquals(terminal.writes.length, before + 2, "one more frame for all that has come");
  assertEquals(terminal.screen().at(-1), "frame 999");
  const lines = Array.from({ length: 1000 }, (_, index) => `line ${index}`);
  assertEquals(terminal.text().slice(0, 1000), lines);
});

Deno.test("screen prints ten thousand lines at once in portions, each line once", () => {
  const { terminal, screen } = open({ columns: 20, rows: 8 });
  const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index}`);
  screen.print(lines);
  screen.draw();
  assertEquals(terminal.text(), [...lines, ">"]);
  assertEquals(terminal.writes.length > 9, true);
});

Deno.test("screen shows nothing while another program uses the terminal, then the missed lines", async () => {
  const { terminal, screen } = open({ columns: 20, rows: 8 });
  screen.print(["before"]);
  const result = await screen.lend(() => {
    assertEquals([terminal.state, terminal.text()], ["suspended", ["before"]]);
    terminal.write("an editor\r\n");
    screen.print(["meanwhile"]);
    screen.draw();
    assertEquals(terminal.text(), ["before", "an editor"]);
    return Promise.resolve("text");
  });
  assertEquals(result, "text");
  assertEquals([terminal.state, terminal.text()], ["running", ["before", "an editor", "meanwhile", ">"]]);
});

Deno.test("screen remains closed after another program used the terminal", async () => {
  const { terminal, screen } = open({ columns: 20, rows: 8 });
  await screen.lend(() => screen.close());
  assertEquals([terminal.state, terminal.text()], ["suspended", []]);
});

Deno.test("screen restores the terminal when the other program cannot be run", async () => {
  const { terminal, screen } = open({ columns: 20, rows: 8 });
  const failed = await screen.lend(() => Promise.reject(new Error("no editor"))).catch(String);
  assertEquals([failed, terminal.state, terminal.text()], ["Error: no editor", "running", [">"]]);
});

Deno.test("screen never shows more rows than the terminal has, and prefers the last", () => {
  const { terminal, state, screen } = open({ columns: 20, rows: 5 });
  const lines = Array.from({ length: 9 }, (_, index) => `row ${index}`);
  state.frame = { lines, caret: { row: 8, column: 3 } };
  screen.draw();
  assertEquals(terminal.screen(), lines.slice(4));
  assertEquals(terminal.scrollback(), []);
  state.frame = { lines, caret: { row: 1, column: 3 } };
  screen.draw();
  assertEquals(terminal.screen(), lines.slice(4), "a caret out of sight is hidden");
});

Deno.test("screen writes nothing when nothing has changed", () => {
  const { terminal, screen } = open();
  const before = terminal.writes.length;
  for (let count = 0; count < 10; count++) screen.draw();
  assertEquals(terminal.writes.length, before);
});

Deno.test("screen clears a row before it writes it, since clearing later would erase the last column", () => {
  const { terminal, state, screen } = open({ columns: 10, rows: 5 });
  state.frame = { lines: ["> abcdefgh", "second row"], caret: { row: 0, column: 2 } };
  screen.draw();
  for (const lines of [["> abcdXXXX", "second row"], ["> abcdXXXX", "third row!"]]) {
    const count = terminal.writes.length;
    state.frame = { lines, caret: { row: 0, column: 2 } };
    screen.draw();
    // tmux, for one, clears the last column when the cursor is behind it.
    const written = terminal.writes.slice(count).join("");
    assertEquals(["XXXX", "row!"].some((end) => written.includes(`${end}\x1b[K`)), false, written);
    assertEquals(terminal.screen().slice(0, 2), lines);
  }
});

Deno.test("screen finds the live region after its rows were printed as history", () => {
  const { terminal, state, screen } = open({ columns: 20, rows: 8 });
  // Without a caret the cursor waits at the top of the live region.
  state.frame = { lines: ["one", "two", "live"] };
  screen.draw();
  state.frame = { lines: ["live"] };
  screen.print(["one", "two"]);
  screen.draw();
  state.frame = { lines: ["changed"] };
  screen.draw();
  assertEquals(terminal.text(), ["one", "two", "changed"]);
});

Deno.test("screen redraws its rows after the runtime cleared them", async () => {
  const { terminal, state, screen } = open({ columns: 20, rows: 5 });
  state.frame = { lines: ["one", "> ", "status"], caret: { row: 1, column: 2 } };
  screen.draw();
  screen.guard();
  terminal.write("\x1b[0G\x1b[2K\x1b[J");
  assertEquals(terminal.screen(), ["one", "", "", "", ""]);
  for (let tries = 0; tries < 200 && terminal.screen()[1] === ""; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assertEquals(terminal.screen(), ["one", ">", "status", "", ""]);
  await screen.close();
});
