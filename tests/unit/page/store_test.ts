import type { Row } from "../../../src/frontend/session/rows.ts";
import { SessionModel, type SessionView } from "../../../page/store.ts";
import { EVENT_KINDS } from "../../../src/core/event_schema.ts";
import { type Event, LIVE_ONLY, type NewEvent } from "../../../src/core/mod.ts";
import { LiveState } from "../../../src/frontend/session/live_state.ts";
import { loadTexts, type Locale } from "../../../src/i18n/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { Random, SEED, soakSize } from "../../support/seed.ts";

const USAGE = { inputTokens: 1, cachedTokens: 0, outputTokens: 1, reasoningTokens: 7 };
const TEXTS = await textsIn("en");

async function textsIn(locale: Locale) {
  const [run, turns] = await Promise.all([loadTexts("run", locale), loadTexts("turn_view", locale)]);
  return { ...run, ...turns };
}

/** Events as a session reports them: durable ones are numbered. */
function numbered(events: readonly NewEvent[]): Event[] {
  let seq = 0;
  return events.map((event) => ({
    v: 1,
    seq: LIVE_ONLY.has(event.type) ? 0 : ++seq,
    time: `2026-01-01T00:00:0${events.indexOf(event) % 10}Z`,
    ...event,
  }));
}

const durable = (events: readonly Event[]) => events.filter(({ seq }) => seq > 0);

/** A server with a log: windows of it are loaded, `limit` events at a time. */
function modelOf(events: () => readonly Event[], { limit = 1000, texts = TEXTS } = {}): SessionModel {
  const load = (before = Infinity) => {
    const known = durable(events()).filter(({ seq }) => seq < before);
    // Through JSON, as on the wire.
    const window: Event[] = JSON.parse(JSON.stringify(known.slice(-limit)));
    return Promise.resolve({ events: window, first: window.length === known.length });
  };
  return new SessionModel({ texts: () => texts, load });
}

async function loaded(events: readonly Event[], options: { limit?: number; texts?: typeof TEXTS } = {}) {
  const model = modelOf(() => events, options);
  while (!model.view.value.first) await model.older();
  return model;
}

const bash = (id: string) => ({ id, name: "bash", arguments: `{"command":"ls"}` });
const start = (id: string) =>
  ({ type: "tool.start", call: bash(id), readOnly: false, summary: "ls", title: `$ ls ${id}` }) as const;
const end = (id: string, more: object = {}) =>
  ({
    type: "tool.end",
    callId: id,
    name: "bash",
    outcome: "ok",
    content: "a\nb",
    summary: "2 lines",
    durationMs: 5,
    ...more,
  }) as const;
const turnEnd = (turn: number, more: object = {}) =>
  ({
    type: "turn.end",
    turn,
    reason: "done",
    answer: "x",
    steps: 1,
    usage: USAGE,
    durationMs: 1500,
    ...more,
  }) as const;
const user = (content: string) => ({ type: "message.user", content, origin: "user" }) as const;
const agent = { id: "g", agent: "explore", callId: "a" } as const;

