import type { NewEvent } from "../../../../src/core/mod.ts";
import { displayWidth } from "../../../../src/util/display_width.ts";
import { loadMarkdown, palette } from "../../../../src/view/mod.ts";
import { apply, emptyState } from "../../../../src/session/mod.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { type TranscriptStage, transcriptStage, TURN_END } from "../../../support/transcript_stage.ts";

const HOSTILE = "\x1b[2J\x1b]0;owned\x07\x1b[10;10H\r\x9b2J\x1b]52;c;eA==\x07\u202eevil";

const user = (content: string): NewEvent => ({ type: "message.user", content, origin: "user" });

const start = (id: string, summary: string, name = "bash"): NewEvent => ({
  type: "tool.start",
  call: { id, name, arguments: "{}" },
  readOnly: false,
  summary,
});

const end = (callId: string, more: Partial<Extract<NewEvent, { type: "tool.end" }>> = {}): NewEvent => ({
  type: "tool.end",
  callId,
  name: "bash",
  outcome: "ok",
  content: "",
  summary: "exit 0",
  durationMs: 10,
  ...more,
});

/** Loads the renderer, so that later text is printed immediately. */
async function warm(stage: TranscriptStage): Promise<void> {
  stage.transcript.say("ready *now*");
  await stage.printed();
}

Deno.test("a streamed answer equals its complete rendering for any chunks", async () => {
  const text =
    "# Title\n\nSome *text* with `code` and 中文宽字符。\n\n- one\n- two\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n" +
    "Look:\n```\nlet x;\n\nx();\n```\nThe end 👨‍👩‍👧.";
  const { render } = await loadMarkdown({ palette: palette(false), links: false }).then((renderer) => ({
    render: (source: string) => renderer.render(source, 60),
  }));
  const whole = render(text).map((line) => line.trimEnd()).join("\n").replace(/\n{2,}/g, "\n\n").trim();
  for (const size of [1, 3, 7, 500]) {
    const stage = await transcriptStage({ columns: 60 });
    await warm(stage);
    stage.feed(user("go"));
    stage.stream(text, size);
    const lines = await stage.printed();
    const answer = lines.slice(lines.indexOf("> go") + 1).join("\n").trim();
    assertEquals(answer, whole, `pieces of ${size}`);
    assertEquals(stage.terminal.destructive(), []);
  }
});

Deno.test("text before the renderer is loaded is shown plain and then rendered in order", async () => {
  const stage = await transcriptStage();
  stage.feed(user("one"), { type: "message.start", step: 1, model: "m" });
  stage.feed({ type: "message.delta", channel: "text", text: "**bold** text\n\nand more" });
  assert(stage.terminal.text().some((line) => line.includes("**bold** text")), "shown as it is");
  stage.feed({ type: "message.end", step: 1, model: "m", content: "", durationMs: 1 }, TURN_END, user("two"));
  const lines = await stage.printed();
  assertEquals(lines, ["> one", "", "bold text", "", "and more", "", "> two"]);
});

Deno.test("code longer than the screen moves to the history line by line, each line once", async () => {
  const code = Array.from({ length: 200 }, (_, line) => `line ${line} of /* the code`);
  for (const size of [31, 90, 5000]) {
    const stage = await transcriptStage({ rows: 10 });
    await warm(stage);
    stage.stream(`Before\n\n\`\`\`ts\n${code.join("\n")}\n\`\`\`\n\nAfter`, size);
    const lines = await stage.printed();
    const from = lines.indexOf("```ts");
    assertEquals(lines.slice(from + 1, from + 201), code.map((line) => `  ${line}`), `pieces of ${size}`);
    assertEquals(lines.slice(from + 201, from + 204), ["```", "", "After"]);
    assertEquals(stage.terminal.destructive(), []);
  }
});

