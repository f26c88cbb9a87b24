import { assert, assertEquals } from "../../support/assert.ts";
import type { Event, NewEvent } from "../../../src/core/mod.ts";
import { apply, currentBranch, emptyState, openTurn, repair } from "../../../src/session/mod.ts";
import { branchEvents } from "../../../src/session/state/state.ts";
import { reduce } from "../../support/reduce.ts";
import { randomFrom } from "../../support/seed.ts";
import { begin, end, reply, result, sequence, start, turn, user } from "./support.ts";

const state = (...events: NewEvent[]) => reduce(sequence(events));
const contents = (...events: NewEvent[]) => state(...events).messages.map((m) => m.content);
const removal = (from: number, to: number, digest: string, more: { keepBelow?: number } = {}): NewEvent => ({
  type: "compaction",
  reason: "window",
  from,
  to,
  digest,
  tokensBefore: 10,
  tokensAfter: 5,
  ...more,
});
const rewind = (to: number, scope: "code" | "conversation" | "both" = "both"): NewEvent => ({
  type: "rewind",
  to,
  scope,
});

Deno.test("reduce builds messages with fixed fields in fixed order", () => {
  const images = [{ mime: "image/png", data: "AA==" }];
  const { messages } = state(
    { type: "message.user", origin: "user", content: "look", images },
    { ...reply("on it", "c1"), reasoning: "hm" } as NewEvent,
    result("c1"),
  );
  assertEquals(
    JSON.stringify(messages),
    JSON.stringify([
      { role: "user", content: "look", images },
      {
        role: "assistant",
        content: "on it",
        reasoning: "hm",
        calls: [{ id: "c1", name: "bash", arguments: "{}" }],
      },
      { role: "tool", callId: "c1", name: "bash", content: "result of c1" },
    ]),
  );
});

Deno.test("reduce returns the same messages for events read back from JSON", () => {
  const events = sequence([...turn(1), ...turn(2), removal(1, 7, "digest"), ...turn(3)]);
  const read = JSON.parse(JSON.stringify(events)) as Event[];
  assertEquals(JSON.stringify(reduce(read)), JSON.stringify(reduce(events)));
});

Deno.test("reduce skips empty replies and drops the calls of interrupted ones", () => {
  const { messages, pending } = state(
    user("go"),
    { ...reply("", "c1"), interrupted: true } as NewEvent,
    { ...reply("partly", "c2"), interrupted: true } as NewEvent,
    result("c2"),
    reply(""),
  );
  assertEquals(messages, [{ role: "user", content: "go" }, { role: "assistant", content: "partly" }]);
  assertEquals(pending.size, 0);
});

Deno.test("reduce adds the cost of a reply without a message to the session and its open turn", () => {
  const usage = { inputTokens: 9, cachedTokens: 0, outputTokens: 4, reasoningTokens: 4 };
  const read = state(begin(1), user("go"), { ...reply(""), usage } as NewEvent);
  assertEquals([read.usage, openTurn(read)?.usage], [usage, usage]);
  assertEquals([read.lastUsage, openTurn(read)?.steps, read.messages.length], [undefined, 0, 1]);
});

Deno.test("reduce ignores results without a call and duplicate results", () => {
  assertEquals(contents(reply("a", "c1"), result("c1"), result("c1"), result("c9")), ["a", "result of c1"]);
});

Deno.test("reduce ignores unknown events", () => {
  const events = sequence([user("hi")]);
  const strange = { v: 1, seq: 2, time: "t", type: "from.the.future" };
  const after = reduce([...events, JSON.parse(JSON.stringify(strange))]);
  assertEquals([after.messages.length, after.lastSeq], [1, 2]);
});

Deno.test("apply only appends to the messages array between resets", () => {
  const current = emptyState();
  const first = current.messages;
  for (const event of sequence([...turn(1), ...turn(2)])) apply(current, event);
  assert(current.messages === first);
  apply(current, { v: 1, seq: 99, time: "t", ...rewind(7) } as Event);
  assert(current.messages !== first);
});

