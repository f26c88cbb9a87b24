import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  type Event,
  EVENT_VERSION,
  type EventOf,
  type NewEvent,
  NO_USAGE,
  tokenKinds,
  type Usage,
} from "../../../../src/core/mod.ts";
import { operationRecords } from "../../../../src/features/telemetry/logs.ts";
import { operationMetrics } from "../../../../src/features/telemetry/metrics.ts";
import { type ObservedSession, Operations } from "../../../../src/features/telemetry/operations.ts";
import { apply, emptyState, type SessionState } from "../../../../src/session/mod.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { Random, SEED, soakSize } from "../../../support/seed.ts";

const NAMES = ["gen_ai", "claude_code"] as const;
const redact = (text: string) => text.replaceAll("s3cret", "[redacted]");

/** An event of a session, with its time. */
interface Observed {
  readonly event: Event;
  readonly at: number;
  readonly session: ObservedSession;
}

interface Point {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a histogram the sum of its values. */
  readonly value: number;
  readonly count: number;
}

interface LogEntry {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Exports what one process does for its events. */
async function exported(
  names: typeof NAMES[number],
  events: readonly Observed[],
  content = false,
): Promise<{ points: Point[]; logs: LogEntry[] }> {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  const records = new InMemoryLogRecordExporter();
  const loggers = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter: records })] });
  const options = { content, redact };
  const sinks = [
    operationMetrics(names, meters.getMeter("test"), options),
    operationRecords(names, loggers.getLogger("test"), options),
  ];
  const operations = new Operations({
    sink: (operation) => sinks.forEach((sink) => sink(operation)),
    isSampled: () => true,
  });
  const opened = new Set<ObservedSession>();
  for (const { event, at, session } of events) {
    if (!opened.has(session)) operations.open(session);
    opened.add(session);
    operations.take(session.id, event, at);
  }
  operations.end((events.at(-1)?.at ?? 0) + 1);
  await Promise.all([meters.forceFlush(), loggers.forceFlush()]);
  const points = exporter.getMetrics().flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
        dataPoints.map(({ attributes, value }): Point => {
          const [sum, count] = typeof value === "number" ? [value, 1] : [value.sum ?? 0, value.count];
          assert(Number.isFinite(sum), name);
          return { name, unit, attributes, value: sum, count: Number(count) };
        })
      )
    )
  );
  const logs = records.getFinishedLogRecords().map(({ eventName = "", attributes }) => ({
    name: eventName,
    attributes,
  }));
  await Promise.all([meters.shutdown(), loggers.shutdown()]);
  return { points, logs };
}

function select(points: readonly Point[], name: string, wanted: Readonly<Record<string, unknown>> = {}) {
  return points.filter((point) =>
    point.name === name && Object.entries(wanted).every(([key, value]) => point.attributes[key] === value)
  );
}

function total(points: readonly Point[], name: string, wanted?: Readonly<Record<string, unknown>>): number {
  return select(points, name, wanted).reduce((sum, { value }) => sum + value, 0);
}

function count(points: readonly Point[], name: string, wanted?: Readonly<Record<string, unknown>>): number {
  return select(points, name, wanted).reduce((sum, { count }) => sum + count, 0);
}

/** Writes a session with its agents, at random, the way the loop and the features record it. */
class Writer {
  readonly #random: Random;
  readonly seen: Observed[] = [];
  /** Numbers of written events, in all sessions. */
  readonly written = { replies: 0, failed: 0, retries: 0, calls: 0, decisions: 0, lines: 0, prompts: 0 };
  #ids = 0;
  #now = 1_700_000_000_000;

  constructor(random: Random) {
    this.#random = random;
  }

  session(parent?: ObservedSession): { state: SessionState; session: ObservedSession } {
    const session: ObservedSession = {
      id: `session-${++this.#ids}`,
      depth: parent ? parent.depth + 1 : 0,
      provider: "mock",
      model: this.#random.pick(["small", "large"]),
      ...(parent ? { parent: parent.id, agent: "explore" } : {}),
    };
    return { state: emptyState(), session };
  }

