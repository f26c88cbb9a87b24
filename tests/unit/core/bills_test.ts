/** Costs computed by hand. */
import { addSpending, costOf, NO_SPENDING, type Price, type Usage } from "../../../src/core/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const FLAT: Price = { input: 3, cachedInput: 0.3, output: 15, currency: "USD" };
const CLAUDE: Price = { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25, currency: "USD" };
const CLAUDE_HOUR: Price = { input: 5, cachedInput: 0.5, cacheWrite: 10, output: 25, currency: "USD" };
const DEEPSEEK: Price = { input: 0.435, cachedInput: 0.003625, output: 0.87, currency: "USD" };
const GPT: Price = {
  input: 5,
  cachedInput: 0.5,
  output: 30,
  currency: "USD",
  tiers: [{ above: 272000, input: 10, cachedInput: 1, output: 45 }],
};
const QWEN: Price = {
  input: 0.5,
  cachedInput: 0.05,
  cacheWrite: 0.625,
  output: 3,
  currency: "USD",
  tiers: [{ above: 256000, input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 6 }],
};
const STEPS: Price = {
  input: 1,
  cachedInput: 0.1,
  output: 2,
  currency: "USD",
  tiers: [{ above: 32000, input: 2, cachedInput: 0.2, output: 4 }, {
    above: 128000,
    input: 4,
    cachedInput: 0.4,
    output: 8,
  }],
};
const FREE: Price = { input: 0, cachedInput: 0, output: 0, currency: "USD" };
const YUAN: Price = { input: 2, cachedInput: 0.2, output: 8, currency: "CNY" };

type Tokens = readonly [input: number, cached: number, stored: number, output: number, reasoning: number];

