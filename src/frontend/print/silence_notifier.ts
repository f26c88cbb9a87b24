import { CLOCK, type Clock } from "../../util/timer.ts";

/** Silence of a model after which a person wants to know that it is still being waited for. */
const FIRST_MS = 30_000;

/** Reports how long a model has been silent: after 30 s, and whenever the silence has doubled since. */
export class SilenceNotifier {
  readonly #notify: (seconds: number) => void;
  readonly #timer: Clock;
  #since: number | undefined;
  #next = FIRST_MS;
  #armed = false;

  constructor(notify: (seconds: number) => void, timer: Clock = CLOCK) {
    this.#notify = notify;
    this.#timer = timer;
  }

  begin(): void {
    this.#since = this.#timer.now();
    this.#next = FIRST_MS;
    if (!this.#armed) this.#arm(FIRST_MS);
  }

  end(): void {
    this.#since = undefined;
  }

  /** One timer for all replies: what it finds when it fires decides. */
  #arm(ms: number): void {
    this.#armed = true;
    this.#timer.after(ms, () => {
      this.#armed = false;
      if (this.#since === undefined) return;
      const silent = this.#timer.now() - this.#since;
      if (silent >= this.#next) {
        this.#notify(Math.round(silent / 1000));
        this.#next = silent * 2;
      }
      // Never longer than this, since another silence may have begun when it fires.
      this.#arm(Math.min(FIRST_MS, this.#next - silent));
    });
  }
}
