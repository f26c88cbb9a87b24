import type { SessionUpdate, ToolCall, ToolCallContent } from "@agentclientprotocol/sdk";
import SCHEMA from "@agentclientprotocol/sdk/schema" with { type: "json" };
import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { Event, EventOf, NewEvent, NewEventOf } from "../../../../src/core/mod.ts";
import { LIVE_ONLY } from "../../../../src/core/event.ts";
import { Updates, type UpdatesOptions } from "../../../../src/frontend/acp/updates.ts";
import { LiveState } from "../../../../src/frontend/session/live_state.ts";
import { loadTexts } from "../../../../src/i18n/mod.ts";
import { callKind } from "../../../../src/view/mod.ts";
import { unifiedDiff } from "../../../../src/tool/text/diff.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { SEED } from "../../../support/seed.ts";

const texts = await loadTexts("run", "en");
const validator = new Validator(
  { $ref: "#/$defs/SessionNotification", $defs: SCHEMA.$defs } as never,
  "2020-12",
);

/** A client: the updates that it gets, each checked with the schema and as a line that any parser takes. */
class Client {
  readonly got: SessionUpdate[] = [];
  readonly updates: Updates;
  readonly #due: { at: number; task: () => void }[] = [];
  #seq: number;
  time = 0;

  constructor(client: Partial<UpdatesOptions["client"]> = {}, more: Partial<UpdatesOptions> = {}, seq = 0) {
    this.#seq = seq;
    this.updates = new Updates({
      cwd: "/w",
      client: { terminalOutput: false, notices: false, compaction: false, ...client },
      send: (update) => this.#take(update),
      texts: () => texts,
      clock: {
        now: () => this.time,
        after: (ms, task) => void this.#due.push({ at: this.time + ms, task }),
      },
      ...more,
    });
  }

  #take(update: SessionUpdate): void {
    const line = JSON.stringify({ sessionId: "s", update });
    const { valid, errors } = validator.validate(JSON.parse(line));
    assert(valid, `${line.slice(0, 500)}\n${JSON.stringify(errors.at(-1))}`);
    assert(!/\\ud[89a-f]/.test(line), `half a character: ${line.slice(0, 500)}`);
    this.got.push(update);
  }

  give(...events: NewEvent[]): this {
    for (const event of this.stamp(events)) this.updates.event(event);
    return this;
  }

  stamp(events: readonly NewEvent[]): Event[] {
    return events.map((event) => ({
      v: 1,
      seq: LIVE_ONLY.has(event.type) ? 0 : ++this.#seq,
      time: "2026-01-01T00:00:00Z",
      ...event,
    }));
  }

  pass(ms: number): this {
    this.time += ms;
    for (
      const { task } of this.#due.splice(0).filter(({ at, task }) =>
        at <= this.time || !this.#due.push({ at, task })
      )
    ) {
      task();
    }
    return this;
  }

  /** The updates since the last call of this, flushed. */
  take(): SessionUpdate[] {
    this.updates.flush();
    return this.got.splice(0);
  }

  /** Text of all chunks, by message. */
  messages(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const update of this.got) {
      if (!("messageId" in update) || update.content.type !== "text") continue;
      const key = `${update.messageId}`;
      found[key] = (found[key] ?? "") + update.content.text;
    }
    return found;
  }
}

const usage = { inputTokens: 1, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 };
const turn = { type: "turn.start", turn: 1 } as const;
const begin = (step = 1) => ({ type: "message.start", step, model: "m" }) as const;
const delta = (text: string, channel: "text" | "reasoning" = "text") =>
  ({ type: "message.delta", channel, text }) as const;
const end = (content: string, more: Partial<NewEventOf<"message.end">> = {}) =>
  ({ type: "message.end", step: 1, model: "m", content, durationMs: 1, ...more }) as const;
const turnEnd = (reason: EventOf<"turn.end">["reason"] = "done") =>
  ({ type: "turn.end", turn: 1, reason, answer: "", steps: 1, usage, durationMs: 1 }) as const;
