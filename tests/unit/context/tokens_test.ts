import { countTokens } from "gpt-tokenizer/encoding/cl100k_base";
import llama from "llama-tokenizer-js";
import type { Message, Prefix } from "../../../src/core/mod.ts";
import { roughTokens } from "../../../src/context/rough_tokens.ts";
import { TokenCounter } from "../../../src/context/tokens.ts";
import { BUILTINS, ToolRegistry } from "../../../src/tool/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const ROOT = new URL("../../../", import.meta.url);
const readText = (path: string) => Deno.readTextFileSync(new URL(path, ROOT));

/** Typical texts of a session: code, prose in two scripts, JSON, listings. */
const TEXTS = [
  readText("src/context/tokens.ts"),
  readText("docs/session-format.md").slice(0, 6_000),
  readText("deno.json"),
  "请修改解析器，使它能够处理多行字符串；不要改变公开的接口，并且运行全部测试。".repeat(20),
  Array.from({ length: 80 }, (_, i) => `src/module_${i}/handler.test.ts:${i * 3}: expect(total).toBe(${i})`)
    .join("\n"),
  readText("src/core/event_schema.ts").slice(0, 5_000),
  "ok",
  readText("README.zh-CN.md").slice(0, 3_000),
  readText("deno.lock").slice(0, 4_000),
];

const PREFIX: Prefix = {
  system: readText("src/context/system.md"),
  tools: new ToolRegistry(BUILTINS).schemas(),
};

type Count = (text: string) => number;

const cl100k: Count = (text) => countTokens(text, { disallowedSpecial: new Set<string>() });

/** Servers with different vocabularies and formats of roles, tools and calls. */
const SERVERS: Readonly<Record<string, Count>> = {
  "cl100k": cl100k,
  "llama": (text) => llama.encode(text, false, false).length,
};

function remembered(count: Count): Count {
  const known = new Map<string, number>();
  return (text) => {
    const tokens = known.get(text) ?? count(text);
    known.set(text, tokens);
    return tokens;
  };
}

/** Tokens of a request with these messages, as such a server reports them. */
function served(messages: readonly Message[], count: Count): number {
  const tools = PREFIX.tools.map((tool) => JSON.stringify({ type: "function", function: tool }));
  const head = count(`<|system|>\n${PREFIX.system}\n\n# Tools\n${tools.join("\n")}`) + 12;
  return messages.reduce((sum, message) => {
    if (message.role === "tool") {
      return sum + 6 + count(`<tool_response>\n${message.content}\n</tool_response>`);
    }
    if (message.role === "user") return sum + 5 + count(message.content);
    const calls = (message.calls ?? []).map(({ name, arguments: args }) =>
      2 + count(`<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`)
    );
    return calls.reduce((all, each) => all + each, sum + 5 + count(message.content));
  }, head);
}

/** A reply with a call that reads or writes a text, and its result. */
function step(number: number, text: string): Message[] {
  const path = `src/file_${number}.ts`;
  const writes = number % 4 === 3;
  const call = {
    id: `c${number}`,
    name: writes ? "write_file" : "read_file",
    arguments: JSON.stringify(writes ? { path, content: text.slice(0, 2_000) } : { path }),
  };
  const content = writes ? "Wrote it" : text;
  return [{ role: "assistant", content: "Looking at it.", calls: [call] }, {
    role: "tool",
    callId: call.id,
    name: call.name,
    content,
  }];
}

/** Steps of the first turn, each with a request. */
const FIRST_TURN = 6;

/** Errors of the estimates of a session before the server counts, that of the first request first. */
function errorsOf(count: Count, begin: number): number[] {
  const counter = new TokenCounter();
  const messages: Message[] = [{ role: "user", content: "What does this project do? Mend its parser." }];
  const errors: number[] = [];
  for (let number = 0; number < 30; number++) {
    const truth = served(messages, count);
    errors.push(Math.abs(counter.estimate(PREFIX, messages) - truth) / truth);
    counter.observe(PREFIX, messages, messages.length, truth);
    if (number >= FIRST_TURN && number % 3 === 0) {
      messages.push({ role: "assistant", content: "Done." }, {
        role: "user",
        content: "现在呢？ And the next one?",
      });
    }
    messages.push(...step(number, TEXTS[(number + begin) % TEXTS.length] ?? ""));
  }
  return errors;
}

for (const [server, open] of Object.entries(SERVERS)) {
  Deno.test(`each estimate is within the documented error of a ${server} server's count`, () => {
    const count = remembered(open);
    // For each kind of text that begins the session.
    for (let begin = 0; begin < TEXTS.length; begin++) {
      const errors = errorsOf(count, begin);
      const shown = `from text ${begin}: ${errors.map((error) => error.toFixed(3)).join(" ")}`;
      assert((errors[0] ?? 1) < 0.25, shown);
      assert(errors.slice(1, 1 + FIRST_TURN).every((error) => error < 0.25), shown);
      assert(errors.slice(1 + FIRST_TURN).every((error) => error < 0.1), shown);
    }
  });
}

Deno.test("estimate is within 10 % after the conversation is replaced by a shorter one", () => {
  const messages: Message[] = [];
  const count = cl100k;
  const counter = new TokenCounter();
  for (const content of TEXTS) {
    messages.push({ role: "user", content });
    counter.observe(PREFIX, messages, messages.length, served(messages, count));
  }
  const kept = messages.splice(0, 3);
  messages.splice(0, Infinity, ...kept);
  const truth = served(messages, count);
  const estimate = counter.estimate(PREFIX, [...messages]);
  assert(Math.abs(estimate - truth) / truth < 0.1, `${estimate} for ${truth}`);
});

Deno.test("estimate counts each message once for repeated calls", () => {
  let reads = 0;
  const message = (text: string): Message => ({
    role: "user",
    get content() {
      reads++;
      return text;
    },
  });
  const counter = new TokenCounter();
  const messages = Array.from({ length: 100 }, (_, i) => message(`message ${i}`));
  counter.estimate(PREFIX, messages);
  const once = reads;
  for (let i = 0; i < 50; i++) {
    messages.push(message("more"));
    counter.estimate(PREFIX, messages);
  }
  assertEquals(reads - once, 50 * (once / 100));
});

Deno.test("roughTokens is within a third of a tokenizer's count for code and prose", () => {
  for (const text of TEXTS) {
    const truth = cl100k(text);
    assert(
      Math.abs(roughTokens(text) - truth) / truth < 0.34,
      `${roughTokens(text)} for ${truth}: ${text.slice(0, 40)}`,
    );
  }
  assertEquals(roughTokens(""), 0);
});