  turn({ state, session }: { state: SessionState; session: ObservedSession }): void {
    const random = this.#random;
    const turn = (state.turns.at(-1)?.turn ?? 0) + 1;
    const record = (event: NewEvent) => this.#record(state, session, event);
    record({ type: "turn.start", turn });
    record({ type: "message.user", content: "do it with s3cret", origin: "user" });
    if (session.depth === 0) this.written.prompts += 1;
    for (let step = 1; step <= 1 + random.below(4); step++) {
      if (random.chance(0.2)) this.#compact(record, session);
      const calls = this.#request(record, session, step);
      for (const id of calls) this.#call(record, { state, session }, id);
      if (random.chance(0.1)) {
        record({
          type: "image.described",
          image: "i",
          provider: "eyes",
          model: "eyes",
          text: "t",
          ...this.#spent(),
        });
        this.written.replies += 1;
      }
    }
    record({
      type: "turn.end",
      turn,
      reason: "done",
      answer: "",
      steps: 1,
      usage: NO_USAGE,
      durationMs: 1000,
    });
    const before = state.turns[random.below(state.turns.length)];
    if (before && random.chance(0.2)) record({ type: "rewind", to: before.from, scope: "both" });
  }

  /** One request with its retries; returns the calls of the reply. */
  #request(record: (event: NewEvent) => void, { model }: ObservedSession, step: number): string[] {
    const random = this.#random;
    record({ type: "message.start", step, model });
    for (let attempt = 2; random.chance(0.3) && attempt < 5; attempt++) {
      const reason = "The server answered with status 503: s3cret";
      record({ type: "message.retry", attempt, maxAttempts: 5, waitMs: 1, reason, discarded: false });
      this.written.retries += 1;
    }
    if (random.chance(0.1)) {
      record({ type: "error", code: "provider", text: "Cannot connect" });
      this.written.failed += 1;
      return [];
    }
    if (random.chance(0.1)) {
      // An MCP server has made a request meanwhile.
      record({ type: "message.end", step: 0, model, content: "sampled", ...this.#spent() });
      this.written.replies += 1;
    }
    if (random.chance(0.7)) record({ type: "message.delta", channel: "text", text: "s3cret" });
    const calls = Array.from({ length: random.below(3) }, () => `c${random.below(3)}`);
    const unique = [...new Set(calls)];
    record({
      type: "message.end",
      step,
      model,
      content: "a",
      calls: unique.map((id) => ({ id, name: "bash", arguments: "{}" })),
      ...this.#spent(),
    });
    this.written.replies += 1;
    return unique;
  }

  #compact(record: (event: NewEvent) => void, { model }: ObservedSession): void {
    record({ type: "message.start", step: 0, model });
    record({ type: "message.end", step: 0, model, content: "digest", ...this.#spent() });
    this.written.replies += 1;
    record({
      type: "compaction",
      reason: "window",
      from: 1,
      to: 2,
      digest: "d",
      tokensBefore: 2,
      tokensAfter: 1,
    });
  }

  #call(
    record: (event: NewEvent) => void,
    owner: { state: SessionState; session: ObservedSession },
    id: string,
  ): void {
    const random = this.#random;
    const command = random.pick(["ls s3cret", "git commit -m x", "git -C a commit", "gh pr create"]);
    const call = { id, name: "bash", arguments: JSON.stringify({ command }) };
    record({ type: "tool.start", call, readOnly: false, summary: command });
    if (random.chance(0.5)) {
      record({ type: "approval.decision", callId: id, decision: "allow", source: "rule" });
      this.written.decisions += 1;
    }
    if (owner.session.depth < 2 && random.chance(0.3)) this.#agent(record, owner.session, id);
    const outcome = random.pick(["ok", "ok", "error", "blocked", "aborted", "skipped"] as const);
    const added = random.below(5);
    record({
      type: "tool.end",
      callId: id,
      name: "bash",
      outcome,
      content: "out s3cret",
      summary: "",
      durationMs: outcome === "blocked" || outcome === "skipped" ? 0 : 5,
      ...(outcome === "ok"
        ? { exitCode: 0, changes: [{ path: "a.ts", change: "updated", added, removed: 1 }] }
        : {}),
    });
    this.written.calls += 1;
    if (outcome === "ok") this.written.lines += added + 1;
  }

  /** An agent that works on a call; its usage is part of the totals of the session that it works for. */
  #agent(record: (event: NewEvent) => void, parent: ObservedSession, callId: string): void {
    const child = this.session(parent);
    const { id, model } = child.session;
    record({
      type: "subagent.start",
      id,
      agent: "explore",
      session: id,
      model: `mock/${model}`,
      prompt: "p",
      callId,
    });
    this.turn(child);
    const { usage, costs: { USD } } = child.state;
    record({
      type: "subagent.end",
      id,
      agent: "explore",
      outcome: "ok",
      summary: "",
      model: `mock/${model}`,
      callId,
      steps: 1,
      usage,
      ...(USD === undefined ? {} : { cost: { amount: USD, currency: "USD" } }),
      durationMs: 5,
    });
  }

