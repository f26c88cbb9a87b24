import type { Event, NewEvent, NewEventOf } from "../../../src/core/mod.ts";
import { FRONTENDS, Output, type OutputFormat, type RunResult } from "../../../src/frontend/mod.ts";
import { SilenceNotifier } from "../../../src/frontend/print/silence_notifier.ts";
import { loadTexts, type Texts } from "../../../src/i18n/mod.ts";
import { tokenFigures } from "../../../src/view/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { readSdkLines } from "../../support/sdk_messages.ts";

const run = await loadTexts("run", "en");
const chinese = await loadTexts("run", "zh-CN");

class Sink {
  text = "";
  readonly #decoder = new TextDecoder();
  write(bytes: Uint8Array): Promise<number> {
    this.text += this.#decoder.decode(bytes, { stream: true });
    return Promise.resolve(bytes.length);
  }
}

const RESULT: RunResult = {
  exit: "done",
  exitCode: 0,
  answer: "hi",
  session: "s1",
  model: "m",
  steps: 1,
  replies: 2,
  durationMs: 1500,
  modelMs: 900,
  usage: { inputTokens: 12345, cachedTokens: 10000, outputTokens: 20, reasoningTokens: 0 },
  refusals: [],
};

const START = {
  session: "s1",
  cwd: "/w",
  model: "m",
  skills: [],
  agents: () => Promise.resolve([]),
  servers: [],
  commands: () => Promise.resolve([]),
  keyed: false,
};

function stamp(event: NewEvent): Event {
  return { v: 1, seq: 1, time: "2026-01-01T00:00:00.000Z", ...event };
}

const TAPE: NewEvent[] = [
  { type: "session.start", session: "s1", version: "1", cwd: "/w" },
  { type: "notice", level: "info", code: "x", text: "early" },
  { type: "context.prefix", reason: "start", system: "S", tools: [], model: "m" },
  { type: "message.delta", channel: "reasoning", text: "hmm" },
  { type: "message.delta", channel: "text", text: "Let me look." },
  {
    type: "message.end",
    step: 1,
    model: "m",
    content: "Let me look.",
    calls: [{ id: "c1", name: "bash", arguments: '{"command":"ls"}' }],
    durationMs: 1,
  },
  {
    type: "tool.start",
    call: { id: "c1", name: "bash", arguments: '{"command":"ls"}' },
    readOnly: false,
    summary: "ls",
  },
  {
    type: "tool.end",
    callId: "c1",
    name: "bash",
    outcome: "error",
    content: "x",
    summary: "exit code 7",
    durationMs: 1,
  },
  { type: "message.retry", attempt: 2, maxAttempts: 6, waitMs: 1500, reason: "HTTP 503", discarded: false },
  { type: "message.delta", channel: "text", text: "hi" },
  { type: "message.end", step: 2, model: "m", content: "hi", durationMs: 1 },
];

/** The number of events on the tape before the conversation is open. */
const EARLY = 2;

async function play(
  format: OutputFormat,
  tape = TAPE,
  options: { quiet?: boolean; stream?: boolean; result?: RunResult; texts?: Texts["run"] } = {},
) {
  const [out, err] = [new Sink(), new Sink()];
  const { createPrinter } = await FRONTENDS.print();
  const printer = createPrinter({
    format,
    texts: () => options.texts ?? run,
    out: new Output(out),
    err: new Output(err),
    showThinking: false,
    quiet: options.quiet ?? false,
    verbose: false,
    stream: options.stream ?? false,
    color: false,
    outColor: false,
    terminal: false,
    live: false,
    columns: () => 80,
    fit: (text) => text,
    width: (text) => text.length,
    permissionMode: "acceptEdits",
    partialMessages: false,
  });
  for (const [index, event] of tape.entries()) {
    // A session that is continued says nothing of itself; only this does.
    if (index === EARLY) await printer.begin?.({ ...START, tools: ["bash"] });
    await printer.event(stamp(event));
  }
  await printer.result(options.result ?? RESULT);
  return { out: out.text, err: err.text };
}

