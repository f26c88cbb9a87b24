import fc from "fast-check";
import { assert, assertEquals } from "../../support/assert.ts";
import { type Event, type Message, type NewEvent, NO_USAGE } from "../../../src/core/mod.ts";
import { apply, emptyState, repair, type SessionState } from "../../../src/session/mod.ts";
import { reduce } from "../../support/reduce.ts";
import { SEED } from "../../support/seed.ts";

/** Random numbers for one history: each selects a move or a parameter of it. */
const draws = fc.array(fc.nat(999), { minLength: 20, maxLength: 300 });

/** A valid history from random numbers, with turns, tools, compactions, prunes, rewinds and crashes. */
class Script {
  readonly events: Event[] = [];
  readonly state: SessionState = emptyState();
  readonly #draws: readonly number[];
  #at = 0;

  constructor(draws: readonly number[]) {
    this.#draws = draws;
  }

  #draw(below: number): number {
    return (this.#draws[this.#at++] ?? 0) % below;
  }

  #add(event: NewEvent): void {
    const whole: Event = { v: 1, seq: this.events.length + 1, time: "2026-01-01T00:00:00.000Z", ...event };
    this.events.push(whole);
    apply(this.state, whole);
  }

  #user(origin: "user" | "steer" | "context" | "reminder" | "summary"): void {
    this.#add({
      type: "message.user",
      origin,
      content: `${origin} ${"x".repeat(this.#draw(60))} ${this.#at}`,
    });
  }

  #reply(calls: number): void {
    const ids = Array.from({ length: calls }, (_, i) => `c${this.#draw(5)}-${i}`);
    this.#add({
      type: "message.end",
      step: 1,
      model: "m",
      content: this.#draw(4) === 0 ? "" : `reply ${this.#at}`,
      ...(ids.length ? { calls: ids.map((id) => ({ id, name: "t", arguments: "{}" })) } : {}),
      ...(this.#draw(6) === 0 ? { interrupted: true } : {}),
      usage: { ...NO_USAGE, inputTokens: 1 },
      durationMs: 0,
    });
    const crash = this.#draw(12) === 0;
    for (const id of [...this.state.pending.keys()]) {
      if (crash) break;
      const content = `result ${"y".repeat(this.#draw(80))}`;
      this.#add({
        type: "tool.end",
        callId: id,
        name: "t",
        outcome: "ok",
        content,
        summary: "",
        durationMs: 0,
      });
    }
    if (crash) { for (const fix of repair(this.state)) this.#add(fix); }
  }

  #compact(action: "fold" | "prune"): void {
    const to = this.#draw(this.state.lastSeq) + 1;
    const keepBelow = this.#draw(3) === 0 ? { keepBelow: 40 } : {};
    const digest = action === "prune" ? "[cut]" : `digest ${this.#at}`;
    const numbers = { from: this.#draw(to) + 1, to, tokensBefore: 2, tokensAfter: 1 };
    this.#add({ type: "compaction", reason: "window", action, digest, ...numbers, ...keepBelow });
  }

  run(): this {
    this.#user("context");
    while (this.#at < this.#draws.length) {
      const move = this.#draw(12);
      if (move < 4) this.#user(move === 0 ? "steer" : "user");
      else if (move < 8) this.#reply(this.#draw(4));
      else if (move === 8) this.#user("reminder");
      else if (move === 9) this.#compact(this.#draw(2) === 0 ? "fold" : "prune");
      else if (move === 10) {
        this.#add({ type: "rewind", to: this.#draw(this.state.lastSeq) + 1, scope: "conversation" });
        for (const fix of repair(this.state)) this.#add(fix);
      } else {
        this.#user("summary");
        this.#reply(0);
      }
    }
    return this;
  }
}

function assertValid(messages: readonly Message[]): void {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") assert(open.delete(message.callId), "a result without its call");
    else {
      assertEquals(open.size, 0, "a call without its result");
      if (message.role === "assistant") open = new Set(message.calls?.map(({ id }) => id));
    }
  }
  assertEquals(open.size, 0, "a call without its result");
}

Deno.test("reduce returns a valid conversation for any history, equal live and from the file", () => {
  fc.assert(
    fc.property(draws, (numbers) => {
      const { events, state } = new Script(numbers).run();
      assertValid(state.messages);
      const read = reduce(JSON.parse(JSON.stringify(events)) as Event[]);
      assertEquals(JSON.stringify(read.messages), JSON.stringify(state.messages));
      assertEquals(JSON.stringify(read.turns), JSON.stringify(state.turns));
      assertEquals(read.messages.length, read.sources.length);
      assertEquals(
        read.sources.map(({ seq }) => seq),
        read.sources.map(({ seq }) => seq).sort((a, b) => a - b),
      );
    }),
    { numRuns: 300, seed: SEED },
  );
});

Deno.test("reduce keeps short user turns, pinned context and digests verbatim through any compactions", () => {
  fc.assert(
    fc.property(draws, (numbers) => {
      const { events, state } = new Script(numbers).run();
      if (events.some(({ type }) => type === "rewind")) return;
      const present = new Set(state.messages.map(({ content }) => content));
      for (const event of events) {
        if (event.type === "compaction" && event.action === "fold") assert(present.has(event.digest));
        if (event.type !== "message.user" || event.content.length > 40) continue;
        if (["user", "steer", "context"].includes(event.origin)) assert(present.has(event.content));
      }
    }),
    { numRuns: 300, seed: SEED },
  );
});

Deno.test("reduce only appends to the conversation between declared resets", () => {
  fc.assert(
    fc.property(draws, (numbers) => {
      const { events } = new Script(numbers).run();
      const state = emptyState();
      let before = "";
      for (const event of events) {
        apply(state, event);
        const now = JSON.stringify(state.messages).slice(0, -1);
        if (event.type !== "compaction" && event.type !== "rewind") assert(now.startsWith(before));
        before = now;
      }
    }),
    { numRuns: 60, seed: SEED },
  );
});
