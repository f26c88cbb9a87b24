import type { Clock } from "./kind.ts";

/** A limit that is running. */
export interface Limit {
  readonly name: string;
  readonly ms: number;
}

/**
 * Watches over silence in one attempt with a single timer: {@linkcode IdleTimeout.touch} costs no timer of
 * its own.
 */
export class IdleTimeout {
  readonly #clock: Clock;
  readonly #onExpire: (limit: Limit) => void;
  #limit: Limit | undefined;
  #deadline = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, onExpire: (limit: Limit) => void) {
    this.#clock = clock;
    this.#onExpire = onExpire;
  }

  /** Starts a limit in place of the one before; 0 ms = none. */
  start(limit: Limit): void {
    this.stop();
    if (limit.ms <= 0) return;
    this.#limit = limit;
    this.touch();
    this.#arm(limit.ms);
  }

  /** Something came: the limit counts from now. */
  touch(): void {
    if (this.#limit !== undefined) this.#deadline = this.#clock.now() + this.#limit.ms;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#limit = undefined;
  }

  #arm(ms: number): void {
    this.#cancel = this.#clock.after(ms, () => {
      const limit = this.#limit;
      if (limit === undefined) return;
      const left = this.#deadline - this.#clock.now();
      if (left > 0) return this.#arm(left);
      this.stop();
      this.#onExpire(limit);
    });
  }
}