Deno.test("text format writes only the last message to standard output without a terminal", async () => {
  const { out, err } = await play("text");
  assertEquals(out, "hi\n");
  assertStringIncludes(err, "Let me look.\n✗ bash ls · exit code 7\n");
  assertStringIncludes(err, "attempt 2 of 6 in 1.5 s: HTTP 503");
  assertStringIncludes(err, "· 1 step · in 12,345 (10,000 cached, 81 %) · out 20 · cost unknown · 1.5 s");
  assert(!err.includes("hmm"));
});

Deno.test("text format with stream writes every text of the model to standard output as it arrives", async () => {
  const { out, err } = await play("text", TAPE, { stream: true });
  assertEquals(out, "Let me look.\nhi\n");
  assert(!err.includes("Let me look."));
});

Deno.test("text format with quiet writes the answer, and only errors to standard error", async () => {
  assertEquals(await play("text", TAPE, { quiet: true }), { out: "hi\n", err: "" });
  const failed = {
    ...RESULT,
    exit: "provider",
    exitCode: 5,
    detail: "No answer",
    remedy: "try later",
  } as const;
  assertEquals(
    (await play("text", TAPE, { quiet: true, result: failed })).err,
    "error: No answer\n       try later\n",
  );
});

Deno.test("text format removes control characters from tool summaries", async () => {
  const { err } = await play("text", [{
    type: "tool.start",
    call: { id: "c", name: "bash", arguments: "{}" },
    readOnly: false,
    summary: "evil\x1b]0;title\x07\x1b[2J",
  }]);
  assert(!err.includes("\x1b") && !err.includes("\x07"));
});

Deno.test("text format shortens tool descriptions, never a warning or a refusal", async () => {
  const long = `${"x".repeat(400)} do this`;
  const end = (outcome: "ok" | "blocked"): NewEvent => (
    { type: "tool.end", callId: "c", name: "bash", outcome, content: "", summary: long, durationMs: 1 }
  );
  const err = async (event: NewEvent) => (await play("text", [...TAPE.slice(0, EARLY), event])).err;
  assert(!(await err(end("ok"))).includes("do this"));
  assertStringIncludes(await err(end("blocked")), "do this");
  assertStringIncludes(await err({ type: "notice", level: "warning", code: "x", text: long }), "do this");
});

Deno.test("text format summarizes file changes relative to the working directory", async () => {
  const end = (path: string, more: Record<string, unknown> = {}): NewEvent => ({
    type: "tool.end",
    callId: "c",
    name: "edit_file",
    outcome: "ok",
    content: "",
    summary: "",
    durationMs: 1,
    changes: [{ path, change: "updated", added: 2, removed: 1, ...more }],
  });
  const tape = [
    ...TAPE.slice(0, EARLY),
    TAPE[EARLY] as NewEvent,
    end("/w/src/你.ts"),
    end("/w/src/你.ts"),
    end("/elsewhere/b.ts", { change: "created", removed: 0 }),
    end("/w/same.ts", { change: "unchanged", added: 0, removed: 0 }),
    end("/w/dry.ts", { written: false }),
  ];
  assertStringIncludes(
    (await play("text", tape)).err,
    "\n· changed src/你.ts +4 −2, /elsewhere/b.ts +2 −0\n",
  );
});

Deno.test("text format reports why the cached prefix is reset, and nothing at the session start", async () => {
  const reset: NewEvent = {
    type: "context.prefix",
    reason: "model",
    detail: "m → n",
    system: "S",
    tools: [],
    model: "n",
  };
  const { err } = await play("text", [...TAPE.slice(0, EARLY + 1), reset]);
  assertStringIncludes(err, "· The cached prefix was rebuilt: model m → n\n");
  assertEquals(err.match(/prefix/g)?.length, 1);
});

Deno.test("json format writes exactly one result object", async () => {
  const { out } = await play("json");
  const value = JSON.parse(out);
  assertEquals([value.type, value.subtype, value.session_id, value.result], [
    "result",
    "success",
    "s1",
    "hi",
  ]);
  assertEquals(value.usage.input_tokens + value.usage.cache_read_input_tokens, 12345);
  assertEquals(out.trimEnd().split("\n").length, 1);
});

