import fc from "fast-check";
import { InputDecoder } from "../../../../src/frontend/repl/terminal/decoder.ts";
import type { InputEvent } from "../../../../src/frontend/repl/terminal/terminal.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { SEED } from "../../../support/seed.ts";

const encoder = new TextEncoder();

/** A decoder whose clock the test moves. */
function decoder() {
  const events: InputEvent[] = [];
  const replies: string[] = [];
  const timers = new Set<{ readonly at: number; readonly task: () => void }>();
  let now = 0;
  const input = new InputDecoder(
    { input: (event) => events.push(event), reply: (sequence) => replies.push(sequence) },
    (ms, task) => {
      const timer = { at: now + ms, task };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  );
  return {
    events,
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
      assertEquals([split.events, split.replies], [whole.events, whole.replies]);
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
  const answers = PIECES.slice(PIECES.indexOf("\x1b[?62;4c"), -2);
  const input = decoder();
  input.push(answers.join(""));
  assertEquals(input.events, []);
  assertEquals(input.replies, answers);
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