const call = (name: string, args: unknown, id = "c") => ({ id, name, arguments: JSON.stringify(args) });
const start = (name: string, args: unknown, more: Partial<NewEventOf<"tool.start">> = {}) =>
  ({
    type: "tool.start",
    call: call(name, args),
    readOnly: false,
    summary: "",
    title: `do ${name}`,
    ...more,
  }) as const;
const finish = (more: Partial<NewEventOf<"tool.end">> = {}) => ({
  type: "tool.end",
  callId: "c",
  name: "x",
  outcome: "ok",
  content: "done",
  summary: "it is done",
  durationMs: 5,
  ...more,
} as const);
const text = (words: string): ToolCallContent => ({
  type: "content",
  content: { type: "text", text: words },
});

function statuses(updates: readonly SessionUpdate[]): (string | null | undefined)[] {
  return updates.flatMap((update) =>
    (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") && update.status
      ? [update.status]
      : []
  );
}

Deno.test("updates send the first chunk at once and join what follows within 10 ms", () => {
  const client = new Client().give(turn, begin(), delta("a"));
  assertEquals(client.got.length, 1);
  client.give(delta("b"), delta("c"));
  assertEquals(client.got.length, 1);
  client.pass(10);
  assertEquals(client.messages(), { "message-1-1": "abc" });
  assertEquals(client.got.length, 2);
  client.pass(20).give(delta("d"));
  assertEquals(client.got.length, 3);
  client.give(delta("e"), end("abcde"));
  assertEquals(client.messages(), { "message-1-1": "abcde" });
});

Deno.test("updates name messages the same live and in a replay, thoughts apart, replies apart", () => {
  const client = new Client();
  const events: NewEvent[] = [
    turn,
    { type: "message.user", content: "hi", origin: "user" },
    begin(),
    delta("hm", "reasoning"),
    delta("one"),
    end("one", { reasoning: "hm", calls: [call("x", {})] }),
    start("x", {}),
    finish(),
    begin(),
    delta("half"),
    {
      type: "message.retry",
      attempt: 2,
      maxAttempts: 3,
      waitMs: 1,
      reason: "down",
      discarded: true,
    },
    delta("two"),
    end("two"),
    turnEnd(),
    { ...turn, turn: 2 },
    { type: "message.user", content: "and", origin: "steer" },
    begin(),
    end("not streamed"),
  ];
  const kept = client.stamp(events).map((event) => (client.updates.event(event), event));
  const live = client.messages();
  assertEquals(live, {
    "user-2": "hi",
    "thought-1-1": "hm",
    "message-1-1": "one",
    "message-1-2": "half",
    "note-1-2": `\n\n_${texts.brokeOff}_\n\n`,
    "message-1-2-2": "two",
    "user-10": "and",
    "message-9-1": "not streamed",
  });
  const again = new Client();
  again.updates.replay(kept.filter(({ seq }) => seq > 0));
  const { "message-1-2": _half, "note-1-2": _note, ...lasting } = live;
  assertEquals(again.messages(), lasting);
});

Deno.test("updates show messages of people only, and not those that the client has sent", () => {
  const origins = ["user", "context", "reminder", "continue", "steer", "summary"] as const;
  const client = new Client().give(
    turn,
    ...origins.map((origin) => ({ type: "message.user", content: origin, origin }) as const),
  );
  assertEquals(Object.values(client.messages()), ["user", "steer"]);
  client.take();
  // Of two equal messages the one of another client is shown.
  client.updates.sent.add("m1");
  client.give(
    { type: "message.user", id: "m2", content: "same", origin: "user" },
    { type: "message.user", id: "m1", content: "same", origin: "user" },
  );
  assertEquals(Object.values(client.messages()), ["same"]);
  const image = { mime: "image/png", data: "AAAA" };
  client.take();
  client.give({ type: "message.user", content: "theirs", origin: "user", images: [image] });
  const kinds = client.take().map((update) =>
    "content" in update && !Array.isArray(update.content) && update.content
  );
  assertEquals(kinds, [{ type: "text", text: "theirs" }, {
    type: "image",
    mimeType: "image/png",
    data: "AAAA",
  }]);
});

Deno.test("updates hide summaries and show compactions where the client takes them", () => {
  const events: NewEvent[] = [
    { type: "turn.state", from: "preparing", to: "compacting" },
    begin(0),
    { type: "message.user", content: "sum up", origin: "summary" },
    end("secret", { step: 0 }),
    {
      type: "compaction",
      reason: "window",
      from: 1,
      to: 2,
      digest: "<compaction-summary>\nshort\n</compaction-summary>",
      tokensBefore: 10,
      tokensAfter: 1,
    },
  ];
  assertEquals(new Client().give(...events).take(), []);
  assertEquals(new Client({ compaction: true }).give(...events).take(), [
    { sessionUpdate: "compaction_update", compactionId: "compaction-0", status: "in_progress" },
    {
      sessionUpdate: "compaction_update",
      compactionId: "compaction-0",
      status: "completed",
      summary: [{ type: "text", text: "short" }],
    },
  ]);
  const stopped = new Client({ compaction: true }).give(turn, events[0] ?? turn, turnEnd("interrupted"));
  assertEquals(stopped.take().map((update) => "status" in update && update.status), [
    "in_progress",
    "cancelled",
  ]);
});

Deno.test("updates announce a call while its arguments arrive, and run it to its end", () => {
  const client = new Client().give(
    turn,
    begin(),
    { type: "tool.call", step: 1, callId: "c", name: "edit_file" },
    { type: "tool.call", step: 1, callId: "c", name: "edit_file", arguments: '{"path":"src/a.ts","old' },
    {
      type: "tool.call",
      step: 1,
      callId: "c",
      name: "edit_file",
      arguments: '{"path":"src/a.ts","old_string":',
    },
  );
  const args = { path: "src/a.ts", offset: 3 };
  assertEquals(client.take(), [
    {
      sessionUpdate: "tool_call",
      toolCallId: "c",
      name: "edit_file",
      title: "edit_file",
      kind: "edit",
      status: "pending",
    },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "c",
      title: "edit_file src/a.ts",
    },
  ]);
  client.give(
    end("", { calls: [call("edit_file", args)] }),
    start("edit_file", args, { paths: ["src/a.ts"] }),
  );
  const started = {
    title: "do edit_file",
    kind: "edit",
    status: "pending",
    rawInput: args,
    locations: [{ path: "/w/src/a.ts", line: 3 }],
  } satisfies Partial<ToolCall>;
  // Only what changes is sent.
  const { title, locations } = started;
  assertEquals(client.take(), [
    { sessionUpdate: "tool_call_update", toolCallId: "c", rawInput: args },
    { sessionUpdate: "tool_call_update", toolCallId: "c", title, locations },
  ]);
  assertEquals(client.updates.callUpdateOf("c"), { toolCallId: "c", name: "edit_file", ...started });
  client.give(
    { type: "approval.request", callId: "c", tool: "edit_file", subject: "", reason: "" },
    { type: "approval.decision", callId: "c", decision: "allow", source: "user" },
    finish({ changes: [{ path: "/w/src/a.ts", change: "updated", added: 1, removed: 0, diff: PATCH }] }),
  );
  const updates = client.take();
  assertEquals(statuses(updates), ["in_progress", "completed"]);
  assertEquals(updates.at(-1), {
    sessionUpdate: "tool_call_update",
    toolCallId: "c",
    status: "completed",
    content: [{ type: "diff", path: "/w/src/a.ts", oldText: "a\nb\n", newText: "a\nc\n" }],
    locations: [{ path: "/w/src/a.ts", line: 6 }],
    rawOutput: { outcome: "ok", summary: "it is done", durationMs: 5, output: "done" },
  });
});

