import { parse } from "smol-toml";
import {
  modelReferences,
  nonInteractive,
  PRESETS,
  presetText,
  resolveModel,
  VENDORS,
} from "../../../src/config/mod.ts";
import { vendorEntry } from "../../../src/config/vendors.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { BUILTINS } from "../../../src/tool/mod.ts";
import { canonicalJson } from "../../../src/util/json.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../../support/assert.ts";
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

const DOCS = new URL("../../../docs/", import.meta.url);
const PAGES = [...Deno.readDirSync(new URL("providers", DOCS))].map(({ name }) => `providers/${name}`).sort();

function blocks(page: string): string[] {
  return [...Deno.readTextFileSync(new URL(page, DOCS)).matchAll(/^```toml\n(.*?)^```/gms)].map((
    [, text = ""],
  ) => text);
}

for (const page of ["providers.md", "config.md", ...PAGES]) {
  Deno.test(`each configuration of docs/${page} loads without a diagnostic`, async () => {
    const texts = blocks(page);
    if (page !== "config.md") assert(texts.length > 0, "a page without an entry helps no reader");
    for (const text of texts) {
      await using fixture = configFixture({ "home/config.toml": text });
      const { config, warnings } = await fixture.load();
      assertEquals(warnings, [], text);
      if (page === "config.md") continue;
      for (const { base_url, server, models, model } of config.providers) {
        assert(
          (server !== undefined || URL.canParse(base_url)) && (model !== undefined || models !== undefined),
          text,
        );
      }
    }
  });
}

Deno.test("docs/providers.md links each page, and each vendor page has the entry that setup writes", () => {
  const index = Deno.readTextFileSync(new URL("providers.md", DOCS));
  for (const page of PAGES) assertStringIncludes(index, `(${page})`);
  for (const vendor of VENDORS) {
    const [first = ""] = blocks(`providers/${vendor.name}.md`);
    assertEquals(canonicalJson(parse(first).providers), canonicalJson([vendorEntry(vendor)]));
  }
});

Deno.test("each provider page explains the key, the window and how to check", () => {
  for (const page of PAGES) {
    const text = Deno.readTextFileSync(new URL(page, DOCS));
    for (const part of ["**Key.**", "**Window.**", "**Check.**", "doctor --online", "(../providers.md)"]) {
      assertStringIncludes(text, part, page);
    }
  }
});

for (const { name } of PRESETS) {
  Deno.test(`preset ${name} loads without warnings, changes something and names real tools`, async () => {
    await using fixture = configFixture();
    const plain = await fixture.load();
    const { config, warnings } = await fixture.load({ preset: name });
    assertEquals(warnings, []);
    assert(JSON.stringify(config) !== JSON.stringify(plain.config));
    const known = new Set(BUILTINS.map((tool) => tool.name));
    const named = [...config.tools.enabled, ...Object.values(config.tools.alias).map((alias) => alias.tool)];
    // The tools of a plugin are known once an entry starts it.
    const unknown = named.filter((tool) => !known.has(tool) && !tool.startsWith("mcp__web__"));
    assertEquals(unknown, []);
  });
}

Deno.test("every file in presets/ is listed", () => {
  const directory = new URL("../../../src/config/presets/", import.meta.url);
  const files = [...Deno.readDirSync(directory)].map((entry) => entry.name).sort();
  assertEquals(files, PRESETS.map((preset) => `${preset.name}.toml`).sort());
});

Deno.test("presetText suggests the nearest preset for an unknown name", async () => {
  const error = await assertRejects(() => presetText("offlin"), ReasonixError, 'Unknown preset "offlin"');
  assertEquals([error.exit, error.remedy], ["usage", 'did you mean "offline"?']);
  assertEquals(
    (await assertRejects(() => presetText("x"), ReasonixError)).remedy,
    "choose one of ra, offline, memex",
  );
});
