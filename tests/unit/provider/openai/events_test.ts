import fc from "fast-check";
import { assertEquals } from "../../../support/assert.ts";
import { EventReader } from "../../../../src/provider/wire/wire_reply.ts";
import { SEED } from "../../../support/seed.ts";

/** The events that a reader returns for a stream in these chunks. */
function readAll(pieces: readonly string[]): Record<string, unknown> {
  const events: unknown[] = [];
  const reader = new EventReader((event) => void events.push(onlyContent(event)), /tool_call/);
  for (const piece of pieces) reader.feed(piece);
  reader.end();
  const { good, broken, brokenCall, done } = reader;
  return { events: joined(events), good, broken, brokenCall, done };
}

/** Returns the text of a parsed text event. */
function onlyContent(event: unknown): unknown {
  const text = (event as { choices?: { delta?: { content?: unknown } }[] })?.choices?.[0]?.delta?.content;
  return typeof text === "string" ? ["text", text] : event;
}

function joined(events: readonly unknown[]): unknown[] {
  const all: unknown[] = [];
  for (const item of events) {
    const last = all.at(-1);
    if (Array.isArray(item) && Array.isArray(last)) last[1] += item[1];
    else all.push(Array.isArray(item) ? [...item] : item);
  }
  return all;
}

function said(text: string, id = 1): string {
  return JSON.stringify({ id, choices: [{ index: 0, delta: { content: text } }] });
}

/**
 * Blocks of a stream: mostly the same event with different text, and everything that can be between them.
 */
const BLOCKS = [
  ...["word ", "two words ", "line\n", "", "é任务🦊", "a\\b", "\\", "tab\t", 'say "so"', "data: ", '"}}]}']
    .map((text) => `data: ${said(text)}\n\n`),
  `data: ${said("other", 2)}\n\n`,
  `data:${said("no space")}\n\n`,
  `data: ${said("carriage")}\r\n\r\n`,
  `event: error\ndata: ${said("odd")}\n\n`,
  `id: 7\ndata: ${said("with id")}\n\n`,
  `data: ${said("a")}\ndata: ${said("b")}\n\n`,
  `data: ${said("raw\nline").replace("\\n", "\n")}\n\n`,
  `data: ${said("raw\rreturn").replace("\\r", "\r")}\n\n`,
  `data: ${said("cut short").slice(0, -8)}\n\n`,
  `data: ${said("lone \\").replace("\\\\", "\\")}\n\n`,
  ": keep-alive\n\n",
  "\n",
  "data: \n\n",
  "data: [DONE]\n\n",
];

/** Chunks of one character never contain an event, so that only the parser reads them. */
function slowly(stream: string): Record<string, unknown> {
  return readAll(stream.split(""));
}

Deno.test("EventReader returns the same events for any chunk size", () => {
  const block = fc.oneof({ weight: 3, arbitrary: fc.constant(BLOCKS[0] ?? "") }, fc.constantFrom(...BLOCKS));
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
  fc.assert(
    fc.property(fc.array(block, { maxLength: 15 }), cuts, (blocks, places) => {
      const stream = `data: ${said("first")}\n\n${blocks.join("")}`;
      const at = places.map((place) => Math.floor(place * stream.length)).sort((a, b) => a - b);
      const pieces = [...at, stream.length].map((end, index) => stream.slice(at[index - 1] ?? 0, end));
      const expected = slowly(stream);
      assertEquals(readAll([stream]), expected);
      assertEquals(readAll(pieces), expected);
    }),
    { numRuns: 400, seed: SEED },
  );
});

Deno.test("EventReader returns the same events wherever an event is split", () => {
  const first = `data: ${said("first")}\n\n`;
  for (const block of BLOCKS) {
    const rest = block + first;
    const expected = slowly(first + rest);
    for (let cut = 0; cut < rest.length; cut++) {
      assertEquals(readAll([first, rest.slice(0, cut), rest.slice(cut)]), expected, `${block} cut at ${cut}`);
    }
  }
});