const PATCH = "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -5,2 +5,2 @@\n a\n-b\n+c\n";

for (
  const [outcome, more, said] of [
    ["blocked", { summary: "refused by the policy" }, "refused by the policy"],
    ["aborted", { summary: "it was stopped" }, "it was stopped"],
    ["skipped", { summary: "an earlier call ended the turn" }, "an earlier call ended the turn"],
    ["error", { content: "error: no such file" }, "```\nerror: no such file\n```"],
  ] as const
) {
  Deno.test(`updates end a call that is ${outcome} as failed with its reason`, () => {
    const client = new Client().give(turn, start("bash", { command: "ls" }), finish({ outcome, ...more }));
    const last = client.take().at(-1);
    assert(last?.sessionUpdate === "tool_call_update");
    assertEquals([last.status, last.content], ["failed", [text(said)]]);
  });
}

Deno.test("updates end calls that were announced and did not come as failed", () => {
  const announced = { type: "tool.call", step: 1, callId: "c", name: "ls" } as const;
  for (const last of [end("", { interrupted: true }), turnEnd("provider")]) {
    const client = new Client().give(turn, begin(), announced, last);
    assertEquals(statuses(client.take()), ["pending", "failed"]);
    // The same identifier may come again: for the client it is another call.
    client.give(begin(), announced, end("", { calls: [call("ls", {})] }), start("ls", {}), finish());
    const again = client.take();
    assertEquals(statuses(again), ["pending", "completed"]);
    assert(again.every((update) => !("toolCallId" in update) || update.toolCallId === "c#2"));
  }
});