/** One event of each kind, and the row that a session of it alone has. */
const KINDS: { [K in keyof typeof EVENT_KINDS]: [NewEvent & { type: K }, string] } = {
  "session.start": [{ type: "session.start", session: "s", version: "1", cwd: "/w" }, ""],
  "context.prefix": [
    { type: "context.prefix", reason: "tools", detail: "+1", system: "long", tools: [], model: "m" },
    "note info notice The cached prefix was rebuilt: tools +1",
  ],
  "turn.start": [{ type: "turn.start", turn: 1 }, ""],
  "message.user": [
    { ...user(`<file path="a.ts">\nx\n</file>\n\nHello`), images: [{ mime: "image/png", data: "AA==" }] },
    "user Hello + a.ts, 1 images",
  ],
  "turn.state": [{ type: "turn.state", from: "idle", to: "preparing" }, ""],
  "image.described": [
    { type: "image.described", image: "0", provider: "p", model: "m", text: "a cat", durationMs: 1 },
    "",
  ],
  "message.start": [{ type: "message.start", step: 1, model: "m" }, ""],
  "message.delta": [{ type: "message.delta", channel: "text", text: "x" }, ""],
  "message.retry": [
    {
      type: "message.retry",
      attempt: 2,
      maxAttempts: 3,
      waitMs: 1000,
      reason: "overloaded",
      discarded: false,
    },
    "note warning retry attempt 2 of 3 in 1.0 s: overloaded",
  ],
  "message.end": [
    {
      type: "message.end",
      step: 1,
      model: "m",
      content: "**Hi**",
      reasoning: "hm",
      parts: [{ kind: "k", provider: "p", model: "m", data: 1 }],
      usage: USAGE,
      durationMs: 1,
    },
    "reply **Hi** (hm, 7)",
  ],
  "tool.call": [{ type: "tool.call", step: 1, callId: "a", name: "bash" }, ""],
  "tool.start": [start("a"), "call $ ls a: runs"],
  "tool.delta": [{ type: "tool.delta", callId: "a", text: "x" }, ""],
  "tool.end": [end("a", { outcome: "blocked" }), "call bash: blocked a\nb"],
  "approval.request": [
    { type: "approval.request", callId: "a", tool: "bash", subject: "ls", reason: "r" },
    "",
  ],
  "approval.decision": [{ type: "approval.decision", callId: "a", decision: "deny", source: "user" }, ""],
  "question": [{ type: "question", state: "asked", text: "?" }, ""],
  "question.state": [{ type: "question.state", id: "q", kind: "confirm", state: "opened", question: {} }, ""],
  "todo.update": [{ type: "todo.update", items: [{ content: "do", status: "pending" }] }, "todo do pending"],
  "mode.change": [{ type: "mode.change", mode: "auto" }, ""],
  "plan.change": [
    { type: "plan.change", state: "proposed", plan: "1. a" },
    "note info mark a plan was proposed [1. a open]",
  ],
  "goal.change": [
    {
      type: "goal.change",
      goal: "g",
      state: "active",
      objective: "all tests pass",
      turns: 0,
      leg: { turns: 0, durationMs: 0, cost: 0 },
      idle: 0,
    },
    "note info mark goal: all tests pass",
  ],
  "subagent.start": [
    { type: "subagent.start", id: "g", agent: "explore", session: "t", model: "m", prompt: "look" },
    "note info notice agent explore begins: look",
  ],
  "subagent.progress": [{ type: "subagent.progress", ...agent, text: "reads", calls: 1 }, ""],
  "subagent.end": [
    {
      type: "subagent.end",
      id: "g",
      agent: "explore",
      outcome: "ok",
      summary: "",
      steps: 2,
      durationMs: 100,
    },
    "note info notice agent explore is done · 2 steps · 0.1 s",
  ],
  "verification.start": [{ type: "verification.start", round: 1, command: "make" }, ""],
  "verification": [
    {
      type: "verification",
      round: 1,
      command: "make",
      outcome: "failed",
      exitCode: 2,
      text: "no",
      durationMs: 1,
    },
    "call testing the changes: make: error no",
  ],
  "hook": [
    { type: "hook", event: "PreToolUse", command: "lint", outcome: "blocked", durationMs: 1, text: "no" },
    "note warning hook hook PreToolUse (blocked): lint [no]",
  ],
  "job.change": [
    { type: "job.change", job: "1", command: "serve", status: "started" },
    "note info job background job started: serve",
  ],
  "mcp.server": [
    { type: "mcp.server", server: "git", state: "failed", detail: "no such program" },
    "note warning server MCP server git cannot be used: no such program",
  ],
  "lsp.server": [
    { type: "lsp.server", server: "go", state: "stopped", detail: "it ended with exit code 3" },
    "",
  ],
  "checkpoint": [{ type: "checkpoint", turn: 1, files: 3, id: "c" }, "note info mark checkpoint of 3 files"],
  "compaction": [
    {
      type: "compaction",
      reason: "size",
      from: 1,
      to: 1,
      digest: "<compaction-summary>\nAll\n</compaction-summary>",
      tokensBefore: 9000,
      tokensAfter: 100,
    },
    "note info mark older messages were summarised: 9,000 → 100 tokens [All]",
  ],
  "rewind": [{ type: "rewind", to: 0, scope: "code" }, "note info mark went back: files"],
  "session.rename": [{ type: "session.rename", title: "t" }, ""],
  "notice": [{ type: "notice", level: "warning", code: "c", text: "slow" }, "note warning notice slow"],
  "error": [{ type: "error", code: "c", text: "broken" }, "note error notice broken"],
  "turn.end": [turnEnd(1), "turn done · 1 step · 1 s"],
};

