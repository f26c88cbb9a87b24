import { assert, assertEquals } from "../../support/assert.ts";
import { jsonLine, scanJsonl } from "../../../src/util/json.ts";

function scan(content: Uint8Array | string, from?: number) {
  const path = Deno.makeTempFileSync();
  try {
    Deno.writeFileSync(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
    const seen: [unknown, number, number, number][] = [];
    const report = scanJsonl(path, (value, { line, offset, length }) => {
      seen.push([value, line, offset, length]);
    }, from === undefined ? {} : { from });
    return { seen, ...report, tail: new TextDecoder().decode(report.tail) };
  } finally {
    Deno.removeSync(path);
  }
}

Deno.test("scanJsonl returns values with offsets and reports damaged and unfinished lines", () => {
  const { seen, end, tail, damaged, lines } = scan('{"a":1}\n\nnot json\n"é"\r\n[1');
  assertEquals(seen, [[{ a: 1 }, 1, 0, 7], ["é", 4, 18, 5]]);
  assertEquals([end, tail, damaged, lines], [24, "[1", [3], 4]);
});

Deno.test("scanJsonl continues from an offset", () => {
  assertEquals(scan("1\n22\n333\n", 5).seen, [[333, 1, 5, 3]]);
});

Deno.test("scanJsonl reads empty files and lines larger than its buffer", () => {
  assertEquals(scan("").lines, 0);
  const long = JSON.stringify("漢".repeat(400_000));
  const { seen, lines } = scan(`1\n${long}\n2\n${long}\n3\n`);
  assertEquals([lines, seen.map(([value]) => typeof value === "string" ? value.length : value)], [
    5,
    [1, 400_000, 2, 400_000, 3],
  ]);
});

for (const shift of [0, 1, 2]) {
  Deno.test(`jsonLine equals JSON.stringify for surrogate pairs ${shift} units off the chunk borders`, () => {
    const text = ".".repeat(shift) + '\u{1F98A}"\\\n\0\ud800 é\u2028'.repeat(60_000) + "\udfff";
    const record = { v: 1, type: "x", content: text, none: undefined, calls: [{ id: text }], nothing: null };
    const line = jsonLine(record);
    const whole = `${JSON.stringify(record)}\n`;
    assert([...line].join("") === whole, "the line differs");
    assert([...line].join("") === whole, "the line differs the second time");
  });
}

Deno.test("jsonLine splits long texts and keeps short lines whole", () => {
  const longest = (line: Iterable<string>) => Math.max(...[...line].map((piece) => piece.length));
  assert(longest(jsonLine({ content: "x".repeat(3_000_000) })) < 50_000);
  assertEquals([...jsonLine({ a: "x" })], ['{"a":"x"}', "\n"]);
});