Deno.test("reduce keeps facts: prefix, model, modes, title, todos, usage and cost by currency", () => {
  const cost = (amount: number, currency: string): NewEvent =>
    ({ ...reply("a"), cost: { amount, currency } }) as NewEvent;
  const s = state(
    { type: "session.start", session: "s1", version: "1", cwd: "/w", parent: { session: "s0", seq: 4 } },
    { type: "context.prefix", reason: "start", system: "sys", tools: [], model: "p/m" },
    { type: "mode.change", posture: "auto" },
    { type: "mode.change", mode: "plan" },
    { type: "session.rename", title: "T" },
    { type: "todo.update", items: [{ content: "x", status: "pending" }] },
    cost(0.25, "USD"),
    cost(0.5, "USD"),
    cost(2, "CNY"),
    reply("free"),
  );
  assertEquals([s.session, s.cwd, s.parent?.seq, s.model, s.posture, s.mode, s.title], [
    "s1",
    "/w",
    4,
    "p/m",
    "auto",
    "plan",
    "T",
  ]);
  assertEquals(s.prefix, { system: "sys", tools: [] });
  assertEquals([s.todos.length, s.usage.inputTokens, s.costs, s.unpriced], [
    1,
    400,
    { USD: 0.75, CNY: 2 },
    1,
  ]);
});

Deno.test("reduce records turns with prompt, answer and an open end", () => {
  const s = state(...turn(1), begin(2), user("second"), reply("thinking"));
  assertEquals(s.turns.map((t) => [t.turn, t.from, t.to, t.prompt, t.answer, t.steps]), [
    [1, 1, 7, "question 1", "answer 1", 1],
    [2, 8, undefined, "second", undefined, 1],
  ]);
  assertEquals(openTurn(s)?.turn, 2);
});

Deno.test("reduce compacts assistant and tool messages and keeps the user's turns verbatim", () => {
  assertEquals(contents(...turn(1), ...turn(2), removal(1, 14, "DIGEST"), user("next")), [
    "question 1",
    "question 2",
    "DIGEST",
    "next",
  ]);
});

Deno.test("reduce keeps earlier digests and what follows the compacted range", () => {
  const events = [...turn(1), removal(1, 7, "D1"), ...turn(2), ...turn(3), removal(1, 15, "D2")];
  assertEquals(contents(...events), [
    "question 1",
    "D1",
    "question 2",
    "D2",
    "question 3",
    "looking 3",
    "result of c3",
    "answer 3",
  ]);
});

Deno.test("reduce compacts ephemeral warnings and long pastes, but no pinned context", () => {
  const say = (origin: "context" | "reminder" | "steer", content: string): NewEvent => ({
    type: "message.user",
    origin,
    content,
  });
  const events = [
    say("context", "instructions"),
    user("x".repeat(100)),
    say("reminder", "2 todos left"),
    say("steer", "faster"),
    reply("ok"),
    removal(1, 5, "D", { keepBelow: 50 }),
  ];
  assertEquals(contents(...events), ["instructions", "faster", "D"]);
});

Deno.test("reduce never leaves a tool result without its call after a compaction", () => {
  assertEquals(contents(user("q"), reply("a", "c1", "c2"), result("c1"), result("c2"), removal(2, 3, "D")), [
    "q",
    "D",
  ]);
});

Deno.test("reduce prunes only long tool outputs in range", () => {
  const long = "y".repeat(500);
  const prune = { ...removal(1, 3, "[pruned]", { keepBelow: 100 }), action: "prune" } as NewEvent;
  assertEquals(
    contents(
      user(long),
      reply("a", "c1", "c2", "c3"),
      result("c1", long),
      result("c2"),
      result("c3", long),
      prune,
    ),
    [long, "a", "[pruned]", "result of c2", long],
  );
});

Deno.test("reduce adds the cost of a compaction request and omits it from the conversation", () => {
  const s = state(
    ...turn(1),
    { type: "message.user", origin: "summary", content: "summarise" },
    reply("DIGEST"),
    removal(1, 7, "DIGEST"),
    user("next"),
    reply("fine"),
  );
  assertEquals(s.messages.map((m) => m.content), ["question 1", "DIGEST", "next", "fine"]);
  assertEquals(s.usage.inputTokens, 400);
});

Deno.test("reduce rewinds conversation, turns and todos, but not cost, title or mode", () => {
  const s = state(
    ...turn(1),
    { type: "todo.update", items: [] },
    ...turn(2),
    { type: "session.rename", title: "T" },
    { type: "todo.update", items: [{ content: "x", status: "pending" }] },
    rewind(7, "conversation"),
    user("other way"),
  );
  assertEquals(s.messages.map((m) => m.content), [
    "question 1",
    "looking 1",
    "result of c1",
    "answer 1",
    "other way",
  ]);
  assertEquals([s.turns.length, s.todos.length, s.title, s.usage.inputTokens], [1, 0, "T", 400]);
});

