import fc from "fast-check";
import type { Message } from "../../../../src/core/mod.ts";
import { createProvider } from "../../../../src/provider/mod.ts";
import { EventReader } from "../../../../src/provider/wire/wire_reply.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  collect,
  HELLO,
  InstantClock,
  openClient,
  outcomeOf,
  providerEntry,
} from "../../../support/model_client.ts";
import {
  callEvent,
  deltaEvent,
  DONE,
  finishEvent,
  type Part,
  sse,
  startModelServer,
  textEvent,
  type Turn,
  usageEvent,
} from "../../../support/model_server.ts";
import { SEED } from "../../../support/seed.ts";

Deno.test("openai provider skips an invalid event among valid ones", async () => {
  const outcome = await outcomeOf([
    textEvent("one "),
    'data: {"choices":[{"del\n\n',
    textEvent("two"),
    finishEvent(),
  ]);
  assertEquals([outcome.text, outcome.reason], ["one two", "stop"]);
});

Deno.test("openai provider reports an invalid event when nothing else arrives", async () => {
  assertEquals((await outcomeOf(['data: {"choices":[{"del\n\n'])).error?.kind, "protocol");
});

Deno.test("openai provider fails when an invalid event may contain part of a tool call", async () => {
  const call = callEvent({ index: 0, id: "a", function: { name: "write_file", arguments: '{"content":"' } });
  const lost = 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"argum\n\n';
  const outcome = await outcomeOf([
    call,
    lost,
    callEvent({ index: 0, function: { arguments: '"}' } }),
    finishEvent(),
  ]);
  assertEquals([outcome.error?.kind, outcome.calls.length], ["protocol", 0]);
});

Deno.test("openai provider reads an event over two data lines", async () => {
  const line = sse(textEvent("whole text")).trimEnd();
  const between = line.replace('"choices"', '\ndata: "choices"');
  const inside = line.replace("whole", "who\ndata: le");
  const outcome = await outcomeOf([between + "\n\n", inside + "\n\n", finishEvent()]);
  assertEquals(outcome.text, "whole textwhole text");
});

Deno.test("openai provider reads several events without blank lines between them", async () => {
  const lines = ["a", "b", "c"].map((text) => sse(textEvent(text)).trimEnd()).join("\n");
  assertEquals((await outcomeOf([lines + "\n\n", finishEvent()])).text, "abc");
});

Deno.test("openai provider skips events whose JSON is not an object", async () => {
  const outcome = await outcomeOf([
    'data: 7\n\ndata: null\n\ndata: "x"\n\ndata: []\n\n',
    textEvent("fine"),
    finishEvent(),
  ]);
  assertEquals([outcome.text, outcome.error], ["fine", undefined]);
});

for (
  const [name, choices] of [["empty", []], ["null", null], ["absent", undefined], ["a list of null", [
    null,
  ]]] as const
) {
  Deno.test(`openai provider skips an event whose choices are ${name}`, async () => {
    const event = { id: "x", object: "chat.completion.chunk", ...(choices === undefined ? {} : { choices }) };
    const outcome = await outcomeOf([event, textEvent("hi"), event, finishEvent(), event]);
    assertEquals([outcome.text, outcome.reason, outcome.error], ["hi", "stop", undefined]);
  });
}

Deno.test("openai provider skips a choice without a delta", async () => {
  const outcome = await outcomeOf([
    { choices: [{ delta: null }] },
    { choices: [{}] },
    textEvent("hi"),
    finishEvent(),
  ]);
  assertEquals(outcome.text, "hi");
});

async function afterwards(first: Turn) {
  await using server = startModelServer([first, { text: "whole" }]);
  const outcome = await collect(await openClient(server, { clock: new InstantClock() }));
  return { ...outcome, requests: server.requests.map((request) => request.body) };
}

const part = callEvent({
  index: 0,
  id: "a",
  function: { name: "write_file", arguments: '{"path":"a","content":"ha' },
});

