import fc from "fast-check";
import { Screen } from "../../../../src/frontend/repl/screen/screen.ts";
import { displayWidth } from "../../../../src/util/display_width.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { VirtualTerminal } from "../../../support/virtual_terminal.ts";
import { SEED } from "../../../support/seed.ts";

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

const step = fc.oneof(
  fc.record({ columns: fc.integer({ min: 20, max: 300 }), rows: fc.integer({ min: 5, max: 100 }) }),
  fc.integer({ min: 6, max: 300 }),
  fc.constantFrom("> ", "> short", `> ${"long composer ".repeat(12)}`, `> ${"漢字".repeat(60)}`),
);

for (const reflow of [true, false]) {
  const kind = reflow ? "wraps lines again" : "cuts lines";
  Deno.test(`screen keeps its history and one live region through resizes of a terminal that ${kind}`, () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 150 }), (steps) => {
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
