import { assertEquals } from "../../../support/assert.ts";
import type { JsonSchema } from "../../../../src/core/mod.ts";
import { subsetSchema } from "../../../../src/provider/wire/json_schema.ts";

Deno.test("schema subset keeps supported keywords", () => {
  const schema: JsonSchema = {
    type: "object",
    properties: {
      path: { type: "string", description: "A path" },
      lines: { type: ["integer", "null"], minimum: 1 },
      mode: { enum: ["a", "b"], type: "string" },
      edits: { type: "array", items: { type: "object", properties: { old: { type: "string" } } } },
      any: { anyOf: [{ type: "string" }, { type: "object", additionalProperties: true }] },
    },
    required: ["path"],
    additionalProperties: false,
  };
  assertEquals(subsetSchema(schema), schema);
});

Deno.test("schema subset describes unsupported keywords in the description", () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: ["object", "null"],
    properties: {
      name: { type: "string", pattern: "^a", minLength: 2, description: "A name." },
      exact: { const: "x" },
      flag: { const: true },
      level: { enum: ["low", null, 3] },
      pair: { type: "array", items: [{ type: "string" }, { type: "number" }] },
      free: true,
      long: { type: "string", pattern: "x".repeat(500) },
      not: { not: { type: "null" } },
    },
  };
  assertEquals(subsetSchema(schema), {
    type: "object",
    properties: {
      name: { type: "string", description: 'A name. (pattern: "^a", minLength: 2)' },
      exact: { enum: ["x"], type: "string" },
      flag: { description: "(const: true)" },
      level: { enum: ["low", 3], type: "string" },
      pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
      free: {},
      long: { type: "string" },
      not: { description: '(not: {"type":"null"})' },
    },
  });
});

Deno.test("schema subset merges allOf", () => {
  const schema = {
    allOf: [
      { properties: { a: { type: "string" } }, required: ["a"] },
      { $ref: "#/$defs/more" },
    ],
    properties: { c: { type: "string" } },
    $defs: { more: { type: "object", properties: { b: { type: "number" } }, required: ["b"] } },
  };
  const { properties, required } = subsetSchema(schema);
  assertEquals(Object.keys(properties as JsonSchema), ["a", "b", "c"]);
  assertEquals(required, ["a", "b"]);
});

Deno.test("schema subset inlines references and stops at cycles", () => {
  const schema = {
    type: "object",
    properties: {
      definitions: { $ref: "#/definitions/Name", description: "Own words" },
      tree: { $ref: "#/$defs/Node" },
      lost: { $ref: "#/$defs/nowhere", description: "Lost" },
      far: { $ref: "https://example.test/schema" },
    },
    definitions: { Name: { type: "string", description: "A name" } },
    $defs: {
      Node: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/Node" } } } },
    },
  };
  const tree = (inner: unknown) => ({
    type: "object",
    properties: { children: { type: "array", items: inner } },
  });
  assertEquals(subsetSchema(schema), {
    type: "object",
    properties: {
      definitions: { type: "string", description: "Own words" },
      tree: tree(tree({})),
      lost: { description: "Lost" },
      far: {},
    },
  });
});

Deno.test("schema subset stays small for schemas with many references", () => {
  const names = Array.from({ length: 30 }, (_, at) => `T${at}`);
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }]));
  const $defs = Object.fromEntries(names.map((name) => [name, { type: "object", properties }]));
  const size = JSON.stringify(subsetSchema({ type: "object", properties, $defs })).length;
  assertEquals(size < 1_000_000, true, `${size} characters`);
});
