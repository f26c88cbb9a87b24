export interface CallLimit {
  readonly signal: AbortSignal;
  readonly clear: () => void;
}

/** Time limits of calls that stand still while a person is asked something. */
export class CallClock {
  #questions = 0;
  #pausedMs = 0;
  #pausedAt = 0;

  /** Aborts with the parent, and after `ms` milliseconds without the pauses. Undefined: no limit. */
  limit(ms: number | undefined, parent: AbortSignal): CallLimit {
    if (ms === undefined) return { signal: parent, clear() {} };
    const controller = new AbortController();
    const begun = this.#elapsed();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const left = ms - (this.#elapsed() - begun);
      if (left <= 0) controller.abort(new DOMException("The time is over", "TimeoutError"));
      else timer = setTimeout(look, Math.max(left, 10));
    };
    timer = setTimeout(look, ms);
    return {
      signal: AbortSignal.any([parent, controller.signal]),
      clear: () => clearTimeout(timer),
    };
  }

  /** Does something that no call is charged for. */
  async paused<T>(work: () => Promise<T>): Promise<T> {
    if (this.#questions++ === 0) this.#pausedAt = performance.now();
    try {
      return await work();
    } finally {
      if (--this.#questions === 0) this.#pausedMs += performance.now() - this.#pausedAt;
    }
  }

  #elapsed(): number {
    const now = this.#questions > 0 ? this.#pausedAt : performance.now();
    return now - this.#pausedMs;
  }
}