function shown(row: Row): string {
  switch (row.kind) {
    case "user":
      return `user ${row.text} + ${[...row.attached, `${row.images.length} images`].join(", ")}`;
    case "reply":
      return `reply ${row.text} (${row.thinking}, ${row.tokens})${row.interrupted ? " interrupted" : ""}`;
    case "call":
      return `call ${row.title}: ${row.end ? `${row.end.outcome} ${row.end.content}` : "runs"}${
        row.notes.map((note) => ` [${note}]`).join("")
      }`;
    case "note":
      return `note ${row.level} ${row.source} ${row.text}${
        row.body === undefined ? "" : ` [${row.body}${row.open ? " open" : ""}]`
      }`;
    case "todo":
      return `todo ${row.items.map(({ content, status }) => `${content} ${status}`).join(", ")}`;
    case "turn":
      return `turn ${row.text}`;
  }
}

const shownOf = ({ rows }: SessionView) => rows.map(shown);

Deno.test("SessionModel shows each kind of event, in both languages, and leaves no text of another kind", async () => {
  const chinese = await textsIn("zh-CN");
  for (const [event, row] of Object.values(KINDS)) {
    const [live, fresh] = [modelOf(() => []), await loaded(numbered([event]))];
    live.prepend([], true);
    for (const each of numbered([event])) live.event(each);
    assertEquals(shownOf(live.view.value), row === "" ? [] : [row]);
    assertEquals(fresh.view.value.rows, live.view.value.rows);
    const translated = await loaded(numbered([event]), { texts: chinese });
    assertEquals(translated.view.value.rows.length, live.view.value.rows.length);
  }
});

Deno.test("SessionModel turns calls into their results where they began, and keeps what a turn says of them", async () => {
  const model = await loaded(numbered([
    { type: "turn.start", turn: 1 },
    user("Go"),
    start("a"),
    start("b"),
    { ...KINDS["subagent.start"][0], callId: "a", background: false },
    end("b", { outcome: "error" }),
    { type: "todo.update", items: [{ content: "do", status: "pending" }] },
    end("t", { name: "todo_write" }),
    { type: "approval.request", callId: "c", tool: "bash", subject: "rm x", reason: "r" },
    { type: "approval.decision", callId: "c", decision: "allow", source: "user" },
    { type: "message.end", step: 0, model: "m", content: "a summary", durationMs: 1 },
    { type: "todo.update", items: [{ content: "do", status: "completed" }] },
    end("a", { changes: [{ path: "x", change: "updated", added: 2, removed: 1, diff: "" }] }),
    end("c", {
      changes: [{ path: "x", change: "updated", added: 1, removed: 0 }, {
        path: "y",
        change: "created",
        added: 9,
        removed: 0,
        written: false,
      }],
    }),
    { type: "message.end", step: 1, model: "m", content: "Half", interrupted: true, durationMs: 1 },
    turnEnd(1, { reason: "interrupted" }),
    // Ids of calls may repeat.
    start("a"),
    { type: "hook", event: "Stop", command: "true", outcome: "ok", durationMs: 1 },
  ]));
  const { rows, todos, files } = model.view.value;
  assertEquals(rows.map(shown), [
    "user Go + 0 images",
    "call $ ls a: ok a\nb [agent explore begins: look]",
    "call $ ls b: error a\nb",
    "todo do completed",
    "note info notice you allowed bash rm x",
    "call bash: ok a\nb",
    "reply Half (, undefined) interrupted",
    "turn interrupted · 1 step · 1 s",
    "call $ ls a: runs",
  ]);
  assertEquals(todos, [{ content: "do", status: "completed" }]);
  assertEquals(files, [{ path: "x", change: "updated", added: 3, removed: 1, seq: 14, ends: [13, 14] }]);
  assertEquals(model.log.value.length, 6);
  assertEquals(new Set(rows.map(({ key }) => key)).size, rows.length);
});

