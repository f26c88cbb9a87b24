import { loadAnswerSchema, StopReason, SUBMIT_TOOL } from "../../../src/agent/mod.ts";
import type { Chunk, EventOf, JsonSchema, ProviderError, Usage } from "../../../src/core/mod.ts";
import {
  agentFixture,
  call,
  checkPairing,
  say,
  scriptedProvider,
  tool,
} from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../support/assert.ts";

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

const { AnswerSchema } = await loadAnswerSchema();

const problem = (schema: JsonSchema, answer: unknown) =>
  new AnswerSchema(schema).problem(typeof answer === "string" ? answer : JSON.stringify(answer));

Deno.test("AnswerSchema accepts one JSON value, with blanks or a code fence around it", async () => {
  const schema = new AnswerSchema({ type: ["object", "number"] });
  for (
    const answer of [
      '{"a":"是🦊"}',
      '\n {"a":"是🦊"}\n',
      '```json\n{"a":"是🦊"}\n```',
      '```\r\n{"a":"是🦊"}\r\n```',
    ]
  ) {
    assertEquals((await schema.read(answer))?.value, { a: "是🦊" });
    assertEquals((await schema.read(answer))?.text, '{"a":"是🦊"}');
  }
  assertEquals((await schema.read("7"))?.value, 7);
  for (const answer of ["", "Here: {}", "{} {}", "```json\n{}\n```\nDone.", "'a'"]) {
    assertEquals(await schema.read(answer), undefined);
    assertStringIncludes(await schema.problem(answer) ?? "", "not one JSON value");
  }
});

Deno.test("AnswerSchema reports each mismatch and no consequential ones", async () => {
  const schema = {
    type: "object",
    properties: {
      list: { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } },
    },
    required: ["name"],
    additionalProperties: false,
  };
  const found = await problem(schema, { list: [{ n: 1 }, { n: "2" }], other: 1 });
  const lines = found?.split("\n").slice(1) ?? [];
  assertEquals(lines.length, 3, lines.join("\n"));
  for (const part of ["the answer: ", "/list/1/n: ", "/other: is not allowed here"]) {
    assert(lines.some((line) => line.startsWith(`- ${part}`)), lines.join("\n"));
  }
  const many = await problem(
    { type: "array", items: { type: "string" } },
    Array.from({ length: 50 }, (_, n) => n),
  );
  assertStringIncludes(many ?? "", "- and 40 more");
});

Deno.test("AnswerSchema supports references and the different drafts", async () => {
  const tree = {
    $ref: "#/$defs/node",
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
  };
  assertEquals(await problem(tree, { next: { next: {} } }), undefined);
  assertStringIncludes(await problem(tree, { next: { next: 1 } }) ?? "", "/next/next");
  const pair = [{ type: "string" }, { type: "number" }];
  assertEquals(await problem({ prefixItems: pair }, ["a", 1]), undefined);
  assert(await problem({ prefixItems: pair }, [1, "a"]) !== undefined);
  const old = { $schema: "http://json-schema.org/draft-07/schema#", items: pair };
  assert(await problem(old, [1, "a"]) !== undefined);
  assertEquals(await problem(old, ["a", 1]), undefined);
});

Deno.test("AnswerSchema rejects unsatisfiable and unsupported schemas, but ignores schemas in data", async () => {
  for (
    const schema of [
      { type: "strng" },
      { type: ["string", "nul"] },
      { properties: { a: { pattern: "(" } } },
      { items: { $ref: "#/$defs/none" } },
    ]
  ) assertThrows(() => new AnswerSchema(schema));
  const data = {
    enum: [{ type: "strng" }],
    properties: { type: { type: "string" }, pattern: { const: "(" } },
  };
  assertEquals(await problem(data, { type: "strng" }), undefined);
  const named = { $ref: "#somewhere" };
  assertStringIncludes(await problem(named, {}) ?? "", "$ref");
});

Deno.test("AnswerSchema reports a slow pattern and stops when it is aborted", async () => {
  const schema = { properties: { a: { type: "string", pattern: "^(a+)+$" } } };
  const hostile = JSON.stringify({ a: `${"a".repeat(40)}!` });
  assertEquals(await problem(schema, { a: "aaa" }), undefined);
  assertStringIncludes(await problem(schema, { a: "b" }) ?? "", "/a: ");
  const start = performance.now();
  const checked = new AnswerSchema(schema, 1);
  assertStringIncludes(await checked.problem(hostile) ?? "", "could not be checked");
  assertEquals(await checked.read(hostile), undefined);
  assert(performance.now() - start < 20_000);
  const stop = new AbortController();
  const pending = new AnswerSchema(schema).problem(hostile, stop.signal);
  setTimeout(() => stop.abort(), 300);
  const aborted = performance.now();
  assertEquals(await pending, undefined);
  assert(performance.now() - aborted < 4000);
});

Deno.test("runTurn shows calls while they are written, and warms up each tool once", async () => {
  const begun: string[] = [];
  const reply: Chunk[] = [
    { type: "call_progress", id: "a", name: "look" },
    { type: "call_progress", id: "a", name: "look", arguments: '{"x":' },
    call("a", "look"),
    done,
  ];
  const fixture = await agentFixture(scriptedProvider([reply, say("ok")]), [ok], {
    onCall: (name) => void begun.push(name),
  });
  await fixture.run("go");
  const shown = fixture.events.flatMap((event) => event.type === "tool.call" ? [event] : []);
  assertEquals(shown.map(({ seq, step, callId, arguments: args }) => [seq, step, callId, args]), [
    [0, 1, "a", undefined],
    [0, 1, "a", '{"x":'],
  ]);
  assertEquals(begun, ["look"]);
});

Deno.test("tool.start names the tool and the files of a call", async () => {
  const edit = { ...tool("edit_it", false, ok.execute), reads: () => ["a", "b"], writes: () => ["a"] };
  const read = { ...ok, alias: "peek", reads: () => ["a", "b"] };
  const calls = [call("1", "edit_it"), call("2", "peek"), call("3", "other"), done];
  const fixture = await agentFixture(scriptedProvider([calls, say("ok")]), [
    edit,
    read,
    tool("other", true, ok.execute),
  ]);
  await fixture.run("go");
  const starts = fixture.events.flatMap((event) => event.type === "tool.start" ? [event] : []);
  assertEquals(starts.map(({ tool, paths }) => [tool, paths]), [
    [undefined, ["a"]],
    ["look", ["a", "b"]],
    [undefined, undefined],
  ]);
});