Deno.test("openai provider retries and discards the text when the connection breaks within it", async () => {
  const outcome = await afterwards({
    stream: [textEvent("par"), textEvent("tial"), textEvent("!")],
    cutAfter: 400,
  });
  assertEquals([outcome.text, outcome.retries.length, outcome.retries[0]?.discarded], ["whole", 1, true]);
  assertEquals(outcome.requests[0], outcome.requests[1]);
});

Deno.test("openai provider returns no tool call when the stream ends inside it", async () => {
  const outcome = await afterwards({ stream: [part] });
  assertEquals([outcome.calls.length, outcome.text, outcome.retries[0]?.discarded], [0, "whole", false]);
  assert(outcome.retries[0]?.reason.includes("inside a tool call"));
});

Deno.test("openai provider retries when the stream ends before any content", async () => {
  assertEquals(
    (await afterwards({ stream: [{ choices: [{ delta: { role: "assistant" } }] }] })).text,
    "whole",
  );
});

Deno.test("openai provider retries when the server closes without an answer", async () => {
  const outcome = await afterwards({ drop: true });
  assertEquals([outcome.text, outcome.retries.length], ["whole", 1]);
});

Deno.test("openai provider reports an interrupted reply after the last attempt", async () => {
  await using server = startModelServer([{ text: "long enough", cutAfter: 100 }]);
  const outcome = await collect(await openClient(server, { entry: { max_attempts: 1 } }));
  assertEquals(outcome.error?.kind, "connection");
  assertStringIncludes(outcome.error?.message ?? "", "broke off its reply");
});

const CALL = callEvent({ index: 0, id: "a", function: { name: "ls", arguments: "{}" } });

/** A clock on which limits of up to a second pass immediately, and longer ones never. */
class ShortClock extends InstantClock {
  readonly passed: number[] = [];
  /** Aborts a test that does not end. */
  readonly stuck = AbortSignal.timeout(60_000);

  override after(ms: number, task: () => void): () => void {
    if (ms > 1000) return () => {};
    let isOff = false;
    queueMicrotask(() => {
      if (isOff) return;
      this.time += ms;
      this.passed.push(ms);
      task();
    });
    return () => isOff = true;
  }
}

Deno.test("openai provider accepts a stream without [DONE]", async () => {
  const outcome = await outcomeOf([textEvent("hi"), finishEvent("length")]);
  assertEquals([outcome.text, outcome.reason], ["hi", "length"]);
});

Deno.test("openai provider accepts a stream without a finish reason", async () => {
  const outcome = await outcomeOf([textEvent("hi"), "data: [DONE]\n\n"]);
  assertEquals([outcome.text, outcome.reason], ["hi", "stop"]);
});

Deno.test("openai provider reports an unknown reason when the stream ends without one", async () => {
  assertEquals((await outcomeOf([textEvent("hi")])).reason, "unknown");
});

Deno.test("openai provider reports tool calls as the reason when the server says stop or nothing", async () => {
  assertEquals((await outcomeOf([CALL, finishEvent("stop")])).reason, "tool_calls");
  assertEquals((await outcomeOf([CALL])).reason, "tool_calls");
});

Deno.test("openai provider maps an unexpected finish reason to unknown", async () => {
  assertEquals((await outcomeOf([textEvent("hi"), finishEvent("tired")])).reason, "unknown");
});

Deno.test("openai provider ends at [DONE] without waiting for the connection to close", async () => {
  const never = new Promise(() => {});
  const outcome = await outcomeOf([textEvent("hi"), finishEvent(), usageEvent(), "data: [DONE]\n\n", never]);
  assertEquals([outcome.text, outcome.reason, outcome.usage?.inputTokens], ["hi", "stop", 10]);
});

Deno.test("openai provider waits at most a second for [DONE] after everything else", async () => {
  const never = new Promise(() => {});
  await using server = startModelServer([{ stream: [textEvent("hi"), finishEvent(), usageEvent(), never] }]);
  const clock = new ShortClock();
  const provider = await openClient(server, { entry: { max_attempts: 1 }, clock });
  const outcome = await collect(provider, HELLO, clock.stuck);
  assertEquals([outcome.text, outcome.reason, outcome.usage?.inputTokens], ["hi", "stop", 10]);
  assertEquals(clock.passed, [1000]);
});

