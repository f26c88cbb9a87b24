import { modelReferences, nonInteractive, resolveModel } from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assertEquals, assertThrows } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const FILE = `
[[providers]]
name = "vendor"
models = ["big", "small", "shared"]
default = "small"
[[providers]]
name = "router"
models = ["vendor/big", "shared", "org/model-x"]
[[providers]]
name = "single"
model = "only"
[[providers]]
name = "empty"
[[providers]]
name = "tape"
kind = "replay"
`;

const FOUND: [reference: string, provider: string, model: string][] = [
  ["", "vendor", "small"],
  ["vendor", "vendor", "small"],
  ["router", "router", "vendor/big"],
  ["single", "single", "only"],
  ["big", "vendor", "big"],
  ["only", "single", "only"],
  ["single/only", "single", "only"],
  ["vendor/big", "vendor", "big"],
  ["router/vendor/big", "router", "vendor/big"],
  ["org/model-x", "router", "org/model-x"],
  ["router/shared", "router", "shared"],
  ["tape", "tape", "replay"],
];

for (const [reference, provider, model] of FOUND) {
  Deno.test(`resolveModel resolves "${reference}" to ${provider}/${model}`, async () => {
    await using fixture = configFixture({ "home/config.toml": FILE });
    const choice = resolveModel((await fixture.load()).config, reference);
    assertEquals([choice.entry.name, choice.model], [provider, model]);
  });
}

const REFUSED: [reference: string, message: string, remedy: string][] = [
  [
    "nope-at-all",
    'Unknown model "nope-at-all" (configured: vendor, vendor/small, vendor/big',
    "choose one of these, or add a [[providers]] entry",
  ],
  ["smal", 'Unknown model "smal"', 'did you mean "small"?'],
  ["vendr/big", 'Unknown model "vendr/big"', 'did you mean "vendor/big"?'],
  ["vendor/only", 'Unknown model "vendor/only"', ""],
  ["shared", 'Model "shared" is offered by vendor, router', 'write one of "vendor/shared", "router/shared"'],
  ["empty", 'Provider "empty" names no model', 'add model = "…" or models = ["…"] to its entry'],
];

for (const [reference, message, remedy] of REFUSED) {
  Deno.test(`resolveModel rejects "${reference}" with a suggestion`, async () => {
    await using fixture = configFixture({ "home/config.toml": FILE });
    const { config } = await fixture.load();
    const error = assertThrows(() => resolveModel(config, reference), ReasonixError, message);
    assertEquals(error.exit, "config");
    if (remedy) assertEquals(error.remedy, remedy);
  });
}

Deno.test("resolveModel uses default_model of the highest layer", async () => {
  await using fixture = configFixture({ "home/config.toml": `default_model = "single"\n${FILE}` });
  assertEquals(resolveModel((await fixture.load()).config).model, "only");
  const { config } = await fixture.load({ flags: { default_model: "vendor/big" } });
  assertEquals(resolveModel(config).model, "big");
});

Deno.test("resolveModel reports a project's provider that requires trust", async () => {
  await using fixture = configFixture({
    "project/reasonix.toml":
      'default_model = "p"\n[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "https://evil.example"\n',
  });
  const { config, needsTrust } = await fixture.load();
  const names = needsTrust.map((item) => item.name);
  for (const reference of ["", "p", "p/m"]) {
    const error = assertThrows(() => resolveModel(config, reference, names), ReasonixError, "not trusted");
    assertEquals(error.exit, "blocked");
  }
});

Deno.test("modelReferences lists the values of --model, default models first", async () => {
  await using fixture = configFixture({ "home/config.toml": FILE });
  assertEquals(modelReferences((await fixture.load()).config).slice(0, 5), [
    "vendor",
    "vendor/small",
    "vendor/big",
    "vendor/shared",
    "router",
  ]);
});

Deno.test("a non-interactive run uses agent_model, else the default model", async () => {
  await using fixture = configFixture({ "home/config.toml": `default_model = "router/shared"\n${FILE}` });
  const loaded = await fixture.load();
  assertEquals(nonInteractive(loaded), loaded);
  const other = { ...loaded, config: { ...loaded.config, agent_model: "vendor/big" } };
  assertEquals(resolveModel(nonInteractive(other).config).model, "big");
});
