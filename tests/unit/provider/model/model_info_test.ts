import { ReasonixError } from "../../../../src/core/mod.ts";
import { modelInfo } from "../../../../src/provider/model/model_info.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "../../../support/assert.ts";
import { providerEntry } from "../../../support/model_client.ts";

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
