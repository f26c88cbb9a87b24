const FIRST_MS = 1_000;
const FACTOR = 4;
const MOST = 5;
/** A server that ran so long is given all its restarts again. */
const STABLE_MS = 60_000;

/** Decides when a server that was lost or did not start is tried again: after 1, 4, 16, 64, 256 s. */
export class Restarts {
  count = 0;
  readonly #start: () => void;
  #failures = 0;
  #workedAt = 0;
  #notBefore = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(start: () => void) {
    this.#start = start;
  }

  /** Milliseconds until a start makes sense. */
  blockedMs(): number {
    return Math.max(0, this.#notBefore - performance.now());
  }

  worked(): void {
    this.#workedAt = performance.now();
    this.#notBefore = 0;
    clearTimeout(this.#timer);
  }

  /** The server did not start: it is tried again after a while, and not before; by itself when `plan`. */
  failed(plan: boolean): void {
    this.#notBefore = performance.now() + this.#schedule();
    if (!plan) clearTimeout(this.#timer);
  }

  /** The server was lost while it ran. The next call may start it at once; only the start by itself waits. */
  lost(): void {
    if (performance.now() - this.#workedAt > STABLE_MS) this.#failures = 0;
    this.#schedule();
  }

  /** Plans the next start, which does not keep the program, unless there were too many; returns its wait. */
  #schedule(): number {
    const wait = FIRST_MS * FACTOR ** Math.min(this.#failures, MOST - 1);
    if (this.#failures++ >= MOST) return wait;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.count += 1;
      this.#start();
    }, wait);
    Deno.unrefTimer(this.#timer);
    return wait;
  }

  forgive(): void {
    this.#failures = 0;
    this.#notBefore = 0;
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