Deno.test("openai provider reports a failure for an error finish reason", async () => {
  const outcome = await outcomeOf([textEvent("hi"), finishEvent("insufficient_system_resource")]);
  assertEquals(outcome.error?.kind, "server");
});

Deno.test("openai provider reports content_filter as the reason of a filtered answer", async () => {
  const outcome = await outcomeOf([textEvent("I "), finishEvent("content_filter")]);
  assertEquals([outcome.text, outcome.reason], ["I ", "content_filter"]);
});

const KINDS: readonly (readonly [name: string, error: unknown, kind: string])[] = [
  ["a numeric code", { error: { message: "busy", code: 503 } }, "server"],
  ["a code as digits", { error: { message: "slow down", code: "429" } }, "rate_limit"],
  ["an overload type", { error: { type: "overloaded_error", message: "Overloaded" } }, "server"],
  ["a rate limit code", { error: { code: "rate_limit_exceeded", message: "wait" } }, "rate_limit"],
  ["an invalid key code", { error: { code: "invalid_api_key", message: "no" } }, "auth"],
  [
    "a context overflow",
    { error: { message: "This model's maximum context length is 8 tokens" } },
    "context_length",
  ],
  ["a bad request", { error: { type: "invalid_request_error", message: "no such field" } }, "bad_request"],
  ["text only", { error: "something broke" }, "server"],
  ["no wrapper", { object: "error", message: "it failed", code: 400 }, "bad_request"],
];

for (const [name, event, kind] of KINDS) {
  Deno.test(`openai provider reports kind ${kind} for an error with ${name} in a stream with status 200`, async () => {
    const outcome = await outcomeOf([event as Record<string, unknown>]);
    assertEquals(outcome.error?.kind, kind);
  });
}

Deno.test("openai provider reports an event of type error", async () => {
  const plain = await outcomeOf(["event: error\ndata: upstream gone\n\n"]);
  assertStringIncludes(plain.error?.message ?? "", "upstream gone");
  const json = await outcomeOf(['event: error\ndata: {"message":"worn out","code":500}\n\n']);
  assertEquals([json.error?.kind, json.error?.status], ["server", 500]);
});

Deno.test("openai provider emits text before an error in the stream and discards it on a retry", async () => {
  const failed = {
    stream: [textEvent("par"), { ...(textEvent("tial") as object), error: { code: 502, message: "gone" } }],
  };
  await using server = startModelServer([failed, { text: "complete" }]);
  const outcome = await collect(await openClient(server, { clock: new InstantClock() }));
  assertEquals([outcome.text, outcome.error], ["complete", undefined]);
  assertEquals(outcome.retries.map((retry) => [retry.attempt, retry.discarded]), [[2, true]]);
  const shown = outcome.chunks.slice(0, outcome.chunks.findIndex((chunk) => chunk.type === "retry"));
  assertEquals(shown.map((chunk) => chunk.type === "text" ? chunk.text : "").join(""), "partial");
  assert(outcome.retries[0]?.reason.includes("gone"));
});

Deno.test("openai provider reads a text of 3 MB in one event", async () => {
  const text = "Zeile ü\n".repeat(400_000);
  const outcome = await outcomeOf([textEvent(text), finishEvent(), DONE]);
  assertEquals(outcome.text.length, text.length);
  assert(outcome.text === text);
});

Deno.test("openai provider merges deltas of one read", async () => {
  const deltas = Array.from({ length: 500 }, (_, n) => textEvent(`${n} "q" \\n\n`));
  const stream = new TextEncoder().encode(
    deltas.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
  );
  const outcome = await outcomeOf([stream, finishEvent()]);
  assertEquals(outcome.text, Array.from({ length: 500 }, (_, n) => `${n} "q" \\n\n`).join(""));
  assert(outcome.chunks.length < 50, `${outcome.chunks.length} chunks`);
});

Deno.test("openai provider replaces NUL and lone surrogates in a text", async () => {
  const outcome = await outcomeOf([textEvent("a\0b\ud800c"), textEvent("d\udc00"), finishEvent()]);
  assertEquals(outcome.text, "a\ufffdb\ufffdcd\ufffd");
});

