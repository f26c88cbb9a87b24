import { type Schema, Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { parse } from "smol-toml";
import { generatedFiles } from "../../../scripts/gen_config.ts";
import { checkConfig } from "../../../src/config/load/check.ts";
import { configJsonSchema, type JsonNode } from "../../../scripts/config_json_schema.ts";
import { fillDefaults } from "../../../src/config/load/defaults.ts";
import type { TomlTable } from "../../../src/config/schema/json_schema.ts";
import { defaultConfigText } from "../../../src/config/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";
import { SEED } from "../../support/seed.ts";

const ROOT = new URL("../../../", import.meta.url);

for (const [path, content] of Object.entries(generatedFiles())) {
  Deno.test(`${path} equals the output of scripts/gen_config.ts`, () => {
    assertEquals(Deno.readTextFileSync(new URL(path, ROOT)), content);
  });
}

/** Every key of the schema that no entry of the parsed file uses. */
function unusedKeys(node: JsonNode, values: unknown[], path: string): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const here = `${path}${key}`;
    const present = values.filter((value) => Object.hasOwn(value as TomlTable, key)).map((value) =>
      (value as TomlTable)[key]
    );
    if (present.length === 0) return [here];
    if (child.items?.properties) return unusedKeys(child.items, present.flat(), `${here}[].`);
    return child.properties ? unusedKeys(child, present, `${here}.`) : [];
  });
}

Deno.test("reasonix.example.toml shows every key of the schema", () => {
  const tree = parse(Deno.readTextFileSync(new URL("reasonix.example.toml", ROOT)));
  assertEquals(unusedKeys(configJsonSchema(), [tree], ""), []);
});

Deno.test("reasonix.example.toml loads as a user file without warnings", async () => {
  await using fixture = configFixture({
    "home/config.toml": Deno.readTextFileSync(new URL("reasonix.example.toml", ROOT)),
  });
  const loaded = await fixture.load();
  assertEquals(loaded.warnings, []);
  assertEquals(loaded.config.providers.map((entry) => entry.name), ["deepseek", "local", "own", "recorded"]);
});

for (const place of ["home/config.toml", "project/reasonix.toml"]) {
  Deno.test(`defaultConfigText loads without warnings as ${place} and equals the defaults`, async () => {
    await using fixture = configFixture({ [place]: await defaultConfigText() });
    await using empty = configFixture();
    const loaded = await fixture.load();
    const { config } = await empty.load();
    assertEquals([loaded.warnings, loaded.needsTrust], [[], []]);
    assertEquals(loaded.config, {
      ...config,
      default_model: "deepseek",
      permissions: { ...config.permissions, deny: ["Bash(rm -rf*)", "Bash(git push*)"] },
    });
  });
}

/** Values for a node: usually right, sometimes wrong. */
function valueFor(node: JsonNode): fc.Arbitrary<unknown> {
  const wrong = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.double({ min: -1e6, max: 1e6, noNaN: true }),
    fc.boolean(),
    fc.constant([1]),
    fc.constant({ a: 1 }),
  );
  return fc.oneof({ weight: 12, arbitrary: rightValue(node) }, { weight: 1, arbitrary: wrong });
}

function rightValue(node: JsonNode): fc.Arbitrary<unknown> {
  if (node.enum) return fc.constantFrom(...node.enum);
  switch (node.type) {
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: -1, max: 1_000_000 });
    case "number":
      return fc.double({ min: -0.5, max: 500, noNaN: true });
    case "string":
      return fc.string({ maxLength: 5 });
    case "array":
      return fc.array(valueFor(node.items ?? {}), { maxLength: 2 });
    case "object":
      return node.properties
        ? fc.record(mapValues(node.properties, valueFor), { requiredKeys: node.required ?? [] })
        : fc.dictionary(
          fc.string({ minLength: 1, maxLength: 4 }),
          valueFor(node.additionalProperties as JsonNode),
          {
            maxKeys: 2,
            noNullPrototype: true,
          },
        );
    default:
      return fc.jsonValue();
  }
}

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

Deno.test("checkConfig and a JSON Schema validator accept the same input, also with defaults", () => {
  let accepted = 0;
  const tables = configJsonSchema().properties ?? {};
  const text = JSON.stringify(configJsonSchema());
  // Unknown keys are errors to an editor, and warnings here.
  const schema = JSON.parse(
    text,
    (name, value) => name === "additionalProperties" && !value ? undefined : value,
  );
  const validator = new Validator(schema as Schema, "2020-12");
  for (const [name, node] of Object.entries(tables)) {
    fc.assert(
      fc.property(valueFor(node), (value) => {
        const tree: TomlTable = { [name]: value };
        const { valid, errors: found } = validator.validate(tree);
        const errors = checkConfig(tree).filter((finding) => finding.level === "error");
        assertEquals(errors.length === 0, valid, JSON.stringify([tree, errors, found]));
        if (!valid) return;
        accepted++;
        assertEquals(validator.validate(fillDefaults(tree)).valid, true);
      }),
      { numRuns: 60, seed: SEED },
    );
  }
  assert(accepted > 200, `only ${accepted} inputs were valid: the property says little`);
});
