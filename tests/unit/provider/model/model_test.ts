import fc from "fast-check";
import { EFFORT_LEVELS, VENDORS } from "../../../../src/config/mod.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import {
  FACT_TABLES,
  modelInfo,
  resolveEffort,
  thinkingBudget,
} from "../../../../src/provider/model/model_info.ts";
import { keepModelList } from "../../../../src/provider/model/models_dev.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { providerEntry } from "../../../support/model_client.ts";
import { removeTree } from "../../../support/remove_tree.ts";

Deno.test("resolveEffort returns the level, the nearest lower one, or the lowest", () => {
  const named = { thinks: true, levels: ["low", "medium", "high"] };
  assertEquals(resolveEffort("medium", named), { level: "medium" });
  assertEquals(resolveEffort("max", named), { level: "high", fellFrom: "max" });
  assertEquals(resolveEffort("minimal", named), { level: "low", fellFrom: "minimal" });
  assertEquals(resolveEffort("none", named), { level: "low", fellFrom: "none" });
  assertEquals(resolveEffort("high", { thinks: true, levels: ["low", "max"] }), {
    level: "low",
    fellFrom: "high",
  });
});

Deno.test("resolveEffort disables thinking for none and minimal only", () => {
  const gap = { thinks: true, toggle: true, levels: ["high", "max"] };
  assertEquals(resolveEffort("none", gap), { level: "none" });
  assertEquals(resolveEffort("minimal", gap), { level: "none", fellFrom: "minimal" });
  assertEquals(resolveEffort("medium", gap), { level: "high", fellFrom: "medium" });
});

Deno.test("resolveEffort sends nothing when no level is set or the model does not think", () => {
  assertEquals(resolveEffort(undefined, { thinks: true, levels: ["low"] }), {});
  assertEquals(resolveEffort("", undefined), {});
  assertEquals(resolveEffort("high", { thinks: false }), { fellFrom: "high" });
  assertEquals(resolveEffort("none", { thinks: false }), {});
  assertEquals(resolveEffort("high", { thinks: true }), { fellFrom: "high" });
});

Deno.test("resolveEffort keeps the requested level of an unknown model", () => {
  assertEquals(resolveEffort("high", undefined), { level: "high" });
  assertEquals(resolveEffort("turbo", undefined), { level: "turbo" });
});

Deno.test("resolveEffort maps vendor-specific levels and never disables thinking for a higher one", () => {
  const words = { thinks: true, levels: ["none", "default"] };
  assertEquals(resolveEffort("default", words), { level: "default" });
  assertEquals(resolveEffort("high", words), { fellFrom: "high" });
});

Deno.test("resolveEffort never returns a level that the model does not have", () => {
  const facts = fc.record({
    thinks: fc.boolean(),
    levels: fc.subarray([...EFFORT_LEVELS, "default"]),
    toggle: fc.boolean(),
    budget: fc.option(fc.record({ min: fc.nat(2000) }), { nil: undefined }),
  });
  fc.assert(fc.property(facts, fc.constantFrom(...EFFORT_LEVELS), (facts, wanted) => {
    const { budget, ...rest } = facts;
    const model = { ...rest, ...(budget ? { budget } : {}) };
    const { level, fellFrom } = resolveEffort(wanted, model);
    const anyLevel = model.levels.length === 0 && (model.toggle || budget);
    const named = [...model.levels, ...(model.toggle || budget?.min === 0 ? ["none"] : [])];
    assert(level === undefined || anyLevel || named.includes(level));
    assertEquals(fellFrom === undefined, level === wanted || (!model.thinks && wanted === "none"));
    assert(level !== "none" || wanted === "none" || wanted === "minimal");
  }));
});

Deno.test("resolveEffort supports every level for a model with a token budget or a switch", () => {
  for (const level of EFFORT_LEVELS) {
    assertEquals(resolveEffort(level, { thinks: true, budget: { min: 0 } }), { level });
    assertEquals(resolveEffort(level, { thinks: true, toggle: true }), { level });
  }
  assertEquals(resolveEffort("none", { thinks: true, budget: { min: 128 } }), {
    level: "minimal",
    fellFrom: "none",
  });
});

