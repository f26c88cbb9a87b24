import { assertEquals } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { finishEvent, sse, textEvent } from "../../../support/model_server.ts";

Deno.test("openai provider passes over comments, keep-alives and unknown fields when they stand between events", async () => {
  const outcome = await outcomeOf([
    ": PROCESSING\n\n",
    "\n\n",
    "event: completion\nid: 7\nretry: 3000\n" + sse(textEvent("one ")),
    ": keep-alive\n",
    sse(textEvent("two")),
    "unknown: field\n\n",
    sse(finishEvent()),
  ]);
  assertEquals([outcome.text, outcome.reason, outcome.error], ["one two", "stop", undefined]);
});

Deno.test("openai provider reports an empty reply when nothing but comments comes", async () => {
  const outcome = await outcomeOf([": PROCESSING\n\n: PROCESSING\n\n"]);
  assertEquals(outcome.error?.kind, "protocol");
});
