import { assert, assertEquals } from "../../../support/assert.ts";
import type { Message } from "../../../../src/core/mod.ts";
import { collect, openClient, outcomeOf } from "../../../support/model_client.ts";
import { DONE, finishEvent, startModelServer, textEvent } from "../../../support/model_server.ts";

Deno.test("openai provider reads a text when 3 MB of it come in one event", async () => {
  const text = "Zeile ü\n".repeat(400_000);
  const outcome = await outcomeOf([textEvent(text), finishEvent(), DONE]);
  assertEquals(outcome.text.length, text.length);
  assert(outcome.text === text);
});

Deno.test("openai provider joins deltas when many come in one read", async () => {
  const deltas = Array.from({ length: 500 }, (_, n) => textEvent(`${n} "q" \\n\n`));
  const stream = new TextEncoder().encode(
    deltas.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
  );
  const outcome = await outcomeOf([stream, finishEvent()]);
  assertEquals(outcome.text, Array.from({ length: 500 }, (_, n) => `${n} "q" \\n\n`).join(""));
  assert(outcome.chunks.length < 50, `${outcome.chunks.length} chunks`);
});

Deno.test("openai provider replaces NUL and lone surrogates when they come in a text", async () => {
  const outcome = await outcomeOf([textEvent("a\0b\ud800c"), textEvent("d\udc00"), finishEvent()]);
  assertEquals(outcome.text, "a\ufffdb\ufffdcd\ufffd");
});

Deno.test("openai provider keeps the rest of a text when it ends in half a surrogate pair", async () => {
  assertEquals((await outcomeOf([textEvent("end\ud83e"), finishEvent()])).text, "end\ufffd");
});

Deno.test("openai provider sends a body every server can read when messages hold NUL and lone surrogates", async () => {
  await using server = startModelServer([{ text: "ok" }]);
  const messages: Message[] = [{ role: "user", content: "a\0b\ud800" }, {
    role: "assistant",
    content: "",
    calls: [{ id: "1", name: "ls dir", arguments: "{}" }],
  }, { role: "tool", callId: "1", name: "ls dir", content: "\udc00 file" }];
  await collect(await openClient(server), messages);
  const sent = server.requests[0];
  assert(!/\\u(0000|d8|dc)/i.test(sent?.body ?? ""));
  assertEquals(sent?.json.messages[1].content, "a\ufffdb\ufffd");
  assertEquals(sent?.json.messages[2].tool_calls[0].function.name, "ls_dir");
  assertEquals(sent?.json.messages[3].content, "\ufffd file");
});
