import fc from "fast-check";
import { InputDecoder, parseKey } from "../../../../src/frontend/repl/terminal/decoder.ts";
import { Capabilities } from "../../../../src/frontend/repl/terminal/deno_terminal.ts";
import type { InputEvent } from "../../../../src/frontend/repl/terminal/terminal.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { SEED } from "../../../support/seed.ts";

const encoder = new TextEncoder();

/** A decoder whose clock the test moves. */
function decoder() {
  const events: InputEvent[] = [];
  const replies: string[] = [];
  const clicks: string[] = [];
  const timers = new Set<{ readonly at: number; readonly task: () => void }>();
  let now = 0;
  const input = new InputDecoder(
    {
      input: (event) => events.push(event),
      clicked: (row, column) => clicks.push(`${row} ${column}`),
      reply: (sequence) => replies.push(sequence),
    },
    (ms, task) => {
      const timer = { at: now + ms, task };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  );
  return {
    events,
    clicks,
    replies,
    push: (text: string) => input.push(encoder.encode(text)),
    bytes: (bytes: Uint8Array) => input.push(bytes),
    /** Advances the clock. */
    wait(ms: number) {
      now += ms;
      for (const timer of [...timers]) {
        if (timer.at > now) continue;
        timers.delete(timer);
        timer.task();
      }
    },
    keys: () => events.map((event) => event.kind === "key" ? event.key : `paste ${event.text}`),
  };
}

/** Input that a terminal may send in one chunk. */
const PIECES = [
  ..."aZ9 漢é👍",
  ...["\r", "\t", "\x7f", "\x03", "\x00"],
  ...["👩‍👩‍👧", "🇩🇪", "한글", "नमस्ते"],
  ...["\x1b[A", "\x1bOA", "\x1b[1;5C", "\x1b[3~", "\x1b[Z", "\x1b[15;5~", "\x1b[[B", "\x1bOP"],
  ...["\x1b[13;5u", "\x1b[1089::99;5u", "\x1b[97;1:3u", "\x1b[27;2;13~"],
  ...["\x1ba", "\x1b\r", "\x1b\x7f", "\x1b漢", "\x1b👍", "\x1b\x1b[D", "\x1b\x1bOC", "\x1b\x1ba"],
  ...[
    "\x1b[?62;4c",
    "\x1b[>41;390;0c",
    "\x1b[?2026;2$y",
    "\x1b[?5u",
    "\x1b[24;80R",
    "\x1b[0n",
    "\x1b[8;24;80t",
  ],
  ...["\x1b]11;rgb:1e1e/1e1e/1e1e\x07", "\x1b]10;rgb:ff/ff/ff\x1b\\", "\x1bP>|tmux 3.4\x1b\\"],
  ...["\x1b_Gi=31;OK\x1b\\", "\x1b[I", "\x1b[O", "\x1b[M !!", "\x1b[<0;10;5M"],
  "\x1b[200~\x1b[201~",
  "\x1b[200~two\rlines\twith \x1b[31mcolour\x1b[0m and \x1b[20 and \x1b]0;t\x07 漢 👍\x03\x1b[201~",
];

Deno.test("decoder returns the same events for any split of its input", () => {
  const pieces = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(pieces, fc.array(fc.nat(40), { maxLength: 12 }), (parts, cuts) => {
      const bytes = encoder.encode(parts.join(""));
      const whole = decoder();
      whole.bytes(bytes);
      whole.wait(1000);
      const split = decoder();
      let at = 0;
      for (const cut of [...cuts, bytes.length]) {
        split.bytes(bytes.subarray(at, at + cut));
        at = Math.min(bytes.length, at + cut);
      }
      split.wait(1000);
      // What came in one piece is known of the pieces only.
      const events = [split, whole].map((input) =>
        input.events.map((event) => event.kind === "key" ? { ...event, several: false } : event)
      );
      assertEquals([events[0], split.replies, split.clicks], [events[1], whole.replies, whole.clicks]);
    }),
    { numRuns: 2000, seed: SEED },
  );
});

