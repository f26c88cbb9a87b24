import { createAgent } from "../../../src/control/mod.ts";
import type { Event } from "../../../src/core/mod.ts";
import { call, say, scriptedProvider, tool } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";

Deno.test("createAgent keeps one conversation over several turns", async () => {
  const provider = scriptedProvider([say("one"), say("two")]);
  const agent = await createAgent({ provider });
  assertEquals((await agent.run("first")).answer, "one");
  assertEquals((await agent.run({ text: "second" })).answer, "two");
  assertEquals(provider.requests[1]?.map((message) => message.role), ["user", "assistant", "user"]);
});

Deno.test("createAgent runs own tools and shows every event", async () => {
  const events: Event[] = [];
  const echo = tool("echo", true, () => Promise.resolve({ content: "heard", summary: "" }));
  const provider = scriptedProvider([[call("1", "echo"), { type: "done", reason: "tool_calls" }], say("ok")]);
  const agent = await createAgent({ provider, tools: [echo], onEvent: (event) => void events.push(event) });
  await agent.run("go");
  assert(events.some((event) => event.type === "tool.end" && event.content === "heard"));
  assertEquals(events[0]?.type, "context.prefix");
});

Deno.test("createAgent stops a turn by the caller's signal", async () => {
  const controller = new AbortController();
  const provider = scriptedProvider([async function* () {
    yield { type: "text", text: "so far" };
    controller.abort();
    await Promise.resolve();
    yield { type: "error", error: { kind: "aborted", message: "Aborted" } };
  }]);
  const outcome = await (await createAgent({ provider })).run("go", controller.signal);
  assertEquals(outcome.reason, "interrupted");
});

Deno.test("createAgent refuses calls that its gate denies", async () => {
  let ran = false;
  const danger = tool("danger", false, () => {
    ran = true;
    return Promise.resolve({ content: "", summary: "" });
  });
  const provider = scriptedProvider([
    [call("1", "danger"), { type: "done", reason: "tool_calls" }],
    say("ok"),
  ]);
  const gate = { check: () => ({ decision: "deny", source: "rule", reason: "No" } as const) };
  await (await createAgent({ provider, tools: [danger], gate })).run("go");
  assertEquals(ran, false);
});

Deno.test("the controller refuses a second turn and passes steering into the running one", async () => {
  const gate = Promise.withResolvers<void>();
  const wait = tool("wait", true, async () => (await gate.promise, { content: "waited", summary: "" }));
  const provider = scriptedProvider([[call("1", "wait"), { type: "done", reason: "tool_calls" }], say("ok")]);
  const agent = await createAgent({ provider, tools: [wait] });
  const turn = agent.run("go");
  await assertRejects(() => agent.run("too early"), TypeError, "another one is running");
  await agent.controller.submit({ type: "steer", text: "by the way" });
  gate.resolve();
  await turn;
  const last = provider.requests[1]?.at(-1);
  assertEquals([last?.role, last?.content], ["user", "by the way"]);
});
