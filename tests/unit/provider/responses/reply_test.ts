import fc from "fast-check";
import type { Chunk } from "../../../../src/core/mod.ts";
import { ProviderFailure } from "../../../../src/provider/errors.ts";
import { ResponseReply } from "../../../../src/provider/kinds/responses/responses_reply.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";

type Json = Record<string, unknown>;

function newReply() {
  const endpoint = { provider: "test", host: "h", model: "m", keyName: "", keyed: false, secrets: [] };
  const model = { provider: "test", id: "m", contextWindow: 0, vision: false };
  return new ResponseReply({
    endpoint,
    model,
    callIds: new Set(),
    callIdPrefix: "call_1",
    strictTools: new Map(),
  });
}

/** The chunks of a body that arrives in these pieces; adjacent texts of a channel are joined. */
async function read(pieces: readonly string[]): Promise<Chunk[]> {
  const reply = newReply();
  const chunks: Chunk[] = [];
  for (const piece of pieces) {
    reply.feed(piece);
    chunks.push(...reply.take());
  }
  chunks.push(...await reply.end());
  return chunks.reduce<Chunk[]>((all, chunk) => {
    const last = all.at(-1);
    if ("text" in chunk && last && "text" in last && last.type === chunk.type) {
      all[all.length - 1] = { ...chunk, text: last.text + chunk.text };
    } else all.push(chunk);
    return all;
  }, []);
}

function stream(...events: readonly Json[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

const REASONING = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Ünderstood 🦊" }, { type: "summary_text", text: "Go." }],
  encrypted_content: "sealed",
  status: null,
};
const MESSAGE = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  content: [{ type: "output_text", text: "日本語 text 👩‍👩‍👧", annotations: [] }],
};
const CALL = { type: "function_call", id: "fc_1", call_id: "c1", name: "ls", arguments: '{"path":"ä"}' };
const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 64, cache_write_tokens: 10 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
};
const OUTPUT = [REASONING, MESSAGE, CALL];
const COMPLETED = { id: "resp_1", object: "response", status: "completed", output: OUTPUT, usage: USAGE };

const ADDED: Json[] = OUTPUT.map((item, output_index) => ({
  type: "response.output_item.added",
  output_index,
  item: item.type === "reasoning"
    ? { ...item, summary: [], encrypted_content: "se" }
    : item.type === "message"
    ? { ...item, content: [] }
    : { ...item, arguments: "" },
}));
const DONE: Json[] = OUTPUT.map((item, output_index) => ({
  type: "response.output_item.done",
  output_index,
  item,
}));
const DELTAS: readonly Json[][] = [
  REASONING.summary.map((part, summary_index) => ({
    type: "response.reasoning_summary_text.delta",
    output_index: 0,
    item_id: "rs_1",
    summary_index,
    delta: part.text,
  })),
  ["日本語", " text ", "👩‍👩‍👧"].map((delta, at) => ({
    type: "response.output_text.delta",
    output_index: 1,
    item_id: "msg_1",
    content_index: 0,
    sequence_number: at,
    delta,
  })),
  ['{"pa', 'th":"ä"}'].map((delta) => ({
    type: "response.function_call_arguments.delta",
    output_index: 2,
    item_id: "fc_1",
    delta,
  })),
];
const END = { type: "response.completed", response: COMPLETED };
const WHOLE: Json[] = [
  { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
  ...[0, 1, 2].flatMap((at) => [ADDED[at] ?? {}, ...DELTAS[at] ?? [], DONE[at] ?? {}]),
  END,
];

const EXPECTED: Chunk[] = [
  { type: "reasoning", text: "Ünderstood 🦊\n\nGo." },
  { type: "text", text: "日本語 text 👩‍👩‍👧" },
  { type: "tool_call", call: { id: "c1", name: "ls", arguments: '{"path":"ä"}' } },
  {
    type: "part",
    part: {
      kind: "responses",
      provider: "test",
      model: "m",
      data: {
        items: [
          { type: "reasoning", id: "rs_1", encrypted_content: "sealed", summary: REASONING.summary },
          { type: "message", content: "日本語 text 👩‍👩‍👧" },
          { type: "function_call" },
        ],
      },
    },
  },
  {
    type: "usage",
    usage: { inputTokens: 100, cachedTokens: 64, cacheWriteTokens: 10, outputTokens: 20, reasoningTokens: 5 },
  },
  { type: "done", reason: "tool_calls" },
];

Deno.test("a response is the same for any split of its bytes", async () => {
  const text = stream(...WHOLE);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(text.length), { maxLength: 30 }), async (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), text.length];
      const pieces = places.slice(1).map((place, at) => text.slice(places[at], place));
      assertEquals(await read(pieces), EXPECTED);
    }),
    { numRuns: 60 },
  );
});

