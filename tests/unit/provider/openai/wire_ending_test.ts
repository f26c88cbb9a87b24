import { assertEquals } from "../../../support/assert.ts";
import { collect, HELLO, InstantClock, openClient, outcomeOf } from "../../../support/model_client.ts";
import {
  callEvent,
  finishEvent,
  startModelServer,
  textEvent,
  usageEvent,
} from "../../../support/model_server.ts";

const CALL = callEvent({ index: 0, id: "a", function: { name: "ls", arguments: "{}" } });

/** A clock on which limits of up to a second pass at once, and longer ones never. */
class ShortClock extends InstantClock {
  readonly passed: number[] = [];
  /** Aborts when nothing has ended the test for long. */
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

Deno.test("openai provider ends well when [DONE] is missing", async () => {
  const outcome = await outcomeOf([textEvent("hi"), finishEvent("length")]);
  assertEquals([outcome.text, outcome.reason], ["hi", "length"]);
});

Deno.test("openai provider ends well when the finish reason is missing", async () => {
  const outcome = await outcomeOf([textEvent("hi"), "data: [DONE]\n\n"]);
  assertEquals([outcome.text, outcome.reason], ["hi", "stop"]);
});

Deno.test("openai provider says that the reason is unknown when the stream just ends", async () => {
  assertEquals((await outcomeOf([textEvent("hi")])).reason, "unknown");
});

Deno.test("openai provider names tool calls as the reason when the server says stop or nothing", async () => {
  assertEquals((await outcomeOf([CALL, finishEvent("stop")])).reason, "tool_calls");
  assertEquals((await outcomeOf([CALL])).reason, "tool_calls");
});

Deno.test("openai provider gives an unknown reason when the server's reason is unheard of", async () => {
  assertEquals((await outcomeOf([textEvent("hi"), finishEvent("tired")])).reason, "unknown");
});

Deno.test("openai provider does not wait for the end of the connection when the server has said [DONE]", async () => {
  const never = new Promise(() => {});
  const outcome = await outcomeOf([textEvent("hi"), finishEvent(), usageEvent(), "data: [DONE]\n\n", never]);
  assertEquals([outcome.text, outcome.reason, outcome.usage?.inputTokens], ["hi", "stop", 10]);
});

Deno.test("openai provider waits for [DONE] no longer than a second when all else has come", async () => {
  const never = new Promise(() => {});
  await using server = startModelServer([{ stream: [textEvent("hi"), finishEvent(), usageEvent(), never] }]);
  const clock = new ShortClock();
  const provider = await openClient(server, { entry: { max_attempts: 1 }, clock });
  const outcome = await collect(provider, HELLO, clock.stuck);
  assertEquals([outcome.text, outcome.reason, outcome.usage?.inputTokens], ["hi", "stop", 10]);
  assertEquals(clock.passed, [1000]);
});

Deno.test("openai provider reports a failure when the server gives up with a finish reason", async () => {
  const outcome = await outcomeOf([textEvent("hi"), finishEvent("insufficient_system_resource")]);
  assertEquals(outcome.error?.kind, "server");
});

Deno.test("openai provider reports content_filter as the reason when the answer was filtered", async () => {
  const outcome = await outcomeOf([textEvent("I "), finishEvent("content_filter")]);
  assertEquals([outcome.text, outcome.reason], ["I ", "content_filter"]);
});