Deno.test("openai provider keeps a text that ends in half a surrogate pair", async () => {
  assertEquals((await outcomeOf([textEvent("end\ud83e"), finishEvent()])).text, "end\ufffd");
});

Deno.test("openai provider sends a valid body when messages contain NUL and lone surrogates", async () => {
  await using server = startModelServer([{ text: "ok" }]);
  const messages: Message[] = [{ role: "user", content: "a\0b\ud800" }, {
    role: "assistant",
    content: "",
    calls: [{ id: "1", name: "ls dir", arguments: "{}" }],
  }, { role: "tool", callId: "1", name: "ls dir", content: "\udc00 file" }];
  await collect(await openClient(server), messages);
  const sent = server.requests[0];
  assert(!/\\u(0000|d8|dc)/i.test(sent?.body ?? ""));
  assertEquals(sent?.json.messages[1].content, "a\ufffdb\ufffd");
  assertEquals(sent?.json.messages[2].tool_calls[0].function.name, "ls_dir");
  assertEquals(sent?.json.messages[3].content, "\ufffd file");
});

async function answer(turn: Turn) {
  await using server = startModelServer([turn]);
  return await collect(await openClient(server, { entry: { max_attempts: 1 } }));
}

Deno.test("openai provider reports an error object with status 200", async () => {
  const outcome = await answer({ body: { error: { message: "quota is gone", code: "insufficient_quota" } } });
  assertEquals(outcome.error?.kind, "auth");
  assertStringIncludes(outcome.error?.message ?? "", "quota is gone");
});

Deno.test("openai provider reports an error object in an array", async () => {
  const outcome = await answer({
    status: 400,
    body: '[{"error":{"code":400,"message":"API key not valid"}}]',
  });
  assertStringIncludes(outcome.error?.message ?? "", "API key not valid");
});

Deno.test("openai provider reports a web page with status 200", async () => {
  const page =
    "<!doctype html><html><head><title>Sign in</title><style>p{}</style></head><body><p>Welcome</p></body></html>";
  const outcome = await answer({ body: page });
  assertEquals(outcome.error?.kind, "protocol");
  assertStringIncludes(
    outcome.error?.message ?? "",
    "web page instead of a reply: Sign in Welcome; check base_url",
  );
});

Deno.test("openai provider does not retry after a web page", async () => {
  await using server = startModelServer([{ body: "<html>Sign in</html>" }]);
  const outcome = await collect(await openClient(server));
  assertEquals([server.requests.length, outcome.retries.length], [1, 0]);
});

const BROKEN = [["empty", ""], ["plain text", "upstream connect error"], [
  "broken JSON",
  '{"choices":[',
]] as const;

for (const [name, body] of BROKEN) {
  Deno.test(`openai provider reports a protocol error when the body is ${name}`, async () => {
    const outcome = await answer({ body });
    assertEquals(outcome.error?.kind, "protocol");
    assert(!body || outcome.error?.message.includes(body));
  });
}

const textsOf = async (parts: readonly Part[], compat: Record<string, unknown> = {}) => {
  const { reasoning, text } = await outcomeOf([...parts, finishEvent()], { compat });
  return { reasoning, text };
};

for (const field of ["reasoning_content", "reasoning"]) {
  Deno.test(`openai provider reads reasoning in the field ${field}`, async () => {
    const parts = [
      deltaEvent({ content: null, [field]: "I " }),
      deltaEvent({ content: "", [field]: "think" }),
      textEvent("so"),
    ];
    assertEquals(await textsOf(parts), { reasoning: "I think", text: "so" });
  });
}

Deno.test("openai provider emits reasoning once when two fields repeat it", async () => {
  const parts = [deltaEvent({ reasoning: "hm", reasoning_content: "hm" }), textEvent("so")];
  assertEquals(await textsOf(parts), { reasoning: "hm", text: "so" });
});

Deno.test("openai provider reads reasoning in think tags that are split anywhere", async () => {
  const whole = "\n<think>a < b</thin and</think>\n\nAnswer <think>kept</think>";
  for (let cut = 1; cut < whole.length; cut += 3) {
    assertEquals(await textsOf([textEvent(whole.slice(0, cut)), textEvent(whole.slice(cut))]), {
      reasoning: "a < b</thin and",
      text: "Answer <think>kept</think>",
    });
  }
});

