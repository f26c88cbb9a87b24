import { MemoryStore, Recorder } from "../../../../src/control/mod.ts";
import type { TurnState } from "../../../../src/control/mod.ts";
import type { Event, NewEvent } from "../../../../src/core/mod.ts";
import { type LiveParts, LiveState } from "../../../../src/frontend/session/live_state.ts";
import { assertEquals } from "../../../support/assert.ts";
import { Random, SEED, soakSize } from "../../../support/seed.ts";
import { TURN_END } from "../../../support/transcript_stage.ts";

const WORDS = ["Ein ", "Wort ", "日本語", "🙂", "\ud83d", "\ude42", "\r\n", "\n\n```ts\n", "", "a"];
const TAIL = 8 * 1024;

/** Events of a session with turns that end, break off, compact, and run calls side by side. */
function sessionEvents(random: Random): NewEvent[] {
  const events: NewEvent[] = [];
  const words = (most: number) =>
    Array.from({ length: 1 + random.below(most) }, () => random.pick(WORDS).repeat(1 + random.below(3)));
  const reply = (step: number, end: Partial<NewEvent & { type: "message.end" }> = {}) => {
    events.push({ type: "message.start", step, model: "m" });
    let [content, reasoning] = ["", ""];
    for (const text of words(20)) {
      if (random.chance(0.1)) {
        events.push({
          type: "tool.call",
          step,
          callId: random.pick(["a", "b"]),
          name: "bash",
          arguments: text,
        });
        continue;
      }
      const isText = random.chance(0.7);
      if (isText) content += text;
      else reasoning += text;
      events.push({ type: "message.delta", channel: isText ? "text" : "reasoning", text });
      if (random.chance(0.05)) {
        const retry = { attempt: 2, maxAttempts: 3, waitMs: 0, reason: "lost" };
        events.push({ type: "message.retry", ...retry, discarded: true });
        [content, reasoning] = ["", ""];
      }
    }
    events.push({ type: "message.end", step, model: "m", content, reasoning, durationMs: 1, ...end });
  };
  const calls = (step: number) => {
    const running = Array.from(
      { length: 1 + random.below(3) },
      (_, at) => `call-${events.length}-${step}-${at}`,
    );
    const todo = running.map((id): NewEvent[] => [
      { type: "tool.start", call: { id, name: "bash", arguments: "{}" }, readOnly: false, summary: id },
      ...words(30).flatMap((text): NewEvent[] => [
        { type: "tool.delta", callId: id, text: random.chance(0.1) ? text.repeat(2000) : text },
        ...(random.chance(0.1)
          ? [{ type: "subagent.progress", id, agent: "explore", text, callId: id, calls: 1 } as const]
          : []),
      ]),
      { type: "tool.end", callId: id, name: "bash", outcome: "ok", content: "", summary: "", durationMs: 1 },
    ]);
    while (todo.some((each) => each.length > 0)) {
      const next = random.pick(todo.filter((each) => each.length > 0)).shift();
      if (next) events.push(next);
    }
  };
  for (let turn = 1; turn <= 3; turn++) {
    events.push({ type: "turn.start", turn }, {
      type: "message.user",
      content: `Turn ${turn}`,
      origin: "user",
    });
    for (let step = 1; step <= 1 + random.below(3); step++) {
      reply(step);
      if (random.chance(0.7)) calls(step);
      if (random.chance(0.2)) reply(0);
    }
    // The request of a reply that broke off before its first word.
    if (random.chance(0.5)) events.push({ type: "message.start", step: 9, model: "m" });
    events.push({ ...TURN_END, turn, reason: random.pick(["done", "interrupted"] as const) } as NewEvent);
    if (random.chance(0.3)) reply(0);
  }
  return events;
}

/** The same as a recorder shows them: with sequence numbers and the states of the session. */
async function recorded(events: readonly NewEvent[]): Promise<Event[]> {
  const shown: Event[] = [];
  const recorder = new Recorder(new MemoryStore());
  recorder.subscribe((event) => void shown.push(event));
  for (const event of events) await recorder.record(event);
  await recorder.settle();
  return shown;
}

/** A front end: it shows what it was given and nothing else. */
class Shown {
  readonly seqs: number[] = [];
  turnState: TurnState = "idle";
  message: { step: number; text: string; thinking: string; calls: Record<string, string> } | undefined;
  calls = new Map<string, { output: string; progress: string }>();

  history(events: readonly Event[]): void {
    for (const event of events) this.seqs.push(event.seq);
  }