Deno.test("thinkingBudget stays within the bounds of the model and leaves tokens for the answer", () => {
  assertEquals(thinkingBudget("low", {}), 4096);
  assertEquals(thinkingBudget("max", { max: 32_768 }), 32_768);
  assertEquals(thinkingBudget("minimal", { min: 2048 }), 2048);
  assertEquals(thinkingBudget("max", { min: 1024 }, 8000), 6000);
  assertEquals(thinkingBudget("none", { min: 1024 }), 0);
  assertEquals(thinkingBudget("default", {}), undefined);
});

const infoOf = (fields: Record<string, unknown>, model = "m", effort?: string) =>
  modelInfo({ entry: providerEntry({ name: "p", ...fields }), model, effort });

Deno.test("modelInfo omits unknown facts and keeps a declared window of 0", async () => {
  assertEquals(await infoOf({}), { provider: "p", id: "m", vision: false, effort: {} });
  assertEquals((await infoOf({ context_window: 0 })).contextWindow, 0);
});

Deno.test("modelInfo prefers model settings to the entry, and the entry to the tables", async () => {
  const fields = {
    facts: "anthropic",
    max_output_tokens: 5000,
    price: { input: 7, output: 8 },
    model_settings: {
      "claude-sonnet-4-5": { context_window: 90_000, vision: false, price: { input: 1, output: 2 } },
    },
  };
  const own = await infoOf(fields, "claude-sonnet-4-5");
  assertEquals(
    [own.contextWindow, own.vision, own.price?.input, own.maxOutputTokens, own.outputLimit],
    [90_000, false, 1, 5000, 5000],
  );
  const other = await infoOf(fields, "claude-opus-4-5");
  assertEquals([other.contextWindow, other.vision, other.price?.input], [200_000, true, 7]);
  const known = await infoOf({ facts: "anthropic" }, "claude-opus-4-5");
  assertEquals([known.maxOutputTokens, known.outputLimit], [undefined, 64_000]);
});

Deno.test("modelInfo finds a vendor's table by address, also for a dated model name", async () => {
  const fields = { base_url: "https://api.anthropic.com/v1" };
  const info = await infoOf(fields, "claude-haiku-4-5-20251001");
  assertEquals([info.contextWindow, info.price?.input, info.price?.cachedInput], [200_000, 1, 0.1]);
  assertEquals((await infoOf({ base_url: "http://127.0.0.1:1/v1" }, "claude-haiku-4-5")).price, undefined);
});

Deno.test("modelInfo prices cache writes by lifetime and includes the date of the price", async () => {
  const price = async (cache_ttl: string) =>
    (await infoOf({ facts: "anthropic", cache_ttl }, "claude-opus-4-5")).price;
  assertEquals(await price("5m"), {
    input: 5,
    cachedInput: 0.5,
    cacheWrite: 6.25,
    output: 25,
    currency: "USD",
    date: "2026-07-01",
  });
  assertEquals((await price("1h"))?.cacheWrite, 10);
});

Deno.test("modelInfo resolves the effort from the entry or the table", async () => {
  assertEquals((await infoOf({ effort: "max" })).effort, { level: "max" });
  assertEquals((await infoOf({ effort: "max", efforts: ["low", "high"] })).effort, {
    level: "high",
    fellFrom: "max",
  });
  assertEquals((await infoOf({ effort: "high", efforts: [] })).effort, { fellFrom: "high" });
  assertEquals((await infoOf({ facts: "openai", effort: "low" }, "gpt-5.5", "max")).effort, {
    level: "xhigh",
    fellFrom: "max",
  });
  const one = { effort: "low", model_settings: { m: { effort: "high" } } };
  assertEquals([(await infoOf(one)).effort, (await infoOf(one, "n")).effort], [
    { level: "high" },
    { level: "low" },
  ]);
});

Deno.test("modelInfo rejects an entry with an unknown table and lists the known ones", async () => {
  const error = await assertRejects(() => infoOf({ facts: "opnai" }), ReasonixError, 'facts of "opnai"');
  assertEquals(error.exit, "config");
  assertStringIncludes(error.remedy ?? "", "anthropic");
});