Deno.test("updates give a denied call no end before its own", () => {
  const client = new Client().give(
    turn,
    start("bash", {}),
    { type: "approval.request", callId: "c", tool: "bash", subject: "", reason: "" },
    { type: "approval.decision", callId: "c", decision: "deny", source: "user" },
    finish({ outcome: "blocked", denied: true, summary: "denied, not executed" }),
  );
  assertEquals(statuses(client.take()), ["pending", "failed"]);
});

Deno.test("updates show the output of a command as text at most 5 times a second", () => {
  const client = new Client().give(turn, start("bash", { command: "make" }));
  client.take();
  for (let n = 0; n < 999; n++) {
    client.give({ type: "tool.delta", callId: "c", text: `line ${n}\n` }).pass(1);
  }
  const shown = client.got.filter((update) => "content" in update && update.content);
  assertEquals(shown.length, 5);
  client.give({ type: "tool.delta", callId: "c", text: "x".repeat(100_000) }).pass(200);
  const last = client.take().findLast((update) => "content" in update);
  assert(JSON.stringify(last).length < 5_000);
  client.give(finish({ outcome: "aborted", summary: "stopped" }));
  const end = client.take().at(-1);
  assert(end?.sessionUpdate === "tool_call_update");
  assertEquals(end.content?.at(-1), text("stopped"));
  assert(JSON.stringify(end.content?.[0]).includes("xxx"));
});

Deno.test("updates stream the output of a command to a terminal where the client takes it", () => {
  const client = new Client({ terminalOutput: true }).give(
    turn,
    begin(),
    { type: "tool.call", step: 1, callId: "c", name: "bash" },
    end("", { calls: [call("bash", { command: "make" })] }),
    start("bash", { command: "make" }),
    { type: "tool.delta", callId: "c", text: "one\n" },
    { type: "tool.delta", callId: "c", text: "two\n" },
    finish({ exitCode: 2, outcome: "error", content: "one\ntwo\nExit code 2" }),
  );
  const metas = client.take().flatMap((update) => "_meta" in update && update._meta ? [update._meta] : []);
  assertEquals(metas, [
    { terminal_info: { terminal_id: "c", cwd: "/w" } },
    { terminal_output: { terminal_id: "c", data: "one\n" } },
    { terminal_output: { terminal_id: "c", data: "two\n" } },
    { terminal_exit: { terminal_id: "c", exit_code: 2, signal: null } },
  ]);
  const silent = new Client({ terminalOutput: true }).give(turn, start("bash", {}), finish({ exitCode: 0 }))
    .take().at(-1);
  assert(silent?.sessionUpdate === "tool_call_update");
  assertEquals(silent.content, [{ type: "terminal", terminalId: "c" }]);
  assertEquals(silent._meta?.terminal_output, { terminal_id: "c", data: "done" });
});

