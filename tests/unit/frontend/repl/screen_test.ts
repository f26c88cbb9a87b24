import fc from "fast-check";
import { type RegionState, rowsToTop } from "../../../../src/frontend/repl/screen/region.ts";
import { Screen } from "../../../../src/frontend/repl/screen/screen.ts";
import type { Frame } from "../../../../src/frontend/repl/screen/view.ts";
import { SizeReports, TerminalOutput } from "../../../../src/frontend/repl/terminal/deno_terminal.ts";
import { displayWidth } from "../../../../src/util/display_width.ts";
import { say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { openChat } from "../../../support/chat_stage.ts";
import { SEED } from "../../../support/seed.ts";
import { VirtualTerminal, type VirtualTerminalOptions } from "../../../support/virtual_terminal.ts";

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

Deno.test("screen keeps what another program wrote below lines that were printed just before", async () => {
  const { terminal, screen } = open({ columns: 20, rows: 8 });
  terminal.lastTaken = "after";
  screen.print(["before"]);
  await screen.lend(() => Promise.resolve(terminal.write("a commit\r\n")));
  assertEquals(terminal.text(), ["before", "a commit", ">"]);
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

const WORDS = "the quick brown fox 漢字 jumps over a lazy dog **bold** and `code` in [a link] 👍🏽 end".split(
  " ",
);

/** Tokens of an answer as a model streams them: words, blanks, line ends, lists, code, wide characters. */
function* tokens(count: number): Generator<string> {
  let seed = 7;
  for (let index = 0; index < count; index++) {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    if (index % 97 === 96) yield "\n\n";
    else if (index % 31 === 30) yield "\n- ";
    else yield `${WORDS[seed % WORDS.length]} `;
  }
}

/** Shows a streaming answer: whole rows become history, the last one is live above a composer. */
class Answer {
  readonly terminal: VirtualTerminal;
  readonly screen: Screen;
  readonly rows: string[] = [];
  #row = "";
  #width = 0;

  constructor(options: VirtualTerminalOptions) {
    this.terminal = new VirtualTerminal(options);
    const bar = "─".repeat(this.terminal.columns - 1);
    this.screen = new Screen(this.terminal, {
      frame: () => ({
        lines: [this.#row.trimEnd(), "", bar, "> typed ahead", bar, "model · ask · ~/project · 12 % · $0.34"],
        caret: { row: 3, column: 13 },
      }),
    });
    this.screen.open();
  }

  token(text: string): void {
    for (const part of text.split(/(\n)/)) {
      const width = part.length + 2;
      if (part === "\n" || this.#width + width > this.terminal.columns) this.#over();
      if (part === "\n") continue;
      this.#row += part;
      this.#width += width;
    }
  }

  #over(): void {
    this.rows.push(this.#row.trimEnd());
    this.screen.print([this.#row.trimEnd()]);
    this.#row = "";
    this.#width = 0;
  }
}

// A frame brings that many tokens when a model sends 60, 250 or 2,000 in a second.
for (const perFrame of [2, 8, 66]) {
  for (const synchronized of [false, true]) {
    const kind = `${perFrame} tokens per frame, ${synchronized ? "held back" : "shown"} as they come`;
    Deno.test(`screen writes an answer of 10,000 tokens with few bytes and once: ${kind}`, () => {
      const answer = new Answer({ columns: 80, rows: 24, synchronized });
      let count = 0;
      for (const token of tokens(10_000)) {
        answer.token(token);
        if (++count % perFrame === 0) answer.screen.draw();
      }
      answer.screen.draw();
      const { terminal, rows } = answer;
      const history = terminal.text().slice(0, rows.length);
      assertEquals(history, rows);
      const visible = new TextEncoder().encode(rows.join("\n")).length;
      assert(terminal.bytes <= 3 * visible, `${terminal.bytes} bytes for ${visible} of text`);
      assertEquals(terminal.destructive(), []);
    });
  }
}

/** A chat that streams: numbered lines become history, a tail of them and a composer are live. */
class Stream {
  readonly terminal: VirtualTerminal;
  readonly screen: Screen;
  composer = "> ";
  /** The live region as last drawn. */
  live: readonly string[] = [];
  lostComposers = 0;
  readonly lostNumbers = new Set<string>();
  #lines = 0;
  #tail: string[] = [];

  constructor(reflow: boolean) {
    this.terminal = new VirtualTerminal({ columns: 80, rows: 24, reflow });
    this.screen = new Screen(this.terminal, {
      frame: (columns, rows) => {
        const tail = this.#tail.slice(-Math.max(0, rows - 3));
        const composer = wrap(this.composer, columns).slice(0, 2);
        const lines = [...tail.flatMap((line) => wrap(line, columns).slice(-1)), "", ...composer, "status"];
        const row = lines.length - 2;
        this.live = lines;
        return { lines, caret: { row, column: Math.min(columns - 1, displayWidth(composer.at(-1) ?? "")) } };
      },
    });
    this.terminal.start({
      input: () => this.screen.draw(),
      resize: () => {
        this.#lookForLost();
        this.screen.resized();
      },
      continued: () => {},
      ended: () => {},
    });
    this.screen.open();
  }

  /** Grows a line in the live region and finishes the one before it. */
  line(length: number): void {
    if (this.#tail.length > 0) this.screen.print(this.#tail.splice(0));
    const text = `L${String(this.#lines++).padStart(4, "0")} ${"text 漢字 ".repeat(40)}`;
    this.#tail.push(wrap(text, Math.max(6, Math.min(length, this.terminal.columns)))[0] ?? "");
    this.screen.draw();
  }

  finish(): void {
    this.screen.print(this.#tail.splice(0));
    this.screen.draw();
  }

  /** Rows of the live region that the terminal itself has scrolled off the screen: they cannot be erased. */
  #lookForLost(): void {
    const gone = this.terminal.scrollback();
    this.lostComposers = gone.filter((line) => line.startsWith(">")).length;
    const [number = ""] = /^L\d{4}/.exec(this.#tail[0] ?? "") ?? [];
    if (number !== "" && gone.some((line) => line.startsWith(number))) this.lostNumbers.add(number);
  }

  /** Numbers of the lines in the order in which they are in the terminal. */
  get numbers(): string[] {
    return this.terminal.text().flatMap((line) => /^L\d{4}/.exec(line)?.[0] ?? []);
  }

  get expected(): string[] {
    return Array.from({ length: this.#lines }, (_, index) => `L${String(index).padStart(4, "0")}`);
  }

  /** Counts the parts of a live region in the terminal. */
  get regions(): number[] {
    const text = this.terminal.text();
    return [
      text.filter((line) => line === "status").length,
      text.filter((line) => line.startsWith(">")).length,
    ];
  }
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const character of text) {
    if (displayWidth(line + character) > columns) {
      lines.push(line);
      line = "";
    }
    line += character;
  }
  return [...lines, line];
}

const resizeStep = fc.oneof(
  fc.record({ columns: fc.integer({ min: 20, max: 300 }), rows: fc.integer({ min: 5, max: 100 }) }),
  fc.integer({ min: 6, max: 300 }),
  fc.constantFrom("> ", "> short", `> ${"long composer ".repeat(12)}`, `> ${"漢字".repeat(60)}`),
);

for (const reflow of [true, false]) {
  const kind = reflow ? "wraps lines again" : "cuts lines";
  Deno.test(`screen keeps its history and one live region through resizes of a terminal that ${kind}`, () => {
    fc.assert(
      fc.property(fc.array(resizeStep, { minLength: 20, maxLength: 150 }), (steps) => {
        const stream = new Stream(reflow);
        for (const next of steps) {
          if (typeof next === "number") stream.line(next);
          else if (typeof next === "string") {
            stream.composer = next;
            stream.screen.draw();
          } else stream.terminal.resize(next.columns, next.rows);
          const shown = stream.terminal.screen().join("\n").trimEnd();
          const live = stream.live.map((line) => line.trimEnd()).join("\n");
          assert(shown.endsWith(live), `${shown}\n-- does not end with --\n${live}`);
          assertEquals(stream.regions, [1, 1 + stream.lostComposers]);
        }
        stream.finish();
        const { numbers, lostNumbers } = stream;
        const once = numbers.filter((number, at) => number !== numbers[at - 1] || !lostNumbers.has(number));
        assertEquals(once, stream.expected);
        assertEquals(stream.terminal.destructive(), []);
      }),
      { numRuns: 40, seed: SEED },
    );
  });
}

/** A terminal that changed its size before the program is notified. */
class LateTerminal extends VirtualTerminal {
  reported: { readonly columns: number; readonly rows: number } | undefined;

  override get columns(): number {
    return this.reported?.columns ?? super.columns;
  }

  override get rows(): number {
    return this.reported?.rows ?? super.rows;
  }
}

Deno.test("lines printed for an outdated width are printed again, whole", () => {
  const terminal = new LateTerminal({ columns: 40, rows: 15 });
  // As in the chat: what is too wide does not wrap, it writes over its end.
  terminal.write("\x1b[?7l");
  let composer = `> ${"wide placeholder ".repeat(2)}`;
  const screen = new Screen(terminal, {
    frame: (columns) => ({ lines: ["", composer.slice(0, columns), "status"], caret: { row: 1, column: 2 } }),
  });
  screen.open();
  screen.print(["before"]);
  screen.draw();
  terminal.reported = { columns: 40, rows: 15 };
  terminal.resize(24, 12);
  const lines = [1, 2, 3].map((number) => `line ${number} ${"word ".repeat(5)}end${number}`);
  screen.print(lines);
  screen.draw();
  terminal.lastTaken = "after";
  terminal.reported = undefined;
  composer = "> ";
  screen.resized();
  const text = terminal.text().map((line) => line.trimEnd());
  assertEquals(text.join("").match(/end\d/g), ["end1", "end2", "end3"], text.join("\n"));
  assertEquals(text.filter((line) => line.includes("status")).length, 1, text.join("\n"));
  assertEquals(text.filter((line) => line.startsWith(">")).length, 1, text.join("\n"));
  assertEquals(text.filter((line) => line === "before").length, 1, text.join("\n"));
  assertEquals(text.filter((line) => line.startsWith("line ")).length, 3, text.join("\n"));
});

Deno.test("lines that left the screen with an outdated width are printed again, whole", () => {
  const terminal = new LateTerminal({ columns: 40, rows: 15 });
  terminal.write("\x1b[?7l");
  const screen = new Screen(terminal, { frame: () => ({ lines: ["", "> ", "status"] }) });
  screen.open();
  terminal.reported = { columns: 40, rows: 15 };
  terminal.resize(24, 5);
  const lines = [1, 2, 3, 4].map((number) => `line ${number} ${"word ".repeat(5)}end${number}`);
  screen.print([...lines, "short"]);
  screen.draw();
  terminal.lastTaken = "after";
  terminal.reported = undefined;
  screen.resized();
  const text = terminal.text().join("\n");
  assertEquals(text.replaceAll("\n", "").match(/end\d/g), ["end1", "end2", "end3", "end4"], text);
  assertEquals(text.match(/short/g)?.length, 1, text);
});

Deno.test("pending lines are complete after the terminal becomes narrower", async () => {
  const terminal = new VirtualTerminal({ columns: 40, rows: 15 });
  const screen = new Screen(terminal, { frame: () => ({ lines: ["status"] }) });
  terminal.start({ input: () => {}, resize: () => screen.resized(), continued: () => {}, ended: () => {} });
  screen.open();
  terminal.hold();
  screen.print([`${"word ".repeat(7)}end`]);
  screen.draw();
  screen.print([`${"text ".repeat(7)}END`]);
  terminal.resize(20, 10);
  await terminal.release();
  await Promise.resolve();
  assertEquals(terminal.text().join(" ").match(/end/gi), ["end", "END"], terminal.text().join("\n"));
});

Deno.test("a frame that erases a rewrapped region leaves nothing of it", () => {
  const terminal = new LateTerminal({ columns: 40, rows: 15 });
  terminal.write("\x1b[?7l");
  const screen = new Screen(terminal, {
    frame: (columns) => ({
      lines: [`live ${"word ".repeat(6)}`.slice(0, columns), "> ", "status"],
      caret: { row: 1, column: 2 },
    }),
  });
  screen.open();
  terminal.reported = { columns: 40, rows: 15 };
  terminal.resize(24, 15);
  // The size is said to have changed and changed back: everything is written again.
  screen.resized();
  terminal.lastTaken = "after";
  terminal.reported = undefined;
  screen.resized();
  const text = terminal.text().map((line) => line.trimEnd()).filter(Boolean);
  assertEquals(text, ["live word word word word", ">", "status"]);
});

Deno.test("lines wait during a size change, and the live region does not", async () => {
  const terminal = new VirtualTerminal({ columns: 40, rows: 10 });
  let status = "one";
  const screen = new Screen(terminal, { frame: () => ({ lines: [status] }) });
  screen.open();
  terminal.settled = false;
  screen.print(["first"]);
  status = "two";
  screen.draw();
  assertEquals(terminal.text(), ["two"]);
  terminal.settled = true;
  screen.resized();
  assertEquals(terminal.text(), ["first", "two"]);
  terminal.settled = false;
  screen.print(["last"]);
  await screen.close();
  assertEquals(terminal.text(), ["first", "last"]);
});

// The top of the live region after a change of the terminal size.

const WIDE = "x".repeat(60);
const NARROW = { columns: 30, reflow: "all" } as const;

Deno.test("an existing region is rewrapped, and a later one is not", () => {
  const before: RegionState = { live: [WIDE, "", "> ", "status"], row: 2, column: 2 };
  const now: RegionState = { live: [WIDE, WIDE, "> ", "status"], row: 2, column: 2 };
  const last = { before, printed: [], rows: 0 };
  assertEquals(rowsToTop(now, last, "before", NARROW), 4);
  assertEquals(rowsToTop(now, last, "after", NARROW), 3);
  assertEquals(rowsToTop(now, last, "unknown", NARROW), 3);
  assertEquals(rowsToTop(now, last, "before", { columns: 30, reflow: "none" }), 2);
});

Deno.test("history lines of a frame are never counted as part of the region", () => {
  const standing: RegionState = { live: [WIDE, WIDE, "> "], row: 2, column: 2 };
  for (const taken of ["after", "unknown"] as const) {
    assertEquals(
      rowsToTop(
        standing,
        { before: standing, printed: [{ line: "x", columns: 60 }], rows: 1 },
        taken,
        NARROW,
      ),
      2,
    );
  }
});

Deno.test("rows that the cursor passed count one each while the width is unknown", () => {
  const before: RegionState = { live: ["one", WIDE, WIDE, "> "], row: 0 };
  const now: RegionState = { live: ["two", WIDE, WIDE, "> "], row: 3, column: 2 };
  assertEquals(rowsToTop(now, { before, printed: [], rows: 0 }, "before", NARROW), 5);
  assertEquals(rowsToTop(now, { before, printed: [], rows: 0 }, "after", NARROW), 3);
  assertEquals(rowsToTop(now, { before, printed: [], rows: 0 }, "unknown", NARROW), 3);
});

Deno.test("sizes are read in the terminal's order, and answers match their queries", async () => {
  for (
    const [first, answer] of [["\x1b[8;24;80t", "\x1b[8;10;40t"], ["\x1b[8;80;24t", "\x1b[8;40;10t"]] as const
  ) {
    const reports = new SizeReports();
    assertEquals(reports.known, false);
    assertEquals(reports.take("\x1b[?62c", { columns: 80, rows: 24 }), false);
    assertEquals(reports.take(first, { columns: 80, rows: 24 }), true);
    assertEquals(reports.known, true);
    const sizes = [reports.next(), reports.next()];
    reports.take(answer, { columns: 80, rows: 24 });
    reports.take(first, { columns: 80, rows: 24 });
    assertEquals(await Promise.all(sizes), [{ columns: 40, rows: 10 }, { columns: 80, rows: 24 }]);
  }
  // A square says nothing of the order, and another size nothing at all.
  const unclear = new SizeReports();
  unclear.take("\x1b[8;30;90t", { columns: 80, rows: 24 });
  unclear.take("\x1b[8;50;50t", { columns: 50, rows: 50 });
  assertEquals(unclear.known, false);
});

// After a drawing failure the session continues and nothing is lost.

const NOTICE = "Something could not be shown; please report it: no such text";

/** Throws for every text of a broken area. */
function breaking(area: "status" | "composer") {
  const state = { broken: false };
  const texts = (all: object): void => {
    const whole = Reflect.get(all, area);
    Object.defineProperty(all, area, {
      get() {
        if (state.broken) throw new Error("no such text\nsecond line");
        return whole;
      },
    });
  };
  return { state, texts };
}

Deno.test("a drawing failure is reported once, and the session continues with less on the screen", async () => {
  const { state, texts } = breaking("status");
  await using chat = await openChat({ replies: [say("First answer."), say("Second answer.")], texts });
  chat.say("one");
  await chat.shows("First answer.");
  assert(chat.terminal.screen().some((line) => line.startsWith("scripted-1")));
  state.broken = true;
  chat.say("two");
  await chat.shows("Second answer.");
  chat.terminal.type("continues");
  await chat.shows("> continues");
  const text = chat.terminal.text();
  assertEquals(text.filter((line) => line.includes(NOTICE)).length, 1, text.join("\n"));
  assert(!text.some((line) => line.includes("second line")));
  state.broken = false;
  chat.terminal.type("!");
  await chat.shows("> continues!");
  assert(chat.terminal.screen().some((line) => line.startsWith("scripted-1")), "the whole is not back");
  assertEquals(chat.gaveUp, []);
});

Deno.test("a second drawing failure ends the chat and names the session to resume in lines", async () => {
  const { state, texts } = breaking("composer");
  await using chat = await openChat({ replies: [say("First answer.")], texts });
  chat.say("one");
  await chat.shows("First answer.");
  await chat.until(() => chat.events.some(({ type }) => type === "turn.end"));
  state.broken = true;
  chat.terminal.press("x");
  assertEquals(await chat.left, 1);
  assertEquals(new Set(chat.gaveUp), new Set([chat.assembly().session.id]));
  assertEquals(chat.terminal.state, "idle");
});

// Writing to a terminal that accepts little or nothing, or is closed.

/** A scripted standard output: accepts a number of bytes, or throws. */
async function written(
  script: (number | Error)[],
  work: (output: TerminalOutput) => unknown,
): Promise<string> {
  const { write, writeSync } = Deno.stdout;
  const bytes: number[] = [];
  const take = (chunk: Uint8Array): number => {
    const next = script.shift() ?? chunk.length;
    if (next instanceof Error) throw next;
    bytes.push(...chunk.subarray(0, next));
    return Math.min(next, chunk.length);
  };
  Deno.stdout.writeSync = take;
  Deno.stdout.write = (chunk) => new Promise((resolve) => resolve(take(chunk)));
  try {
    const output = new TerminalOutput();
    await work(output);
    await output.drained();
    return new TextDecoder().decode(new Uint8Array(bytes));
  } finally {
    Object.assign(Deno.stdout, { write, writeSync });
  }
}

const noRoom = () => new Deno.errors.WouldBlock();

Deno.test("bytes that a full terminal did not accept are written again in order", async () => {
  const script = [3, noRoom(), noRoom(), 2, new Deno.errors.Interrupted(), 4, noRoom()];
  const text = await written(script, (output) => {
    output.write("first 行 ");
    output.write("second ");
    output.write("third");
  });
  assertEquals(text, "first 行 second third");
  assertEquals(script, []);
});

Deno.test("a first frame without room is pending, and a written one is not", async () => {
  await written([noRoom()], async (output) => {
    const writing = output.write("frame");
    assertEquals(output.busy, true);
    await writing;
    assertEquals(output.busy, false);
  });
  await written([], (output) => {
    assertEquals(output.write("frame"), undefined);
    assertEquals(output.busy, false);
  });
});

Deno.test("a closed terminal blocks nothing", async () => {
  const gone = () => new Deno.errors.BrokenPipe();
  const text = await written([gone(), gone(), gone(), gone()], async (output) => {
    output.writeNow("lost");
    await output.write("lost, too");
    await output.write("and this");
  });
  assertEquals(text, "");
});
