import { loadAnswerSchema } from "../../../src/agent/mod.ts";
import type { JsonSchema } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../support/assert.ts";

const { AnswerSchema } = await loadAnswerSchema();

const problem = (schema: JsonSchema, answer: unknown) =>
  new AnswerSchema(schema).problem(typeof answer === "string" ? answer : JSON.stringify(answer));

Deno.test("AnswerSchema accepts one JSON value, with blanks or a code fence around it", async () => {
  const schema = new AnswerSchema({ type: ["object", "number"] });
  for (
    const answer of [
      '{"a":"是🦊"}',
      '\n {"a":"是🦊"}\n',
      '```json\n{"a":"是🦊"}\n```',
      '```\r\n{"a":"是🦊"}\r\n```',
    ]
  ) {
    assertEquals((await schema.read(answer))?.value, { a: "是🦊" });
    assertEquals((await schema.read(answer))?.text, '{"a":"是🦊"}');
  }
  assertEquals((await schema.read("7"))?.value, 7);
  for (const answer of ["", "Here: {}", "{} {}", "```json\n{}\n```\nDone.", "'a'"]) {
    assertEquals(await schema.read(answer), undefined);
    assertStringIncludes(await schema.problem(answer) ?? "", "not one JSON value");
  }
});

Deno.test("AnswerSchema reports each mismatch and no consequential ones", async () => {
  const schema = {
    type: "object",
    properties: {
      list: { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } },
    },
    required: ["name"],
    additionalProperties: false,
  };
  const found = await problem(schema, { list: [{ n: 1 }, { n: "2" }], other: 1 });
  const lines = found?.split("\n").slice(1) ?? [];
  assertEquals(lines.length, 3, lines.join("\n"));
  for (const part of ["the answer: ", "/list/1/n: ", "/other: is not allowed here"]) {
    assert(lines.some((line) => line.startsWith(`- ${part}`)), lines.join("\n"));
  }
  const many = await problem(
    { type: "array", items: { type: "string" } },
    Array.from({ length: 50 }, (_, n) => n),
  );
  assertStringIncludes(many ?? "", "- and 40 more");
});

Deno.test("AnswerSchema supports references and the different drafts", async () => {
  const tree = {
    $ref: "#/$defs/node",
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
  };
  assertEquals(await problem(tree, { next: { next: {} } }), undefined);
  assertStringIncludes(await problem(tree, { next: { next: 1 } }) ?? "", "/next/next");
  const pair = [{ type: "string" }, { type: "number" }];
  assertEquals(await problem({ prefixItems: pair }, ["a", 1]), undefined);
  assert(await problem({ prefixItems: pair }, [1, "a"]) !== undefined);
  const old = { $schema: "http://json-schema.org/draft-07/schema#", items: pair };
  assert(await problem(old, [1, "a"]) !== undefined);
  assertEquals(await problem(old, ["a", 1]), undefined);
});

Deno.test("AnswerSchema rejects unsatisfiable and unsupported schemas, but ignores schemas in data", async () => {
  for (
    const schema of [
      { type: "strng" },
      { type: ["string", "nul"] },
      { properties: { a: { pattern: "(" } } },
      { items: { $ref: "#/$defs/none" } },
    ]
  ) assertThrows(() => new AnswerSchema(schema));
  const data = {
    enum: [{ type: "strng" }],
    properties: { type: { type: "string" }, pattern: { const: "(" } },
  };
  assertEquals(await problem(data, { type: "strng" }), undefined);
  const named = { $ref: "#somewhere" };
  assertStringIncludes(await problem(named, {}) ?? "", "$ref");
});

Deno.test("AnswerSchema reports a slow pattern and stops when it is aborted", async () => {
  const schema = { properties: { a: { type: "string", pattern: "^(a+)+$" } } };
  const hostile = JSON.stringify({ a: `${"a".repeat(40)}!` });
  assertEquals(await problem(schema, { a: "aaa" }), undefined);
  assertStringIncludes(await problem(schema, { a: "b" }) ?? "", "/a: ");
  const start = performance.now();
  const checked = new AnswerSchema(schema);
  assertStringIncludes(await checked.problem(hostile) ?? "", "could not be checked");
  assertEquals(await checked.read(hostile), undefined);
  assert(performance.now() - start < 20_000);
  const stop = new AbortController();
  const pending = new AnswerSchema(schema).problem(hostile, stop.signal);
  setTimeout(() => stop.abort(), 300);
  const aborted = performance.now();
  assertEquals(await pending, undefined);
  assert(performance.now() - aborted < 4000);
});