Deno.test("reduce redoes by rewinding forward, across compactions and branches", () => {
  const events = [...turn(1), ...turn(2), removal(1, 14, "D")];
  const tip = events.length;
  events.push(rewind(7), user("branch"), rewind(tip));
  assertEquals(contents(...events), ["question 1", "question 2", "D"]);
  events.push(rewind(tip + 2));
  assertEquals(contents(...events), ["question 1", "looking 1", "result of c1", "answer 1", "branch"]);
});

Deno.test("reduce keeps the conversation when only code is rewound", () => {
  assertEquals(contents(...turn(1), rewind(1, "code"), user("on")).length, 5);
});

Deno.test("repair closes calls and turn so that every call has one result, once", () => {
  const events = sequence([begin(1), user("q"), reply("a", "c1", "c2"), start("c1")]);
  const s = reduce(events);
  const fixes = repair(s);
  assertEquals(fixes.map((e) => e.type), ["tool.end", "tool.end", "turn.end"]);
  for (const fix of fixes) apply(s, { v: 1, seq: s.lastSeq + 1, time: "2026-01-02T03:04:06.000Z", ...fix });
  assertEquals(s.messages.map((m) => m.role), ["user", "assistant", "tool", "tool"]);
  assert(s.messages[2]?.content.includes("may have taken effect"));
  assert(s.messages[3]?.content.includes("nothing was done"));
  assertEquals([repair(s), openTurn(s), s.turns[0]?.answer], [[], undefined, "a"]);
});

Deno.test("repair adds nothing to a finished session", () => {
  assertEquals(repair(state(...turn(1))), []);
  assertEquals(repair(state(begin(1), user("q"), end(1))), []);
});

Deno.test("the cost of an agent is added to the session, and repair ends an interrupted one by name", () => {
  const state = emptyState();
  const usage = { inputTokens: 10, cachedTokens: 0, outputTokens: 5, reasoningTokens: 0 };
  const envelope = { v: 1 as const, time: "2026-01-01T00:00:00.000Z" };
  const agent = { agent: "explore", session: "s", model: "m", prompt: "p" };
  const cost = { amount: 2, currency: "USD" };
  const calls = [{ id: "c2", name: "task", arguments: "{}" }];
  const events: Event[] = [
    { ...envelope, seq: 1, type: "turn.start", turn: 1 },
    { ...envelope, seq: 2, type: "subagent.start", id: "a", callId: "c1", ...agent },
    {
      ...envelope,
      seq: 3,
      type: "subagent.end",
      id: "a",
      agent: "explore",
      outcome: "ok",
      summary: "",
      steps: 1,
      usage,
      cost,
      durationMs: 1,
    },
    { ...envelope, seq: 4, type: "message.end", step: 1, model: "m", content: "", calls, durationMs: 0 },
    { ...envelope, seq: 5, type: "subagent.start", id: "b", callId: "c2", ...agent },
  ];
  for (const event of events) apply(state, event);
  assertEquals([state.usage.inputTokens, state.costs, [...state.agents.keys()]], [10, { USD: 2 }, ["b"]]);
  const repaired = repair(state);
  assertEquals(repaired.map(({ type }) => type), ["tool.end", "subagent.end", "turn.end"]);
  const [result] = repaired;
  assertEquals(result?.type === "tool.end" && result.content.includes("agent explore and resume b"), true);
  for (const [index, event] of repaired.entries()) apply(state, { ...envelope, seq: 6 + index, ...event });
  assertEquals([state.agents.size, repair(state)], [0, []]);
});

Deno.test("currentBranch gives the events of the state's branch, after any rewinds", () => {
  const random = randomFrom();
  const draw = (most: number) => Math.floor(random() * most);
  for (let log = 0; log < 50; log++) {
    const events: NewEvent[] = [];
    for (let step = 0; step < 20; step++) {
      const scope = (["code", "conversation", "both"] as const)[draw(3)] ?? "both";
      if (events.length > 0 && draw(3) === 0) events.push(rewind(1 + draw(events.length), scope));
      else events.push(...draw(2) === 0 ? turn(step) : [user(`message ${step}`)]);
    }
    const file = sequence(events);
    const seqs = (list: readonly Event[]) => list.map(({ seq }) => seq);
    assertEquals(seqs(currentBranch(file)), seqs(branchEvents(reduce(file))));
  }
});
