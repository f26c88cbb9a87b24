import type { Chunk, NewEvent } from "../../../src/core/mod.ts";
import { createGate } from "../../../src/permission/mod.ts";
import {
  agentFixture,
  call,
  checkPairing,
  say,
  scriptedProvider,
  tool,
} from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";

const done: Chunk = { type: "done", reason: "tool_calls" };

function results(messages: readonly { role: string; content: string }[]): string[] {
  return messages.filter((m) => m.role === "tool").map((m) => m.content);
}

Deno.test("dispatch runs reading calls of a message concurrently and writing calls one at a time", async () => {
  const running = new Set<string>();
  let together = 0;
  const overlaps: string[] = [];
  const slow = (name: string, readOnly: boolean) =>
    tool(name, readOnly, async () => {
      if (!readOnly && running.size > 0) overlaps.push(name);
      running.add(name);
      together = Math.max(together, running.size);
      await new Promise((resolve) => setTimeout(resolve, 2));
      running.delete(name);
      return { content: name, summary: name };
    });
  const names = ["r1", "r2", "w1", "w2", "r3"];
  const tools = names.map((name) => slow(name, name.startsWith("r")));
  const agent = await agentFixture(
    scriptedProvider([[...names.map((n) => call(n, n)), done], say("ok")]),
    tools,
  );
  await agent.run("go");
  assertEquals(overlaps, []);
  assertEquals(together, 2);
  assertEquals(results(agent.recorder.messages), names);
});

Deno.test("dispatch runs adjacent subagent tasks concurrently, separate from readers and writers", async () => {
  const running = new Set<string>();
  const groups: string[] = [];
  const slow = (name: string) => ({
    ...tool(name, name.startsWith("r"), async () => {
      running.add(name);
      await new Promise((resolve) => setTimeout(resolve, 2));
      groups.push([...running].sort().join("+"));
      await new Promise((resolve) => setTimeout(resolve, 2));
      running.delete(name);
      return { content: name, summary: name };
    }),
    ...(name.startsWith("t") ? { delegates: true as const } : {}),
  });
  const names = ["t1", "t2", "r1", "t3", "w1", "t4"];
  const agent = await agentFixture(
    scriptedProvider([[...names.map((n) => call(n, n)), done], say("ok")]),
    names.map(slow),
  );
  await agent.run("go");
  assertEquals(groups, ["t1+t2", "t1+t2", "r1", "t3", "w1", "t4"]);
  assertEquals(results(agent.recorder.messages), names);
});

Deno.test("dispatch answers unknown tools, bad arguments and exceptions in one line each", async () => {
  const strict = {
    ...tool("strict", true, () => Promise.reject(new Error("Disk on fire"))),
    schema: {
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
      additionalProperties: false,
    },
  };
  const calls = [
    call("a", "strikt"),
    call("b", "strict", {}),
    call("c", "strict", "{not json"),
    call("d", "strict", { n: 1 }),
  ];
  const agent = await agentFixture(scriptedProvider([[...calls, done], say("ok")]), [strict]);
  await agent.run("go");
  const lines = results(agent.recorder.messages);
  assertStringIncludes(lines[0] ?? "", 'Unknown tool "strikt"');
  assertStringIncludes(lines[1] ?? "", "n is required");
  assertStringIncludes(lines[2] ?? "", "not valid JSON");
  assertStringIncludes(lines[3] ?? "", "Disk on fire");
  assert(lines.every((line) => line.startsWith("error: ") && !line.includes("\n")));
  checkPairing(agent.recorder.messages);
});

Deno.test("dispatch returns a blocked result for a refused call and continues", async () => {
  let ran = false;
  const write = tool("write", false, () => {
    ran = true;
    return Promise.resolve({ content: "", summary: "" });
  });
  const agent = await agentFixture(scriptedProvider([[call("a", "write"), done], say("ok")]), [write], {
    gate: {
      check: () => ({ decision: "deny", source: "rule", rule: "Edit", reason: "Matched deny rule Edit" }),
    },
  });
  assertEquals((await agent.run("go")).reason, "done");
  assertEquals([ran, results(agent.recorder.messages)], [false, ["blocked: Matched deny rule Edit"]]);
});

Deno.test("dispatch ends the run when a refusal requires it, with a result for every call", async () => {
  const write = tool("write", false, () => Promise.resolve({ content: "x", summary: "" }));
  const agent = await agentFixture(scriptedProvider([[call("a", "write"), call("b", "write"), done]]), [
    write,
  ], {
    gate: { check: () => ({ decision: "deny", source: "headless", reason: "Nobody to ask", stop: true }) },
  });
  const outcome = await agent.run("go");
  assertEquals([outcome.reason, outcome.detail], ["blocked", "Nobody to ask"]);
  checkPairing(agent.recorder.messages);
});

Deno.test("dispatch reports live output as tool.delta events", async () => {
  const chatty = tool("chatty", false, (_args, context) => {
    context.progress("one");
    context.progress("two");
    return Promise.resolve({ content: "all", summary: "" });
  });
  const agent = await agentFixture(scriptedProvider([[call("a", "chatty"), done], say("ok")]), [chatty]);
  await agent.run("go");
  const deltas = agent.events.flatMap((event) => event.type === "tool.delta" ? [event.text] : []);
  assertEquals(deltas, ["one", "two"]);
  assert(!agent.store.events.some((event) => event.type === "tool.delta"));
});

