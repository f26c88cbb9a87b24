import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { Message } from "../../../../src/core/mod.ts";
import { collect, HELLO, InstantClock, openClient, type Outcome } from "../../../support/model_client.ts";
import { startModelServer, type Turn } from "../../../support/model_server.ts";
import { anthropicWire, type BlockAnswer, wireEvent } from "../../../support/wires/anthropic.ts";

/** The outcome of these turns; nothing is retried unless there are several. */
async function outcomeOf(...turns: readonly (Turn & BlockAnswer)[]): Promise<Outcome> {
  await using server = startModelServer(turns, { wire: anthropicWire() });
  const entry = { max_attempts: turns.length };
  return await collect(await openClient(server, { clock: new InstantClock(), entry }));
}

const delta = (fields: Record<string, unknown>, index = 0) =>
  wireEvent({ type: "content_block_delta", index, delta: fields });
const text = (value: string, index = 0) => delta({ type: "text_delta", text: value }, index);
const start = (content_block: Record<string, unknown>, index = 0) =>
  wireEvent({ type: "content_block_start", index, content_block });
const CALL = start({ type: "tool_use", id: "a", name: "ls", input: {} });
const input = (partial_json: string) => delta({ type: "input_json_delta", partial_json });
const END = [
  wireEvent({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 4 } }),
  wireEvent({ type: "message_stop" }),
];

Deno.test("anthropic reply counts cache writes, and nothing twice", async () => {
  const counts = { input_tokens: 5, cache_creation_input_tokens: 20, cache_read_input_tokens: 75 };
  const outcome = await outcomeOf({
    stream: [
      wireEvent({ type: "message_start", message: { content: [], usage: { ...counts, output_tokens: 1 } } }),
      text("hi"),
      wireEvent({
        type: "message_delta",
        delta: { stop_reason: "end_turn" },
        usage: { input_tokens: null, cache_read_input_tokens: 75, output_tokens: 9 },
      }),
    ],
  });
  assertEquals(outcome.usage, {
    inputTokens: 100,
    cachedTokens: 75,
    cacheWriteTokens: 20,
    outputTokens: 9,
    reasoningTokens: 0,
  });
});

Deno.test("anthropic reply accepts the whole input of a call at its start", async () => {
  const call = start({ type: "tool_use", id: "a", name: "ls", input: { path: "x" } });
  const { calls } = await outcomeOf({ stream: [call, ...END] });
  assertEquals(calls.map((call) => call.arguments), ['{"path":"x"}']);
});

Deno.test("anthropic reply separates text blocks that have another block between them", async () => {
  const outcome = await outcomeOf({
    blocks: [
      { type: "thinking", thinking: "first" },
      { type: "text", text: "I look." },
      { type: "thinking", thinking: "second" },
      { type: "text", text: "Found" },
      { type: "text", text: " it." },
    ],
  });
  assertEquals([outcome.reasoning, outcome.text], ["first\n\nsecond", "I look.\n\nFound it."]);
});

Deno.test("anthropic provider retries when the stream ends inside a call or before any content", async () => {
  for (const stream of [[CALL, input('{"pa')], [CALL, input('{"path":"x"}')], [CALL], []]) {
    const { text: value, calls, retries } = await outcomeOf({ stream }, { text: "whole" });
    assertEquals([value, calls.length, retries.length], ["whole", 0, 1]);
  }
});

Deno.test("anthropic reply truncated before the input of a call has no call", async () => {
  const cut = wireEvent({ type: "message_delta", delta: { stop_reason: "max_tokens" } });
  const { calls, reason } = await outcomeOf({ stream: [CALL, cut] });
  assertEquals([calls[0]?.arguments, reason], ["{", "length"]);
});

Deno.test("anthropic provider retries when the server is overloaded, by status or in the stream", async () => {
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  const clock = new InstantClock();
  await using server = startModelServer([
    { status: 529, body: { ...overloaded, request_id: "req_1" }, headers: { "request-id": "req_head" } },
    {
      status: 429,
      body: { type: "error", error: { type: "rate_limit_error" } },
      headers: { "retry-after": "7" },
    },
    { stream: [text("half"), wireEvent({ ...overloaded, request_id: "req_stream" })] },
    { text: "whole" },
  ], { wire: anthropicWire() });
  const { text: value, retries } = await collect(await openClient(server, { clock }));
  assertEquals([value, retries.map(({ discarded }) => discarded)], ["whole", [false, false, true]]);
  assertEquals(clock.waits[1], 7000);
  assertStringIncludes(retries[0]?.reason ?? "", "status 529: Overloaded (request req_head)");
  assertStringIncludes(retries[2]?.reason ?? "", "Overloaded (request req_stream)");
});

