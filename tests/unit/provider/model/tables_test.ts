import { EFFORT_LEVELS, VENDORS } from "../../../../src/config/mod.ts";
import { FACT_TABLES } from "../../../../src/provider/model/model_info.ts";
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";

const WORDS: readonly string[] = [...EFFORT_LEVELS, "default"];

for (const [vendor, load] of Object.entries(FACT_TABLES)) {
  Deno.test(`the table of ${vendor} has a date, a source, and plausible sizes and prices`, async () => {
    const { date, source, models } = (await load()).default;
    assertMatch(date, /^\d{4}-\d{2}-\d{2}$/);
    assert(source !== "" && Object.keys(models).length > 0);
    for (const [id, { window = 1, output = 1, price, reasoning }] of Object.entries(models)) {
      assert(window > 0 && output > 0, id);
      const levels = reasoning?.levels ?? [];
      const ranks = levels.map((level) => WORDS.indexOf(level));
      assertEquals(ranks, [...ranks].sort((a, b) => a - b), `${id} has its levels in order`);
      assert(!ranks.includes(-1), `${id} has levels that people know`);
      if (!price) continue;
      for (const rates of [price, ...price.tiers ?? []]) {
        const { input, output, cachedInput = input, cacheWrite = input } = rates;
        assert(input > 0 && output > 0 && cachedInput > 0 && cachedInput <= input && cacheWrite > 0, id);
        for (const rate of Object.values(rates).filter((value) => typeof value === "number")) {
          assertEquals(rate, Number(rate.toFixed(6)), `${id} has prices of six digits at most`);
        }
      }
      const edges = (price.tiers ?? []).map(({ above }) => above);
      assertEquals(edges, [...edges].sort((a, b) => a - b));
    }
  });
}

Deno.test("the default models of each vendor are in its table", async () => {
  for (const { name, facts, models, window } of VENDORS) {
    const table = (await FACT_TABLES[facts ?? name]?.())?.default;
    if (window !== undefined) assertEquals(table, undefined);
    else assertEquals(models.filter((model) => !Object.hasOwn(table?.models ?? {}, model)), [], name);
  }
});
