import fc from "fast-check";
import { FullScreen } from "../../../../../src/frontend/repl/screen/full_screen.ts";
import { beginning, safeLine } from "../../../../../src/frontend/repl/screen/line.ts";
import type { Frame } from "../../../../../src/frontend/repl/screen/view.ts";
import { displayWidth, padDisplay } from "../../../../../src/util/display_width.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { Random, SEED, soakSize } from "../../../../support/seed.ts";
import { VirtualTerminal, type VirtualTerminalOptions } from "../../../../support/virtual_terminal.ts";

/** A shell with some output, and a full screen that shows `frame`, which the test sets. */
function open(options: VirtualTerminalOptions = {}, mouse = false) {
  const terminal = new VirtualTerminal(options);
  terminal.write("$ ls\r\nREADME.md\r\n$ reasonix --tui\r\n");
  const state: { frame: Frame | ((columns: number, rows: number) => Frame); goodbye: string[] } = {
    frame: { lines: [] },
    goodbye: ["The answer", "reasonix --resume 1"],
  };
  const view = {
    frame: (columns: number, rows: number) =>
      typeof state.frame === "function" ? state.frame(columns, rows) : state.frame,
  };
  const screen = new FullScreen(terminal, view, { mouse, goodbye: () => state.goodbye });
  terminal.start({
    input: () => screen.draw(),
    resize: () => screen.resized(),
    continued: () => screen.continued(),
    ended: () => {},
  });
  return { terminal, state, screen };
}

const SHELL = ["$ ls", "README.md", "$ reasonix --tui"];

const CHARACTERS = [
  ..."aaabbz  ",
  ..."漢字かé…·─",
  ...["👍🏽", "👩‍👩‍👧", "🇩🇪", "한", "n\u0303", "❤️", "👍", "ｱ", "Ｆ"],
];
const text = fc.string({ unit: fc.constantFrom(...CHARACTERS), maxLength: 60 });
const styled = fc.array(
  fc.oneof(
    text,
    text.map((part) => `\x1b[31m${part}\x1b[39m`),
    text.map((part) => `\x1b[1m${part}\x1b[22;2m${part}\x1b[0m`),
    text.map((part) => `\x1b[7m${part}   \x1b[27m`),
    text.map((part) => `\x1b]8;;https://a.example/\x1b\\${part}\x1b]8;;\x1b\\`),
  ),
  { maxLength: 3 },
).map((parts) => parts.join(""));

/** The looks of a terminal to which the rows of a frame were written, each once. */
function drawn(lines: readonly string[], columns: number, rows: number): string[] {
  const terminal = new VirtualTerminal({ columns, rows });
  lines.slice(0, rows).forEach((line, row) => terminal.write(`\x1b[${row + 1}H${safeLine(line, columns)}`));
  return terminal.looks();
}

const change = fc.oneof(
  // A row, a part of a row, rows that move up or down, nothing.
  fc.record({ kind: fc.constant("row" as const), at: fc.nat(99), line: styled }),
  fc.record({ kind: fc.constant("part" as const), at: fc.nat(99), from: fc.nat(50), text }),
  fc.record({ kind: fc.constant("move" as const), at: fc.nat(9), by: fc.integer({ min: -3, max: 8 }) }),
);