const LIST = {
  deepseek: {
    id: "deepseek",
    api: "https://api.deepseek.com",
    models: {
      "deepseek-v4-flash": {
        reasoning: true,
        reasoning_options: [{ type: "effort", values: ["max", "high", null] }, { type: "toggle" }],
        tool_call: true,
        modalities: { input: ["text", "image"], output: ["text"] },
        limit: { context: 500_000, output: 1000 },
        cost: { input: 1, output: 2, cache_read: 0.1, context_over_200k: { input: 3, output: 4 } },
      },
      damaged: "no",
      empty: { limit: { context: 0, output: 0 }, cost: { input: 0, output: 0 } },
    },
  },
  alibaba: { models: {} },
  "模型": { api: "http://127.0.0.1:9/v1", models: { "glm-😀": { limit: { context: 7, output: 3 } } } },
  anthropic: {
    models: {
      c: { limit: { context: 9 }, cost: { input: 5, output: 25, cache_read: 0.5, cache_write: 6.25 } },
    },
  },
};
const FROM = { date: "2026-11-22", source: "list.json" };

async function inHome(work: (home: string) => Promise<void>): Promise<void> {
  const home = await Deno.makeTempDir({ prefix: "reasonix-models-" });
  try {
    await work(home);
  } finally {
    await removeTree(home);
  }
}

function infoInHome(home: string, fields: Record<string, unknown>, model: string) {
  return modelInfo({ entry: providerEntry({ name: "p", ...fields }), model, home });
}

Deno.test("keepModelList stores a list that modelInfo prefers to the built-in tables", () =>
  inHome(async (home) => {
    const kept = await keepModelList(home, JSON.stringify(LIST), FROM);
    assertEquals([kept.providers, kept.models, kept.skipped], [3, 3, 2]);
    assertEquals(await infoInHome(home, { facts: "deepseek" }, "deepseek-v4-flash"), {
      provider: "p",
      id: "deepseek-v4-flash",
      vision: true,
      effort: {},
      contextWindow: 500_000,
      outputLimit: 1000,
      price: {
        input: 1,
        cachedInput: 0.1,
        output: 2,
        currency: "USD",
        date: "2026-11-22",
        tiers: [{ above: 200_000, input: 3, cachedInput: 3, output: 4 }],
      },
      reasoning: { thinks: true, toggle: true, levels: ["high", "max"] },
    });
    const local = await infoInHome(home, { base_url: "http://127.0.0.1:9/v1" }, "glm-😀");
    assertEquals([local.contextWindow, local.outputLimit, local.price], [7, 3, undefined]);
    const hour = await infoInHome(home, { facts: "anthropic", cache_ttl: "1h" }, "c");
    assertEquals(hour.price?.cacheWrite, 10);
    // A vendor that the list does not have keeps the table that comes with the program.
    const other = await infoInHome(home, { facts: "openai" }, "gpt-5.5");
    assertEquals(other.price?.date, "2026-07-01");
  }));

Deno.test("keepModelList rejects a value that is not a list and keeps the current tables", () =>
  inHome(async (home) => {
    await keepModelList(home, JSON.stringify(LIST), FROM);
    for (
      const text of ["", "<html>", "[]", "null", "{}", '{"a":{"models":[]}}', '{"a":{"models":{"m":{}}}}']
    ) {
      const error = await assertRejects(() => keepModelList(home, text, FROM), ReasonixError, "list.json");
      assertEquals(error.exit, "usage");
    }
    const info = await infoInHome(home, { facts: "deepseek" }, "deepseek-v4-flash");
    assertEquals(info.contextWindow, 500_000);
  }));

Deno.test("modelInfo uses the built-in table when the fetched file is damaged", () =>
  inHome(async (home) => {
    for (const text of ["", "{", '{"tables":{"deepseek":[0,5]}}\n{"a', "{}\n\n"]) {
      await Deno.writeTextFile(`${home}/models.jsonl`, text);
      const info = await infoInHome(home, { facts: "deepseek" }, "deepseek-v4-flash");
      assertEquals(info.contextWindow, 1_000_000);
    }
  }));

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