Deno.test("decoder returns the same events for a split at every byte, and byte by byte", () => {
  for (const piece of PIECES) {
    const bytes = encoder.encode(piece);
    const whole = decoder();
    whole.bytes(bytes);
    for (let cut = 1; cut < bytes.length; cut++) {
      const split = decoder();
      split.bytes(bytes.subarray(0, cut));
      split.bytes(bytes.subarray(cut));
      assertEquals([split.events, split.replies], [whole.events, whole.replies], JSON.stringify(piece));
    }
    const single = decoder();
    for (const byte of bytes) single.bytes(Uint8Array.of(byte));
    assertEquals([single.events, single.replies], [whole.events, whole.replies], JSON.stringify(piece));
  }
});

Deno.test("decoder never throws and continues with the next keys", () => {
  const noise = fc.array(fc.oneof(
    fc.constantFrom("\x1b", "[", "]", "O", "P", "_", "M", "200", "201", "~", ";", ":", "?", "u", "\x07", "1"),
    fc.string(),
  ));
  fc.assert(
    fc.property(noise, (parts) => {
      const input = decoder();
      for (const part of parts) input.push(part);
      // Whatever was begun is over after a pause: a stalled paste by a key, a sequence alone.
      input.wait(3000);
      input.push("\x03");
      input.wait(3000);
      const before = input.events.length;
      input.push("x");
      assertEquals(input.events.slice(before), [{ kind: "key", key: "x", text: "x" }]);
    }),
    { numRuns: 2000, seed: SEED },
  );
});

Deno.test("decoder does not report answers of the terminal as keys", () => {
  const answers = PIECES.slice(PIECES.indexOf("\x1b[?62;4c"), -2).filter((piece) => !piece.endsWith(";5M"));
  const input = decoder();
  input.push(answers.join(""));
  assertEquals(input.events, []);
  assertEquals(input.replies, answers);
});

Deno.test("decoder marks arrows that come together, as the wheel sends them on the alternate screen", () => {
  const wheel = decoder();
  wheel.push("\x1b[A\x1b[A\x1b[A");
  const key = (key: string, several = true): InputEvent => ({
    kind: "key",
    key,
    ...(several ? { several } : {}),
  });
  assertEquals(wheel.events, [key("up"), key("up"), key("up")]);
  const keys = decoder();
  for (const part of ["\x1b[A", "\x1b[A", "\x1bOB\x1bOB", "\x1b[B\x1b[C\x1b[C", "\x1b[A\x1b[B"]) {
    keys.push(part);
  }
  assertEquals(keys.events, [
    ...[key("up", false), key("up", false), key("down"), key("down"), key("down", false)],
    ...[key("right", false), key("right", false), key("up", false), key("down", false)],
  ]);
});

Deno.test("decoder reports pressed buttons by their cell, and the wheel as arrows", () => {
  const input = decoder();
  // Pressed, released, moved, the second button, the wheel; each may come in pieces.
  for (const part of ["\x1b[<0;10;5M\x1b[<0;10;5m", "\x1b[<35;11;5M\x1b[<2;1;1M", "\x1b[<0;300", ";100M"]) {
    input.push(part);
  }
  assertEquals(input.clicks, ["4 9", "99 299"]);
  assertEquals(input.events, []);
  input.push("\x1b[<64;1;1M\x1b[<65;1;1M");
  assertEquals(input.events, [
    { kind: "key", key: "up", several: true },
    { kind: "key", key: "down", several: true },
  ]);
});

Deno.test("decoder drops an answer whose end never comes", () => {
  for (const cut of ["\x1b]11;rgb:1e1e/1e", "\x1b[?62;", "\x1bP>|tmux"]) {
    const input = decoder();
    input.push(cut);
    input.wait(300);
    input.push("ok");
    assertEquals(input.keys(), ["o", "k"], JSON.stringify(cut));
    const interrupted = decoder();
    interrupted.push(`${cut}\x1b[A`);
    interrupted.wait(300);
    assertEquals(interrupted.keys(), ["up"], JSON.stringify(cut));
  }
});

