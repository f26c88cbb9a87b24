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
export function randomFrom(stream = 0, seed = SEED): () => number {
  let state = (seed ^ Math.imul(stream, 0x9e3779b1)) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
