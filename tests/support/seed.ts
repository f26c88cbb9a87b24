/**
 * The seed of every random test of this process: `REASONIX_SEED`, or a new one for each run.
 * The line it prints repeats the run.
 */
export const SEED: number = readSeed() ?? drawSeed();

function readSeed(): number | undefined {
  const text = Deno.env.get("REASONIX_SEED");
  if (text === undefined || text === "") return undefined;
  const seed = Number(text);
  if (!Number.isSafeInteger(seed)) {
    throw new Error(`REASONIX_SEED must be an integer, got ${JSON.stringify(text)}`);
  }
  return seed;
}

function drawSeed(): number {
  const seed = crypto.getRandomValues(new Int32Array(1))[0] ?? 0;
  // deno-lint-ignore no-console
  console.log(`Random tests use seed ${seed}; repeat with REASONIX_SEED=${seed}`);
  return seed;
}

/** Returns a generator of numbers in [0, 1) (mulberry32); `stream` separates the generators of one run. */
export function randomFrom(stream = 0): () => number {
  const random = new Random(SEED ^ Math.imul(stream, 0x9e3779b1));
  return () => random.next();
}

/** Random choices that a seed determines (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** An integer from 0 up to, not including, `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  shuffled<T>(values: readonly T[]): T[] {
    return values.map((value) => [this.next(), value] as const).sort(([a], [b]) => a - b)
      .map(([, value]) => value);
  }
}

/** Values in their order: `count` of them, drawn, or all with `REASONIX_SOAK=full`. */
export function someOf<T>(values: readonly T[], count: number, random = new Random(SEED)): T[] {
  const drawn = random.shuffled(values.map((_, at) => at)).slice(0, soakSize(values.length, count));
  return drawn.sort((a, b) => a - b).map((at) => values[at] as T);
}

/** The size of a long random test: `full` with `REASONIX_SOAK=full` (`deno task soak`), else `sample`. */
export function soakSize(full: number, sample: number): number {
  return Deno.env.get("REASONIX_SOAK") === "full" ? full : sample;
}