Deno.test("updates bound the output for a terminal, and all that a call gives", () => {
  const client = new Client({ terminalOutput: true }).give(turn, start("bash", {}));
  for (let n = 0; n < 30; n++) {
    client.give({ type: "tool.delta", callId: "c", text: "🦊".repeat(50_000) }).pass(200);
  }
  assert(JSON.stringify(client.take()).length < 1_100_000);
  const wide = "🦊".repeat(200_000);
  const content = { type: "text", text: wide } as const;
  const big = new Client().give(
    turn,
    start("mcp__a__b", { wide, deep: [{ content }] }, { title: wide }),
    finish({ content: wide }),
    { ...start("write_file", {}), call: call("write_file", {}, "d") },
    finish({
      callId: "d",
      changes: Array.from({ length: 100 }, (_, n) => ({
        path: `/w/${n}`,
        change: "created" as const,
        added: 1,
        removed: 0,
        diff: unifiedDiff("", wide.slice(0, 20_000), { from: undefined, to: `${n}` }).diff,
      })),
    }),
  );
  assert(JSON.stringify(big.take()).length < 500_000);
});

for (
  const [name, change, before, after, expected] of [
    ["created", "created", undefined, "a\nb\n", [[undefined, "a\nb\n"]]],
    ["created without a last newline", "created", undefined, "a\nb", [[undefined, "a\nb"]]],
    ["created and empty", "created", undefined, "", [[undefined, ""]]],
    ["deleted", "deleted", "a\nb\n", "", [["a\nb\n", ""]]],
    ["updated", "updated", "a\r\n\tb", "a\r\n\tc\n", [["a\r\n\tb", "a\r\n\tc\n"]]],
    ["filled", "updated", "", "--- x\n@@ y\n", [["", "--- x\n@@ y\n"]]],
  ] as const
) {
  Deno.test(`updates show the diff of a file that is ${name}`, () => {
    const { diff } = unifiedDiff(before ?? "", after, {
      from: change === "created" ? undefined : "a",
      to: change === "deleted" ? undefined : "a",
    });
    const changes = [{ path: "a", change, added: 0, removed: 0, ...(diff ? { diff } : {}) }];
    const last = new Client().give(turn, start("apply_patch", {}), finish({ changes })).take().at(-1);
    assert(last?.sessionUpdate === "tool_call_update");
    const diffs = last.content?.flatMap((each) => each.type === "diff" ? [[each.oldText, each.newText]] : []);
    assertEquals(diffs, expected.map((texts) => [...texts]));
    assertEquals(last.locations?.[0]?.path, "/w/a");
  });
}

Deno.test("updates show each hunk of an edit, at its place", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom(..."abcdefgh")),
      fc.array(fc.constantFrom(..."abcx", "")),
      (old, fresh) => {
        const [before, after] = [old.join("\n"), fresh.join("\n")];
        const { diff } = unifiedDiff(before, after, { from: "a", to: "a", context: 1 });
        const changes = [{ path: "a", change: "updated" as const, added: 0, removed: 0, diff }];
        const last = new Client().give(turn, start("edit", {}), finish({ changes })).take().at(-1);
        assert(last?.sessionUpdate === "tool_call_update");
        // Applied to the old text, one after the other, the diffs give the new one.
        let [rest, made] = [before, ""];
        for (const each of last.content ?? []) {
          if (each.type !== "diff") continue;
          const at = `\n${rest}`.indexOf(`\n${each.oldText ?? ""}`);
          assert(at >= 0);
          made += rest.slice(0, at) + each.newText;
          rest = rest.slice(at + (each.oldText ?? "").length);
        }
        if (diff !== "") assertEquals(made + rest, after);
        const line = last.locations?.[0]?.line ?? 1;
        const [oldLines, freshLines] = [before.split("\n"), after.split("\n")];
        for (let at = 0; at < line - 1; at++) assertEquals(oldLines[at], freshLines[at]);
      },
    ),
    { seed: SEED },
  );
});