const FORMS: readonly (readonly [name: string, body: string])[] = [
  ["whole items are sent without deltas", stream(...DONE, END)],
  ["only the end of the stream has content", stream(END)],
  ["items are announced and the end has their content", stream(...ADDED, END)],
  [
    "deltas and the end arrive without whole items",
    stream(...WHOLE.filter((event) => !DONE.includes(event))),
  ],
  [
    "the end repeats nothing",
    stream(...WHOLE.slice(0, -1), { ...END, response: { ...COMPLETED, output: [] } }),
  ],
  ["every item has the same index", stream(...WHOLE.map((event) => ({ ...event, output_index: 0 })))],
  [
    "items are announced and ended twice",
    stream(...WHOLE.flatMap((event) => "item" in event ? [event, event] : [event])),
  ],
  [
    "an item ends early, and again when it is complete",
    stream(
      ...ADDED,
      ...DONE.map((event, at) => ({ ...event, item: { ...OUTPUT[at], encrypted_content: null } })),
      ...DONE,
      END,
    ),
  ],
  ["no event names its type in a separate line", stream(...WHOLE).replaceAll(/^event: .*\n/gm, "")],
  ["lines end in CRLF and [DONE] follows", `${stream(...WHOLE)}data: [DONE]\n\n`.replaceAll("\n", "\r\n")],
  ["it is one JSON object", JSON.stringify(COMPLETED)],
];

for (const [name, body] of FORMS) {
  Deno.test(`a response is complete when ${name}`, async () => {
    assertEquals(await read([body]), EXPECTED);
  });
}

Deno.test("a response without an end is accepted if its calls are complete", async () => {
  const ended = await read([stream(...WHOLE.slice(0, -1))]);
  assertEquals(ended.at(-1), { type: "done", reason: "tool_calls" });
  const cut = stream(...WHOLE).slice(0, stream(...WHOLE).indexOf('th\\":'));
  const error = await assertRejects(() => read([cut]), ProviderFailure, "broke");
  assertEquals(error.retryable, true);
});

Deno.test("an incomplete response has a reason and its content", async () => {
  const cut = (reason: string) =>
    stream(ADDED[1] ?? {}, ...DELTAS[1] ?? [], {
      type: "response.incomplete",
      response: { ...COMPLETED, output: [MESSAGE], status: "incomplete", incomplete_details: { reason } },
    });
  for (
    const [reason, finish] of [["max_output_tokens", "length"], ["content_filter", "content_filter"]] as const
  ) {
    const chunks = await read([cut(reason)]);
    assertEquals([chunks[0]?.type, chunks.at(-1)], ["text", { type: "done", reason: finish }]);
  }
});

Deno.test("a refusal is shown as text", async () => {
  const item = { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "I will not." }] };
  const delta = { type: "response.refusal.delta", output_index: 0, content_index: 0, delta: "I will " };
  for (
    const body of [stream({ type: "response.completed", response: { ...COMPLETED, output: [item] } })].concat(
      stream({ type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } }, delta, {
        type: "response.output_item.done",
        output_index: 0,
        item,
      }),
    )
  ) assertEquals((await read([body]))[0], { type: "text", text: "I will not." });
});

Deno.test("messages of a reply are separate and keep their phases", async () => {
  const said = (text: string, phase: string) => ({
    ...MESSAGE,
    content: [{ type: "output_text", text }],
    phase,
  });
  const output = [said("Looking.", "commentary"), said("Found.", "final_answer")];
  const chunks = await read([stream({ type: "response.completed", response: { ...COMPLETED, output } })]);
  assertEquals(chunks[0], { type: "text", text: "Looking.\n\nFound." });
  const part = chunks.find((chunk) => chunk.type === "part")?.part.data;
  assertEquals(part, {
    items: [
      { type: "message", content: "Looking.", phase: "commentary" },
      { type: "message", content: "Found.", phase: "final_answer" },
    ],
  });
});

const FAILURES: readonly (readonly [body: string, kind: string, retryable: boolean])[] = [
  [
    stream({ type: "error", code: "rate_limit_exceeded", message: "slow down", param: null }),
    "rate_limit",
    true,
  ],
  [stream({ type: "error", error: { type: "server_error", message: "oops" } }), "server", true],
  [
    'data: {"type":"error","message":"Your input exceeds the context window of this model","code":"context_length_exceeded"}\n\n',
    "context_length",
    false,
  ],
  [
    stream({
      type: "response.failed",
      response: { status: "failed", error: { code: "server_error", message: "x" } },
    }),
    "server",
    true,
  ],
  [
    stream({
      type: "response.failed",
      response: { status: "failed", error: { code: "invalid_prompt", message: "x" } },
    }),
    "bad_request",
    false,
  ],
  [
    stream({
      type: "response.failed",
      response: {
        status: "failed",
        error: { code: "insufficient_quota", message: "You exceeded your current quota" },
      },
    }),
    "auth",
    false,
  ],
  ['{"error":{"message":"No such model","code":404}}', "not_found", false],
  ["", "protocol", true],
  ["<html><title>Sign in</title></html>", "protocol", false],
];

for (const [body, kind, retryable] of FAILURES) {
  Deno.test(`a response fails with ${kind} for ${body.slice(0, 60).replaceAll("\n", " ")}`, async () => {
    const error = await assertRejects(() => read(body === "" ? [] : [body]), ProviderFailure);
    assertEquals([error.error.kind, error.retryable], [kind, retryable]);
    assert(error.message.includes("test"));
  });
}
