/** Numbers that a seed decides. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
    // The first numbers of seeds that follow one another are alike.
    for (let i = 0; i < 8; i++) this.below(2);
  }

  /** A whole number of 0 … n − 1. */
  below(n: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor(this.#state / 2 ** 32 * n);
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)] as T;
  }

  shuffled<T>(all: readonly T[]): T[] {
    return all.map((value) => [this.below(1 << 30), value] as const).sort(([a], [b]) => a - b).map(([, v]) =>
      v
    );
  }
}