Deno.test("updates of a dry run say that nothing was written", () => {
  const change = { path: "a", change: "updated", added: 1, removed: 1, written: false, diff: PATCH } as const;
  const last = new Client().give(
    turn,
    start("edit_file", {}),
    finish({ changes: [change], summary: "dry run" }),
  ).take().at(-1);
  assert(last?.sessionUpdate === "tool_call_update");
  assertEquals(last.content?.map(({ type }) => type), ["diff", "content"]);
  assertEquals(last.content?.[1], text("dry run"));
});

for (
  const [name, kind] of Object.entries({
    read_file: "read",
    ls: "search",
    grep: "search",
    bash: "execute",
    Bash: "execute",
    job_output: "execute",
    edit_file: "edit",
    multi_edit: "edit",
    apply_patch: "edit",
    str_replace_editor: "edit",
    move_file: "move",
    forget: "delete",
    task: "think",
    read_only_task: "think",
    todo_write: "think",
    TodoWrite: "think",
    update_goal: "think",
    complete_step: "think",
    exit_plan_mode: "switch_mode",
    lsp_rename: "edit",
    lsp_definition: "search",
    ask: "other",
    mcp__github__create_issue: "edit",
    mcp__github__getIssue: "read",
    mcp__search__delete_index: "delete",
    mcp__web__fetch: "fetch",
    mcp__shop__buy: "other",
  })
) {
  Deno.test(`updates show ${name} as ${kind}`, () => assertEquals(callKind(name), kind));
}

Deno.test("updates show todo lists, plans, images of results and the progress of agents", () => {
  const items = [{ content: "one", status: "completed" }, { content: "two", status: "in_progress" }] as const;
  const client = new Client().give(
    turn,
    { type: "todo.update", items: [...items] },
    { type: "plan.change", state: "proposed", plan: "# Plan" },
    { type: "plan.change", state: "approved" },
    start("task", {}),
    { type: "subagent.progress", id: "a", agent: "explore", text: "grep x", callId: "c", calls: 2 },
    finish({ images: [{ mime: "image/png", data: "AAAA" }] }),
  );
  const got = client.take();
  assertEquals(got[0], {
    sessionUpdate: "plan",
    entries: [
      { content: "one", status: "completed", priority: "medium" },
      { content: "two", status: "in_progress", priority: "medium" },
    ],
  });
  assertEquals(client.messages(), {});
  assertEquals(got[1]?.sessionUpdate, "agent_message_chunk");
  assert(JSON.stringify(got).includes("2 calls › grep x"));
  const last = got.at(-1);
  assert(last?.sessionUpdate === "tool_call_update");
  assertEquals(last.content, [
    text("done"),
    { type: "content", content: { type: "image", mimeType: "image/png", data: "AAAA" } },
  ]);
});

Deno.test("updates show notices where the client takes them, else warnings between messages", () => {
  const warn = { type: "notice", level: "warning", code: "x", text: "Careful\nmore" } as const;
  const events: NewEvent[] = [
    turn,
    { ...warn, level: "info", text: "fyi" },
    begin(),
    delta("an"),
    warn,
    delta("swer"),
    end("answer"),
    { type: "error", code: "provider", text: "said by the prompt's answer" },
    { type: "mcp.server", server: "s", state: "failed", detail: "no such program" },
    { type: "mcp.server", server: "s", state: "ready", tools: 1 },
  ];
  const notices = new Client({ notices: true }).give(...events).take().filter(({ sessionUpdate }) =>
    sessionUpdate === "notice"
  );
  assertEquals(
    notices.map((each) => each.sessionUpdate === "notice" && [each.severity, each.title, each.description]),
    [
      ["info", "fyi", undefined],
      ["warning", "Careful", "more"],
      ["warning", "MCP server s cannot be used: no such program", undefined],
      ["info", "MCP server s works again: 1 tool", undefined],
    ],
  );
  const plain = new Client().give(...events);
  assertEquals(Object.values(plain.messages()), [
    "answer",
    "\n\n> ⚠ Careful\n> more\n\n",
    "\n\n> ⚠ MCP server s cannot be used: no such program\n\n",
  ]);
});

