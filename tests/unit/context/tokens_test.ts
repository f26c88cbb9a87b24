import type { Message, Prefix } from "../../../src/core/mod.ts";
import { encodingOf, loadTokenizer, roughTokens } from "../../../src/context/tokenizer.ts";
import { TokenCounter } from "../../../src/context/tokens.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const ROOT = new URL("../../../", import.meta.url);
const readText = (path: string) => Deno.readTextFileSync(new URL(path, ROOT));

/** Texts as a session holds them: code, prose in two scripts, JSON, listings. */
const TEXTS = [
  readText("src/context/tokens.ts"),
  readText("docs/session-format.md").slice(0, 6_000),
  readText("deno.json"),
  "请修改解析器，使它能够处理多行字符串；不要改变公开的接口，并且运行全部测试。".repeat(20),
  Array.from({ length: 80 }, (_, i) => `src/module_${i}/handler.test.ts:${i * 3}: expect(total).toBe(${i})`)
    .join("\n"),
  readText("src/core/event_schema.ts").slice(0, 5_000),
];

const PREFIX: Prefix = {
  system: readText("src/context/system.md"),
  tools: [{ name: "read_file", description: "Reads a file", parameters: { type: "object", properties: {} } }],
};

/**
 * A growing conversation, and what a server with a vocabulary of its own would report for its first `count`
 * messages.
 */
async function scene() {
  const tokenize = await loadTokenizer("o200k_base");
  const messages: Message[] = [];
  /** Another vocabulary: 12 % more tokens, other overhead. */
  const reported = (count: number) =>
    Math.round(
      1.12 *
        messages.slice(0, count).reduce(
          (sum, message) => sum + 7 + tokenize(message.content),
          tokenize(PREFIX.system) + 90,
        ),
    );
  return { messages, reported };
}

for (const loaded of [true, false]) {
  Deno.test(`estimate is within 5 % of the report after the first turn ${loaded ? "with" : "without"} a vocabulary`, async () => {
    const { messages, reported } = await scene();
    const counter = new TokenCounter({ model: "some-model" });
    if (loaded) await counter.load();
    assertEquals(counter.exact, loaded);
    messages.push({ role: "user", content: "What does this project do? ".repeat(20) });
    counter.observe(PREFIX, messages, messages.length, reported(messages.length));
    const errors: number[] = [];
    for (let turn = 0; turn < 18; turn++) {
      messages.push({ role: "assistant", content: "Looking at it", calls: [] });
      messages.push({ role: "tool", callId: "c", name: "t", content: TEXTS[turn % TEXTS.length] ?? "" });
      const truth = reported(messages.length);
      errors.push(Math.abs(counter.estimate(PREFIX, messages) - truth) / truth);
      counter.observe(PREFIX, messages, messages.length, truth);
    }
    const late = errors.slice(loaded ? 1 : 4);
    assert(Math.max(...late) < 0.05, `errors ${errors.map((error) => error.toFixed(3)).join(" ")}`);
  });
}

Deno.test("estimate stays within 5 % when the conversation is replaced by a shorter one", async () => {
  const { messages, reported } = await scene();
  const counter = new TokenCounter({ model: "some-model" });
  await counter.load();
  for (const content of TEXTS) {
    messages.push({ role: "user", content });
    counter.observe(PREFIX, messages, messages.length, reported(messages.length));
  }
  const kept = messages.splice(0, 3);
  messages.splice(0, Infinity, ...kept);
  const truth = reported(3);
  const estimate = counter.estimate(PREFIX, [...messages]);
  assert(Math.abs(estimate - truth) / truth < 0.05, `${estimate} for ${truth}`);
});

Deno.test("estimate counts each message once however often it is asked", () => {
  let reads = 0;
  const message = (text: string): Message => ({
    role: "user",
    get content() {
      reads++;
      return text;
    },
  });
  const counter = new TokenCounter({ model: "m" });
  const messages = Array.from({ length: 100 }, (_, i) => message(`message ${i}`));
  counter.estimate(PREFIX, messages);
  const once = reads;
  for (let i = 0; i < 50; i++) {
    messages.push(message("more"));
    counter.estimate(PREFIX, messages);
  }
  assertEquals(reads - once, 50 * (once / 100));
});

Deno.test("encodingOf knows the older models and gives all others the newer vocabulary", () => {
  assertEquals(
    ["gpt-4", "gpt-4-turbo", "openai/gpt-3.5-turbo", "gpt-4o", "gpt-4.1", "o3", "deepseek-v4-pro"].map(
      encodingOf,
    ),
    ["cl100k_base", "cl100k_base", "cl100k_base", "o200k_base", "o200k_base", "o200k_base", "o200k_base"],
  );
});

Deno.test("loadTokenizer counts long runs, special tokens and typical messages in time", async () => {
  const tokenize = await loadTokenizer("o200k_base");
  assertEquals(tokenize("hello world"), 2);
  assert(tokenize("<|endoftext|> is text") > 3);
  const source = readText("src/core/event_schema.ts").slice(0, 12_000);
  tokenize(source);
  const started = performance.now();
  tokenize("a".repeat(50_000));
  tokenize(" ".repeat(50_000));
  tokenize(source);
  assert(performance.now() - started < 2_000);
});

Deno.test("roughTokens is within a third of the vocabulary for code and prose", async () => {
  const tokenize = await loadTokenizer("o200k_base");
  for (const text of TEXTS) {
    const truth = tokenize(text);
    assert(
      Math.abs(roughTokens(text) - truth) / truth < 0.34,
      `${roughTokens(text)} for ${truth}: ${text.slice(0, 40)}`,
    );
  }
  assertEquals(roughTokens(""), 0);
});
