/**
 * Appends random valid turns to several sessions until it is killed, and prints "<session> <seq>" after each
 * append: printed events must be stored. Arguments: seed, then one session file (or "new:<home>") per
 * session.
 */
import { type NewEvent, NO_USAGE } from "../../../src/core/mod.ts";
import { openTurn, SessionLog } from "../../../src/session/mod.ts";

const encoder = new TextEncoder();
const [seed = "1", ...targets] = Deno.args;
let random = Number(seed) >>> 0 || 1;

function below(n: number): number {
  random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
  return Math.floor(random / 2 ** 32 * n);
}

const log = targets.map((target) =>
  target.startsWith("new:")
    ? SessionLog.create({ home: target.slice(4), cwd: "/kill", version: "1" })
    : SessionLog.open(target)
);

function show(log: SessionLog, event: NewEvent): void {
  const { seq } = log.append(event);
  Deno.stdout.writeSync(encoder.encode(`${log.paths.path} ${seq}\n`));
}

function text(): string {
  return "déjà vu — ".repeat(below(40));
}

function reply(content: string, calls: string[]): NewEvent {
  return {
    type: "message.end",
    step: 1,
    model: "m",
    content,
    calls: calls.map((id) => ({ id, name: "bash", arguments: "{}" })),
    usage: { ...NO_USAGE, inputTokens: 10 },
    durationMs: 1,
  };
}

/** One step of the script that a live program could have taken. */
function step(log: SessionLog): NewEvent {
  const { state } = log;
  const call = [...state.pending.values()][0];
  if (call) {
    if (!call.started) {
      return {
        type: "tool.start",
        call: { id: call.id, name: call.name, arguments: "{}" },
        readOnly: true,
        summary: "",
      };
    }
    return {
      type: "tool.end",
      callId: call.id,
      name: call.name,
      outcome: "ok",
      content: text(),
      summary: "",
      durationMs: 1,
    };
  }
  const turn = openTurn(state);
  if (turn) return inTurn(log, turn);
  const finished = state.turns.filter(({ to }) => to !== undefined);
  const target = finished[below(finished.length)];
  if (target?.to !== undefined && below(6) === 0) return { type: "rewind", to: target.to, scope: "both" };
  if (target?.to !== undefined && below(6) === 0) {
    return {
      type: "compaction",
      reason: "window",
      from: 1,
      to: target.to,
      digest: `digest ${text()}`,
      tokensBefore: 2,
      tokensAfter: 1,
    };
  }
  return { type: "turn.start", turn: state.turns.length + 1 };
}

function inTurn(log: SessionLog, turn: { turn: number; prompt: string; steps: number }): NewEvent {
  if (turn.prompt === "") return { type: "message.user", origin: "user", content: `ask ${text()}` };
  if (turn.steps < 3) {
    const calls = Array.from({ length: below(4) }, (_, i) => `c${log.state.lastSeq}-${i}`);
    return reply(`step ${text()}`, calls);
  }
  return {
    type: "turn.end",
    turn: turn.turn,
    reason: "done",
    answer: "",
    steps: turn.steps,
    usage: NO_USAGE,
    durationMs: 1,
  };
}

for (const each of log) each.repair();
for (;;) {
  const each = log[below(log.length)];
  if (each) show(each, step(each));
}