Deno.test("openai provider keeps text that only resembles a think tag", async () => {
  for (const text of ["<thinks> so", "<", "<thin", " <b>bold</b>", "so <think>"]) {
    assertEquals(await textsOf([...text].map(textEvent)), { reasoning: "", text });
  }
});

Deno.test("openai provider keeps think tags when configured", async () => {
  assertEquals(await textsOf([textEvent("<think>a</think>b")], { think_tags: false }), {
    reasoning: "",
    text: "<think>a</think>b",
  });
});

Deno.test("openai provider treats text after an unclosed think tag as reasoning", async () => {
  assertEquals(await textsOf([textEvent("<think>a</th")]), { reasoning: "a</th", text: "" });
});

Deno.test("openai provider reads text and thinking when content is a list of parts", async () => {
  const parts = [
    deltaEvent({
      content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }, { type: "text", text: "so" }],
    }),
  ];
  assertEquals(await textsOf(parts), { reasoning: "hm", text: "so" });
});

const usageOf = async (...parts: Part[]) =>
  (await outcomeOf([textEvent("hi"), ...parts, "data: [DONE]\n\n"])).usage;
const withUsage = (usage: unknown): Part => ({ choices: [{ delta: {}, finish_reason: "stop" }], usage });

Deno.test("openai provider reads usage in a separate event after the finish", async () => {
  assertEquals(await usageOf(finishEvent(), usageEvent({ input: 9, cached: 4, output: 3, reasoning: 1 })), {
    inputTokens: 9,
    cachedTokens: 4,
    outputTokens: 3,
    reasoningTokens: 1,
  });
});

Deno.test("openai provider reads usage in the event of the finish", async () => {
  assertEquals((await usageOf(withUsage({ prompt_tokens: 7, completion_tokens: 2 })))?.inputTokens, 7);
});

Deno.test("openai provider reports no usage when the server sends none or null", async () => {
  assertEquals(await usageOf(finishEvent(), withUsage(null)), undefined);
});

Deno.test("openai provider uses the last count when usage grows with every event", async () => {
  const growing = [1, 2, 3].map((n) => ({
    choices: [{ delta: { content: "x" } }],
    usage: { prompt_tokens: 50, completion_tokens: n },
  }));
  assertEquals((await usageOf(...growing, finishEvent()))?.outputTokens, 3);
});

Deno.test("openai provider reads cached tokens as hits and misses", async () => {
  const usage = { prompt_cache_hit_tokens: 30, prompt_cache_miss_tokens: 12, completion_tokens: 1 };
  const read = await usageOf(withUsage(usage));
  assertEquals([read?.inputTokens, read?.cachedTokens], [42, 30]);
});

Deno.test("openai provider reads usage inside the choice or under x_groq", async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 1, cached_tokens: 4 };
  const choice = await usageOf({ choices: [{ delta: {}, finish_reason: "stop", usage }] });
  assertEquals([choice?.inputTokens, choice?.cachedTokens], [5, 4]);
  assertEquals((await usageOf({ choices: [], x_groq: { usage } }, finishEvent()))?.inputTokens, 5);
});

Deno.test("openai provider adds reasoning to the output when the total shows that it is missing", async () => {
  const apart = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 22,
    completion_tokens_details: { reasoning_tokens: 7 },
  };
  assertEquals((await usageOf(withUsage(apart)))?.outputTokens, 12);
  assertEquals((await usageOf(withUsage({ ...apart, total_tokens: 15 })))?.outputTokens, 5);
});

Deno.test("openai provider reports no usage when the counts are not numbers", async () => {
  assertEquals(await usageOf(withUsage({ prompt_tokens: "many", completion_tokens: -1 })), undefined);
});

/** The events that a reader returns for a stream in these chunks. */
function readAll(pieces: readonly string[]): Record<string, unknown> {
  const events: unknown[] = [];
  const reader = new EventReader((event) => void events.push(onlyContent(event)), /tool_call/);
  for (const piece of pieces) reader.feed(piece);
  reader.end();
  const { good, broken, brokenCall, done } = reader;
  return { events: joined(events), good, broken, brokenCall, done };
}

