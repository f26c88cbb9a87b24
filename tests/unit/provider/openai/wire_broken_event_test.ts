import { assertEquals } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { callEvent, finishEvent, sse, textEvent } from "../../../support/model_server.ts";

Deno.test("openai provider passes over a broken event when it stands among good ones", async () => {
  const outcome = await outcomeOf([
    textEvent("one "),
    'data: {"choices":[{"del\n\n',
    textEvent("two"),
    finishEvent(),
  ]);
  assertEquals([outcome.text, outcome.reason], ["one two", "stop"]);
});

Deno.test("openai provider reports a broken event when nothing else came", async () => {
  assertEquals((await outcomeOf(['data: {"choices":[{"del\n\n'])).error?.kind, "protocol");
});

Deno.test("openai provider gives up an answer when a broken event may have held part of a tool call", async () => {
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

Deno.test("openai provider reads an event when it is spread over two data lines", async () => {
  const line = sse(textEvent("whole text")).trimEnd();
  const between = line.replace('"choices"', '\ndata: "choices"');
  const inside = line.replace("whole", "who\ndata: le");
  const outcome = await outcomeOf([between + "\n\n", inside + "\n\n", finishEvent()]);
  assertEquals(outcome.text, "whole textwhole text");
});

Deno.test("openai provider reads events when several stand in one without blank lines", async () => {
  const lines = ["a", "b", "c"].map((text) => sse(textEvent(text)).trimEnd()).join("\n");
  assertEquals((await outcomeOf([lines + "\n\n", finishEvent()])).text, "abc");
});

Deno.test("openai provider passes over events when their JSON is not an object", async () => {
  const outcome = await outcomeOf([
    'data: 7\n\ndata: null\n\ndata: "x"\n\ndata: []\n\n',
    textEvent("fine"),
    finishEvent(),
  ]);
  assertEquals([outcome.text, outcome.error], ["fine", undefined]);
});
