import { assertEquals } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { sse, textEvent } from "../../../support/model_server.ts";

Deno.test("openai provider reads a stream when it begins with a byte order mark", async () => {
  assertEquals((await outcomeOf(["\uFEFF" + sse(textEvent("fine"))])).text, "fine");
});

Deno.test("openai provider reads a stream when blank lines precede it", async () => {
  assertEquals((await outcomeOf(["\r\n\r\n", Promise.resolve(), sse(textEvent("fine"))])).text, "fine");
});
