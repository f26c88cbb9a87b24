import { decodeOutput } from "../../../../src/tool/shell/output_store.ts";
import { assertEquals } from "../../../support/assert.ts";

const CASES: readonly (readonly [string, readonly (string | number[])[], string | undefined])[] = [
  ["plain text with colours", ["\u001b[31mred\u001b[0m\n"], "\u001b[31mred\u001b[0m\n"],
  ["GBK", [[0xd6, 0xd0, 0xce, 0xc4], "\n"], "中文\n"],
  [
    "GBK next to UTF-8",
    ["a.txt: 中文\nb.txt: ", [0xd6, 0xd0, 0xce, 0xc4], "\n"],
    "a.txt: 中文\nb.txt: 中文\n",
  ],
  ["Latin-1", ["caf", [0xe9], " au lait\n"], "café au lait\n"],
  ["UTF-8 with one stray byte", ["中文中文中文中文中文 ", [0xff], "\n"], "中文中文中文中文中文 \ufffd\n"],
  ["a character cut off at the end", ["ok 中", [0xe6, 0x96]], "ok 中"],
  ["UTF-16 with a mark", [[0xff, 0xfe, 0x68, 0, 0x69, 0, 0x0a, 0]], "hi\n"],
  ["UTF-16 without a mark", ["h\0i\0 \0y\0o\0u\0\r\0\n\0"], "hi you\r\n"],
  ["a list separated by NUL", ["a.ts\0src/b.ts\0"], "a.ts\nsrc/b.ts\n"],
  ["bytes that are no text", [[0xff, 0xfe, 0xff, 0xfe, 0xff, 0xfe, 0xff, 0xfe]], undefined],
  ["a program file", ["\x7fELF\x02\x01\x01\0\0\0\0\0\x03\0>\0"], undefined],
  ["control characters", ["\x01\x02\x03\x04\x05\x06"], undefined],
];

for (const [what, parts, expected] of CASES) {
  Deno.test(`decodeOutput reads ${what}`, () => {
    const encoder = new TextEncoder();
    const bytes = parts.flatMap((part) => typeof part === "string" ? [...encoder.encode(part)] : part);
    assertEquals(decodeOutput(new Uint8Array(bytes)), expected);
  });
}
