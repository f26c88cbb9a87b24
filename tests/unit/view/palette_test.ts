import { palette, wantsColour } from "../../../src/view/mod.ts";
import { assertEquals } from "../../support/assert.ts";

Deno.test("a non-empty NO_COLOR wins, then the variables that force colours, then the terminal", () => {
  const cases: [Parameters<typeof wantsColour>[0], boolean, boolean][] = [
    [{}, true, true],
    [{}, false, false],
    [{ TERM: "dumb" }, true, false],
    [{ TERM: "dumb", FORCE_COLOR: "1" }, true, true],
    [{ NO_COLOR: "1" }, true, false],
    [{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
    [{ NO_COLOR: "" }, true, true],
    [{ NO_COLOR: "", FORCE_COLOR: "" }, false, false],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ FORCE_COLOR: "3" }, false, true],
    [{ FORCE_COLOR: "0" }, true, false],
    [{ FORCE_COLOR: "false" }, true, false],
    [{ CLICOLOR_FORCE: "1" }, false, true],
    [{ CLICOLOR_FORCE: "0" }, false, false],
    [{ CLICOLOR_FORCE: "0" }, true, true],
    [{ FORCE_COLOR: "0", CLICOLOR_FORCE: "1" }, true, false],
  ];
  for (const [env, terminal, wanted] of cases) {
    assertEquals(wantsColour(env, terminal), wanted, JSON.stringify([env, terminal]));
  }
});

Deno.test("a palette leaves an empty text empty, and without colours every text as it is", () => {
  assertEquals(Object.values(palette(true)).map((style) => style("")), Array(9).fill(""));
  assertEquals(Object.values(palette(false)).map((style) => style("x")), Array(9).fill("x"));
});