Deno.test("every machine format ends with a result line and is valid JSON", async () => {
  for (const format of ["json", "jsonl"] as const) {
    const lines = (await play(format)).out.trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals(lines.at(-1).type, "result");
  }
});

Deno.test("jsonl format writes events", async () => {
  const lines = (await play("jsonl")).out.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.slice(0, -1).map((line) => line.type), TAPE.map((event) => event.type));
});

Deno.test("stream-json format begins with init and has assistant and user lines with matching ids", async () => {
  const lines = readSdkLines((await play("stream-json")).out);
  assertEquals(lines.map((line) => line.subtype ?? line.type), [
    "init",
    "informational",
    "assistant",
    "user",
    "api_retry",
    "assistant",
    "success",
  ]);
  assertEquals([lines[0].cwd, lines[0].model, lines[0].tools], ["/w", "m", ["bash"]]);
  assertEquals(new Set(lines.map((line) => line.session_id)), new Set(["s1"]));
  assertEquals(lines[2].message.content[1].id, lines[3].message.content[0].tool_use_id);
  assertEquals(lines.at(-1).num_turns, 2);
});

Deno.test("stream-json format reports a compaction and its trigger", async () => {
  const compaction = (reason: string, more: Partial<NewEventOf<"compaction">> = {}): NewEvent => ({
    type: "compaction",
    reason,
    from: 1,
    to: 2,
    digest: "d",
    tokensBefore: 900,
    tokensAfter: 80,
    ...more,
  });
  const events = [compaction("manual"), compaction("pressure"), compaction("pressure", { action: "prune" })];
  const lines = readSdkLines((await play("stream-json", [...TAPE.slice(0, EARLY), ...events])).out);
  assertEquals(
    lines.filter(({ subtype }) => subtype === "compact_boundary").map((line) => line.compact_metadata),
    [
      { trigger: "manual", pre_tokens: 900, post_tokens: 80 },
      { trigger: "auto", pre_tokens: 900, post_tokens: 80 },
    ],
  );
});

Deno.test("stream-json format reports the stop reason of each message", async () => {
  const reason = async (fields: Partial<NewEventOf<"message.end">>) => {
    const end: NewEvent = {
      type: "message.end",
      step: 1,
      model: "m",
      content: "x",
      durationMs: 1,
      ...fields,
    };
    const { out } = await play("stream-json", [...TAPE.slice(0, EARLY), TAPE[EARLY] as NewEvent, end]);
    return readSdkLines(out).at(-2).message.stop_reason;
  };
  assertEquals(await reason({ finish: "stop" }), "end_turn");
  assertEquals(await reason({ finish: "length" }), "max_tokens");
  assertEquals(await reason({ finish: "content_filter" }), "refusal");
  assertEquals(await reason({ interrupted: true }), null);
});

