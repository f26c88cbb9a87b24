import { fillDefaults } from "../../../../src/config/load/defaults.ts";
import { agentModel } from "../../../../src/features/agents/agent_run.ts";
import { assertEquals } from "../../../support/assert.ts";

function config(agent: Record<string, unknown>) {
  const entry = {
    name: "mock",
    kind: "openai",
    base_url: "http://127.0.0.1:1/v1",
    models: ["a", "b", "sonnet"],
  };
  return { config: fillDefaults({ providers: [entry], agent }) };
}

for (
  const [agent, model, expected] of [
    [{}, undefined, {}],
    [{ subagent_model: "b" }, undefined, { reference: "b" }],
    [{ subagent_model: "b" }, "a", { reference: "a" }],
    [{ subagent_model: "b", subagent_models: { x: "mock/a" } }, "b", { reference: "mock/a" }],
    [{ subagent_models: { other: "a" } }, undefined, {}],
    [{ subagent_model: "b" }, "inherit", { reference: "b" }],
    [{}, "sonnet", { reference: "sonnet" }],
    [{}, "opus", {}],
  ] as const
) {
  Deno.test(`an agent that requests ${model} with ${JSON.stringify(agent)} gets ${JSON.stringify(expected)}`, () => {
    assertEquals(agentModel(config(agent), { name: "x", ...(model ? { model } : {}) }), expected);
  });
}

Deno.test("a model that is not configured falls back and reports it", () => {
  const { reference, fellBack } = agentModel(config({ subagent_model: "b" }), { name: "x", model: "gone" });
  assertEquals(reference, "b");
  assertEquals(fellBack?.startsWith("agent x: ") && fellBack.includes("gone"), true);
});
