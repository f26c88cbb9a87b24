import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { collect, InstantClock, openClient, type Outcome } from "../../../support/model_client.ts";
import { startModelServer, type Turn } from "../../../support/model_server.ts";
import { googleWire, type PartsAnswer, wireEvent } from "../../../support/wires/google.ts";

type Answer = Turn & PartsAnswer;

/** The outcome of these turns; nothing is retried unless there are several. */
async function outcomeOf(...turns: readonly Answer[]): Promise<Outcome> {
  await using server = startModelServer(turns, { wire: googleWire() });
  const entry = { max_attempts: turns.length };
  return await collect(await openClient(server, { clock: new InstantClock(), entry }));
}

const event = (parts: readonly unknown[], more: Record<string, unknown> = {}) =>
  wireEvent({ candidates: [{ content: { role: "model", parts }, index: 0, ...more }] });
const STOP = { finishReason: "STOP" };

Deno.test("google reply counts server tools, thinking as output, and single usage reports", async () => {
  const textEvent = event([{ text: "hi" }], STOP);
  const usage = async (...counts: readonly Record<string, number>[]) =>
    (await outcomeOf({ stream: [textEvent, ...counts.map((usageMetadata) => wireEvent({ usageMetadata }))] }))
      .usage;
  assertEquals(
    await usage({
      promptTokenCount: 10,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 3,
      totalTokenCount: 18,
    }),
    { inputTokens: 15, cachedTokens: 0, outputTokens: 3, reasoningTokens: 0 },
  );
  assertEquals(
    await usage({
      promptTokenCount: 10,
      candidatesTokenCount: 8,
      thoughtsTokenCount: 6,
      totalTokenCount: 18,
    }),
    { inputTokens: 10, cachedTokens: 0, outputTokens: 8, reasoningTokens: 6 },
  );
  assertEquals(
    await usage({ promptTokenCount: 10, cachedContentTokenCount: 9 }, { candidatesTokenCount: 4 }),
    { inputTokens: 10, cachedTokens: 9, outputTokens: 4, reasoningTokens: 0 },
  );
  assertEquals(await usage(), undefined);
});

Deno.test("google reply in a JSON array is read like a stream", async () => {
  const answer = { reasoning: "hm", text: "whole", calls: [{ name: "ls", args: { a: [1] } }] };
  const wire = googleWire();
  const request = { path: "", headers: new Headers(), body: '{"contents":[]}', json: {} };
  const pieces = [...wire.parts(answer, 1, request)].map((part) => String(part).slice("data: ".length));
  const { reasoning, text, calls, reason, usage } = await outcomeOf({ body: `[${pieces.join(",")}]` });
  assertEquals([reasoning, text, calls[0]?.arguments, reason, usage?.inputTokens], [
    "hm",
    "whole",
    '{"a":[1]}',
    "tool_calls",
    10,
  ]);
});

Deno.test("google reply maps finish reasons", async () => {
  type Case = readonly [finish: string, reason: string | undefined, error: string | undefined];
  const cases: readonly Case[] = [
    ["STOP", "stop", undefined],
    ["MAX_TOKENS", "length", undefined],
    ["OTHER", "unknown", undefined],
    ["FINISH_REASON_UNSPECIFIED", "unknown", undefined],
    ...["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"].map(
      (reason): Case => [reason, undefined, "content_filter"],
    ),
    ...["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"].map(
      (reason): Case => [reason, undefined, "protocol"],
    ),
  ];
  for (const [finishReason, reason, kind] of cases) {
    const outcome = await outcomeOf({ stream: [event([{ text: "par" }], { finishReason })] });
    assertEquals([finishReason, outcome.text, outcome.reason, outcome.error?.kind], [
      finishReason,
      "par",
      reason,
      kind,
    ]);
    if (kind !== undefined) assertStringIncludes(outcome.error?.message ?? "", finishReason);
  }
});

Deno.test("google request is retried after a malformed call", async () => {
  const finishMessage = "Malformed function call: print(ls(";
  const outcome = await outcomeOf(
    { stream: [event([], { finishReason: "MALFORMED_FUNCTION_CALL", finishMessage })] },
    { text: "better" },
  );
  assertEquals([outcome.text, outcome.retries.length], ["better", 1]);
  assertStringIncludes(outcome.retries[0]?.reason ?? "", finishMessage);
});

Deno.test("google reply reports why a prompt is blocked, without a retry", async () => {
  const promptFeedback = { blockReason: "PROHIBITED_CONTENT", blockReasonMessage: "not this" };
  const outcome = await outcomeOf(
    { stream: [wireEvent({ promptFeedback, usageMetadata: { promptTokenCount: 4 } })] },
    { text: "never" },
  ).catch((error) => String(error));
  assert(typeof outcome !== "string", String(outcome));
  assertEquals([outcome.error?.kind, outcome.retries.length], ["content_filter", 0]);
  assertStringIncludes(outcome.error?.message ?? "", "prohibited content (PROHIBITED_CONTENT: not this)");
});

Deno.test("google reply without candidates or with an empty one differs from an empty answer", async () => {
  for (const empty of [{}, { candidates: [] }, { candidates: [{ index: 0 }] }, { candidates: [null] }]) {
    const outcome = await outcomeOf({ stream: [wireEvent(empty)] }, { text: "better" });
    assertEquals([outcome.text, outcome.retries.length], ["better", 1]);
    assertStringIncludes(outcome.retries[0]?.reason ?? "", "before any content");
  }
  const silent = await outcomeOf({ stream: [wireEvent({ candidates: [STOP] })] });
  assertEquals([silent.text, silent.reason, silent.error], ["", "stop", undefined]);
});

Deno.test("google reply reads errors in the stream, and broken events", async () => {
  const error = { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" };
  const outcome = await outcomeOf({ stream: [event([{ text: "a" }]), wireEvent({ error })] }, { text: "b" });
  assertEquals([outcome.text, outcome.retries[0]?.discarded], ["b", true]);
  const broken = await outcomeOf(
    {
      stream: [
        'data: {"candidates":[{"content":{"parts":[{"functionCall":{"na\n\n',
        event([{ text: "x" }], STOP),
      ],
    },
    { text: "b" },
  );
  assertEquals(broken.text, "b");
});

Deno.test("google reply preserves parts that only the server reads", async () => {
  const code = { executableCode: { language: "PYTHON", code: "1+1" } };
  await using server = startModelServer([{ parts: [code, { text: "2" }] } as Answer, { text: "ok" }], {
    wire: googleWire(),
  });
  const provider = await openClient(server);
  const { chunks, text } = await collect(provider);
  const parts = chunks.flatMap((chunk) => chunk.type === "part" ? [chunk.part] : []);
  await collect(provider, [
    { role: "user", content: "Hello" },
    { role: "assistant", content: text, parts },
    { role: "user", content: "!" },
  ]);
  assertEquals(server.requests[1]?.json.contents[1].parts, [code, { text: "2" }]);
});
