import { assertEquals } from "../../../support/assert.ts";
import { VirtualTerminal } from "../../../support/virtual_terminal.ts";
import { Screen } from "../../../../src/frontend/repl/screen/screen.ts";

Deno.test("screen shows printed lines above the live region, with the caret in its cell", () => {
  const terminal = new VirtualTerminal({ columns: 20, rows: 5 });
  const screen = new Screen(terminal, {
    frame: () => ({ lines: ["> 漢字 👩‍👩‍👧", "status"], caret: { row: 0, column: 9 } }),
  });
  screen.open();
  screen.print(["one", "two", "three", "four"]);
  screen.draw();
  assertEquals(terminal.screen(), ["two", "three", "four", "> 漢字 👩‍👩‍👧", "status"]);
  assertEquals(terminal.scrollback(), ["one"]);
  assertEquals(terminal.caret, { row: 3, column: 9 });
  assertEquals(terminal.destructive(), []);
  screen.close();
});
