import type { Event } from "./event.ts";

/** The key of a wait for a person that names no call. */
const ANY_CALL = "";

interface Wait {
  readonly key: string;
  readonly from: number;
  to: number | undefined;
}

/** The times of a turn in which a person was asked: they are no part of how long a call or the turn took. */
export class PersonWaits {
  #waits: Wait[] = [];

  /** Takes an event; the time is in milliseconds. */
  take(event: Event, now: number): void {
    switch (event.type) {
      case "turn.start":
        this.#waits = [];
        break;
      case "approval.request":
        this.#begin(event.callId, now);
        break;
      case "approval.decision":
      case "tool.end":
        this.#end(event.callId, now);
        break;
      case "plan.change":
        if (event.state === "proposed") this.#begin(ANY_CALL, now);
        else this.#end(ANY_CALL, now);
        break;
      case "question":
        if (event.state === "asked") this.#begin(event.callId ?? ANY_CALL, now);
        else this.#end(event.callId ?? ANY_CALL, now);
        break;
      case "turn.end":
        for (const wait of this.#waits) wait.to ??= now;
        break;
    }
  }

  /** Returns whether a person is being asked about a call, or in a way that names none. */
  waiting(callId: string): boolean {
    return this.#waits.some(({ key, to }) => to === undefined && (key === callId || key === ANY_CALL));
  }

  /** Returns the time since `since` in which a person was asked by a call; without one, by anything. */
  since(since: number, now: number, callId?: string): number {
    let counted = since;
    let sum = 0;
    for (const { key, from, to = now } of this.#waits) {
      if (callId !== undefined && key !== callId && key !== ANY_CALL) continue;
      sum += Math.max(0, to - Math.max(from, counted));
      counted = Math.max(counted, to);
    }
    return sum;
  }

  #begin(key: string, now: number): void {
    this.#waits.push({ key, from: now, to: undefined });
  }

  #end(key: string, now: number): void {
    const wait = this.#waits.find((each) => each.key === key && each.to === undefined);
    if (wait) wait.to = now;
  }
}