Deno.test("a list longer than the screen keeps its numbers and blank lines", async () => {
  for (const gap of ["\n", "\n\n"]) {
    const stage = await transcriptStage({ rows: 8 });
    await warm(stage);
    const items = Array.from({ length: 40 }, (_, at) => `${at + 1}. item ${at + 1}`);
    stage.stream(`${items.join(gap)}\n\nAfter`, 5);
    const lines = await stage.printed();
    const list = lines.slice(lines.indexOf("1. item 1"), lines.indexOf("After"));
    assertEquals(list, [
      ...items.flatMap((item) => gap === "\n" ? [item] : [item, ""]),
      ...(gap === "\n" ? [""] : []),
    ]);
  }
});

Deno.test("a long answer costs few bytes and never clears the screen", async () => {
  const stage = await transcriptStage({ columns: 100, rows: 30 });
  await warm(stage);
  const before = stage.terminal.bytes;
  const text = Array.from({ length: 120 }, (_, at) => `Paragraph ${at} says something that is worth a line.`)
    .join("\n\n");
  stage.stream(text, 12);
  await stage.printed();
  assert(
    stage.terminal.bytes - before <= 3 * text.length,
    `${stage.terminal.bytes - before} for ${text.length}`,
  );
  assertEquals(stage.terminal.destructive(), []);
});

Deno.test("text of models, tools and files cannot send terminal sequences", async () => {
  const stage = await transcriptStage({ columns: 40, colors: true });
  await warm(stage);
  const diff = `--- a\n+++ b\n@@ -1 +1 @@\n-${HOSTILE}\n+new ${HOSTILE}\n`;
  stage.feed(
    user(`say ${HOSTILE}`),
    { type: "turn.start", turn: 1 },
    start("1", HOSTILE),
    { type: "tool.delta", callId: "1", text: `${HOSTILE}\n${HOSTILE}` },
    end("1", {
      content: `${HOSTILE}\n[exit code 0]`,
      exitCode: 0,
      summary: HOSTILE,
      changes: [{ path: HOSTILE, change: "updated", added: 1, removed: 1, diff }],
    }),
    { type: "notice", level: "warning", code: "x", text: HOSTILE },
    { type: "message.retry", attempt: 1, maxAttempts: 2, waitMs: 1, reason: HOSTILE, discarded: true },
    { type: "todo.update", items: [{ content: HOSTILE, status: "completed" }] },
    { type: "job.change", job: "1", command: HOSTILE, status: "started" },
  );
  stage.stream(
    `${HOSTILE}\n\n\`\`\`\n${HOSTILE}\n\`\`\`\n\n[${HOSTILE}](https://x/${HOSTILE})\n\nThe end`,
    7,
  );
  await stage.printed();
  const written = stage.terminal.writes.join("");
  assertEquals(stage.terminal.destructive(), []);
  for (const bad of ["\x1b]0;", "\x1b]52;", "\x1b[10;10H", "\x9b", "\u202e"]) {
    assert(!written.includes(bad), JSON.stringify(bad));
  }
});

Deno.test("every line fits a narrow terminal: CJK, emoji, right-to-left, long words", async () => {
  const texts = [
    "中文宽字符".repeat(20),
    "👨‍👩‍👧🇩🇪👍🏽".repeat(20),
    "שלום עולם مرحبا ".repeat(10),
    "x".repeat(200),
  ];
  for (const columns of [20, 33]) {
    const stage = await transcriptStage({ columns, rows: 12, locale: "zh-CN" });
    await warm(stage);
    for (const text of texts) {
      stage.feed(user(text), { type: "turn.start", turn: 1 }, start("1", text), {
        type: "tool.delta",
        callId: "1",
        text,
      });
      for (const row of stage.transcript.live(columns, 10)) assert(displayWidth(row) <= columns, row);
      stage.feed(end("1", { summary: text, content: text }), {
        type: "notice",
        level: "info",
        code: "x",
        text,
      });
      stage.feed({ type: "todo.update", items: [{ content: text, status: "in_progress" }] });
      stage.stream(
        `${text}\n\n- ${text}\n\n\`\`\`\n${text}\n\`\`\`\n\n| ${text} | b |\n| - | - |\n| 1 | 2 |`,
        9,
      );
      for (const row of stage.transcript.live(columns, 10)) assert(displayWidth(row) <= columns, row);
    }
    const shown = stage.terminal.text().join("");
    // Nothing was cut off: the long word is there as a whole, in rows.
    assert(stage.terminal.text().filter((line) => /^x+$/.test(line)).length >= 5, shown);
  }
});

