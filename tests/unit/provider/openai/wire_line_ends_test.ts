import { assertEquals } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { sse, textEvent } from "../../../support/model_server.ts";

const LINES = sse(textEvent("one ")) + sse(textEvent("two")) + "data: [DONE]\n\n";

for (const [name, end] of [["LF", "\n"], ["CRLF", "\r\n"], ["CR", "\r"]] as const) {
  Deno.test(`openai provider reads a stream when its lines end in ${name}`, async () => {
    const outcome = await outcomeOf([LINES.replaceAll("\n", end)]);
    assertEquals([outcome.text, outcome.reason], ["one two", "stop"]);
  });
}

Deno.test("openai provider reads a stream when CRLF pairs are split between reads", async () => {
  const pieces = LINES.replaceAll("\n", "\r\n").split(/(?<=\r)/);
  const pauses = pieces.flatMap((piece) => [piece, new Promise((resolve) => setTimeout(resolve, 1))]);
  assertEquals((await outcomeOf(pauses)).text, "one two");
});

Deno.test("openai provider reads a stream when no space follows the colon", async () => {
  assertEquals((await outcomeOf([LINES.replaceAll("data: ", "data:")])).text, "one two");
});

Deno.test("openai provider reads the last event when the final blank line is missing", async () => {
  assertEquals((await outcomeOf([sse(textEvent("all")).trimEnd()])).text, "all");
});

Deno.test("openai provider reads events when no blank line stands between them", async () => {
  assertEquals((await outcomeOf([LINES.replaceAll("\n\n", "\n")])).text, "one two");
});