Deno.test("updates make good at the end of a message what a slow client was not sent", () => {
  let isBehind = false;
  const client = new Client({}, { behind: () => isBehind }).give(turn, begin(), delta("one "));
  isBehind = true;
  client.give(delta("two "), { type: "tool.delta", callId: "c", text: "lost" });
  isBehind = false;
  client.give(delta("three "), end("one two three "));
  assertEquals(client.messages(), { "message-1-1": "one two three " });
});

Deno.test("updates of a replay show the conversation as it is now, each call once", () => {
  const client = new Client({ terminalOutput: true, notices: true });
  const user = (content: string) => ({ type: "message.user", content, origin: "user" }) as const;
  const step = (words: string, id: string): NewEvent[] => [
    end(words, { calls: [call("bash", { command: words }, id)] }),
    { ...start("bash", {}), call: call("bash", { command: words }, id) },
    { type: "approval.decision", callId: id, decision: "allow", source: "mode" },
    finish({ callId: id, name: "bash", exitCode: 0 }),
    turnEnd(),
  ];
  const events = client.stamp([
    { type: "session.start", session: "s", version: "1", cwd: "/w" },
    turn,
    user("one"),
    { type: "message.user", content: "facts", origin: "context" },
    ...step("a", "x"),
    { type: "notice", level: "warning", code: "x", text: "long ago" },
    { ...turn, turn: 2 },
    user("left behind"),
    { type: "todo.update", items: [{ content: "gone", status: "pending" }] },
    ...step("b", "y"),
    { type: "rewind", to: 10, scope: "conversation" },
    { ...turn, turn: 2 },
    user("two"),
    ...step("c", "x"),
    { type: "todo.update", items: [{ content: "now", status: "pending" }] },
  ]);
  client.updates.replay(events);
  const got = client.take();
  assertEquals(got.map((update) => [update.sessionUpdate, "toolCallId" in update && update.toolCallId]), [
    ["user_message_chunk", false],
    ["agent_message_chunk", false],
    ["tool_call", "x"],
    ["user_message_chunk", false],
    ["agent_message_chunk", false],
    ["tool_call", "x#2"],
    ["plan", false],
  ]);
  assertEquals(statuses(got), ["completed", "completed"]);
  assert(!/terminal|left behind|long ago|facts|gone/.test(JSON.stringify(got)));
  // Back and forth again, everything is there.
  const again = new Client();
  again.updates.replay([
    ...events.slice(0, -1),
    ...new Client({}, {}, 99).stamp([
      { type: "rewind", to: 17, scope: "both" },
    ]),
  ]);
  assert(/left behind/.test(JSON.stringify(again.got)) && !/two/.test(JSON.stringify(again.got)));
});

/** Random turns: replies with calls that run in any order, in pieces. */
const scripts = fc.array(
  fc.record({
    text: fc.string({ unit: "binary", maxLength: 30 }),
    thought: fc.string({ unit: "grapheme", maxLength: 10 }),
    pieces: fc.integer({ min: 1, max: 5 }),
    calls: fc.array(
      fc.record({
        announced: fc.boolean(),
        comes: fc.boolean(),
        output: fc.array(fc.string({ unit: "grapheme", maxLength: 5 }), { maxLength: 3 }),
        outcome: fc.constantFrom("ok", "error", "blocked", "aborted", "skipped" as const),
      }),
      { maxLength: 3 },
    ),
    pause: fc.integer({ min: 0, max: 300 }),
  }),
  { minLength: 1, maxLength: 4 },
);