Deno.test("thinking is one line, live and finished, and can be viewed", async () => {
  const stage = await transcriptStage();
  await warm(stage);
  stage.feed({ type: "turn.start", turn: 1 }, { type: "message.start", step: 1, model: "m" });
  stage.feed({ type: "message.delta", channel: "reasoning", text: "First this.\nThen " });
  stage.clock.now = 4200;
  stage.feed({ type: "message.delta", channel: "reasoning", text: "that." });
  assert(stage.transcript.live(80, 10).slice(0, 2).join("|") === "∴ thinking · 4 s|First this. Then that.");
  stage.feed(
    { type: "message.end", step: 1, model: "m", content: "42", durationMs: 1, usage: usage(10, 320) },
    { type: "turn.end", turn: 1, reason: "done", answer: "42", steps: 1, usage: usage(10, 0), durationMs: 1 },
  );
  const lines = await stage.printed();
  assertEquals(lines.slice(-3), ["∴ thought for 4 s · 320 tokens", "", "42"]);
  assertEquals(stage.transcript.collapsed, [
    { kind: "thought", title: "thought for 4 s · 320 tokens", text: "First this.\nThen that." },
  ]);
});

function usage(outputTokens: number, reasoningTokens: number) {
  return { inputTokens: 100, cachedTokens: 0, outputTokens, reasoningTokens };
}

Deno.test("concurrent calls have a line each with their last output, replaced by their results", async () => {
  const stage = await transcriptStage();
  stage.feed({ type: "turn.start", turn: 1 }, start("1", "make"), start("2", "a.txt", "read_file"));
  stage.clock.now = 3000;
  const output = Array.from({ length: 9 }, (_, line) => `line ${line}\r\n`).join("") + "10 %\r20 %\r30 %";
  stage.feed({ type: "tool.delta", callId: "1", text: output });
  assertEquals(stage.transcript.live(80, 20).slice(0, 8), [
    "• bash make · 3 s",
    "  line 5",
    "  line 6",
    "  line 7",
    "  line 8",
    "  30 %",
    "• read_file a.txt · 3 s",
    "",
  ]);
  assertEquals(
    stage.transcript.live(80, 4).filter((row) => row.startsWith("•")).length,
    3,
    "room for lines only",
  );
  stage.feed(
    end("2", { name: "read_file", summary: "120 lines" }),
    end("1", {
      outcome: "error",
      summary: "exit 2",
      exitCode: 2,
      content: "bad\n[exit code 2]",
      durationMs: 3000,
    }),
    TURN_END,
  );
  const lines = await stage.printed();
  assertEquals(lines.slice(0, 3), ["✓ read_file a.txt · 120 lines", "✗ bash make · exit 2 · 3.0 s", "  bad"]);
});

Deno.test("a call that waits for approval is not running, and a refusal denies it", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    const stage = await transcriptStage({ locale });
    const request: NewEvent = {
      type: "approval.request",
      callId: "1",
      tool: "bash",
      subject: "make",
      reason: "r",
    };
    stage.feed(
      { type: "turn.start", turn: 1 },
      start("1", "make"),
      start("2", "a.txt", "read_file"),
      request,
    );
    stage.clock.now = 9000;
    const seconds = locale === "en" ? "s" : "秒";
    const calls = () => stage.transcript.live(80, 20).filter((row) => /make|a\.txt/.test(row));
    assertEquals(calls(), ["• bash make", `• read_file a.txt · 9 ${seconds}`]);
    const decision = { type: "approval.decision", callId: "1", source: "user" } as const;
    stage.feed({ ...decision, decision: "allow" });
    stage.clock.now = 11_000;
    assertEquals(calls(), [`• bash make · 2 ${seconds}`, `• read_file a.txt · 11 ${seconds}`]);
    stage.feed(request, { ...decision, decision: "deny" });
    const summary = 'denied, not executed: the user declined "make"';
    stage.feed(end("1", { outcome: "blocked", denied: true, summary, durationMs: 0 }), end("2"), TURN_END);
    const lines = await stage.printed();
    const message = locale === "en" ? "denied, not executed" : "已拒绝，未执行";
    assert(lines.includes(`⊘ bash make · ${message}`), lines.join("\n"));
  }
});