Deno.test("the result names the limit that ended a run, and text shows unknown usage and small costs", async () => {
  const subtype = async (limit: "steps" | "time" | "cost") => {
    const result: RunResult = { ...RESULT, exit: "limit", exitCode: 4, limit };
    return JSON.parse((await play("json", TAPE, { result })).out).subtype;
  };
  assertEquals(await subtype("steps"), "error_max_turns");
  assertEquals(await subtype("time"), "error_max_time");
  assertEquals(await subtype("cost"), "error_max_budget_usd");
  const unmetered = {
    ...RESULT,
    usage: { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  };
  assertStringIncludes(
    (await play("text", TAPE, { result: unmetered })).err,
    "· 1 step · tokens unknown · cost unknown · ",
  );
  const cheap = { ...RESULT, cost: { amount: 0.00004, currency: "USD" } };
  assertStringIncludes((await play("text", TAPE, { result: cheap })).err, " · <0.0001 USD · ");
});

Deno.test("Output keeps order and loses nothing with a slow reader", async () => {
  let text = "";
  const output = new Output({
    async write(bytes) {
      await Promise.resolve();
      const taken = bytes.subarray(0, 7);
      text += new TextDecoder().decode(taken);
      return taken.length;
    },
  });
  const parts = Array.from({ length: 3000 }, (_, i) => `line ${i};`);
  for (const part of parts) await output.write(part);
  await output.flush();
  assertEquals(text, parts.join(""));
});

Deno.test("Output applies backpressure when the reader is far behind", async () => {
  const gate = Promise.withResolvers<void>();
  const output = new Output({ write: async (bytes) => (await gate.promise, bytes.length) });
  assertEquals(output.write("x"), undefined);
  const behind = output.write("y".repeat(100_000));
  assert(behind instanceof Promise);
  gate.resolve();
  await behind;
});

Deno.test("Output reports a closed reader once and discards the rest", async () => {
  let broken = 0;
  const output = new Output({ write: () => Promise.reject(new Deno.errors.BrokenPipe()) }, () => broken++);
  await output.write("a");
  await output.flush();
  await output.write("b");
  await output.flush();
  assertEquals(broken, 1);
  assert(output.failure instanceof Deno.errors.BrokenPipe);
});

Deno.test("text format uses the given language, and machine formats do not depend on it", async () => {
  const { out, err } = await play("text", TAPE, {
    texts: chinese,
    result: { ...RESULT, exit: "provider", exitCode: 5, detail: "No answer", remedy: "try later" },
  });
  assertEquals(out, "hi\n");
  assertStringIncludes(err, "! 1.5 秒后第 2 次尝试（最多 6 次）：HTTP 503\n");
  assertStringIncludes(err, "· 1 步 · 输入 12,345（缓存 10,000，81 %） · 输出 20 · 费用未知 · 1.5 秒\n");
  assertStringIncludes(err, "错误：No answer\n      try later\n");
  for (const format of ["json", "jsonl"] as const) {
    assertEquals(await play(format, TAPE, { texts: chinese }), await play(format));
  }
});

Deno.test("a run formats tokens like every other view", () => {
  const { usage } = RESULT;
  assertEquals([run.tokensIn("12,345", "10,000", "81 %"), run.tokensOut("20")], tokenFigures(usage));
  const scripted = tokenFigures({ ...usage, scripted: true });
  assertEquals(scripted, [...tokenFigures(usage), run.tokensScripted]);
});

/** A timer that the test advances. */
class HandTimer {
  time = 0;
  #due: { at: number; call: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, call: () => void): void {
    assert(ms > 0, `A timer cannot wait ${ms} ms`);
    this.#due.push({ at: this.time + ms, call });
  }

  get pending(): number {
    return this.#due.length;
  }

  turn(seconds: number): void {
    const end = this.time + seconds * 1000;
    for (;;) {
      const next = this.#due.toSorted((a, b) => a.at - b.at)[0];
      if (!next || next.at > end) break;
      this.#due = this.#due.filter((one) => one !== next);
      this.time = next.at;
      next.call();
    }
    this.time = end;
  }
}

Deno.test("SilenceNotifier reports a silence after 30 s and each time it has doubled", () => {
  const [timer, reported] = [new HandTimer(), [] as number[]];
  const waiting = new SilenceNotifier((seconds) => reported.push(seconds), timer);
  waiting.begin();
  timer.turn(29);
  assertEquals(reported, []);
  timer.turn(300);
  assertEquals(reported, [30, 60, 120, 240]);
  waiting.end();
  timer.turn(1000);
  assertEquals([reported.length, timer.pending], [4, 0]);
});

Deno.test("SilenceNotifier measures each silence separately with one timer", () => {
  const [timer, reported] = [new HandTimer(), [] as number[]];
  const waiting = new SilenceNotifier((seconds) => reported.push(seconds), timer);
  for (let step = 0; step < 100; step++) {
    waiting.begin();
    timer.turn(5);
    waiting.end();
  }
  assertEquals([reported, timer.pending <= 1], [[], true]);
  waiting.begin();
  timer.turn(31);
  assertEquals(reported, [30]);
});

Deno.test("SilenceNotifier restarts its delays after a long silence", () => {
  const [timer, reported] = [new HandTimer(), [] as number[]];
  const waiting = new SilenceNotifier((seconds) => reported.push(seconds), timer);
  waiting.begin();
  timer.turn(121);
  waiting.begin();
  timer.turn(130);
  assertEquals(reported, [30, 60, 120, 30, 60, 120]);
});