Deno.test("SessionModel follows a reply and its calls as they stream, and starts again from a snapshot", () => {
  const model = modelOf(() => []);
  const state = new LiveState();
  let seq = 0;
  const send = (...events: NewEvent[]) => {
    for (const event of events) {
      const sent: Event = { v: 1, time: "", seq: LIVE_ONLY.has(event.type) ? 0 : ++seq, ...event };
      state.event(sent);
      model.event(sent);
    }
  };
  const delta = (text: string) => ({ type: "message.delta", channel: "text", text }) as const;
  const streamed = (view: SessionView) => {
    const { blocks = [], open } = view.message ?? {};
    return [...blocks.map(({ source }) => source), open?.source];
  };
  const again = () => {
    const other = modelOf(() => []);
    other.snapshot({
      snapshot: { ...state.snapshot(), questions: [], waiting: [{ text: "next" }], steering: [] },
    });
    assertEquals(streamed(other.view.value), streamed(model.view.value));
    assertEquals(other.view.value.calls, model.view.value.calls);
    return other.view.value;
  };
  send(KINDS["turn.state"][0], { type: "message.start", step: 1, model: "m" }, delta("# A\n\nfirst pa"));
  assertEquals([streamed(model.view.value), again().waiting[0]?.text], [["# A", "first pa"], "next"]);
  send(delta("ragraph\n\n- a\n"), { type: "message.delta", channel: "reasoning", text: "hm" });
  assertEquals([streamed(again()), again().message?.thinking], [["# A", "first paragraph", "- a"], "hm"]);
  send({ ...KINDS["message.retry"][0], discarded: true });
  assertEquals([streamed(again()), model.view.value.retry?.attempt], [[undefined], 2]);
  send(delta("B"), { type: "message.end", step: 1, model: "m", content: "B", durationMs: 1 });
  assertEquals([streamed(again()), model.view.value.retry, model.view.value.message], [
    [undefined],
    undefined,
    undefined,
  ]);
  send(start("a"), { type: "tool.delta", callId: "a", text: "out" }, KINDS["subagent.progress"][0]);
  assertEquals([again().calls.get("a")?.tail, again().calls.get("a")?.progress?.text], ["out", "reads"]);
  send({ type: "message.start", step: 0, model: "m" }, delta("a summary"));
  assertEquals(again().message, undefined);
});