  #spent(): { usage: Usage; cost: { amount: number; currency: string }; durationMs: number } {
    const below = (limit: number) => this.#random.below(limit);
    const [fresh, cachedTokens, cacheWriteTokens, reasoningTokens] = [
      below(99),
      below(99),
      below(9),
      below(9),
    ];
    const usage = {
      inputTokens: fresh + cachedTokens + cacheWriteTokens,
      cachedTokens,
      cacheWriteTokens,
      outputTokens: reasoningTokens + below(50),
      reasoningTokens,
    };
    // Multiples of a power of two have an exact sum.
    return { usage, cost: { amount: below(100) / 1024, currency: "USD" }, durationMs: below(500) };
  }

  #record(state: SessionState, session: ObservedSession, event: NewEvent): void {
    const kept = {
      v: EVENT_VERSION,
      seq: state.lastSeq + 1,
      time: "2026-01-01T00:00:00Z",
      ...event,
    } as Event;
    apply(state, kept);
    this.seen.push({ event: kept, at: this.#now += this.#random.below(1000), session });
  }
}

Deno.test("metrics and logs add up to the totals of the session, over agents, retries and later processes", async () => {
  for (let round = 0; round < soakSize(400, 12); round++) {
    const writer = new Writer(new Random(SEED + round));
    const root = writer.session();
    const processes: Observed[][] = [];
    for (let process = 0; process < 2; process++) {
      const from = writer.seen.length;
      for (let turn = 0; turn < 3; turn++) writer.turn(root);
      processes.push(writer.seen.slice(from));
    }
    const { written } = writer;
    const { usage, costs } = root.state;
    const kinds = tokenKinds(usage);
    const all = async (names: typeof NAMES[number]) => {
      const each = [];
      for (const events of processes) each.push(await exported(names, events));
      return {
        points: each.flatMap(({ points }) => points),
        logs: each.flatMap(({ logs }) => logs),
      };
    };
    const sums = (points: Point[], name: string, key: string, values: readonly string[]) =>
      Object.fromEntries(values.map((value) => [value, total(points, name, { [key]: value })]));

    const { points, logs } = await all("gen_ai");
    const used = (name: string) => total(points, `gen_ai.client.inference.usage.${name}`);
    assertEquals({
      inputTokens: used("input_tokens"),
      cachedTokens: used("cache_read.input_tokens"),
      cacheWriteTokens: used("cache_write.input_tokens"),
      outputTokens: used("output_tokens"),
      reasoningTokens: used("reasoning.output_tokens"),
    }, { cacheWriteTokens: 0, ...usage });
    const perRequest = (name: string) => total(points, `gen_ai.client.inference.operation.${name}`);
    assertEquals(
      [perRequest("input_tokens"), perRequest("output_tokens")],
      [usage.inputTokens, usage.outputTokens],
    );
    assertEquals(total(points, "reasonix.cost", { "reasonix.currency": "USD" }), costs.USD ?? 0);
    const requests = (wanted = {}) => count(points, "gen_ai.client.inference.duration", wanted);
    assertEquals(
      [requests(), requests({ "error.type": "provider" })],
      [written.replies + written.failed, written.failed],
    );
    assertEquals(total(points, "reasonix.retries", { "error.type": "503" }), written.retries);
    assertEquals(total(points, "reasonix.tool.results"), written.calls);
    assertEquals(total(points, "reasonix.decisions"), written.decisions);
    assertEquals(total(points, "reasonix.lines"), written.lines);
    const replies = logs.filter(({ name }) => name === "reasonix.api_request");
    assertEquals(replies.length, written.replies);
    assertEquals(
      logs.filter(({ name }) => name === "reasonix.api_error").length,
      written.failed + written.retries,
    );

    const claude = await all("claude_code");
    const { input, cached, cache_write } = kinds;
    const types = ["input", "output", "cacheRead", "cacheCreation"];
    assertEquals(sums(claude.points, "claude_code.token.usage", "type", types), {
      input,
      output: usage.outputTokens,
      cacheRead: cached,
      cacheCreation: cache_write,
    });
    assertEquals(total(claude.points, "claude_code.cost.usage"), costs.USD ?? 0);
    assertEquals(total(claude.points, "claude_code.lines_of_code.count"), written.lines);
    assertEquals(sums(claude.points, "claude_code.session.count", "start_type", ["fresh", "resume"]), {
      fresh: 1,
      resume: 1,
    });
    const prompts = claude.logs.filter(({ name }) => name === "claude_code.user_prompt");
    assertEquals(prompts.length, written.prompts);
    assertEquals(
      new Set(claude.points.map(({ attributes }) => attributes["session.id"])),
      new Set(["session-1"]),
    );
    const sum = claude.logs.filter(({ name }) => name === "claude_code.api_request")
      .reduce((sum, { attributes }) => sum + Number(attributes.output_tokens), 0);
    assertEquals(sum, usage.outputTokens);
    assertEquals(JSON.stringify([points, logs, claude]).includes("s3cret"), false);
  }
});