Deno.test("full screen shows exactly the frame after any change, with straight borders", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 20, max: 120 }),
      fc.integer({ min: 5, max: 40 }),
      fc.array(fc.array(change, { minLength: 1, maxLength: 6 }), { maxLength: 12 }),
      (columns, rows, frames) => {
        const { terminal, state, screen } = open({ columns, rows });
        const left = Math.floor(columns / 2);
        const chat = Array.from({ length: rows }, (_, at) => `row ${at} 漢字`);
        screen.open();
        for (const changes of frames) {
          for (const each of changes) {
            if (each.kind === "move") {
              const moved = chat.splice(each.at, Math.max(0, each.by));
              chat.splice(each.by < 0 ? each.at : chat.length, 0, ...moved.map((line) => `${line}.`));
              while (each.by < 0 && chat.length < rows + 3) chat.splice(each.at, 0, "inserted");
            } else if (each.kind === "row") chat[each.at % rows] = each.line;
            else {
              const old = chat[each.at % rows] ?? "";
              if (!old.includes("\x1b")) chat[each.at % rows] = beginning(old, each.from) + each.text;
            }
          }
          const lines = Array.from({ length: rows }, (_, at) => {
            const panel = padDisplay(safeLine(chat[at] ?? "", left - 1), left - 1);
            return `${panel}\x1b[2m│\x1b[22m side ${at === 3 ? "漢" : at}`;
          });
          const caret = { row: rows - 1, column: Math.min(columns - 1, changes.length) };
          state.frame = { lines, caret };
          screen.draw();
          assertEquals(terminal.looks(), drawn(lines, columns, rows));
          assertEquals(terminal.caret, caret);
        }
      },
    ),
    { numRuns: soakSize(2000, 8), seed: SEED },
  );
});

