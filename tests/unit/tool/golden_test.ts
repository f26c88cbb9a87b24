import { assert, assertEquals } from "../../support/assert.ts";
import { BUILTINS, ToolRegistry } from "../../../src/tool/mod.ts";

const FOLDER = new URL("../../golden/tools/", import.meta.url);

for (const tool of BUILTINS) {
  Deno.test(`${tool.name} is described to the model as recorded in tests/golden/tools`, async () => {
    const now = `${
      JSON.stringify(
        { name: tool.name, description: tool.description, parameters: tool.schema },
        null,
        2,
      )
    }\n`;
    const file = new URL(`${tool.name}.json`, FOLDER);
    if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(file, now);
    assertEquals(
      now,
      await Deno.readTextFile(file),
      "a changed description is a decision: UPDATE_GOLDEN=1 records it",
    );
  });
}

Deno.test("tests/golden/tools has only files of existing tools", () => {
  const recorded = [...Deno.readDirSync(FOLDER)].map((entry) => entry.name.replace(/\.json$/, "")).sort();
  assertEquals(recorded, BUILTINS.map((tool) => tool.name).sort());
});

Deno.test("ToolRegistry describes the default tools in at most 9.5 KB", () => {
  assert(JSON.stringify(new ToolRegistry(BUILTINS).schemas()).length <= 9.5 * 1024);
});