Deno.test("decoder reads ESC as the key only when nothing follows", () => {
  const input = decoder();
  input.push("\x1b");
  input.wait(40);
  assertEquals(input.keys(), []);
  input.wait(10);
  assertEquals(input.keys(), ["escape"]);
  input.push("\x1b\x1b");
  input.wait(50);
  input.wait(50);
  assertEquals(input.keys(), ["escape", "escape", "escape"]);
});

Deno.test("decoder reads alt keys whose sequence could begin another one", () => {
  const input = decoder();
  for (const sequence of ["\x1b[", "\x1bO", "\x1b]", "\x1bP", "\x1b_"]) {
    input.push(sequence);
    input.wait(300);
  }
  assertEquals(input.keys(), ["alt+[", "shift+alt+o", "alt+]", "shift+alt+p", "alt+_"]);
  input.push("\x1b]text");
  assertEquals(input.keys().slice(5), ["alt+]", "t", "e", "x", "t"]);
});

Deno.test("decoder reads ESC ESC and a key as alt and the key, and before an answer as ESC", () => {
  const input = decoder();
  input.push("\x1b\x1b[D\x1b\x1b[?62c\x1b\x1b[200~x\x1b[201~");
  assertEquals(input.keys(), ["alt+left", "escape", "escape", "paste x"]);
  assertEquals(input.replies, ["\x1b[?62c"]);
});

Deno.test("decoder returns pastes byte for byte", () => {
  const unit = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("\x1b[20", "\x1b", "\x1b[200~", "\x1b[201", "\r\n", "\t", "\x00", "\ufeff", "\x1b[A"),
  );
  fc.assert(
    fc.property(fc.array(unit), fc.integer({ min: 1, max: 7 }), (parts, size) => {
      const text = parts.join("").replaceAll("\x1b[201~", "");
      const input = decoder();
      const bytes = encoder.encode(`\x1b[200~${text}\x1b[201~a`);
      for (let at = 0; at < bytes.length; at += size) input.bytes(bytes.subarray(at, at + size));
      input.wait(20);
      assertEquals(input.events, [{ kind: "paste", text }, { kind: "key", key: "a", text: "a" }]);
    }),
    { numRuns: 1000, seed: SEED },
  );
});

Deno.test("decoder reports no keys of a paste that contains its end, and separates two pastes", () => {
  const input = decoder();
  input.push("\x1b[200~harmless\x1b[201~!rm\r\x1b[201~");
  assertEquals(input.events, [{ kind: "paste", text: "harmless\x1b[201~!rm\r" }]);
  const two = decoder();
  two.push("\x1b[200~one\x1b[201~\r\x1b[200~two\x1b[201~");
  assertEquals(two.keys(), ["paste one", "enter", "paste two"]);
});

Deno.test("decoder reads no key from terminal strings of any kind", () => {
  const strings = ["\x1b]lyes\r\x1b\\", "\x1b]Ly\x1b\\", "\x1b^y\r\x1b\\", "\x1bXy\r\x1b\\", "\x1bP0y\x1b\\"];
  const input = decoder();
  input.push(strings.join(""));
  assertEquals(input.events, []);
  const keys = decoder();
  keys.push("\x1b]");
  keys.wait(300);
  keys.push("y\x1b\\");
  assertEquals(keys.keys(), ["alt+]", "y", "alt+\\"]);
});

Deno.test("decoder reports no keys of such a paste when its end arrives in later reads", () => {
  const text = "harmless\x1b[201~!rm\r and more";
  const sent = `\x1b[200~${text}\x1b[201~`;
  for (let cut = sent.indexOf("!") + 1; cut < sent.length; cut++) {
    const input = decoder();
    input.push(sent.slice(0, cut));
    input.wait(10);
    input.push(sent.slice(cut));
    input.wait(20);
    assertEquals(input.events, [{ kind: "paste", text }], `cut at ${cut}`);
    input.push("a");
    assertEquals(input.keys().at(-1), "a");
  }
  // Later input is typed text: the end mark may never come.
  const input = decoder();
  input.push("\x1b[200~one\x1b[201~\x1b[A");
  input.wait(20);
  assertEquals(input.keys(), ["paste one", "up"]);
});