Deno.test("full screen writes changed cells only, and no half of a wide character", () => {
  const { terminal, state, screen } = open({ columns: 40, rows: 5 });
  const show = (line: string) => {
    state.frame = { lines: ["title", line], caret: { row: 4, column: 2 } };
    screen.draw();
    assertEquals(terminal.looks(), drawn(["title", line], 40, 5));
    // The caret goes back to its cell.
    const text = (terminal.writes.at(-1) ?? "").replace("\x1b[5;3H", "");
    // deno-lint-ignore no-control-regex
    return text.replace(/\x1b\[\?25[hl]/g, "");
  };
  screen.open();
  show("the quick fox│ side");
  assertEquals(show("the quack fox│ side"), "\x1b[2;7Ha");
  assertEquals(show("the quack fox│"), "\x1b[2;16H\x1b[K");
  show("漢字漢字│x");
  assertEquals(show("漢語漢字│x"), "\x1b[2;3H語");
  assertEquals(show("漢語ab漢│x"), "\x1b[2;5Hab漢");
  assertEquals(show("a漢語b漢│x"), "\x1b[2Ha漢語");
  assertEquals(show("\x1b[31ma漢\x1b[39m語b漢│y"), "\x1b[2H\x1b[31ma漢\x1b[10G\x1b[0my");
  // Terminals differ in the width of a family: what follows is written again in its place.
  assertEquals(show("\x1b[31ma漢\x1b[39m👩‍👩‍👧b漢│y"), "\x1b[2;4H  \x1b[4G👩‍👩‍👧\x1b[6Gb漢│");
  assertEquals(show("x👩‍👩‍👧bc"), "\x1b[2Hx  \x1b[2G👩‍👩‍👧\x1b[4Gbc\x1b[K");
});

Deno.test("full screen leaves the main screen as it was, with the last answer below", async () => {
  for (const mouse of [false, true]) {
    const { terminal, state, screen } = open({ columns: 40, rows: 8 }, mouse);
    state.frame = { lines: ["title", "漢字"] };
    screen.open();
    assertEquals([terminal.alternateShown, terminal.screen()[0]], [true, "title"]);
    await screen.close(["The answer", `a line of ${"x".repeat(40)}`]);
    assertEquals(terminal.alternateShown, false);
    assertEquals(terminal.text(), [...SHELL, "The answer", `a line of ${"x".repeat(30)}`, "xxxxxxxxxx"]);
    assertEquals(terminal.modes(), new VirtualTerminal().modes());
    assertEquals(terminal.caret, { row: 6, column: 0 });
    // A second close and later changes write nothing.
    const { bytes } = terminal;
    await screen.close();
    screen.refresh();
    screen.draw();
    assertEquals(terminal.bytes, bytes);
  }
});

Deno.test("full screen shows another program on the main screen, and itself again", async () => {
  const { terminal, state, screen } = open({ columns: 40, rows: 8 });
  state.frame = { lines: ["title"], caret: { row: 2, column: 3 } };
  screen.open();
  await screen.lend(() => {
    assertEquals([terminal.state, terminal.alternateShown, terminal.text()], ["suspended", false, SHELL]);
    terminal.write("edited\r\n");
    return Promise.resolve();
  });
  assertEquals([terminal.alternateShown, terminal.screen()[0], terminal.caret.row], [true, "title", 2]);
  await screen.stopJob(state.goodbye);
  assertEquals(terminal.stops, 1);
  assertEquals(terminal.alternateShown, true);
  await screen.close();
  assertEquals(terminal.text(), [...SHELL, "edited", "The answer", "reasonix --resume 1"]);
});

Deno.test("full screen enters again after another program has left the alternate screen", () => {
  const { terminal, state, screen } = open({ columns: 40, rows: 8 });
  state.frame = { lines: ["title"] };
  screen.open();
  terminal.write("\x1b[?1049l$ fg\r\n");
  screen.continued();
  assertEquals([terminal.alternateShown, terminal.screen()[0]], [true, "title"]);
});

Deno.test("full screen gives the terminal a text to restore the main screen when the program fails", () => {
  const { terminal, state, screen } = open({ columns: 40, rows: 8 }, true);
  state.frame = { lines: ["title"] };
  screen.open();
  terminal.write(terminal.abandoned?.() ?? "");
  assertEquals(terminal.text(), [...SHELL, "The answer", "reasonix --resume 1"]);
  assertEquals(terminal.modes(), new VirtualTerminal().modes());
  Object.defineProperty(state, "goodbye", {
    get: () => {
      throw new Error("broken");
    },
  });
  const text = terminal.abandoned?.() ?? "";
  assert(text.includes("\x1b[?1049l"), text);
});

Deno.test("full screen leaves nothing where there is no alternate screen", async () => {
  const { terminal, state, screen } = open({ columns: 40, rows: 8 });
  const write = terminal.write.bind(terminal);
  // The Linux console before 2026.
  terminal.write = (text) => write(text.replaceAll("\x1b[?1049h", "").replaceAll("\x1b[?1049l", ""));
  state.frame = { lines: Array.from({ length: 8 }, (_, at) => `row ${at}`) };
  screen.open();
  assertEquals(terminal.screen(), Array.from({ length: 8 }, (_, at) => `row ${at}`));
  await screen.close(["The answer"]);
  assertEquals(terminal.screen().join("").trim(), "The answer");
});

Deno.test("full screen equals its frame in every size, through 50 resizes while text streams", () => {
  const random = new Random(SEED);
  const { terminal, state, screen } = open({ columns: 20, rows: 5 });
  const chat: string[] = [];
  state.frame = (columns, rows) => {
    const width = Math.floor(columns / 2);
    return {
      lines: chat.concat(new Array(rows).fill("")).slice(-rows).map((line) =>
        `${padDisplay(safeLine(line, width), width)}│ 漢 👩‍👩‍👧│ 🇩🇪 x`
      ),
      caret: { row: rows - 1, column: 0 },
    };
  };
  screen.open();
  for (let count = 0; count < 50; count++) {
    for (let line = random.below(5); line >= 0; line--) {
      chat.push(
        Array.from({ length: random.below(20) }, () => random.pick(["漢", "word ", "👩‍👩‍👧", "🇩🇪", "é"])).join(
          "",
        ),
      );
      screen.draw();
    }
    terminal.resize(20 + random.below(281), 5 + random.below(96));
    const { columns, rows } = terminal;
    const lines = typeof state.frame === "function" ? state.frame(columns, rows).lines : [];
    assertEquals(terminal.looks(), drawn(lines, columns, rows));
    for (const row of terminal.screen()) {
      assertEquals(displayWidth(row.slice(0, row.indexOf("│"))), Math.floor(columns / 2));
    }
  }
});

Deno.test("full screen writes again what the runtime may have cleared, below the caret", async () => {
  const { terminal, state, screen } = open({ columns: 40, rows: 8 });
  state.frame = { lines: Array.from({ length: 8 }, (_, at) => `row ${at}`), caret: { row: 5, column: 0 } };
  screen.open();
  terminal.write("\x1b[J");
  screen.guard();
  await new Promise((resolve) => setTimeout(resolve, 800));
  assertEquals(terminal.screen(), Array.from({ length: 8 }, (_, at) => `row ${at}`));
  await screen.close();
});
