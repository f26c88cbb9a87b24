import { type Jsonc, parseJsonc } from "../../../src/config/load/jsonc.ts";
import { assert, assertEquals } from "../../support/assert.ts";

async function parsed(text: string): Promise<Jsonc> {
  const json = await parseJsonc(text);
  if ("fault" in json) throw new Error(json.fault);
  return json;
}

Deno.test("parseJsonc reads JSON with comments, trailing commas and a byte order mark", async () => {
  for (
    const [text, value] of [
      ['{"a": [1, "x,]", null], "c": "// no comment"}', {
        a: [1, "x,]", null],
        c: "// no comment",
      }],
      ['\uFEFF{ // one\n "a": 1, /* two, */ }', { a: 1 }],
      ['["a", // x\n]', ["a"]],
      ['"/* text */"', "/* text */"],
    ] as const
  ) assertEquals<unknown>(structuredClone((await parsed(text)).value), value);
});

Deno.test("parseJsonc locates each value, after characters of any kind", async () => {
  const { find } = await parsed(
    '\uFEFF{\n  // "deny": ["no"]\n  "名": "値,]}", "deny": ["a\\"b", {"x": [1, 2]}]}',
  );
  const at = (...path: (string | number)[]) => Object.values(find(path) ?? {}).join(":");
  assertEquals([at("deny", 0), at("deny", 1, "x", 1), at("deny", 9), at("none")], [
    "3:25",
    "3:43",
    "3:16",
    "",
  ]);
});

for (
  const [name, text] of [
    ["an unfinished object", '{"a": 1'],
    ["two values", "1 2"],
    ["an unfinished comment", "{ /* "],
    ["nothing", ""],
    ["single quotes", "{'a': 1}"],
    ["many open brackets", "[".repeat(900_000)],
    ["an unclosed quote", `{"a": "${'\\"'.repeat(300_000)}`],
    ["unclosed comments", `{"a": ${"/*".repeat(300_000)}`],
  ] as const
) {
  Deno.test(`parseJsonc rejects ${name} without quoting the text`, async () => {
    const json = await parseJsonc(text);
    assert(
      "fault" in json && !/[[{'"*]/.test(json.fault) && json.line === 1,
      JSON.stringify(json).slice(0, 200),
    );
  });
}