Deno.test("an interrupted answer is kept and marked, and a broken one is reported", async () => {
  const stage = await transcriptStage();
  await warm(stage);
  stage.feed({ type: "turn.start", turn: 1 }, { type: "message.start", step: 1, model: "m" });
  stage.feed({ type: "message.delta", channel: "text", text: "Half of" });
  stage.feed({
    type: "message.retry",
    attempt: 1,
    maxAttempts: 3,
    waitMs: 2000,
    reason: "reset",
    discarded: true,
  });
  stage.feed({ type: "message.delta", channel: "text", text: "Again half" });
  stage.feed(
    { type: "message.end", step: 1, model: "m", content: "Again half", interrupted: true, durationMs: 1 },
    {
      type: "turn.end",
      turn: 1,
      reason: "interrupted",
      answer: "",
      steps: 1,
      usage: usage(0, 0),
      durationMs: 1,
    },
  );
  const lines = await stage.printed();
  assertEquals(lines.slice(lines.indexOf("Half of")), [
    "Half of",
    "",
    "· the reply broke off; what was shown of it does not count",
    "! attempt 1 of 3 in 2.0 s: reset",
    "",
    "Again half",
    "",
    "■ interrupted",
  ]);
  assert(!stage.transcript.busy);
});

Deno.test("the todo list is above the composer while it has open entries, and changes are printed", async () => {
  const stage = await transcriptStage();
  const items = (first: "pending" | "in_progress" | "completed", second: "pending" | "completed") => ({
    type: "todo.update" as const,
    items: [{ content: "read", status: first }, { content: "write", status: second }],
  });
  stage.feed({ type: "turn.start", turn: 1 });
  stage.feed(items("in_progress", "pending"));
  assertEquals(stage.transcript.live(40, 20).slice(0, 5), [
    "",
    "todo · 0 of 2 done",
    "[~] read",
    "[ ] write",
    "",
  ]);
  stage.feed(items("completed", "pending"));
  stage.feed(items("completed", "completed"));
  assertEquals(stage.transcript.live(40, 20).length, 2);
  stage.feed(TURN_END);
  assertEquals(await stage.printed(), ["[~] read", "[ ] write", "[x] read", "[x] write"]);
});

Deno.test("events other than text and calls are one line each", async () => {
  const stage = await transcriptStage();
  stage.feed(
    { type: "context.prefix", reason: "model", detail: "a → b", system: "", tools: [], model: "b" },
    { type: "mode.change", posture: "auto" },
    { type: "approval.request", callId: "1", tool: "bash", subject: "make", reason: "rule" },
    { type: "approval.decision", callId: "1", decision: "allow", source: "user" },
    { type: "approval.decision", callId: "2", decision: "allow", source: "rule" },
    { type: "checkpoint", turn: 1, files: 1200, id: "x" },
    { type: "rewind", to: 3, scope: "both" },
    {
      type: "compaction",
      reason: "full",
      from: 1,
      to: 9,
      digest: "d",
      tokensBefore: 120_000,
      tokensAfter: 8000,
    },
    { type: "error", code: "x", text: "Cannot do it\nnever" },
  );
  assertEquals(await stage.printed(), [
    "· The cached prefix was rebuilt: model a → b",
    "· you allowed bash make",
    "· checkpoint of 1,200 files",
    "· went back: conversation and files",
    "· older messages were summarised: 120,000 → 8,000 tokens · Ctrl+O shows all",
    "✗ Cannot do it",
    "  never",
  ]);
  assertEquals(stage.transcript.collapsed, [
    { kind: "summary", title: "older messages were summarised: 120,000 → 8,000 tokens", text: "d" },
  ]);
});