Deno.test("anthropic refusal is an error with the server's message, and is counted", async () => {
  const stop_details = { type: "refusal", category: "cyber", explanation: "This could enable harm." };
  const outcome = await outcomeOf({ text: "Well, ", stop: { stop_reason: "refusal", stop_details } });
  assertEquals([outcome.error?.kind, outcome.usage?.inputTokens, outcome.retries.length], [
    "content_filter",
    10,
    0,
  ]);
  assertStringIncludes(outcome.error?.message ?? "", "declines to give it (cyber: This could enable harm.)");
});

Deno.test("anthropic reply that exceeds the window is a context length error", async () => {
  const { error } = await outcomeOf({ text: "x", stop: { stop_reason: "model_context_window_exceeded" } });
  assertEquals(error?.kind, "context_length");
});

Deno.test("anthropic reply maps stop reasons", async () => {
  const reasons = { end_turn: "stop", stop_sequence: "stop", max_tokens: "length", something_new: "unknown" };
  for (const [stop_reason, reason] of Object.entries(reasons)) {
    assertEquals((await outcomeOf({ text: "x", stop: { stop_reason } })).reason, reason);
  }
});

Deno.test("anthropic reply that pauses continues as one answer with the sum of its tokens", async () => {
  const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } };
  const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ encrypted: "e" }] };
  await using server = startModelServer([
    {
      blocks: [{ type: "thinking", thinking: "hm" }, { type: "text", text: "I search." }, search],
      stop: { stop_reason: "pause_turn" },
    } as BlockAnswer,
    { status: 529, body: {} },
    { stream: [text("ha"), wireEvent({ type: "error", error: { type: "api_error" } })] },
    { blocks: [found, { type: "text", text: "Found." }] } as BlockAnswer,
    { text: "More" },
  ], { wire: anthropicWire({ bound: true }) });
  const provider = await openClient(server, { clock: new InstantClock() });
  const { chunks, text: value, usage, reason } = await collect(provider);
  assertEquals([usage?.inputTokens, usage?.outputTokens, reason], [20, 10, "stop"]);
  assertEquals(chunks.filter(({ type }) => type === "usage").length, 1);
  assertEquals(value, "I search.Found.");
  const last = chunks.findLastIndex((chunk) => chunk.type === "retry" && chunk.discarded);
  const counted = chunks.slice(last + 1);
  const message: Message = {
    role: "assistant",
    content: value,
    reasoning: counted.map((chunk) => chunk.type === "reasoning" ? chunk.text : "").join(""),
    parts: counted.flatMap((chunk) => chunk.type === "part" ? [chunk.part] : []),
  };
  await collect(provider, [...HELLO, message, { role: "user", content: "And?" }]);
  const { messages } = server.requests.at(-1)?.json ?? {};
  const { signature: _, ...thought } = messages[1].content[0];
  assertEquals([thought, ...messages[1].content.slice(1)], [
    { type: "thinking", thinking: "hm" },
    { type: "text", text: "I search." },
    search,
    found,
    { type: "text", text: "Found." },
  ]);
});

Deno.test("anthropic provider lists models of all pages", async () => {
  const { listModels } = await import("../../../../src/provider/create_provider.ts");
  const { providerEntry } = await import("../../../support/model_client.ts");
  const pages: Record<string, unknown> = {
    null: { data: [{ id: "a" }, { id: "b" }], has_more: true, last_id: "b" },
    b: { data: [{ id: "c" }], has_more: false, last_id: "c" },
  };
  const asked: string[] = [];
  const fetch = (url: string | URL | Request) => {
    const { searchParams, pathname } = new URL(String(url));
    asked.push(`${pathname} ${searchParams.get("limit")}`);
    return Promise.resolve(Response.json(pages[String(searchParams.get("after_id"))]));
  };
  const entry = providerEntry({ kind: "anthropic", base_url: "https://api.example.com/v1" });
  assertEquals(await listModels({ entry, version: "1", deps: { fetch: fetch as typeof globalThis.fetch } }), [
    "a",
    "b",
    "c",
  ]);
  assertEquals(asked, ["/v1/models 1000", "/v1/models 1000"]);
  assert(asked.length === 2);
});