Deno.test("SessionModel keeps questions, facts, and what the session says apart from its rows", () => {
  const model = modelOf(() => []);
  const state = (state: "opened" | "changed" | "answered", question?: Record<string, unknown>) =>
    model.event({
      v: 1,
      seq: 0,
      time: "",
      type: "question.state",
      id: "q",
      kind: "confirm",
      state,
      ...(question ? { question } : {}),
    });
  const questions = () => model.view.value.questions.map(({ id, question }) => [id, question]);
  state("opened", { title: "Sure?" });
  state("opened", { title: "Sure?" });
  state("changed", { title: "Really?" });
  assertEquals(questions(), [["q", { title: "Really?" }]]);
  state("answered");
  model.other("facts", { fact: { kind: "title", title: "T" } });
  model.other("said", { text: "**Report**" });
  model.other("failed", { error: { message: "Cannot", remedy: "do this" } });
  model.other("queue", { waiting: [{ text: "w" }], steering: ["s"] });
  const { said, facts, waiting, steering, rows } = model.view.value;
  assertEquals([questions(), facts.title?.title, rows], [[], "T", []]);
  assertEquals([waiting, steering], [[{ text: "w" }], ["s"]]);
  assertEquals(said.map(({ text, form, after }) => [text, form, after]), [["**Report**", "markdown", 0], [
    "Cannot: do this",
    "error",
    0,
  ]]);
  model.reset();
  assertEquals(model.view.value.said, []);
});

/** A session with parallel calls, approvals, compactions, and rewinds back and forth. */
function randomSession(random: Random): Event[] {
  const events: NewEvent[] = [{ ...KINDS["session.start"][0] }];
  const plain = [
    "context.prefix",
    "approval.request",
    "approval.decision",
    "compaction",
    "notice",
    "message.retry",
    "todo.update",
    "checkpoint",
    "hook",
    "mcp.server",
    "verification",
    "plan.change",
    "subagent.start",
  ] as const;
  for (let turn = 1; turn <= 6; turn++) {
    events.push({ type: "turn.start", turn }, user(`Turn ${turn}`));
    for (let step = 1 + random.below(3); step > 0; step--) {
      events.push({ type: "message.start", step, model: "m" });
      const words = Array.from(
        { length: random.below(6) },
        () => random.pick(["a ", "b\n\n", "```\n", "- c\n"]),
      );
      for (const text of words) events.push({ type: "message.delta", channel: "text", text });
      events.push({ type: "message.end", step, model: "m", content: words.join(""), durationMs: 1 });
      const ids = random.pick([[], ["a"], ["a", "b"]]);
      events.push(...ids.map(start), KINDS[random.pick(plain)][0], ...ids.toReversed().map((id) => end(id)));
    }
    if (random.chance(0.9)) events.push(turnEnd(turn));
    const seq = durable(numbered(events)).length;
    if (random.chance(0.4)) {
      events.push({
        type: "rewind",
        to: 1 + random.below(seq),
        scope: random.pick(["both", "conversation", "code"] as const),
      });
    }
  }
  return numbered(events);
}

Deno.test("SessionModel shows the same after any windows and any cuts of the stream as after a fresh load", async () => {
  for (let round = 0; round < soakSize(3000, 200); round++) {
    const random = new Random(SEED + round);
    const events = randomSession(random);
    let at = random.below(events.length);
    const known = () => events.slice(0, at);
    const model = modelOf(known, { limit: 1 + random.below(20) });
    await model.older();
    for (; at < events.length; at++) {
      const event = events[at];
      // Cut: what is lost comes again, with some that is known.
      if (random.chance(0.05)) {
        const from = Math.max(0, model.seq - random.below(3));
        for (const late of durable(events.slice(0, at)).slice(from)) model.event(late);
      } else if (event && random.chance(0.1)) continue;
      for (const late of durable(events.slice(0, at)).slice(model.seq)) model.event(late);
      if (event) model.event(event);
      if (random.chance(0.03)) {
        model.reset();
        await model.older();
      }
      if (random.chance(0.05)) await model.older();
    }
    for (const late of durable(events).slice(model.seq)) model.event(late);
    while (!model.view.value.first) await model.older();
    const fresh = await loaded(events, { limit: 1000 });
    assertEquals(model.view.value.rows, fresh.view.value.rows);
    assertEquals(model.view.value.files, fresh.view.value.files);
    assertEquals(model.log.value, fresh.log.value);
  }
});