/** The events of a session of the user, with times. */
function observed(events: readonly NewEvent[]): Observed[] {
  const session: ObservedSession = { id: "s1", depth: 0, provider: "xai", model: "grok" };
  return events.map((event, seq) => ({
    event: { v: EVENT_VERSION, seq, time: "", ...event } as Event,
    at: 1000 * seq,
    session,
  }));
}

/** A call with what was decided about it. */
function call(
  name: string,
  args: Record<string, unknown>,
  { decision, asked, outcome = "ok", path }: {
    readonly decision?: Pick<EventOf<"approval.decision">, "decision" | "source">;
    readonly asked?: boolean;
    readonly outcome?: EventOf<"tool.end">["outcome"];
    readonly path?: string;
  } = {},
): NewEvent[] {
  const callId = "c1";
  const request = { type: "approval.request", callId, tool: name, subject: "", reason: "" } as const;
  return [
    {
      type: "tool.start",
      call: { id: callId, name, arguments: JSON.stringify(args) },
      readOnly: false,
      summary: "",
      ...(path === undefined ? {} : { paths: [path] }),
    },
    ...(asked ? [request] : []),
    ...(decision ? [{ type: "approval.decision", callId, ...decision } as const] : []),
    { type: "tool.end", callId, name, outcome, content: "é", summary: "", durationMs: 0 },
  ];
}