/** Prices are per million tokens: the sum of tokens times price per kind, divided by a million. */
const BILLS: readonly (readonly [
  what: string,
  price: Price,
  tokens: Tokens,
  arithmetic: string,
  amount: number,
])[] = [
  [
    "nothing at all",
    FLAT,
    [0, 0, 0, 0, 0],
    "nothing",
    0,
  ],
  [
    "a million read without the cache",
    FLAT,
    [1_000_000, 0, 0, 0, 0],
    "1,000,000 fresh × 3",
    3,
  ],
  [
    "a million written",
    FLAT,
    [0, 0, 0, 1_000_000, 0],
    "1,000,000 out × 15",
    15,
  ],
  [
    "a million from the cache",
    FLAT,
    [1_000_000, 1_000_000, 0, 0, 0],
    "1,000,000 cached × 0.3",
    0.3,
  ],
  [
    "one token in",
    FLAT,
    [1, 0, 0, 0, 0],
    "1 fresh × 3",
    0.000003,
  ],
  [
    "one token out",
    FLAT,
    [1, 0, 0, 1, 0],
    "1 fresh × 3 + 1 out × 15",
    0.000018,
  ],
  [
    "half from the cache",
    FLAT,
    [20_000, 10_000, 0, 500, 0],
    "10,000 fresh × 3 + 10,000 cached × 0.3 + 500 out × 15",
    0.0405,
  ],
  [
    "reasoning is a part of the output and is not paid twice",
    FLAT,
    [1000, 0, 0, 900, 800],
    "1,000 fresh × 3 + 900 out × 15",
    0.0165,
  ],
  [
    "reasoning alone",
    FLAT,
    [1000, 0, 0, 700, 700],
    "1,000 fresh × 3 + 700 out × 15",
    0.0135,
  ],
  [
    "without a price of writing it costs as input",
    FLAT,
    [10_000, 2000, 3000, 100, 0],
    "5,000 fresh × 3 + 2,000 cached × 0.3 + 3,000 stored × 3 + 100 out × 15",
    0.0261,
  ],
  [
    "a first request that fills the cache",
    CLAUDE,
    [12_000, 0, 12_000, 300, 0],
    "12,000 stored × 6.25 + 300 out × 25",
    0.0825,
  ],
  [
    "a second one that reads it and adds to it",
    CLAUDE,
    [13_000, 12_000, 1000, 300, 0],
    "12,000 cached × 0.5 + 1,000 stored × 6.25 + 300 out × 25",
    0.01975,
  ],
  [
    "a third one with fresh input behind the mark",
    CLAUDE,
    [14_500, 13_000, 1000, 250, 0],
    "500 fresh × 5 + 13,000 cached × 0.5 + 1,000 stored × 6.25 + 250 out × 25",
    0.0215,
  ],
  [
    "everything from the cache",
    CLAUDE,
    [200_000, 200_000, 0, 1, 0],
    "200,000 cached × 0.5 + 1 out × 25",
    0.100025,
  ],
  [
    "the first request with a cache of an hour",
    CLAUDE_HOUR,
    [12_000, 0, 12_000, 300, 0],
    "12,000 stored × 10 + 300 out × 25",
    0.1275,
  ],
  [
    "the second request with a cache of an hour",
    CLAUDE_HOUR,
    [13_000, 12_000, 1000, 300, 0],
    "12,000 cached × 0.5 + 1,000 stored × 10 + 300 out × 25",
    0.0235,
  ],
  [
    "a long answer",
    CLAUDE,
    [40, 0, 0, 64_000, 50_000],
    "40 fresh × 5 + 64,000 out × 25",
    1.6002,
  ],
  [
    "prices of six digits, from the cache",
    DEEPSEEK,
    [123_457, 120_000, 0, 0, 0],
    "3,457 fresh × 0.435 + 120,000 cached × 0.003625",
    0.001938795,
  ],
  [
    "prices of six digits, mixed",
    DEEPSEEK,
    [123_457, 120_001, 0, 789, 300],
    "3,456 fresh × 0.435 + 120,001 cached × 0.003625 + 789 out × 0.87",
    0.002624793625,
  ],
  [
    "one token from the cache",
    DEEPSEEK,
    [1, 1, 0, 0, 0],
    "1 cached × 0.003625",
    0.000000003625,
  ],
  [
    "exactly at the edge of a tier costs the lower price",
    GPT,
    [272_000, 0, 0, 1000, 0],
    "272,000 fresh × 5 + 1,000 out × 30",
    1.39,
  ],
  [
    "one token above the edge: the whole request costs more",
    GPT,
    [272_001, 0, 0, 1000, 0],
    "272,001 fresh × 10 + 1,000 out × 45",
    2.76501,
  ],
  [
    "a long request from the cache",
    GPT,
    [500_000, 499_000, 0, 2000, 1500],
    "1,000 fresh × 10 + 499,000 cached × 1 + 2,000 out × 45",
    0.599,
  ],
  [
    "a short request of the same model",
    GPT,
    [9000, 8000, 0, 2000, 0],
    "1,000 fresh × 5 + 8,000 cached × 0.5 + 2,000 out × 30",
    0.069,
  ],
  [
    "output counts for no tier",
    GPT,
    [271_000, 0, 0, 128_000, 0],
    "271,000 fresh × 5 + 128,000 out × 30",
    5.195,
  ],
  [
    "a tier with a price of writing",
    QWEN,
    [300_000, 200_000, 50_000, 1000, 0],
    "50,000 fresh × 2 + 200,000 cached × 0.2 + 50,000 stored × 2.5 + 1,000 out × 6",
    0.271,
  ],
  [
    "the same below the tier",
    QWEN,
    [256_000, 200_000, 50_000, 1000, 0],
    "6,000 fresh × 0.5 + 200,000 cached × 0.05 + 50,000 stored × 0.625 + 1,000 out × 3",
    0.04725,
  ],
  [
    "the first of two tiers",
    STEPS,
    [32_001, 1, 0, 10, 0],
    "32,000 fresh × 2 + 1 cached × 0.2 + 10 out × 4",
    0.0640402,
  ],
  [
    "the second of two tiers",
    STEPS,
    [200_000, 100_000, 0, 10, 0],
    "100,000 fresh × 4 + 100,000 cached × 0.4 + 10 out × 8",
    0.44008,
  ],
  [
    "a model that costs nothing",
    FREE,
    [500_000, 1000, 0, 9000, 0],
    "499,000 fresh × 0 + 1,000 cached × 0 + 9,000 out × 0",
    0,
  ],
  [
    "another currency",
    YUAN,
    [50_000, 40_000, 0, 1500, 0],
    "10,000 fresh × 2 + 40,000 cached × 0.2 + 1,500 out × 8",
    0.04,
  ],
];

function usageOf(
  [inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens]: Tokens,
): Usage {
  return { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens };
}

for (const [what, price, tokens, arithmetic, amount] of BILLS) {
  Deno.test(`costOf bills ${what}: ${arithmetic}, over a million`, () => {
    assertEquals(costOf(usageOf(tokens), price), { amount, currency: price.currency });
  });
}

Deno.test("addSpending sums costs by currency and counts those of unknown price", () => {
  const spent = BILLS.reduce((sum, [, price, tokens]) => {
    const usage = usageOf(tokens);
    return addSpending(sum, { usage, cost: costOf(usage, price) });
  }, NO_SPENDING);
  const total = (currency: string) =>
    BILLS.filter(([, price]) => price.currency === currency).reduce((sum, bill) => sum + bill[4], 0);
  for (const currency of ["USD", "CNY"]) {
    assert(Math.abs((spent.costs[currency] ?? 0) - total(currency)) < 1e-12);
  }
  const more = addSpending(spent, {
    usage: usageOf([1, 0, 0, 1, 0]),
    cost: costOf(usageOf([1, 0, 0, 1, 0]), undefined),
  });
  assertEquals([spent.unpriced, more.unpriced], [0, 1]);
});