type Script = typeof scripts extends fc.Arbitrary<infer T> ? T : never;

function eventsOf(script: Script, shuffle: (n: number) => number): NewEvent[] {
  const events: NewEvent[] = [turn, { type: "message.user", content: "go", origin: "user" }];
  script.forEach(({ text: raw, thought, pieces, calls }, step) => {
    const words = raw.toWellFormed();
    events.push(begin(step + 1));
    const cut = (whole: string) =>
      Array.from(
        { length: pieces },
        (_, n) =>
          whole.slice(Math.floor(n * whole.length / pieces), Math.floor((n + 1) * whole.length / pieces)),
      );
    for (const piece of cut(thought)) events.push(delta(piece, "reasoning"));
    for (const piece of cut(words)) events.push(delta(piece));
    const ids = calls.map((_, n) => `${step}-${n}`);
    calls.forEach(({ announced }, n) => {
      if (announced) events.push({ type: "tool.call", step: step + 1, callId: `${step}-${n}`, name: "bash" });
    });
    const coming = ids.filter((_, n) => calls[n]?.comes);
    events.push(end(words, {
      step: step + 1,
      reasoning: thought,
      calls: coming.map((id) => call("bash", { command: "x" }, id)),
    }));
    const running = coming.map((id): NewEvent[] => {
      const { output = [], outcome = "ok" } = calls[ids.indexOf(id)] ?? {};
      return [
        { ...start("bash", {}), call: call("bash", { command: "x" }, id) },
        ...output.map((each) => ({ type: "tool.delta", callId: id, text: each }) as const),
        finish({ callId: id, outcome }),
      ];
    });
    while (running.some((each) => each.length > 0)) {
      const left = running.filter((each) => each.length > 0);
      events.push(...left[shuffle(left.length)]?.splice(0, 1) ?? []);
    }
  });
  return [...events, turnEnd()];
}

Deno.test("updates have the whole text and one end for each call, whatever the order, live and joined", () => {
  fc.assert(
    fc.property(
      scripts,
      fc.infiniteStream(fc.nat(1000)),
      fc.nat(1000),
      fc.boolean(),
      (script, random, join, terminalOutput) => {
        const draw = (n: number) => (random.next().value ?? 0) % n;
        const live = new Client({ terminalOutput });
        const events = live.stamp(eventsOf(script, draw));
        const joined = new Client({ terminalOutput });
        const state = new LiveState();
        const at = join % events.length;
        events.forEach((event, index) => {
          if (index === at) {
            joined.updates.replay(events.slice(0, index).filter(({ seq }) => seq > 0));
            joined.updates.snapshot(state.snapshot());
          }
          state.event(event);
          live.updates.event(event);
          if (index >= at) joined.updates.event(event);
          const pause = draw(3) * 7;
          live.pass(pause);
          joined.pass(pause);
        });
        for (const client of [live, joined]) {
          client.updates.flush();
          const messages = client.messages();
          script.forEach(({ text, thought }, step) => {
            assertEquals(messages[`message-1-${step + 1}`] ?? "", text.toWellFormed());
            assertEquals(messages[`thought-1-${step + 1}`] ?? "", thought);
          });
          const ends = new Map<string, number>();
          for (const update of client.got) {
            if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") continue;
            const known = ends.get(update.toolCallId);
            assertEquals(known === undefined, update.sessionUpdate === "tool_call");
            assert((known ?? 0) === 0, "an update after the end");
            ends.set(update.toolCallId, Number(update.status === "completed" || update.status === "failed"));
          }
          assert([...ends.values()].every((count) => count === 1));
          const certain = script.flatMap(({ calls }, step) =>
            calls.flatMap(({ comes }, n) => comes ? [`${step}-${n}`] : [])
          );
          assert(certain.every((id) => ends.has(id)));
        }
      },
    ),
    { seed: SEED },
  );
});
