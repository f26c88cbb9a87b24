/** Token counts equal those of the server for every provider kind, streamed or not, and add up. */
import fc from "fast-check";
import { addUsage, NO_USAGE, type Usage } from "../../../src/core/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { collect, InstantClock, openClient } from "../../support/model_client.ts";
import { startModelServer } from "../../support/model_server.ts";
import { WIRES } from "../../support/wires/wires.ts";
import { SEED } from "../../support/seed.ts";

const count = fc.integer({ min: 0, max: 2_000_000 });
const part = fc.double({ min: 0, max: 1, noNaN: true });
const usages = fc.array(fc.tuple(count, part, count, part), { minLength: 1, maxLength: 6 }).map((list) =>
  list.map(([input, cached, output, reasoning]) => ({
    input,
    cached: Math.floor(input * cached),
    output,
    reasoning: Math.floor(output * reasoning),
  }))
);

for (const [kind, makeWire] of Object.entries(WIRES)) {
  for (const json of [false, true]) {
    if (json && makeWire().json === undefined) continue;
    Deno.test(`provider kind ${kind} reports the counts of the server, ${json ? "without streaming" : "streamed"}`, async () => {
      await fc.assert(
        fc.asyncProperty(usages, async (list) => {
          const turns = list.map((usage) => ({ text: "ok", usage, json }));
          await using server = startModelServer(turns, { wire: makeWire(), check: { prefix: false } });
          const client = await openClient(server, { clock: new InstantClock() });
          let sum: Usage = NO_USAGE;
          for (const reported of list) {
            const { usage, error } = await collect(client);
            assert(!error && usage, error?.message ?? "no usage");
            assertEquals([usage.inputTokens, usage.cachedTokens, usage.outputTokens], [
              reported.input,
              reported.cached,
              reported.output,
            ]);
            // Not every wire reports how much of the output was thought.
            assert(
              [0, reported.reasoning].includes(usage.reasoningTokens),
              `${usage.reasoningTokens} of ${reported.reasoning}`,
            );
            sum = addUsage(sum, usage);
          }
          const total = (key: "input" | "cached" | "output") =>
            list.reduce((all, reported) => all + reported[key], 0);
          assertEquals([sum.inputTokens, sum.cachedTokens, sum.outputTokens], [
            total("input"),
            total("cached"),
            total("output"),
          ]);
        }),
        { numRuns: 20, seed: SEED },
      );
    });
  }
}
