/** Output of the text format on a terminal: standard output and standard error on one screen. */
import { loadTexts } from "../../../src/i18n/mod.ts";
import type { Event, NewEvent } from "../../../src/core/mod.ts";
import { FRONTENDS, Output, type RunResult } from "../../../src/frontend/mod.ts";
import { LiveLine } from "../../../src/frontend/print/live_line.ts";
import { displayWidth, fitDisplay } from "../../../src/util/display_width.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const run = await loadTexts("run", "en");

const RESULT: RunResult = {
  exit: "done",
  exitCode: 0,
  answer: "",
  steps: 0,
  replies: 1,
  durationMs: 0,
  modelMs: 0,
  usage: { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  refusals: [],
};

interface Show {
  readonly columns?: number;
  readonly verbose?: boolean;
  readonly showThinking?: boolean;
  /** Standard output is a pipe. */
  readonly piped?: boolean;
  readonly result?: Partial<RunResult>;
}

async function show(events: readonly NewEvent[], options: Show = {}) {
  const written = { screen: "", out: "" };
  const sink = (isOut: boolean) =>
    new Output({
      write(bytes) {
        const text = new TextDecoder().decode(bytes);
        if (isOut) written.out += text;
        if (!isOut || !options.piped) written.screen += text;
        return Promise.resolve(bytes.length);
      },
    });
  const { createPrinter } = await FRONTENDS.print();
  const printer = createPrinter({
    texts: () => run,
    format: "text",
    out: sink(true),
    err: sink(false),
    showThinking: options.showThinking ?? false,
    quiet: false,
    verbose: options.verbose ?? false,
    stream: false,
    color: false,
    outColor: false,
    terminal: !options.piped,
    live: true,
    columns: () => options.columns ?? 40,
    fit: fitDisplay,
    width: displayWidth,
    permissionMode: "acceptEdits",
    partialMessages: false,
    clock: { now: () => 0, after: () => () => {} },
  });
  for (const event of events) await printer.event({ v: 1, seq: 1, time: "", ...event } as Event);
  await printer.result({ ...RESULT, ...options.result });
  return written;
}

/** The lines that remain after the live line is overwritten. */
function linesOf(screen: string): string[] {
  return screen.split("\n").map((line) => line.split("\r\x1b[2K").at(-1) ?? "");
}

const start = (id: string, title: string): NewEvent => ({
  type: "tool.start",
  call: { id, name: "bash", arguments: "{}" },
  readOnly: true,
  summary: title,
  title,
});

type End = Extract<NewEvent, { type: "tool.end" }>;

const end = (id: string, fields: Partial<End> = {}): NewEvent => ({
  type: "tool.end",
  callId: id,
  name: "bash",
  outcome: "ok",
  content: "",
  summary: "",
  durationMs: 1,
  ...fields,
});

const text = (words: string): NewEvent => ({ type: "message.delta", channel: "text", text: words });
const message: NewEvent = { type: "message.end", step: 1, model: "m", content: "x", durationMs: 1 };

Deno.test("texts and calls are separated, and the live line is removed at the end", async () => {
  const { screen } = await show([
    { type: "message.start", step: 1, model: "m" },
    text("Let me look."),
    message,
    start("a", "read 文档.md"),
    start("b", "read b.md"),
    end("b", { summary: "2 lines" }),
    end("a", { summary: "1 line" }),
    text("Done."),
    message,
  ]);
  assertEquals(linesOf(screen), [
    "Let me look.",
    "",
    "✓ read b.md · 2 lines",
    "✓ read 文档.md · 1 line",
    "",
    "Done.",
    "",
  ]);
  assert(screen.includes("read 文档.md (and 1 more)"));
});

Deno.test("a result that does not fit is below its title, whole; a title is one truncated line", async () => {
  const reason = "permission rule deny Edit(x) forbids it; choose another file";
  const { screen } = await show([
    start("a", "grep 宽字符是否在正确的位置换行而不会被截断"),
    end("a", { summary: "1 match in 1 file" }),
    start("b", "write x"),
    end("b", { outcome: "blocked", summary: reason }),
    start("c", "$ make"),
    end("c", { outcome: "error", summary: "exit 2", durationMs: 1234 }),
    start("d", "$ sleep"),
    end("d", { outcome: "skipped", summary: "an earlier call ended the run" }),
  ]);
  assertEquals(linesOf(screen), [
    "✓ grep 宽字符是否在正确的位置换行而不会…",
    "  1 match in 1 file",
    "⊘ write x",
    "  blocked: permission rule deny Edit(x)",
    "  forbids it; choose another file",
    "✗ $ make · exit 2 · 1.2 s",
    "– $ sleep",
    "  skipped: an earlier call ended the run",
    "",
  ]);
});

Deno.test("text of a model or a tool cannot send terminal sequences", async () => {
  const evil = "a\x1b[2Jb\x1b]0;title\x07c\r\x07\x9b31md\u202ee";
  const diff = `--- a\n+++ b\n@@ -1 +1 @@\n-${evil}\n+${evil}2\n`;
  const { screen } = await show([
    { type: "message.start", step: 1, model: evil },
    { type: "message.delta", channel: "reasoning", text: evil },
    text(evil),
    message,
    start("a", evil),
    end("a", { summary: evil, content: evil, exitCode: 1, outcome: "error" }),
    start("b", "edit x"),
    end("b", { changes: [{ path: evil, change: "updated", added: 1, removed: 1, diff }] }),
    { type: "notice", level: "warning", code: "x", text: evil },
    { type: "message.retry", attempt: 2, maxAttempts: 3, waitMs: 1, reason: evil, discarded: true },
  ], { showThinking: true, result: { exit: "failed", detail: evil, remedy: evil } });
  const rest = screen.replaceAll("\r\x1b[2K", "");
  // deno-lint-ignore no-control-regex
  assertEquals(rest.match(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/g), null, JSON.stringify(rest));
  assert(rest.split("abc").length > 8, "the words themselves are shown");
});

Deno.test("thinking wraps between words and is separate from the answer", async () => {
  const thoughts = "The user wants a number, which I know without a tool.";
  const { screen } = await show([
    ...thoughts.split(/(?<= )/).map((part): NewEvent => (
      { type: "message.delta", channel: "reasoning", text: part }
    )),
    text("42"),
    message,
  ], { showThinking: true, columns: 24 });
  assertEquals(linesOf(screen), [
    "The user wants a number,",
    "which I know without a",
    "tool.",
    "",
    "42",
    "",
  ]);
});

Deno.test("a pipe receives the Markdown of the last message unchanged", async () => {
  const answer = "# Head\n\n| a |\n| - |\n| `1` |\n";
  const { out, screen } = await show([text(answer), message], { piped: true, result: { answer } });
  assertEquals(out, answer);
  assert(!screen.includes("Head"));
});

Deno.test("a huge output and a huge diff are bounded, except with --verbose", async () => {
  const content = `${"line\n".repeat(50_000)}[exit code 1]\n`;
  const diff = `--- a\n+++ b\n@@ -0,0 +1,9999 @@\n${"+x\n".repeat(9999)}`;
  const events = [
    start("a", "$ make"),
    end("a", { content, exitCode: 1, outcome: "error", summary: "exit 1" }),
    start("b", "write x"),
    end("b", { changes: [{ path: "/x", change: "created", added: 9999, removed: 0, diff }] }),
  ];
  assertEquals(linesOf((await show(events)).screen).length, 1 + 1 + 20 + 1 + 24 + 1 + 1 + 1);
  assert(linesOf((await show(events, { verbose: true })).screen).length > 59_999);
});

Deno.test("an error wraps between words with its indent, and its remedy has separate lines", async () => {
  const result = {
    exit: "provider",
    detail: "The server at 127.0.0.1:8080 said no",
    remedy: "start it",
  } as const;
  assertEquals(linesOf((await show([], { columns: 30, result })).screen), [
    "error: The server at",
    "       127.0.0.1:8080 said no",
    "       start it",
    "",
  ]);
});

Deno.test("LiveLine keeps wide characters within a terminal that becomes narrower", () => {
  let columns = 40;
  const drawn: string[] = [];
  const ticks: (() => void)[] = [];
  const clock = {
    now: () => 65_000,
    after: (_ms: number, call: () => void) => (ticks.push(call), () => {}),
  };
  const line = new LiveLine((part) => drawn.push(part), (all) => fitDisplay(all, columns - 1), clock);
  line.show("读取 文档/一个名字特别长的文件，长到放不下.md", 0);
  columns = 20;
  ticks.pop()?.();
  columns = 3;
  ticks.pop()?.();
  line.hide();
  assertEquals(drawn.map((part) => part.replaceAll("\r\x1b[2K", "<")), [
    "<⠋ 读取 文档/一个名字特别长的文件，长到…",
    "<⠙ 读取 文档/一个名…",
    "<⠹…",
    "<",
  ]);
  ticks.pop()?.();
  assertEquals([drawn.length, ticks.length], [4, 0], "a hidden line neither draws nor ticks");
});