/** Returns the text of a parsed text event. */
function onlyContent(event: unknown): unknown {
  const text = (event as { choices?: { delta?: { content?: unknown } }[] })?.choices?.[0]?.delta?.content;
  return typeof text === "string" ? ["text", text] : event;
}

function joined(events: readonly unknown[]): unknown[] {
  const all: unknown[] = [];
  for (const item of events) {
    const last = all.at(-1);
    if (Array.isArray(item) && Array.isArray(last)) last[1] += item[1];
    else all.push(Array.isArray(item) ? [...item] : item);
  }
  return all;
}

function textChunk(text: string, id = 1): string {
  return JSON.stringify({ id, choices: [{ index: 0, delta: { content: text } }] });
}

/**
 * Blocks of a stream: mostly the same event with different text, and everything that can be between them.
 */
const BLOCKS = [
  ...["word ", "two words ", "line\n", "", "é任务🦊", "a\\b", "\\", "tab\t", 'say "so"', "data: ", '"}}]}']
    .map((text) => `data: ${textChunk(text)}\n\n`),
  `data: ${textChunk("other", 2)}\n\n`,
  `data:${textChunk("no space")}\n\n`,
  `data: ${textChunk("carriage")}\r\n\r\n`,
  `event: error\ndata: ${textChunk("odd")}\n\n`,
  `id: 7\ndata: ${textChunk("with id")}\n\n`,
  `data: ${textChunk("a")}\ndata: ${textChunk("b")}\n\n`,
  `data: ${textChunk("raw\nline").replace("\\n", "\n")}\n\n`,
  `data: ${textChunk("raw\rreturn").replace("\\r", "\r")}\n\n`,
  `data: ${textChunk("cut short").slice(0, -8)}\n\n`,
  `data: ${textChunk("lone \\").replace("\\\\", "\\")}\n\n`,
  ": keep-alive\n\n",
  "\n",
  "data: \n\n",
  "data: [DONE]\n\n",
];

/** Chunks of one character never contain an event, so that only the parser reads them. */
function slowly(stream: string): Record<string, unknown> {
  return readAll(stream.split(""));
}

Deno.test("EventReader returns the same events for any chunk size", () => {
  const block = fc.oneof({ weight: 3, arbitrary: fc.constant(BLOCKS[0] ?? "") }, fc.constantFrom(...BLOCKS));
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
  fc.assert(
    fc.property(fc.array(block, { maxLength: 15 }), cuts, (blocks, places) => {
      const stream = `data: ${textChunk("first")}\n\n${blocks.join("")}`;
      const at = places.map((place) => Math.floor(place * stream.length)).sort((a, b) => a - b);
      const pieces = [...at, stream.length].map((end, index) => stream.slice(at[index - 1] ?? 0, end));
      const expected = slowly(stream);
      assertEquals(readAll([stream]), expected);
      assertEquals(readAll(pieces), expected);
    }),
    { numRuns: 400, seed: SEED },
  );
});

Deno.test("EventReader returns the same events wherever an event is split", () => {
  const first = `data: ${textChunk("first")}\n\n`;
  for (const block of BLOCKS) {
    const rest = block + first;
    const expected = slowly(first + rest);
    for (let cut = 0; cut < rest.length; cut++) {
      assertEquals(readAll([first, rest.slice(0, cut), rest.slice(cut)]), expected, `${block} cut at ${cut}`);
    }
  }
});

Deno.test("openai provider reads a reply when the runtime's stream has no byte reader", async () => {
  const bytes = new TextEncoder().encode(sse(textEvent("plain")) + sse(finishEvent()));
  const entry = providerEntry({ base_url: "http://127.0.0.1:1/v1" });
  const fetch = () => Promise.resolve(new Response(ReadableStream.from([bytes])));
  const provider = await createProvider({ entry, model: "m", version: "1", deps: { fetch } });
  assertEquals((await collect(provider)).text, "plain");
});
