import type { Event, NewEvent, Usage } from "../../../src/core/mod.ts";
import { SessionLog } from "../../../src/session/mod.ts";
import { removeTree } from "../../support/remove_tree.ts";

const USAGE: Usage = { inputTokens: 100, cachedTokens: 60, outputTokens: 10, reasoningTokens: 0 };

export async function withHome(run: (home: string) => void | Promise<void>): Promise<void> {
  const home = await Deno.makeTempDir({ prefix: "reasonix-session-" });
  try {
    await run(home);
  } finally {
    await removeTree(home);
  }
}

export function createLog(home: string, options: { cwd?: string; redact?: (text: string) => string } = {}) {
  return SessionLog.create({ home, version: "1.2.3", cwd: options.cwd ?? "/code/demo", ...options });
}

/** Adds the envelope of a log to events. */
export function sequence(events: readonly NewEvent[]): Event[] {
  return events.map((event, i) => ({ v: 1, seq: i + 1, time: "2026-01-02T03:04:05.000Z", ...event }));
}

export const user = (content: string): NewEvent => ({ type: "message.user", content, origin: "user" });

export const reply = (content: string, ...calls: string[]): NewEvent => ({
  type: "message.end",
  step: 1,
  model: "m",
  content,
  ...(calls.length ? { calls: calls.map((id) => ({ id, name: "bash", arguments: "{}" })) } : {}),
  usage: USAGE,
  durationMs: 1,
});

export const start = (id: string): NewEvent => ({
  type: "tool.start",
  call: { id, name: "bash", arguments: "{}" },
  readOnly: false,
  summary: "ls",
});

export const result = (id: string, content = `result of ${id}`): NewEvent => ({
  type: "tool.end",
  callId: id,
  name: "bash",
  outcome: "ok",
  content,
  summary: "ok",
  durationMs: 1,
});

export const begin = (turn: number): NewEvent => ({ type: "turn.start", turn });

export const end = (turn: number, answer = "done"): NewEvent => ({
  type: "turn.end",
  turn,
  reason: "done",
  answer,
  steps: 1,
  usage: USAGE,
  durationMs: 1,
});

/** A whole turn with one tool call. */
export function turn(n: number): NewEvent[] {
  return [
    begin(n),
    user(`question ${n}`),
    reply(`looking ${n}`, `c${n}`),
    start(`c${n}`),
    result(`c${n}`),
    reply(`answer ${n}`),
    end(n, `answer ${n}`),
  ];
}