Deno.test("decisions, commits, pull requests and languages are counted for Claude Code's dashboards", async () => {
  const allow = (source: "rule" | "user" | "hook") => ({ decision: "allow", source } as const);
  const deny = (source: "rule" | "user") => ({ decision: "deny", source } as const);
  const { points, logs } = await exported(
    "claude_code",
    observed([
      ...call("edit_file", {}, { decision: allow("user"), asked: true, path: "src/a.TSX" }),
      ...call("edit_file", {}, { decision: allow("user"), path: "Makefile" }),
      ...call("write_file", {}, { decision: deny("user"), asked: true, outcome: "blocked", path: "a.py" }),
      ...call("apply_patch", {}, { decision: allow("hook"), path: "a.rs" }),
      ...call("read_file", {}, { decision: deny("rule"), outcome: "blocked" }),
      ...call("grep", {}, { outcome: "skipped" }),
      ...call("bash", { command: "git add . && git -c a.b=c commit -m 'x'" }),
      ...call("bash", { command: "git commit -m x" }, { outcome: "error" }),
      ...call("bash", { command: "git log --grep commit-graph; git commit-tree HEAD" }),
      ...call("bash", { command: "gh pr create --fill" }),
      ...call("mcp__github__create_pull_request", {}),
    ]),
  );
  const decisions = select(points, "claude_code.code_edit_tool.decision").map(({ attributes }) =>
    ["tool_name", "decision", "source", "language"].map((key) => attributes[key]).join(" ")
  );
  assertEquals(decisions.sort(), [
    "Edit accept config unknown",
    "Edit accept hook Rust",
    "Edit accept user_temporary TypeScript",
    "Write reject user_reject Python",
  ]);
  assertEquals(total(points, "claude_code.commit.count"), 1);
  assertEquals(total(points, "claude_code.pull_request.count"), 2);
  const decided = logs.filter(({ name }) => name === "claude_code.tool_decision");
  assertEquals(decided.length, 10);
  const results = logs.filter(({ name }) => name === "claude_code.tool_result");
  assertEquals(
    results.map(({ attributes }) => attributes.success).filter((success) => success === "false").length,
    1,
  );
  assertEquals(results.length, 8);
  const { tool_result_size_bytes, tool_input_size_bytes, tool_name } = results[0]?.attributes ?? {};
  assertEquals([tool_result_size_bytes, tool_input_size_bytes, tool_name], ["2", "2", "Edit"]);
});

Deno.test("a text that is too long loses its secrets before it is cut", async () => {
  const content = `${"a".repeat(59_997)}s3cret`;
  const { logs } = await exported("gen_ai", [
    ...observed([{ type: "turn.start", turn: 1 }, { type: "message.user", content, origin: "user" }]),
  ], true);
  const [prompt] = logs.filter(({ name }) => name === "reasonix.user_prompt");
  assertEquals(String(prompt?.attributes.prompt).slice(59_995), "aa[re");
});

Deno.test("log records have prompts, arguments and errors only with content, and redacted", async () => {
  const events = observed([
    { type: "turn.start", turn: 1 },
    { type: "message.user", content: '<file path="a">\ns3cret\n</file>\n\nuse s3cret', origin: "user" },
    { type: "message.start", step: 1, model: "grok" },
    {
      type: "message.retry",
      attempt: 2,
      maxAttempts: 2,
      waitMs: 500,
      reason: "with status 429: s3cret",
      discarded: false,
    },
    { type: "message.delta", channel: "text", text: "a" },
    { type: "message.end", step: 1, model: "grok", content: "a", durationMs: 3000 },
    ...call("bash", { command: "echo s3cret" }, { outcome: "error" }),
  ]);
  const closed = await exported("gen_ai", events);
  const shown = await exported("gen_ai", events, true);
  const of = ({ logs }: typeof closed, name: string) =>
    logs.find((log) => log.name === `reasonix.${name}`)?.attributes;
  assertEquals(of(closed, "user_prompt")?.prompt_length, "10");
  assertEquals(of(closed, "user_prompt")?.prompt, undefined);
  assertEquals(of(shown, "user_prompt")?.prompt, "use [redacted]");
  assertEquals(of(closed, "tool_result")?.tool_input, undefined);
  assertEquals(of(shown, "tool_result")?.tool_input, '{"command":"echo [redacted]"}');
  assertEquals(of(shown, "tool_result")?.error, "é");
  const { error, status_code, attempt, duration_ms } = of(closed, "api_error") ?? {};
  assertEquals([error, status_code, attempt, duration_ms], ["429", 429, 1, 1000]);
  assertEquals(of(shown, "api_error")?.error, "with status 429: [redacted]");
  const { ttft_ms, model } = of(closed, "api_request") ?? {};
  assertEquals([ttft_ms, model], [500, "grok"]);
  const [first] = select(closed.points, "gen_ai.client.inference.time_to_first_chunk");
  assertEquals([first?.value, first?.unit], [0.5, "s"]);
  const [duration] = select(closed.points, "gen_ai.client.inference.duration");
  assertEquals(duration?.value, 3);
  assertEquals(duration?.attributes, {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "x_ai",
    "gen_ai.request.model": "grok",
  });
});
