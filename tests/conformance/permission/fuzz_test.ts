import { assert, assertEquals } from "../../support/assert.ts";
import { randomFrom, soakSize } from "../../support/seed.ts";
import { type Line, makeLines } from "./fuzz_lines.ts";
import { harness } from "./harness.ts";
import { removeTree } from "../../support/remove_tree.ts";

const COUNT = soakSize(10_000, 500);
const WORKERS = 4;

interface Tally {
  ran: number;
  refusedLive: number;
  wrong: string[];
}

async function work(root: string, lines: readonly (readonly [number, Line])[], tally: Tally): Promise<void> {
  for (const [id, line] of lines) {
    const { allows, runs } = await harness(root, id);
    const allowed = await allows(line.text);
    if (line.kind === "text" && !allowed) tally.wrong.push(`refused text: ${JSON.stringify(line.text)}`);
    // Of what was refused only every third is run, to see that most of it really was dangerous.
    if (!allowed && (line.kind !== "live" || line.text.length % 3 > 0)) continue;
    const ran = await runs(line.text);
    if (allowed && ran) tally.wrong.push(`allowed, and it ran: ${JSON.stringify(line.text)}`);
    if (!allowed) {
      tally.refusedLive++;
      if (ran) tally.ran++;
    }
  }
}

Deno.test({
  name: "the gate never allows a line that runs a denied command, and allows its text",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const root = await Deno.realPath(await Deno.makeTempDir());
    const tally: Tally = { ran: 0, refusedLive: 0, wrong: [] };
    try {
      const lines = [...makeLines(COUNT, randomFrom()).entries()];
      const share = (worker: number) => lines.filter(([id]) => id % WORKERS === worker);
      await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(root, share(worker), tally)));
    } finally {
      await removeTree(root);
    }
    assertEquals(tally.wrong, []);
    assert(
      tally.ran > tally.refusedLive / 2,
      `only ${tally.ran} of ${tally.refusedLive} refused lines were dangerous`,
    );
  },
});
