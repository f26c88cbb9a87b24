import { assertEquals } from "../../support/assert.ts";
import { plainArguments, repairArguments } from "../../../src/provider/tool_calls.ts";

const REPAIRED: readonly (readonly [name: string, text: string, value: unknown])[] = [
  ["a trailing comma", '{"a":1,"b":[1,2,],}', { a: 1, b: [1, 2] }],
  ["closing brackets missing at the end", '{"a":{"b":["x"', { a: { b: ["x"] } }],
  ["single quotes", "{'a':'x y'}", { a: "x y" }],
  ["bare keys", '{a:"x",b_2:true}', { a: "x", b_2: true }],
  ["Python's constants", '{"a":True,"b":None}', { a: true, b: null }],
  ["raw line breaks in a string", '{"a":"one\ntwo"}', { a: "one\ntwo" }],
  ["a code fence", '```json\n{"a":1}\n```', { a: 1 }],
];

for (const [name, text, value] of REPAIRED) {
  Deno.test(`repairArguments repairs a text whose only error is ${name}`, async () => {
    assertEquals(plainArguments(text), undefined);
    assertEquals(JSON.parse(await repairArguments(text)), value);
  });
}

const AMBIGUOUS: readonly (readonly [name: string, text: string])[] = [
  ["a string is truncated", '{"path":"a.txt","content":"half of'],
  ["a number is truncated", '{"limit":1'],
  ["a literal is truncated", '{"all":tr'],
  ["a key has no value", '{"path":}'],
  ["a key has no colon", '{"path"'],
  ["it ends with a comma", '{"path":"a.txt",'],
  ["quotes are not escaped", '{"command":"echo "hi" there"}'],
  ["a value has no quotes", '{"command": ls -la, "cwd": "."}'],
  ["an escape is unknown", '{"pattern":"\\d+"}'],
  ["two objects follow each other", '{"a":1}{"b":2}'],
  ["it is a list", '["a"'],
  ["it is prose", "I would rather list the files"],
];

for (const [name, text] of AMBIGUOUS) {
  Deno.test(`repairArguments keeps a text unchanged when ${name}`, async () => {
    assertEquals(await repairArguments(text), text);
  });
}
