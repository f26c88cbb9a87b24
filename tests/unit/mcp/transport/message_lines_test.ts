import fc from "fast-check";
import { MAX_MESSAGE_BYTES, MessageLines } from "../../../../src/mcp/transport/stdio.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { SEED } from "../../../support/seed.ts";

function collect() {
  const lines: string[] = [];
  const large: { bytes: number; ends: string }[] = [];
  const reader = new MessageLines(
    (text) => lines.push(text),
    (bytes, ends) => large.push({ bytes, ends }),
  );
  return { reader, lines, large };
}

Deno.test("MessageLines returns the same lines for any split of the bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.integer({ min: 1, max: 7 }), (texts, size) => {
      const wanted = texts.map((text) => text.replaceAll(/[\n\r]/g, "")).filter((text) => text.trim() !== "");
      const bytes = new TextEncoder().encode(wanted.map((text) => `${text}\n`).join(""));
      const { reader, lines } = collect();
      for (let at = 0; at < bytes.length; at += size) reader.push(bytes.slice(at, at + size));
      assertEquals(lines, wanted.map((text) => new TextDecoder().decode(new TextEncoder().encode(text))));
    }),
    { seed: SEED },
  );
});

Deno.test("MessageLines keeps both ends of a line that is too long and reads the next line", () => {
  const { reader, lines, large } = collect();
  reader.push(new TextEncoder().encode('{"id":7,"result":"'));
  const block = new Uint8Array(1024 * 1024).fill(120);
  for (let n = 0; n < 20; n++) reader.push(block);
  reader.push(new TextEncoder().encode('"}\n{"id":8}\n'));
  assertEquals(lines, ['{"id":8}']);
  assertEquals(large.length, 1);
  assert((large[0]?.bytes ?? 0) > MAX_MESSAGE_BYTES);
  assert(
    large[0]?.ends.startsWith('{"id":7') && large[0].ends.endsWith('"}') && large[0].ends.length < 10_000,
  );
});
