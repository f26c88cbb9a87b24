import type { Event, NewEvent } from "../../../src/core/mod.ts";
import type { TurnState } from "../../../src/control/mod.ts";
import { TurnStates } from "../../../src/control/recorder.ts";
import { NO_USAGE } from "../../../src/core/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { Random, SEED } from "../../support/seed.ts";
import { TRANSITIONS } from "../../support/turn_transitions.ts";

const event = (body: NewEvent): Event => ({ v: 1, seq: 1, time: "", ...body });
const call = (id: string) => ({ id, name: "bash", arguments: "{}" });

const START: NewEvent = { type: "turn.start", turn: 1 };
const ASK: NewEvent = { type: "message.start", step: 1, model: "m" };
const FOLD: NewEvent = { type: "message.start", step: 0, model: "m" };
const FOLDED: NewEvent = {
  type: "compaction",
  reason: "pressure",
  from: 1,
  to: 2,
  digest: "",
  tokensBefore: 2,
  tokensAfter: 1,
};
const CALL: NewEvent = { type: "tool.start", call: call("a"), readOnly: false, summary: "" };
const REQUEST: NewEvent = { type: "approval.request", callId: "a", tool: "bash", subject: "", reason: "" };
const DECISION: NewEvent = { type: "approval.decision", callId: "a", decision: "allow", source: "user" };
const QUESTION: NewEvent = { type: "question", state: "asked", text: "?" };
const ANSWER: NewEvent = { type: "question", state: "answered", text: "?" };
const VERIFY: NewEvent = { type: "verification.start", round: 1, command: "true" };
const PLAN: NewEvent = { type: "plan.change", state: "proposed", plan: "1. all" };
const APPROVED: NewEvent = { type: "plan.change", state: "approved" };
const end = (reason: "done" | "failed" | "limit" | "interrupted" | "terminated" | "provider"): NewEvent => ({
  type: "turn.end",
  turn: 1,
  reason,
  answer: "",
  steps: 1,
  usage: NO_USAGE,
  durationMs: 1,
});

function statesOf(events: readonly NewEvent[]): TurnState[] {
  const states = new TurnStates();
  return events.flatMap((body) => states.take(event(body))?.to ?? []);
}

Deno.test("a turn moves from preparation through requests and calls to its end, one state at a time", () => {
  assertEquals(statesOf([START, ASK, CALL, REQUEST, DECISION, ASK, end("done")]), [
    "preparing",
    "generating",
    "running_tools",
    "awaiting_approval",
    "running_tools",
    "generating",
    "done",
  ]);
  assertEquals(statesOf([START, FOLD, FOLDED, ASK, VERIFY, ASK, end("provider")]), [
    "preparing",
    "compacting",
    "preparing",
    "generating",
    "verifying",
    "generating",
    "failed",
  ]);
  assertEquals(statesOf([START, ASK, CALL, PLAN, APPROVED, QUESTION, ANSWER, end("terminated")]).slice(2), [
    "running_tools",
    "awaiting_approval",
    "running_tools",
    "awaiting_answer",
    "running_tools",
    "stopped",
  ]);
});

Deno.test("an interrupt and a time limit end a turn from every state", () => {
  const ways: readonly (readonly NewEvent[])[] = [
    [],
    [ASK],
    [ASK, CALL],
    [ASK, CALL, REQUEST],
    [ASK, CALL, QUESTION],
    [ASK, CALL, REQUEST, QUESTION],
    [ASK, FOLD],
    [ASK, VERIFY],
    [ASK, CALL, PLAN],
  ];
  for (const way of ways) {
    assertEquals(statesOf([START, ...way, end("interrupted")]).at(-1), "stopped");
    assertEquals(statesOf([START, ...way, end("limit")]).at(-1), "failed");
    assertEquals(statesOf([START, ...way, end("done"), START]).at(-1), "preparing");
  }
});

Deno.test("states left open outside of a turn are closed", () => {
  const states = new TurnStates();
  states.take(event(FOLD));
  assertEquals(states.state, "compacting");
  assertEquals(states.settle(), { from: "compacting", to: "idle" });
  assertEquals(states.settle(), undefined);
});

Deno.test("no order of events causes a transition that is not in the table", () => {
  const bodies = [
    START,
    ASK,
    FOLD,
    FOLDED,
    CALL,
    REQUEST,
    DECISION,
    QUESTION,
    ANSWER,
    VERIFY,
    PLAN,
    APPROVED,
  ];
  const inTurn = bodies.slice(1);
  const numbers = new Random(SEED);
  const random = (limit: number) => numbers.below(limit);
  for (let order = 0; order < 2_000; order += 1) {
    const states = new TurnStates();
    for (let turn = 0; turn < 3; turn += 1) {
      const reason = (["done", "failed", "interrupted", "limit"] as const)[random(4)] ?? "done";
      const middle = Array.from({ length: random(12) }, () => inTurn[random(inTurn.length)] as NewEvent);
      for (const body of [START, ...middle, end(reason)]) {
        const change = states.take(event(body));
        if (!change) continue;
        const { from, to } = change;
        assert(TRANSITIONS[from].includes(to), `${from} → ${to} after ${JSON.stringify(body)}`);
        assert(from !== to, "a change changes something");
      }
    }
  }
});
