import { assertEquals } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { finishEvent, textEvent } from "../../../support/model_server.ts";

for (
  const [name, choices] of [["empty", []], ["null", null], ["absent", undefined], ["a list of null", [
    null,
  ]]] as const
) {
  Deno.test(`openai provider passes over an event when its choices are ${name}`, async () => {
    const event = { id: "x", object: "chat.completion.chunk", ...(choices === undefined ? {} : { choices }) };
    const outcome = await outcomeOf([event, textEvent("hi"), event, finishEvent(), event]);
    assertEquals([outcome.text, outcome.reason, outcome.error], ["hi", "stop", undefined]);
  });
}

Deno.test("openai provider passes over a choice when its delta is null or missing", async () => {
  const outcome = await outcomeOf([
    { choices: [{ delta: null }] },
    { choices: [{}] },
    textEvent("hi"),
    finishEvent(),
  ]);
  assertEquals(outcome.text, "hi");
});
