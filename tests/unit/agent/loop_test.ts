import type { Chunk } from "../../../src/core/mod.ts";
import { StopReason, SUBMIT_TOOL } from "../../../src/agent/mod.ts";
import {
  agentFixture,
  call,
  checkPairing,
  say,
  scriptedProvider,
  tool,
} from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";

const ok = tool("look", true, () => Promise.resolve({ content: "seen", summary: "seen" }));
const done: Chunk = { type: "done", reason: "tool_calls" };

Deno.test("runTurn answers immediately when the model calls no tool", async () => {
  const agent = await agentFixture(scriptedProvider([say("hello")]));
  const outcome = await agent.run("hi");
  assertEquals([outcome.reason, outcome.answer, outcome.steps], ["done", "hello", 0]);
  assertEquals(agent.events.slice(-2).map(({ type }) => type), ["turn.end", "turn.state"]);
});

Deno.test("runTurn returns results in call order and continues", async () => {
  const provider = scriptedProvider([[call("a", "look"), call("b", "look"), done], say("done")]);
  const agent = await agentFixture(provider, [ok]);
  const outcome = await agent.run("go");
  assertEquals([outcome.reason, outcome.steps], ["done", 1]);
  const last = provider.requests.at(-1) ?? [];
  assertEquals(last.filter((m) => m.role === "tool").map((m) => m.callId), ["a", "b"]);
  checkPairing(agent.recorder.messages);
});

Deno.test("runTurn sends the same messages plus new ones at every step", async () => {
  const script = Array.from({ length: 20 }, (_, i) => [call(`c${i}`, "look"), done]);
  const provider = scriptedProvider([...script, say("end")]);
  const agent = await agentFixture(provider, [ok]);
  await agent.run("go");
  for (const [i, request] of provider.requests.entries()) {
    const before = provider.requests[i - 1] ?? [];
    assert(before.every((message, at) => request[at] === message), `request ${i} is not an extension`);
  }
});

Deno.test("runTurn stops at max_steps with every call answered", async () => {
  const forever = Array.from({ length: 9 }, (_, i) => [call(`c${i}`, "look"), done]);
  const agent = await agentFixture(scriptedProvider(forever), [ok], { limits: { maxSteps: 3 } });
  const outcome = await agent.run("go");
  assertEquals([outcome.reason, outcome.steps], ["limit", 3]);
  assertStringIncludes(outcome.detail ?? "", "3 steps");
  checkPairing(agent.recorder.messages);
});

