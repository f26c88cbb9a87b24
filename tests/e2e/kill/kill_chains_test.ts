/**
 * The program as it is installed, killed with SIGKILL at points that a seed decides, again and again on the
 * same session. `REASONIX_KILL_SEED=n` repeats one chain.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { SEED, soakSize } from "../../support/seed.ts";
import { needs } from "../../support/tools.ts";
import { Chain, type ChainOptions } from "./chain.ts";
import type { Killed } from "./phases.ts";

const KILLS = soakSize(520, 24);
const CHAINS = soakSize(20, 3);
/** Chains at the same time. */
const LANES = 3;
const PHASES = ["start", "request", "stream", "tool", "between", "compaction", "rewind", "exit"] as const;
/** Kills of each phase. */
const LEAST = soakSize(20, 1);

const chosen = Deno.env.get("REASONIX_KILL_SEED");
const seeds = chosen === undefined ? Array.from({ length: CHAINS }, (_, at) => SEED + at) : [Number(chosen)];

const hasJail = await new Deno.Command("bwrap", { args: ["--version"] }).output().then(
  () => true,
  () => false,
);

/** Extra chains for rarely hit phases, since a busy machine shifts the kills. */
const MOST_MORE = 16;

async function runChain(options: ChainOptions): Promise<readonly Killed[]> {
  await using chain = await Chain.begin(options);
  try {
    await chain.run(Math.ceil(KILLS / CHAINS));
  } catch (error) {
    const kills = chain.kills.length;
    throw new Error(`after ${kills} kills; run again with REASONIX_KILL_SEED=${options.seed}`, {
      cause: error,
    });
  }
  return chain.kills;
}

Deno.test({
  ...needs(
    "bwrap",
    hasJail && Deno.build.os === "linux",
    `killed ${KILLS} times (seeds from ${seeds[0]}) the program loses nothing`,
  ),
  async fn() {
    const started = performance.now();
    const waiting = [...seeds];
    const killed: Killed[] = [];
    const lanes = Array.from({ length: LANES }, async () => {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        killed.push(...await runChain({ seed }));
      }
    });
    await Promise.all(lanes);
    const rare = () => PHASES.filter((phase) => killed.filter((one) => one.phase === phase).length < LEAST);
    for (let more = 0; chosen === undefined && rare().length > 0 && more < MOST_MORE; more++) {
      killed.push(...await runChain({ seed: SEED + CHAINS + more, only: rare() }));
    }
    const phases = PHASES.map((phase) => `${phase} ${killed.filter((one) => one.phase === phase).length}`);
    const concurrent = killed.filter((one) => one.concurrent).length;
    const seconds = Math.round((performance.now() - started) / 1000);
    const text = `${killed.length} kills in ${seconds} s, ${concurrent} next to another process: ${
      phases.join(", ")
    }\n`;
    await Deno.stderr.write(new TextEncoder().encode(text));
    if (chosen === undefined) assertEquals(rare(), [], text);
    assert(killed.length >= (chosen === undefined ? KILLS : 1), text);
  },
});