Deno.test("a compaction summary is not shown", async () => {
  const stage = await transcriptStage();
  stage.feed({ type: "message.start", step: 0, model: "m" });
  stage.feed({ type: "message.delta", channel: "text", text: "secret summary" });
  assert(stage.transcript.live(80, 5).at(-1)?.includes("making room in the context"));
  stage.feed(
    { type: "message.end", step: 0, model: "m", content: "secret summary", durationMs: 1 },
    user("next"),
  );
  const lines = await stage.printed();
  assert(!lines.join("\n").includes("secret"), lines.join("\n"));
  assert(!stage.transcript.busy);
});

Deno.test("a resumed session of any length shows its last turns", async () => {
  const state = emptyState();
  let seq = 0;
  const take = (event: NewEvent) => void apply(state, { v: 1, seq: ++seq, time: "", ...event });
  for (let turn = 1; turn <= 2000; turn++) {
    take({ type: "turn.start", turn });
    take(user(`question ${turn}`));
    const call = { id: "1", name: "bash", arguments: '{"command":"ls \\"a b\\""}' };
    take({ type: "message.end", step: 1, model: "m", content: "", calls: [call], durationMs: 1 });
    take({ ...start("1", "ls"), title: '$ ls "a b"' } as NewEvent);
    take({ type: "approval.request", callId: "1", tool: "bash", subject: "ls", reason: "" });
    take({ type: "approval.decision", callId: "1", decision: "allow", source: "user" });
    take({ type: "approval.decision", callId: "2", decision: "allow", source: "mode" });
    take(end("1", { summary: `exit ${turn}`, content: "x" }));
    take({ type: "message.end", step: 2, model: "m", content: `answer *${turn}*`, durationMs: 1 });
    take({ ...TURN_END, turn } as NewEvent);
  }
  const stage = await transcriptStage();
  stage.transcript.resume(state);
  const lines = await stage.printed();
  assertEquals(lines.filter((line) => line !== ""), [
    "· … 7,988 earlier messages: /export, or reasonix session show",
    ...[1998, 1999, 2000].flatMap((turn) => [
      `> question ${turn}`,
      "· you allowed bash ls",
      `✓ $ ls "a b" · exit ${turn}`,
      `answer ${turn}`,
    ]),
  ]);
});

Deno.test("lines of a plain report wrap between words with their indent", async () => {
  const stage = await transcriptStage({ columns: 30 });
  stage.transcript.say(
    "Rights\n  read       /etc/hosts, /h/ada/projects_of_mine\n- 一个很长的句子需要在窄的窗口里折行显示\n",
    "plain",
  );
  assertEquals((await stage.printed()).slice(0, 6), [
    "Rights",
    "  read       /etc/hosts,",
    "             /h/ada/projects_o",
    "             f_mine",
    "- 一个很长的句子需要在窄的窗口",
    "  里折行显示",
  ]);
});

Deno.test("no frame is written for time alone when animation is off", async () => {
  const stage = await transcriptStage();
  await warm(stage);
  stage.feed({ type: "turn.start", turn: 1 }, { type: "message.start", step: 1, model: "m" });
  stage.feed({ type: "message.delta", channel: "text", text: "So far." }, start("1", "make"));
  const pass = () => new Promise((resolve) => setTimeout(resolve, 300));
  await pass();
  const { length } = stage.terminal.writes;
  // Whatever drew now would show this time.
  stage.clock.now = 9000;
  await pass();
  assertEquals(stage.terminal.writes.slice(length), []);
  stage.feed({ type: "tool.delta", callId: "1", text: "done\n" });
  assert(stage.terminal.text().join("\n").includes("9 s"));
  stage.feed(TURN_END);
});
