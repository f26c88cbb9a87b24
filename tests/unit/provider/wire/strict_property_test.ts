import fc from "fast-check";
import { strictSchema } from "../../../../src/provider/wire/json_schema.ts";
import { assertEquals } from "../../../support/assert.ts";
import { refusalOf } from "../../../support/wires/responses_rules.ts";

const NAME = fc.constantFrom("a", "b", "path", "名", "__proto__", "properties", "type");

/** Schemas as MCP servers write them, with what strict schemas may not have. */
const { schema } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.record({
      type: fc.constantFrom("string", "number", "integer", "boolean", "null"),
      description: fc.constantFrom("What it is", ""),
      minLength: fc.nat(9),
      format: fc.constantFrom("uri", "date"),
      default: fc.constantFrom("x", null),
    }, { requiredKeys: ["type"] }),
    fc.record({ enum: fc.constantFrom(["a", "b"], [1, null], [true], [{}]) }),
    fc.record({ const: fc.constantFrom("a", 1, null) }),
    fc.record({ type: fc.constant("array"), items: tie("schema"), uniqueItems: fc.boolean() }, {
      requiredKeys: ["type", "items"],
    }),
    fc.record({
      type: fc.constant("object"),
      properties: fc.dictionary(NAME, tie("schema"), { maxKeys: 3 }),
      required: fc.subarray(["a", "b", "path"]),
      additionalProperties: fc.constantFrom(true, false),
    }, { requiredKeys: ["type", "properties"] }),
    fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc.record({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc.record({ $ref: fc.constantFrom("#/$defs/known", "#/$defs/unknown", "#") }),
    fc.record({ not: tie("schema"), type: fc.constant("string") }),
  ),
}));

Deno.test("strictSchema returns a valid strict schema or nothing for any schema", () => {
  let made = 0;
  fc.assert(
    fc.property(fc.dictionary(NAME, schema, { maxKeys: 3 }), (properties) => {
      const known = { type: "object", properties: { v: { type: "number" } } };
      const parameters = { type: "object", properties, $defs: { known } };
      const before = JSON.stringify(parameters);
      const strict = strictSchema(parameters);
      assertEquals(JSON.stringify(parameters), before);
      if (strict === undefined) return;
      made++;
      const tool = { type: "function", name: "t", strict: true, parameters: strict };
      const request = { input: [{ role: "user", content: "x" }], store: false, tools: [tool] };
      const memory = { stored: new Map(), sealed: new Map(), refuses: [] };
      assertEquals(refusalOf(request, memory), undefined, JSON.stringify(strict));
    }),
    { numRuns: 1000 },
  );
  assertEquals(made > 100, true, `${made} strict schemas`);
});
