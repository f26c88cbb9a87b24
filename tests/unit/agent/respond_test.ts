import type { Chunk, EventOf, ProviderError, Usage } from "../../../src/core/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { agentFixture, say, scriptedProvider } from "../../support/agent_fixture.ts";

Deno.test("runTurn preloads modules of the next step while the model is silent", async () => {
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

Deno.test("runTurn preloads nothing after a reply has begun", async () => {
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

const PRICE = { input: 1, output: 10, cachedInput: 1, currency: "USD" };
const used = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  cachedTokens: 0,
  outputTokens,
  reasoningTokens: 0,
});
const thinks: readonly Chunk[] = [
  { type: "reasoning", text: "hmm" },
  { type: "usage", usage: used(1000, 20) },
];
const fails = (kind: ProviderError["kind"]): Chunk[] => [
  ...thinks,
  { type: "error", error: { kind, message: "gone" } },
];

Deno.test("runTurn records the cost of an empty reply, and no message", async () => {
  const only: Chunk[] = [...thinks, { type: "done", reason: "stop" }];
  const provider = scriptedProvider([only, [{ type: "usage", usage: used(500, 5) }, ...say("done")]], {
    price: PRICE,
  });
  const { run, recorder, events } = await agentFixture(provider);
  const outcome = await run("go");
  const ends = events.filter((event): event is EventOf<"message.end"> => event.type === "message.end");
  assertEquals(ends.map(({ content, usage }) => [content, usage?.outputTokens]), [["", 20], ["done", 5]]);
  assertEquals(provider.requests.map((messages) => messages.length), [2, 2]);
  const { state } = recorder;
  assertEquals([outcome.usage, state.usage, state.turns[0]?.usage], Array(3).fill(used(1500, 25)));
  assertEquals([state.unpriced, state.costs.USD], [0, outcome.cost?.amount]);
  assertEquals(outcome.cost?.amount.toFixed(6), "0.001750");
  // How full the window is can be reported only from a request that a message answers.
  assertEquals(state.lastUsage, used(500, 5));
});

Deno.test("runTurn records the cost of a reply that failed or was stopped before any content", async () => {
  for (const kind of ["server", "aborted"] as const) {
    const provider = scriptedProvider([fails(kind)], { price: PRICE });
    const { run, recorder, events } = await agentFixture(provider);
    await run("go");
    assertEquals(recorder.state.usage, used(1000, 20), kind);
    assertEquals([recorder.state.lastUsage, recorder.state.messages.length], [undefined, 2]);
    const [end] = events.filter((event): event is EventOf<"message.end"> => event.type === "message.end");
    assertEquals([end?.content, end?.interrupted], ["", undefined]);
  }
  const free = scriptedProvider([[{ type: "error", error: { kind: "server", message: "no" } }]]);
  const { run, events } = await agentFixture(free);
  await run("go");
  assertEquals(events.some(({ type }) => type === "message.end"), false);
});