  snapshot({ seq, turnState, message, calls }: LiveParts): void {
    assertEquals(this.seqs.at(-1) ?? 0, seq);
    this.turnState = turnState;
    this.message = message && {
      step: message.step,
      text: message.text,
      thinking: message.thinking,
      calls: Object.fromEntries(message.calls.map((call) => [call.callId, call.arguments ?? ""])),
    };
    this.calls = new Map(calls.map(({ callId, tail, progress }) => [
      callId,
      { output: tail, progress: progress?.text ?? "" },
    ]));
  }

  event(event: Event): void {
    if (event.seq > 0) this.seqs.push(event.seq);
    switch (event.type) {
      case "turn.state":
        this.turnState = event.to;
        if (["idle", "done", "failed", "stopped"].includes(event.to)) this.message = undefined;
        break;
      case "message.start":
        this.message = { step: event.step, text: "", thinking: "", calls: {} };
        break;
      case "message.retry":
        if (this.message) Object.assign(this.message, { text: "", thinking: "", calls: {} });
        break;
      case "message.delta":
        if (this.message) this.message[event.channel === "text" ? "text" : "thinking"] += event.text;
        break;
      case "message.end":
        assertEquals(this.message?.text, event.content);
        assertEquals(this.message?.thinking, event.reasoning);
        this.message = undefined;
        break;
      case "tool.call":
        if (this.message) this.message.calls[event.callId] = event.arguments ?? "";
        break;
      case "tool.start":
        this.calls.set(event.call.id, { output: "", progress: "" });
        break;
      case "tool.delta": {
        const call = this.calls.get(event.callId);
        if (call) call.output += event.text;
        break;
      }
      case "subagent.progress": {
        const call = this.calls.get(event.callId ?? "");
        if (call) call.progress = event.text;
        break;
      }
      case "tool.end":
        this.calls.delete(event.callId);
        break;
    }
  }

  /** Of outputs the end: what a snapshot has of them is bounded. */
  get all() {
    const { turnState, message, calls } = this;
    const ends = [...calls].map(([id, { output, progress }]) => [id, output.slice(-TAIL / 2), progress]);
    return { turnState, message, ends };
  }
}

Deno.test("LiveState gives a front end that joins at any event all of the session, and nothing twice", async () => {
  for (let round = 0; round < soakSize(2000, 150); round++) {
    const random = new Random(SEED + round);
    const events = await recorded(sessionEvents(random));
    const state = new LiveState();
    const [first, late] = [new Shown(), new Shown()];
    const durable: Event[] = [];
    // The late one joins, stops taking events, and comes back, at random moments.
    let takes = false;
    for (const event of events) {
      state.event(event);
      first.event(event);
      if (event.seq > 0) durable.push(event);
      if (takes) late.event(event);
      if (!random.chance(0.1)) continue;
      takes = !takes;
      if (!takes) continue;
      late.history(durable.filter(({ seq }) => seq > (late.seqs.at(-1) ?? 0)));
      late.snapshot(state.snapshot());
      assertEquals(late.all, first.all);
    }
    late.history(durable.filter(({ seq }) => seq > (late.seqs.at(-1) ?? 0)));
    late.snapshot(state.snapshot());
    assertEquals(late.all, first.all);
    assertEquals(late.seqs, durable.map(({ seq }) => seq));
    assertEquals(state.snapshot().calls, []);
    assertEquals(state.snapshot().message, undefined);
  }
});

Deno.test("LiveState keeps the end of a long output, and cuts no character in two", () => {
  const state = new LiveState();
  const call = { id: "c", name: "bash", arguments: `{"command":"yes"}` };
  const envelope = { v: 1, seq: 7, time: "2026-01-02T03:04:05.678Z" } as const;
  const said = [["Runs {}", "yes"]];
  const title = "Runs yes";
  state.event({ ...envelope, type: "tool.start", call, readOnly: false, summary: "yes", title, said });
  for (let i = 0; i < 10_000; i++) {
    state.event({ ...envelope, seq: 0, type: "tool.delta", callId: "c", text: `🙂${i}\n` });
  }
  const { seq, calls: [shown] } = state.snapshot();
  assertEquals(seq, 7);
  const { tail = "", ...rest } = shown ?? {};
  assertEquals(rest, {
    callId: "c",
    name: "bash",
    title,
    said,
    arguments: call.arguments,
    since: envelope.time,
  });
  assertEquals(tail.length <= TAIL && tail.length > TAIL - 2, true);
  assertEquals(tail.endsWith("🙂9999\n"), true);
  assertEquals(tail.isWellFormed(), true);
});
