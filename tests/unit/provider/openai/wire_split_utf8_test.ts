import { assertEquals } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { DONE, sse, textEvent } from "../../../support/model_server.ts";

const TEXT = "né 任务 🦊 end";

Deno.test("openai provider keeps characters whole when events are split inside them", async () => {
  const bytes = new TextEncoder().encode(sse(textEvent(TEXT)) + DONE);
  const parts = [...bytes].flatMap((byte) => [Uint8Array.of(byte), Promise.resolve()]);
  assertEquals((await outcomeOf(parts)).text, TEXT);
});

Deno.test("openai provider joins a surrogate pair when its halves come in two deltas", async () => {
  const halves = [
    sse(textEvent("a\ud83e")),
    new Promise((resolve) => setTimeout(resolve, 5)),
    sse(textEvent("\udd8ab")),
  ];
  const outcome = await outcomeOf([...halves, DONE]);
  assertEquals(outcome.text, "a🦊b");
});
