import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { collect, InstantClock, openClient } from "../../../support/model_client.ts";
import { startModelServer, textEvent } from "../../../support/model_server.ts";

const KINDS: readonly (readonly [name: string, error: unknown, kind: string])[] = [
  ["a numeric code", { error: { message: "busy", code: 503 } }, "server"],
  ["a code in digits", { error: { message: "slow down", code: "429" } }, "rate_limit"],
  ["a word for overload", { error: { type: "overloaded_error", message: "Overloaded" } }, "server"],
  ["a word for a rate limit", { error: { code: "rate_limit_exceeded", message: "wait" } }, "rate_limit"],
  ["a word for the key", { error: { code: "invalid_api_key", message: "no" } }, "auth"],
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
  Deno.test(`openai provider reports kind ${kind} when a stream with status 200 brings an error with ${name}`, async () => {
    const outcome = await outcomeOf([event as Record<string, unknown>]);
    assertEquals(outcome.error?.kind, kind);
  });
}

Deno.test("openai provider reports an error when it comes as an event of type error", async () => {
  const plain = await outcomeOf(["event: error\ndata: upstream gone\n\n"]);
  assertStringIncludes(plain.error?.message ?? "", "upstream gone");
  const json = await outcomeOf(['event: error\ndata: {"message":"worn out","code":500}\n\n']);
  assertEquals([json.error?.kind, json.error?.status], ["server", 500]);
});

Deno.test("openai provider shows the text before an error in the stream and discards it when it tries again", async () => {
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
