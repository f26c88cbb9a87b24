import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { collect, HELLO, openClient, PREFIX } from "../../../support/model_client.ts";
import { DONE, finishEvent, startModelServer, textEvent } from "../../../support/model_server.ts";

const never = new Promise(() => {});
const SHORT = { first_byte_timeout_seconds: 0.05, idle_timeout_seconds: 0.05, max_attempts: 1 };

Deno.test("openai provider times out when no first byte arrives", async () => {
  for (const turn of [{ before: never }, { stream: [never] }]) {
    await using server = startModelServer([turn]);
    const outcome = await collect(await openClient(server, { entry: SHORT }));
    assertEquals(outcome.error?.kind, "timeout");
    assertStringIncludes(outcome.error?.message ?? "", "first_byte_timeout_seconds");
  }
});

Deno.test("openai provider times out when a stream stops", async () => {
  await using server = startModelServer([{ stream: [textEvent("a"), never] }]);
  const outcome = await collect(
    await openClient(server, { entry: { ...SHORT, first_byte_timeout_seconds: 0 } }),
  );
  assertEquals([outcome.error?.kind, outcome.text], ["timeout", "a"]);
  assertStringIncludes(outcome.error?.message ?? "", "idle_timeout_seconds");
});

Deno.test("openai provider waits without limit when the limits are 0", async () => {
  const later = new Promise((resolve) => setTimeout(resolve, 120));
  await using server = startModelServer([{
    before: later,
    stream: [textEvent("slow"), later, finishEvent(), DONE],
  }]);
  const entry = { ...SHORT, first_byte_timeout_seconds: 0, idle_timeout_seconds: 0 };
  assertEquals((await collect(await openClient(server, { entry }))).text, "slow");
});

Deno.test("openai provider emits text as it arrives", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using server = startModelServer([{
    stream: [textEvent("first"), promise, textEvent(" second"), DONE],
  }]);
  const seen: string[] = [];
  const provider = await openClient(server);
  for await (
    const chunk of provider.stream({ prefix: PREFIX, messages: HELLO }, new AbortController().signal)
  ) {
    if (chunk.type === "text") seen.push(chunk.text);
    resolve();
  }
  assertEquals(seen, ["first", " second"]);
});

Deno.test("openai provider ends with kind aborted when the signal aborts before an answer", async () => {
  await using server = startModelServer([{ before: never }]);
  const controller = new AbortController();
  server.received(1).then(() => controller.abort());
  const outcome = await collect(await openClient(server), HELLO, controller.signal);
  assertEquals(outcome.chunks.map((chunk) => chunk.type), ["error"]);
  assertEquals(outcome.error?.kind, "aborted");
  await server.requests[0]?.gone;
});

Deno.test("openai provider ends with kind aborted when the signal aborts within a text", async () => {
  await using server = startModelServer([{ stream: [textEvent("a"), never] }]);
  const controller = new AbortController();
  const kinds: string[] = [];
  const provider = await openClient(server);
  for await (const chunk of provider.stream({ prefix: PREFIX, messages: HELLO }, controller.signal)) {
    kinds.push(chunk.type === "error" ? chunk.error.kind : chunk.type);
    controller.abort();
  }
  assertEquals(kinds, ["text", "aborted"]);
});

Deno.test("openai provider sends nothing when the signal is already aborted", async () => {
  await using server = startModelServer([]);
  const outcome = await collect(await openClient(server), HELLO, AbortSignal.abort());
  assertEquals([outcome.error?.kind, server.requests.length], ["aborted", 0]);
});

Deno.test("openai provider closes the connection when its reader stops early", async () => {
  await using server = startModelServer([{ stream: [textEvent("a"), never] }]);
  const provider = await openClient(server);
  for await (const _ of provider.stream({ prefix: PREFIX, messages: HELLO }, new AbortController().signal)) {
    break;
  }
  await server.requests[0]?.gone;
});

Deno.test("openai provider reuses one connection for consecutive requests", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" } });
  const provider = await openClient(server);
  for (let n = 0; n < 5; n++) {
    assertEquals((await collect(provider)).text, "ok");
    // The runtime takes the connection back after the reader has seen the end of the body.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert(server.connections === 1, `${server.connections} connections`);
});
