import type { Event, NewEvent } from "../../../../src/core/mod.ts";
import { LogEntries } from "../../../../src/frontend/session/log.ts";
import { loadTexts, type Locale } from "../../../../src/i18n/mod.ts";
import { assertEquals } from "../../../support/assert.ts";

async function logOf(events: readonly NewEvent[], locale: Locale): Promise<string[]> {
  const [run, turns] = await Promise.all([loadTexts("run", locale), loadTexts("turn_view", locale)]);
  const log = new LogEntries();
  return events.map((event, at): Event => ({ v: 1, seq: at + 1, time: "2026-01-01T00:00:00Z", ...event }))
    .flatMap((event) => log.of(event, { ...run, ...turns }))
    .map((entry) =>
      entry.kind === "note" ? `${entry.note.level} ${entry.note.text}` : `${entry.end.outcome} ${entry.title}`
    );
}

const bash = (id: string) => ({ id, name: "bash", arguments: "{}" });
const end = { type: "tool.end", content: "", summary: "", durationMs: 1 } as const;
const retry = { type: "message.retry", maxAttempts: 3, waitMs: 0, reason: "overloaded" } as const;

Deno.test("LogEntries lists notes and calls that have ended, in the order of the events", async () => {
  const events: NewEvent[] = [
    { ...retry, attempt: 2, discarded: true },
    { ...retry, attempt: 3, discarded: false },
    { type: "tool.start", call: bash("a"), readOnly: false, summary: "ls", title: "$ ls" },
    { type: "tool.start", call: bash("b"), readOnly: true, summary: "cat x" },
    { ...end, callId: "b", name: "bash", outcome: "error" },
    { type: "notice", level: "warning", code: "sandbox", text: "no jail" },
    { ...end, callId: "a", name: "bash", outcome: "ok" },
    { ...end, callId: "c", name: "edit_file", outcome: "blocked" },
  ];
  const log = await logOf(events, "en");
  assertEquals(log.slice(-4), ["error bash cat x", "warning no jail", "ok $ ls", "blocked edit_file"]);
  assertEquals([log.length, log.filter((line) => line.includes("overloaded")).length], [7, 1]);
  assertEquals((await logOf(events, "zh-CN")).slice(-4), log.slice(-4));
});
