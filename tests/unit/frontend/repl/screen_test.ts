import fc from "fast-check";
import { Screen } from "../../../../src/frontend/repl/screen/screen.ts";
import type { Frame } from "../../../../src/frontend/repl/screen/view.ts";
import { displayWidth } from "../../../../src/util/display_width.ts";
import { assertEquals } from "../../../support/assert.ts";
import { VirtualTerminal, type VirtualTerminalOptions } from "../../../support/virtual_terminal.ts";

/** A screen whose view shows what the test puts into `frame`. */
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

Deno.test("screen shows printed lines above the live region, with the caret in its cell", () => {
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

Deno.test("screen shows what a terminal that gets everything anew would show, whatever changes", () => {
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
    { numRuns: 300 },
  );
});
