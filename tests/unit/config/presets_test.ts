import { PRESETS, presetText } from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { BUILTINS } from "../../../src/tool/mod.ts";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

for (const { name } of PRESETS) {
  Deno.test(`preset ${name} loads without warnings, changes something and names real tools`, async () => {
    await using fixture = configFixture();
    const plain = await fixture.load();
    const { config, warnings } = await fixture.load({ preset: name });
    assertEquals(warnings, []);
    assert(JSON.stringify(config) !== JSON.stringify(plain.config));
    const known = new Set(BUILTINS.map((tool) => tool.name));
    const named = [...config.tools.enabled, ...Object.values(config.tools.alias).map((alias) => alias.tool)];
    assertEquals(named.filter((tool) => !known.has(tool)), []);
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