Deno.test("decoder reads a paste of one megabyte in small chunks, byte for byte", () => {
  const line = "a line with 漢字, emoji 👩‍👩‍👧 and \x1b[31mcolour\x1b[0m\ttab\r";
  const text = line.repeat(Math.ceil(2 ** 20 / encoder.encode(line).length));
  const bytes = encoder.encode(`\x1b[200~${text}\x1b[201~`);
  const input = decoder();
  for (let at = 0; at < bytes.length; at += 1023) input.bytes(bytes.subarray(at, at + 1023));
  assert(input.events.length === 1 && input.events[0]?.kind === "paste" && input.events[0].text === text);
});

Deno.test("decoder ends a paste without an end at the next key after a pause", () => {
  const input = decoder();
  input.push("\x1b[200~some text");
  input.wait(1999);
  input.push("\x03");
  assertEquals(input.events, [], "no pause, so it is still the paste");
  input.wait(2000);
  input.push("more of it, slowly");
  input.wait(2000);
  input.push("\x1b[A");
  assertEquals(input.keys(), ["paste some text\x03more of it, slowly", "up"]);
});

Deno.test("decoder ends a slow paste at its end, not between chunks", () => {
  for (const cut of [1, 2, 3, 4, 5]) {
    const end = "\x1b[201~";
    const input = decoder();
    input.push(`\x1b[200~text${end.slice(0, cut)}`);
    input.wait(5000);
    for (const character of end.slice(cut)) {
      input.push(character);
      input.wait(5000);
    }
    input.push("a");
    assertEquals(input.keys(), ["paste text", "a"]);
  }
});

/** The bytes of a key and its name; a second name is the typed text. */
type Row = readonly [sequence: string, key: string | undefined, text?: string];

