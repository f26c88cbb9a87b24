import { assertEquals } from "../../support/assert.ts";
import { agentFixture, say, scriptedProvider } from "../../support/agent_fixture.ts";

Deno.test("runTurn has the next step's parts loaded while the model is silent", async () => {
  const warmed = Promise.withResolvers<void>();
  const provider = scriptedProvider([async function* () {
    await warmed.promise;
    yield* say("done");
  }]);
  const agent = await agentFixture(provider, [], { warm: () => warmed.resolve() });
  // The timer that is waited for does not keep a process alive.
  const alive = setInterval(() => {}, 1000);
  assertEquals((await agent.run("go")).answer, "done");
  clearInterval(alive);
});

Deno.test("runTurn loads nothing beside a reply that has begun", async () => {
  let warmed = 0;
  const provider = scriptedProvider([async function* () {
    yield { type: "text", text: "do" };
    // Set later than the timer it has to outlast, so that it ends after it.
    await new Promise((resolve) => setTimeout(resolve, 60));
    yield* say("ne");
  }]);
  const agent = await agentFixture(provider, [], { warm: () => void warmed++ });
  assertEquals([(await agent.run("go")).answer, warmed], ["done", 0]);
});
