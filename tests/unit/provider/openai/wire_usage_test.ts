import { assertEquals } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { finishEvent, type Part, textEvent, usageEvent } from "../../../support/model_server.ts";

const usageOf = async (...parts: Part[]) =>
  (await outcomeOf([textEvent("hi"), ...parts, "data: [DONE]\n\n"])).usage;
const withUsage = (usage: unknown): Part => ({ choices: [{ delta: {}, finish_reason: "stop" }], usage });

Deno.test("openai provider reads usage when it comes on its own after the finish", async () => {
  assertEquals(await usageOf(finishEvent(), usageEvent({ input: 9, cached: 4, output: 3, reasoning: 1 })), {
    inputTokens: 9,
    cachedTokens: 4,
    outputTokens: 3,
    reasoningTokens: 1,
  });
});

Deno.test("openai provider reads usage when it comes with the finish", async () => {
  assertEquals((await usageOf(withUsage({ prompt_tokens: 7, completion_tokens: 2 })))?.inputTokens, 7);
});

Deno.test("openai provider gives no usage when the server sends none or null", async () => {
  assertEquals(await usageOf(finishEvent(), withUsage(null)), undefined);
});

Deno.test("openai provider takes the last count when usage grows with every event", async () => {
  const growing = [1, 2, 3].map((n) => ({
    choices: [{ delta: { content: "x" } }],
    usage: { prompt_tokens: 50, completion_tokens: n },
  }));
  assertEquals((await usageOf(...growing, finishEvent()))?.outputTokens, 3);
});

Deno.test("openai provider reads cached tokens when they are counted as hits and misses", async () => {
  const usage = { prompt_cache_hit_tokens: 30, prompt_cache_miss_tokens: 12, completion_tokens: 1 };
  const read = await usageOf(withUsage(usage));
  assertEquals([read?.inputTokens, read?.cachedTokens], [42, 30]);
});

Deno.test("openai provider reads usage when it lies inside the choice or under x_groq", async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 1, cached_tokens: 4 };
  const choice = await usageOf({ choices: [{ delta: {}, finish_reason: "stop", usage }] });
  assertEquals([choice?.inputTokens, choice?.cachedTokens], [5, 4]);
  assertEquals((await usageOf({ choices: [], x_groq: { usage } }, finishEvent()))?.inputTokens, 5);
});

Deno.test("openai provider adds reasoning to the output when the server's total shows that it is left out", async () => {
  const apart = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 22,
    completion_tokens_details: { reasoning_tokens: 7 },
  };
  assertEquals((await usageOf(withUsage(apart)))?.outputTokens, 12);
  assertEquals((await usageOf(withUsage({ ...apart, total_tokens: 15 })))?.outputTokens, 5);
});

Deno.test("openai provider gives no usage when the counts are not numbers", async () => {
  assertEquals(await usageOf(withUsage({ prompt_tokens: "many", completion_tokens: -1 })), undefined);
});