const TYPED: readonly Row[] = [
  ["a", "a", "a"],
  ["A", "A", "A"],
  ["é", "é", "é"],
  ["漢", "漢", "漢"],
  ["👍", "👍", "👍"],
  [" ", "space", " "],
  ["\r", "enter"],
  ["\n", "ctrl+j"],
  ["\t", "tab"],
  ["\x7f", "backspace"],
  ["\x08", "backspace"],
  ["\x1b", "escape"],
  ["\x00", "ctrl+space"],
  ["\x01", "ctrl+a"],
  ["\x1a", "ctrl+z"],
  ["\x1c", "ctrl+\\"],
  ["\x1d", "ctrl+]"],
  ["\x1e", "ctrl+^"],
  ["\x1f", "ctrl+-"],
  ["\x85", undefined],
];
const WITH_ALT: readonly Row[] = [
  ["\x1ba", "alt+a"],
  ["\x1bA", "shift+alt+a"],
  ["\x1b1", "alt+1"],
  ["\x1b.", "alt+."],
  ["\x1bé", "alt+é"],
  ["\x1b ", "alt+space"],
  ["\x1b\r", "alt+enter"],
  ["\x1b\x7f", "alt+backspace"],
  ["\x1b\x01", "ctrl+alt+a"],
];
const XTERM: readonly Row[] = [
  ["\x1b[A", "up"],
  ["\x1bOA", "up"],
  ["\x1b[1;2A", "shift+up"],
  ["\x1b[1;3B", "alt+down"],
  ["\x1b[1;5C", "ctrl+right"],
  ["\x1b[1;6D", "shift+ctrl+left"],
  ["\x1b[H", "home"],
  ["\x1bOF", "end"],
  ["\x1b[1~", "home"],
  ["\x1b[4~", "end"],
  ["\x1b[7~", "home"],
  ["\x1b[8~", "end"],
  ["\x1b[1;5H", "ctrl+home"],
  ["\x1b[2~", "insert"],
  ["\x1b[3~", "delete"],
  ["\x1b[3;5~", "ctrl+delete"],
  ["\x1b[5~", "pageUp"],
  ["\x1b[6;2~", "shift+pageDown"],
  ["\x1bOP", "f1"],
  ["\x1b[1;2P", "shift+f1"],
  ["\x1b[1;5R", "ctrl+f3"],
  ["\x1b[11~", "f1"],
  ["\x1b[15~", "f5"],
  ["\x1b[15;5~", "ctrl+f5"],
  ["\x1b[24~", "f12"],
  ["\x1b[34~", "f20"],
  ["\x1b[[A", "f1"],
  ["\x1b[[E", "f5"],
  ["\x1b[Z", "shift+tab"],
  ["\x1b[E", "clear"],
  ["\x1bOM", "enter"],
  ["\x1bOp", "0", "0"],
  ["\x1bOk", "+", "+"],
  ["\x1b[a", "shift+up"],
  ["\x1bOd", "ctrl+left"],
  ["\x1b[3$", "shift+delete"],
  ["\x1b[7^", "ctrl+home"],
  ["\x1b[7@", "shift+ctrl+home"],
];
const OTHER_KEYS: readonly Row[] = [
  ["\x1b[27;2;13~", "shift+enter"],
  ["\x1b[27;5;13~", "ctrl+enter"],
  ["\x1b[27;3;13~", "alt+enter"],
  ["\x1b[27;5;99~", "ctrl+c"],
  ["\x1b[27;6;67~", "shift+ctrl+c"],
  ["\x1b[27;2;65~", "A", "A"],
  ["\x1b[27;5;9~", "ctrl+tab"],
  ["\x1b[27;5;45~", "ctrl+-"],
];
const KITTY: readonly Row[] = [
  ["\x1b[27u", "escape"],
  ["\x1b[13u", "enter"],
  ["\x1b[13;2u", "shift+enter"],
  ["\x1b[13;3u", "alt+enter"],
  ["\x1b[13;5u", "ctrl+enter"],
  ["\x1b[13;5:1u", "ctrl+enter"],
  ["\x1b[13;5:2u", "ctrl+enter"],
  ["\x1b[13;5:3u", undefined],
  ["\x1b[1;1:3A", undefined],
  ["\x1b[3;1:3~", undefined],
  ["\x1b[9;2u", "shift+tab"],
  ["\x1b[127;5u", "ctrl+backspace"],
  ["\x1b[99;5u", "ctrl+c"],
  ["\x1b[99;69u", "ctrl+c"],
  ["\x1b[99;133u", "ctrl+c"],
  ["\x1b[99:67;6u", "shift+ctrl+c"],
  ["\x1b[1089::99;5u", "ctrl+c"],
  ["\x1b[1103::122;5u", "ctrl+z"],
  ["\x1b[97u", "a", "a"],
  ["\x1b[97:65;2u", "A", "A"],
  ["\x1b[49:33;2u", "!", "!"],
  ["\x1b[228;;228u", "ä", "ä"],
  ["\x1b[32u", "space", " "],
  ["\x1b[32;5u", "ctrl+space"],
  ["\x1b[45;5u", "ctrl+-"],
  ["\x1b[45:95;6u", "ctrl+-"],
  ["\x1b[107;9u", "super+k"],
  ["\x1b[57399u", "0", "0"],
  ["\x1b[57414u", "enter"],
  ["\x1b[57414;5u", "ctrl+enter"],
  ["\x1b[57419u", "up"],
  ["\x1b[57427u", "clear"],
  ["\x1b[57376u", "f13"],
  ["\x1b[57441;2u", undefined],
  ["\x1b[57358u", undefined],
  ["\x1b[1114112u", undefined],
  ["\x1b[55296u", undefined],
];

for (const [name, rows] of Object.entries({ TYPED, WITH_ALT, XTERM, OTHER_KEYS, KITTY })) {
  Deno.test(`parseKey returns the keys of the table ${name}`, () => {
    for (const [sequence, key, text] of rows) {
      const expected = key === undefined ? undefined : { key, ...(text === undefined ? {} : { text }) };
      assertEquals(parseKey(sequence), expected, JSON.stringify(sequence));
    }
  });
}

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
