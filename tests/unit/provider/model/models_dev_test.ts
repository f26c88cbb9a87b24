import { ReasonixError } from "../../../../src/core/mod.ts";
import { modelInfo } from "../../../../src/provider/model/model_info.ts";
import { keepModelList } from "../../../../src/provider/model/models_dev.ts";
import { assertEquals, assertRejects } from "../../../support/assert.ts";
import { providerEntry } from "../../../support/model_client.ts";

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
    await Deno.remove(home, { recursive: true });
  }
}

function infoOf(home: string, fields: Record<string, unknown>, model: string) {
  return modelInfo({ entry: providerEntry({ name: "p", ...fields }), model, home });
}

Deno.test("keepModelList stores a list that modelInfo prefers to the built-in tables", () =>
  inHome(async (home) => {
    const kept = await keepModelList(home, JSON.stringify(LIST), FROM);
    assertEquals([kept.providers, kept.models, kept.skipped], [3, 3, 2]);
    assertEquals(await infoOf(home, { facts: "deepseek" }, "deepseek-v4-flash"), {
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
    const local = await infoOf(home, { base_url: "http://127.0.0.1:9/v1" }, "glm-😀");
    assertEquals([local.contextWindow, local.outputLimit, local.price], [7, 3, undefined]);
    const hour = await infoOf(home, { facts: "anthropic", cache_ttl: "1h" }, "c");
    assertEquals(hour.price?.cacheWrite, 10);
    // A vendor that the list does not have keeps the table that comes with the program.
    const other = await infoOf(home, { facts: "openai" }, "gpt-5.5");
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
    const info = await infoOf(home, { facts: "deepseek" }, "deepseek-v4-flash");
    assertEquals(info.contextWindow, 500_000);
  }));

Deno.test("modelInfo uses the built-in table when the fetched file is damaged", () =>
  inHome(async (home) => {
    for (const text of ["", "{", '{"tables":{"deepseek":[0,5]}}\n{"a', "{}\n\n"]) {
      await Deno.writeTextFile(`${home}/models.jsonl`, text);
      const info = await infoOf(home, { facts: "deepseek" }, "deepseek-v4-flash");
      assertEquals(info.contextWindow, 1_000_000);
    }
  }));
