import { Capabilities } from "../../../../src/frontend/repl/terminal/deno_terminal.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

Deno.test("capabilities uses the kitty keyboard protocol if available, and xterm's otherwise", () => {
  const kitty = new Capabilities({ TERM: "xterm-kitty" });
  assert(kitty.on.includes("\x1b[>5u") && kitty.on.includes("\x1b[?u"));
  assertEquals(kitty.reply("\x1b[?5u") + kitty.reply("\x1b[?62;c"), "");
  assert(kitty.off.includes("\x1b[<u") && !kitty.off.includes("\x1b[>4"));
  const tmux = new Capabilities({ TERM: "tmux-256color" });
  void tmux.on;
  assertEquals(tmux.reply("\x1b[?1;2;4c"), "\x1b[>4;1m");
  assert(tmux.off.includes("\x1b[>4;0m"), tmux.off);
  assert(tmux.on.includes("\x1b[>4;1m") && !tmux.on.includes("\x1b[?u"), "asked only once");
});

Deno.test("capabilities disables everything it enabled, before and after an answer", () => {
  for (const answered of [false, true]) {
    const capabilities = new Capabilities({ TERM: "xterm-256color" });
    const on = capabilities.on + (answered ? capabilities.reply("\x1b[?62c") : "");
    for (const [set, reset] of [["\x1b[?2004h", "\x1b[?2004l"], ["\x1b[?7l", "\x1b[?7h"]] as const) {
      assert(on.includes(set) && capabilities.off.includes(reset));
    }
    assert(capabilities.off.includes(answered ? "\x1b[>4;0m" : "\x1b[<u"));
    assert(capabilities.off.includes("\x1b[?25h"));
  }
});

Deno.test("capabilities uses synchronized output only if the terminal supports it", () => {
  for (const [answer, expected] of [["1", true], ["2", true], ["0", false], ["4", false]] as const) {
    const capabilities = new Capabilities({ TERM: "xterm-256color" });
    assertEquals(capabilities.synchronized, false);
    capabilities.reply(`\x1b[?2026;${answer}$y`);
    assertEquals(capabilities.synchronized, expected, answer);
  }
});

Deno.test("capabilities sends no query to terminals that would display it", () => {
  for (const env of [{ TERM: "linux" }, { TERM: "xterm-256color", TERM_PROGRAM: "Apple_Terminal" }]) {
    const capabilities = new Capabilities(env);
    assertEquals(capabilities.on, "\x1b[?2004h\x1b[?7l");
    assertEquals([capabilities.echo, capabilities.waiting, capabilities.mayAnswer], ["", false, false]);
    assertEquals(capabilities.off, "\x1b[?7h\x1b[?2004l\x1b[?25h");
  }
});

Deno.test("capabilities lists terminals that do not rewrap old lines", () => {
  const reflow = (env: Record<string, string>, version?: string) => {
    const capabilities = new Capabilities(env);
    if (version) capabilities.reply(`\x1bP>|${version}\x1b\\`);
    return capabilities.reflow;
  };
  assertEquals(reflow({ TERM: "xterm-256color" }, "XTerm(390)"), "none");
  assertEquals(reflow({ TERM: "screen", STY: "1.pts" }), "none");
  assertEquals(reflow({ TERM: "st-256color" }), "none");
  assertEquals(reflow({ TERM: "xterm-256color", TERM_PROGRAM: "vscode" }), "other-lines");
  assertEquals(reflow({ TERM: "xterm-256color" }, "xterm.js(6.0.0)"), "other-lines");
  assertEquals(reflow({ TERM: "tmux-256color" }, "tmux 3.4"), "all");
  assertEquals(reflow({ TERM: "xterm-kitty" }), "all");
});

Deno.test("capabilities waits only for the answers to its queries", () => {
  const capabilities = new Capabilities({ TERM: "xterm-256color" });
  void capabilities.on;
  capabilities.reply("\x1b[?62c");
  assertEquals(capabilities.waiting, false);
  assertEquals(capabilities.echo, "\x1b[c");
  assertEquals(capabilities.waiting, true);
  capabilities.reply("\x1b[?2026;2$y");
  assertEquals(capabilities.waiting, true);
  capabilities.reply("\x1b[?62c");
  assertEquals([capabilities.waiting, capabilities.mayAnswer], [false, true]);
});

Deno.test("capabilities detects the background color from the terminal's answer", () => {
  const cases: [string, "dark" | "light" | undefined][] = [
    ["\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "light"],
    ["\x1b]11;rgb:fd/f6/e3\x07", "light"],
    ["\x1b]11;rgb:0000/2b2b/3636\x1b\\", "dark"],
    ["\x1b]11;rgba:1e/1e/1e/ff\x07", "dark"],
    ["\x1b]11;?\x1b\\", undefined],
  ];
  for (const [answer, background] of cases) {
    const capabilities = new Capabilities({ TERM: "xterm-256color" });
    assert(capabilities.on.includes("\x1b]11;?"));
    assertEquals(capabilities.reply(answer), "");
    assertEquals(capabilities.background, background, JSON.stringify(answer));
  }
});
