import { palette, ThemedPalette, wantsColor } from "../../../src/view/mod.ts";
import { safeLine } from "../../../src/frontend/repl/screen/line.ts";
import { assertEquals } from "../../support/assert.ts";

const THEMES = ["dark", "light", "high-contrast", "none"] as const;

Deno.test("NO_COLOR overrides the variables that force colors, which override the terminal", () => {
  const cases: [Parameters<typeof wantsColor>[0], boolean, boolean][] = [
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
    assertEquals(wantsColor(env, terminal), wanted, JSON.stringify([env, terminal]));
  }
});

Deno.test("a palette keeps an empty text empty, and every text unchanged without colors", () => {
  for (const theme of THEMES) {
    const { palette } = new ThemedPalette(true, theme);
    for (const [meaning, style] of Object.entries(palette)) assertEquals(style(""), "", meaning);
  }
  const without = [
    palette(false),
    new ThemedPalette(false, "light").palette,
    new ThemedPalette(true, "none").palette,
  ];
  for (const styles of without) {
    for (const [meaning, style] of Object.entries(styles)) assertEquals(style("x"), "x", meaning);
  }
});

Deno.test("every style of every theme closes its sequences", () => {
  for (const theme of THEMES) {
    for (const [meaning, style] of Object.entries(new ThemedPalette(true, theme).palette)) {
      // A line with an open style would get a reset.
      assertEquals(safeLine(style("x"), 80), style("x"), `${theme} ${meaning}`);
    }
  }
});

Deno.test("ThemedPalette uses its current theme", () => {
  const themed = new ThemedPalette(true);
  const { dim } = themed.palette;
  assertEquals(dim("x"), "\x1b[2mx\x1b[22m");
  themed.theme = "light";
  assertEquals(dim("x"), "\x1b[38;5;241mx\x1b[39m");
  themed.theme = "high-contrast";
  assertEquals(dim("x"), "x");
});
