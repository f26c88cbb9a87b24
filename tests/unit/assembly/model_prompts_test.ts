import { supplementalPrompts, turnPrompts } from "../../../src/assembly/context/model_prompts.ts";
import { assertEquals } from "../../support/assert.ts";
import { configFixture } from "../config/fixture.ts";

const FILE = `
[agent]
supplemental_prompt = "all"
[[providers]]
name = "a"
models = ["x", "y"]
supplemental_prompt = " all\\n"
turn_prompt = "late"
model_settings.x = { supplemental_prompt = "own", turn_prompt = "" }
[[providers]]
name = "b"
models = ["x"]
`;

Deno.test("prompts of agent, entry and model follow each other, repeated and empty ones left out", async () => {
  await using fixture = configFixture({ "home/config.toml": FILE });
  const { config } = await fixture.load();
  const texts = (provider: string, id: string) => supplementalPrompts(config, { provider, id });
  assertEquals(texts("a", "x"), [
    { from: "agent", text: "all" },
    { from: 'providers.a.model_settings."x"', text: "own" },
  ]);
  assertEquals(texts("a", "y"), [{ from: "agent", text: "all" }]);
  assertEquals(texts("b", "constructor"), [{ from: "agent", text: "all" }]);
  assertEquals(turnPrompts(config, { provider: "a", id: "x" }), [{ from: "providers.a", text: "late" }]);
  assertEquals(turnPrompts(config, { provider: "unknown", id: "x" }), []);
});
