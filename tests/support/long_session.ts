/** The log of a very long session. */

const TURNS = 2_500;
/** Messages that the log adds: a question, a call, its result and an answer for each turn. */
export const LONG_MESSAGES = 4 * TURNS;

const usage = { inputTokens: 100, cachedTokens: 0, outputTokens: 10, reasoningTokens: 0 };

/** A session of 10,000 messages, about 8 MB, behind the given lines of one turn. */
export function longLog(lines: string): string {
  const time = "2026-01-01T00:00:00.000Z";
  let seq = lines.split("\n").length;
  const made: string[] = [lines];
  const add = (event: Record<string, unknown>) =>
    made.push(`${JSON.stringify({ v: 1, seq: ++seq, time, ...event })}\n`);
  for (let turn = 2; turn < TURNS + 2; turn++) {
    const call = { id: `c${turn}`, name: "read_file", arguments: `{"path":"src/file${turn}.ts"}` };
    const reply = { type: "message.end", model: "mock-1", usage, durationMs: 5 };
    const answer = `The answer for ${turn} is that it works. `.repeat(6);
    add({ type: "turn.start", turn });
    add({ type: "message.user", content: `What about ${turn}? `.repeat(8), origin: "user" });
    add({ ...reply, step: 1, content: "Looking.", calls: [call], finish: "tool_calls" });
    add({
      type: "tool.start",
      call,
      readOnly: true,
      summary: `src/file${turn}.ts`,
      paths: [`src/file${turn}.ts`],
    });
    const content = `line ${turn} of the file with some text in it\n`.repeat(25);
    const end = { callId: call.id, name: call.name, outcome: "ok", summary: "25 lines", durationMs: 1 };
    add({ type: "tool.end", ...end, content });
    add({ ...reply, step: 2, content: answer, finish: "stop" });
    add({ type: "turn.end", turn, reason: "done", answer, steps: 2, usage, durationMs: 12 });
  }
  return made.join("");
}
