import { SilenceNotifier } from "../../../src/frontend/print/silence_notifier.ts";
import { assert, assertEquals } from "../../support/assert.ts";

/** A timer that the test advances. */
class HandTimer {
  time = 0;
  #due: { at: number; call: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, call: () => void): void {
    assert(ms > 0, `A timer cannot wait ${ms} ms`);
    this.#due.push({ at: this.time + ms, call });
  }

  get pending(): number {
    return this.#due.length;
  }

  turn(seconds: number): void {
    const end = this.time + seconds * 1000;
    for (;;) {
      const next = this.#due.toSorted((a, b) => a.at - b.at)[0];
      if (!next || next.at > end) break;
      this.#due = this.#due.filter((one) => one !== next);
      this.time = next.at;
      next.call();
    }
    this.time = end;
  }
}

Deno.test("SilenceNotifier reports a silence after 30 s and each time it has doubled", () => {
  const [timer, reported] = [new HandTimer(), [] as number[]];
  const waiting = new SilenceNotifier((seconds) => reported.push(seconds), timer);
  waiting.begin();
  timer.turn(29);
  assertEquals(reported, []);
  timer.turn(300);
  assertEquals(reported, [30, 60, 120, 240]);
  waiting.end();
  timer.turn(1000);
  assertEquals([reported.length, timer.pending], [4, 0]);
});

Deno.test("SilenceNotifier measures each silence separately with one timer", () => {
  const [timer, reported] = [new HandTimer(), [] as number[]];
  const waiting = new SilenceNotifier((seconds) => reported.push(seconds), timer);
  for (let step = 0; step < 100; step++) {
    waiting.begin();
    timer.turn(5);
    waiting.end();
  }
  assertEquals([reported, timer.pending <= 1], [[], true]);
  waiting.begin();
  timer.turn(31);
  assertEquals(reported, [30]);
});

Deno.test("SilenceNotifier restarts its delays after a long silence", () => {
  const [timer, reported] = [new HandTimer(), [] as number[]];
  const waiting = new SilenceNotifier((seconds) => reported.push(seconds), timer);
  waiting.begin();
  timer.turn(121);
  waiting.begin();
  timer.turn(130);
  assertEquals(reported, [30, 60, 120, 30, 60, 120]);
});
