import { strictSchema, withoutNulls } from "../../../../src/provider/wire/json_schema.ts";
import { assertEquals } from "../../../support/assert.ts";

const object = (properties: Record<string, unknown>, required: string[] = [], more = {}) => ({
  type: "object",
  properties,
  required,
  ...more,
});
const closed = (properties: Record<string, unknown>, more = {}) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});

const CASES: readonly (readonly [what: string, schema: Record<string, unknown>, strict: unknown])[] = [
  [
    "optional keys become nullable, required ones do not",
    object({ path: { type: "string" }, limit: { type: "integer", minimum: 1 } }, ["path"]),
    closed({ path: { type: "string" }, limit: { type: ["integer", "null"], minimum: 1 } }),
  ],
  [
    "optional enums accept null",
    object({ mode: { enum: ["a", "b"] }, fixed: { const: 3 } }),
    closed({
      mode: { type: ["string", "null"], enum: ["a", "b", null] },
      fixed: { type: ["number", "null"], enum: [3, null] },
    }),
  ],
  [
    "oneOf becomes anyOf, and inner objects are closed",
    object({ at: { oneOf: [object({ x: { type: "number" } }, ["x"]), { type: "string" }] } }, ["at"]),
    closed({ at: { anyOf: [closed({ x: { type: "number" } }), { type: "string" }] } }),
  ],
  [
    "allOf of objects is one object",
    object({
      both: {
        allOf: [object({ a: { type: "string" } }, ["a"]), object({ b: { type: "string" } }, ["b"])],
      },
    }, ["both"]),
    closed({ both: closed({ a: { type: "string" }, b: { type: "string" } }) }),
  ],
  [
    "unsupported keywords are in the description",
    object({ name: { type: "string", description: "A name.", minLength: 2, format: "uri" } }, ["name"], {
      $schema: "x",
    }),
    closed({ name: { type: "string", description: 'A name. (minLength: 2, format: "uri")' } }),
  ],
  [
    "known formats and patterns are kept, patterns with lookaround are removed",
    object({
      when: { type: "string", format: "date-time", pattern: "^2" },
      no: { type: "string", pattern: "(?!x)" },
    }, ["when", "no"]),
    closed({
      when: { type: "string", format: "date-time", pattern: "^2" },
      no: { type: "string", description: '(pattern: "(?!x)")' },
    }),
  ],
  [
    "references are kept, optional ones with null",
    object({ next: { $ref: "#/$defs/node" } }, [], {
      $defs: { node: object({ v: { type: "number" } }, ["v"]) },
    }),
    closed({ next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } }, {
      $defs: { node: closed({ v: { type: "number" } }) },
    }),
  ],
  ["a tool without arguments is closed", object({}), closed({})],
  ["arbitrary keys have no strict form", object({ env: { type: "object" } }), undefined],
  [
    "maps have no strict form",
    object({ env: object({}, [], { additionalProperties: { type: "string" } }) }),
    undefined,
  ],
  ["patterns of keys have no strict form", object({}, [], { patternProperties: { "^x": {} } }), undefined],
  ["any value at all has no strict form", object({ value: {} }), undefined],
  ["lists of anything have no strict form", object({ list: { type: "array" } }), undefined],
  ["external references have no strict form", object({ a: { $ref: "https://x/y" } }), undefined],
  ["a choice at the top has no strict form", { anyOf: [object({})] }, undefined],
];

for (const [what, schema, strict] of CASES) {
  Deno.test(`strictSchema is correct when ${what}`, () => {
    const before = structuredClone(schema);
    assertEquals(strictSchema(schema), strict as ReturnType<typeof strictSchema>);
    assertEquals(schema, before);
  });
}

Deno.test("strictSchema returns nothing for a schema that is too deep", () => {
  let schema: Record<string, unknown> = { type: "string" };
  for (let depth = 0; depth < 11; depth++) schema = object({ inner: schema }, ["inner"]);
  assertEquals(strictSchema(schema), undefined);
});

Deno.test("withoutNulls removes only the nulls of optional keys", () => {
  const schema = object(
    {
      path: { type: "string" },
      limit: { type: "integer" },
      may: { type: ["string", "null"] },
      list: { type: "array", items: { $ref: "#/$defs/item" } },
      choice: { anyOf: [{ type: "string" }, object({ x: { type: "number" } })] },
    },
    ["path"],
    { $defs: { item: object({ a: { type: "string" } }) } },
  );
  const cleaned = (value: unknown) => JSON.parse(withoutNulls(JSON.stringify(value), schema));
  assertEquals(
    cleaned({
      path: null,
      limit: null,
      may: null,
      other: null,
      list: [{ a: null }, null],
      choice: { x: null },
    }),
    { path: null, may: null, other: null, list: [{}, null], choice: {} },
  );
  const same = '{ "path": "null" }';
  assertEquals(withoutNulls(same, schema), same);
});