Deno.test("dispatch executes only the first call of a message in single-call mode", async () => {
  let ran = 0;
  const look = tool("look", true, () => Promise.resolve({ content: `run ${++ran}`, summary: "" }));
  const agent = await agentFixture(
    scriptedProvider([[call("a", "look"), call("b", "look"), done], say("ok")]),
    [look],
    {
      maxCallsPerStep: 1,
    },
  );
  await agent.run("go");
  assertEquals(ran, 1);
  assertStringIncludes(results(agent.recorder.messages)[1] ?? "", "Not executed");
});

Deno.test("dispatch warns about a repeated failing call and then stops the turn", async () => {
  const fails = tool(
    "fails",
    true,
    () => Promise.resolve({ content: "error: no", isError: true, summary: "no" }),
  );
  const script = Array.from({ length: 20 }, (_, i) => [call(`c${i}`, "fails"), done]);
  const provider = scriptedProvider(script);
  const agent = await agentFixture(provider, [fails]);
  const outcome = await agent.run("go");
  assertEquals(outcome.reason, "failed");
  assertStringIncludes(outcome.detail ?? "", "fails");
  assertEquals(provider.requests.length, 6);
  assertStringIncludes(results(agent.recorder.messages)[2] ?? "", "failed 3 times");
});

Deno.test("dispatch resets the failure count after a success", async () => {
  let n = 0;
  const flaky = tool("flaky", true, () => {
    const isError = ++n % 2 === 0;
    return Promise.resolve({ content: "x", summary: "x", isError });
  });
  const script = Array.from({ length: 14 }, (_, i) => [call(`c${i}`, "flaky"), done]);
  const agent = await agentFixture(scriptedProvider([...script, say("ok")]), [flaky]);
  assertEquals((await agent.run("go")).reason, "done");
});

Deno.test("dispatch adds results for calls that an abort left open", async () => {
  const controller = new AbortController();
  const stop = tool("stop", false, () => {
    controller.abort();
    return Promise.resolve({ content: "stopped", summary: "" });
  });
  const agent = await agentFixture(scriptedProvider([[call("a", "stop"), call("b", "stop"), done]]), [stop]);
  const outcome = await agent.run("go", controller.signal);
  assertEquals(outcome.reason, "interrupted");
  checkPairing(agent.recorder.messages);
  assertEquals(results(agent.recorder.messages)[0], "stopped");
});

Deno.test("the duration of a call and of its turn excludes the time of prompts", async () => {
  let clock = 0;
  const record = (event: NewEvent) => agent.recorder.record(event);
  const question = { type: "question", text: "which?" } as const;
  const asks = async (callId: string, ms: number) => {
    await record({ type: "approval.request", callId, tool: "write", subject: "a", reason: "r" });
    clock += ms;
    await record({ type: "approval.decision", callId, decision: "allow", source: "user" });
  };
  const write = tool("write", false, async (_, { callId }) => {
    clock += 200;
    await asks(callId, 40_000);
    await record({ ...question, state: "asked" });
    await record({ ...question, state: "asked", callId });
    clock += 7000;
    await record({ ...question, state: "answered", callId });
    await record({ ...question, state: "answered" });
    await asks("another", 5000);
    clock += 30;
    return { content: "done", summary: "done" };
  });
  const agent = await agentFixture(scriptedProvider([[call("a", "write"), done], say("ok")]), [write], {
    now: () => clock,
    gate: {
      check: async ({ call: { id } }) => {
        await asks(id, 9000);
        return { decision: "allow", source: "user" };
      },
    },
  });
  const outcome = await agent.run("go");
  const end = agent.events.find((event) => event.type === "tool.end");
  // The question about another call is no wait of this one, but one of the turn.
  assertEquals([end?.durationMs, outcome.durationMs], [5230, 230]);
});

Deno.test("a call whose prompt is declined or interrupted is denied and not executed", async () => {
  for (const stops of [false, true]) {
    const controller = new AbortController();
    let ran = false;
    const write = tool("write", false, () => {
      ran = true;
      return Promise.resolve({ content: "", summary: "" });
    });
    const events: NewEvent[] = [];
    const gate = createGate({
      policy: { mode: "ask", allow: [], ask: [], deny: [] },
      approvalMode: "ask",
      cwd: Deno.cwd(),
      home: "/home/u",
      roots: [Deno.cwd()],
      env: () => ({}),
      record: (event) => void events.push(event),
      approver: {
        ask: (_, signal) => {
          if (!stops) return Promise.resolve({ allow: false, scope: "once", note: "not now" });
          controller.abort();
          return Promise.reject(signal.reason);
        },
      },
    });
    const agent = await agentFixture(scriptedProvider([[call("a", "write"), done], say("ok")]), [write], {
      gate,
    });
    const outcome = await agent.run("go", controller.signal);
    const end = agent.events.find((event) => event.type === "tool.end");
    assertEquals([outcome.reason, end?.outcome, end?.durationMs], [
      stops ? "interrupted" : "done",
      "blocked",
      0,
    ]);
    assertStringIncludes(end?.content ?? "", "denied, not executed: the user");
    assertEquals(results(agent.recorder.messages), [end?.content]);
    assertEquals([ran, events.at(-1)?.type], [false, "approval.decision"]);
  }
});
