import { supplementalPrompts, turnPrompts } from "../../../src/run/context/prompt_inputs.ts";
import { createAgent } from "../../../src/features/mod.ts";
import { say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assertEquals, assertMatch } from "../../support/assert.ts";
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

Deno.test("prompts of agent, entry and model are joined in order, without duplicates and empty ones", async () => {
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

Deno.test("a turn prompt is sent under the name of its content and is not kept by a compaction", async () => {
  const provider = scriptedProvider([say("one"), say("two")]);
  await using agent = await createAgent({
    provider,
    config: { agent: { turn_prompt: "{{turn}} {{model}} {{date}} {{time}} {{turns}}" } },
  });
  await agent.run("hi");
  await agent.run({ text: "again" });
  const { messages, sources } = agent.controller.recorder.state;
  const at = messages.flatMap(({ content }, index) => /^[12] scripted/.test(content) ? [index] : []);
  assertEquals(at.map((index) => sources[index]?.kind), ["ephemeral", "ephemeral"]);
  assertEquals(at.map((index) => messages[index - 1]?.content), ["hi", "again"]);
  assertMatch(
    messages[at[1] ?? 0]?.content ?? "",
    /^2 scripted\/scripted-1 \d{4}-\d\d-\d\d \d\d:\d\d \{\{turns\}\}$/,
  );
});
