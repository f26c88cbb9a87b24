/**
 * The program as it is installed, killed with SIGKILL at points that a seed decides, again and again on the
 * same session. `REASONIX_KILL_SEED=n` repeats one chain.
 */
import { assert } from "../../support/assert.ts";
import { needs } from "../../support/tools.ts";
import { Chain } from "./chain.ts";
import type { Killed } from "./phases.ts";

const KILLS = 520;
const CHAINS = 20;
/** Chains at the same time. */
const LANES = 3;
const FIRST_SEED = 20261123;
const LEAST_OF_A_PHASE = 20;

const chosen = Deno.env.get("REASONIX_KILL_SEED");
const seeds = chosen === undefined
  ? Array.from({ length: CHAINS }, (_, at) => FIRST_SEED + at)
  : [Number(chosen)];

const hasJail = await new Deno.Command("bwrap", { args: ["--version"] }).output().then(
  () => true,
  () => false,
);

async function runChain(seed: number): Promise<readonly Killed[]> {
  await using chain = await Chain.begin(seed);
  try {
    await chain.run(KILLS / CHAINS);
  } catch (error) {
    const kills = chain.kills.length;
    throw new Error(`after ${kills} kills; once more with REASONIX_KILL_SEED=${seed}`, { cause: error });
  }
  return chain.kills;
}

Deno.test({
  ...needs(
    "bwrap",
    hasJail && Deno.build.os === "linux",
    `killed ${KILLS} times (seeds ${seeds[0]} to ${seeds.at(-1)}) the program loses nothing`,
  ),
  async fn() {
    const started = performance.now();
    const waiting = [...seeds];
    const killed: Killed[] = [];
    const lanes = Array.from({ length: LANES }, async () => {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        killed.push(...await runChain(seed));
      }
    });
    await Promise.all(lanes);
    const counts = new Map<string, number>();
    for (const { phase, beside } of killed) {
      counts.set(phase, (counts.get(phase) ?? 0) + 1);
      if (beside) counts.set("beside another process", (counts.get("beside another process") ?? 0) + 1);
    }
    const seconds = Math.round((performance.now() - started) / 1000);
    const told = [...counts].map(([phase, count]) => `${phase} ${count}`).join(", ");
    await Deno.stderr.write(
      new TextEncoder().encode(`${killed.length} kills in ${seconds} s: ${told}\n`),
    );
    if (chosen !== undefined) return;
    assert(killed.length >= KILLS);
    for (const phase of ["start", "request", "stream", "tool", "between", "compaction", "rewind", "exit"]) {
      assert((counts.get(phase) ?? 0) >= LEAST_OF_A_PHASE, `${phase}: ${counts.get(phase) ?? 0} kills`);
    }
  },
});