Deno.test("runTurn stops before the next request when the cost limit is reached", async () => {
  const usage: Chunk = {
    type: "usage",
    usage: { inputTokens: 1_000_000, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  };
  const provider = scriptedProvider([[call("a", "look"), usage, done], say("never")], {
    price: { input: 2, cachedInput: 1, output: 3, currency: "USD" },
  });
  const agent = await agentFixture(provider, [ok], { limits: { cost: 1.5 } });
  const outcome = await agent.run("go");
  assertEquals([outcome.reason, provider.requests.length], ["limit", 1]);
  assertEquals(outcome.cost, { amount: 2, currency: "USD" });
});

Deno.test("runTurn stops before the next request when a cost limit is set and the usage is unknown", async () => {
  const provider = scriptedProvider([[call("a", "look"), done], say("never")], {
    price: { input: 2, cachedInput: 1, output: 3, currency: "USD" },
  });
  const agent = await agentFixture(provider, [ok], { limits: { cost: 1.5 } });
  const outcome = await agent.run("go");
  assertEquals([outcome.reason, outcome.limit, provider.requests.length], ["limit", "cost", 1]);
  assertStringIncludes(outcome.detail ?? "", "reported no usage");
});

Deno.test("runTurn reports an unknown cost as absent, not as zero", async () => {
  const agent = await agentFixture(scriptedProvider([say("x")]));
  assertEquals((await agent.run("go")).cost, undefined);
});

Deno.test("runTurn retries an empty answer once, then fails", async () => {
  const empty: Chunk[] = [{ type: "done", reason: "stop" }];
  const once = await agentFixture(scriptedProvider([empty, say("second")]));
  assertEquals((await once.run("go")).answer, "second");
  const provider = scriptedProvider([empty, empty, say("third")]);
  const twice = await agentFixture(provider);
  assertEquals([(await twice.run("go")).reason, provider.requests.length], ["provider", 2]);
});

Deno.test("runTurn ends with reason provider and keeps the shown text when the stream fails", async () => {
  const failing: Chunk[] = [{ type: "text", text: "half" }, {
    type: "error",
    error: { kind: "connection", message: "Connection lost" },
  }];
  const agent = await agentFixture(scriptedProvider([failing, say("fine")]));
  const outcome = await agent.run("go");
  assertEquals([outcome.reason, outcome.detail], ["provider", "Connection lost"]);
  assertEquals(agent.recorder.messages.at(-1)?.content, "half");
  assertEquals((await agent.run("again")).answer, "fine");
});

Deno.test("runTurn executes no calls of a failed reply", async () => {
  let ran = 0;
  const write = tool("write", false, () => Promise.resolve({ content: String(++ran), summary: "" }));
  const reply: Chunk[] = [call("a", "write"), {
    type: "error",
    error: { kind: "connection", message: "Cut" },
  }];
  const agent = await agentFixture(scriptedProvider([reply]), [write]);
  await agent.run("go");
  assertEquals(ran, 0);
  checkPairing(agent.recorder.messages);
});

Deno.test("runTurn discards text streamed before a retry", async () => {
  const retry: Chunk = {
    type: "retry",
    attempt: 2,
    maxAttempts: 3,
    waitMs: 0,
    reason: "cut",
    discarded: true,
  };
  const reply: Chunk[] = [{ type: "text", text: "ha" }, retry, { type: "text", text: "whole" }, done];
  const agent = await agentFixture(scriptedProvider([reply]));
  assertEquals((await agent.run("go")).answer, "whole");
});

Deno.test("runTurn ends as interrupted when the signal aborts during streaming", async () => {
  const controller = new AbortController();
  const provider = scriptedProvider([async function* (signal) {
    yield { type: "text", text: "par" };
    controller.abort(new StopReason("terminated", "Terminated"));
    await Promise.resolve();
    yield { type: "error", error: { kind: "aborted", message: String(signal.aborted) } };
  }]);
  const agent = await agentFixture(provider);
  const outcome = await agent.run("go", controller.signal);
  assertEquals([outcome.reason, agent.recorder.messages.at(-1)?.content], ["terminated", "par"]);
});

Deno.test("runTurn ends at the time limit even while a tool runs", async () => {
  const slow = tool(
    "slow",
    false,
    (_args, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true })
      ),
  );
  const agent = await agentFixture(scriptedProvider([[call("a", "slow"), done]]), [slow], {
    limits: { timeMs: 5 },
  });
  const outcome = await agent.run("go");
  assertEquals(outcome.reason, "limit");
  checkPairing(agent.recorder.messages);
});

Deno.test("runTurn continues until submit is called when submit is enabled", async () => {
  const provider = scriptedProvider([say("thinking aloud"), [call("a", "submit", { answer: "42" }), done]]);
  const agent = await agentFixture(provider, [SUBMIT_TOOL], { submit: true });
  const outcome = await agent.run("go");
  assertEquals([outcome.reason, outcome.answer], ["done", "42"]);
  assertEquals(provider.requests[1]?.at(-1)?.role, "user");
  checkPairing(agent.recorder.messages);
});

Deno.test("runTurn prunes and retries when the context is too long", async () => {
  const tooLong: Chunk[] = [{ type: "error", error: { kind: "context_length", message: "Too long" } }];
  let pruned = 0;
  const agent = await agentFixture(scriptedProvider([tooLong, say("fits")]), [], {
    onContextOverflow: () => Promise.resolve(++pruned === 1),
  });
  assertEquals([(await agent.run("go")).answer, pruned], ["fits", 1]);
});

Deno.test("runTurn reports why a truncated or filtered answer is not a success", async () => {
  for (const [reason, expected] of [["length", "failed"], ["content_filter", "provider"]] as const) {
    const agent = await agentFixture(
      scriptedProvider([[{ type: "text", text: "x" }, { type: "done", reason }]]),
    );
    assertEquals((await agent.run("go")).reason, expected);
  }
});
