import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { collect, InstantClock, openClient } from "../../../support/model_client.ts";
import { callEvent, startModelServer, textEvent, type Turn } from "../../../support/model_server.ts";

async function afterwards(first: Turn) {
  await using server = startModelServer([first, { text: "whole" }]);
  const outcome = await collect(await openClient(server, { clock: new InstantClock() }));
  return { ...outcome, requests: server.requests.map((request) => request.body) };
}

const part = callEvent({
  index: 0,
  id: "a",
  function: { name: "write_file", arguments: '{"path":"a","content":"ha' },
});

Deno.test("openai provider tries again and discards the text when the connection breaks in the middle of it", async () => {
  const outcome = await afterwards({
    stream: [textEvent("par"), textEvent("tial"), textEvent("!")],
    cutAfter: 400,
  });
  assertEquals([outcome.text, outcome.retries.length, outcome.retries[0]?.discarded], ["whole", 1, true]);
  assertEquals(outcome.requests[0], outcome.requests[1]);
});

Deno.test("openai provider gives no tool call when the connection breaks inside it", async () => {
  const outcome = await afterwards({ stream: [part, textEvent("never sent")], cutAfter: 240 });
  assertEquals([outcome.calls.length, outcome.text], [0, "whole"]);
});

Deno.test("openai provider gives no tool call when the stream ends quietly inside it", async () => {
  const outcome = await afterwards({ stream: [part] });
  assertEquals([outcome.calls.length, outcome.text, outcome.retries[0]?.discarded], [0, "whole", false]);
  assert(outcome.retries[0]?.reason.includes("inside a tool call"));
});

Deno.test("openai provider tries again when the stream ends quietly before anything was said", async () => {
  assertEquals(
    (await afterwards({ stream: [{ choices: [{ delta: { role: "assistant" } }] }] })).text,
    "whole",
  );
});

Deno.test("openai provider tries again when the server hangs up without an answer", async () => {
  const outcome = await afterwards({ drop: true });
  assertEquals([outcome.text, outcome.retries.length], ["whole", 1]);
});

Deno.test("openai provider says that the reply broke off when no attempts are left", async () => {
  await using server = startModelServer([{ text: "long enough", cutAfter: 100 }]);
  const outcome = await collect(await openClient(server, { entry: { max_attempts: 1 } }));
  assertEquals(outcome.error?.kind, "connection");
  assertStringIncludes(outcome.error?.message ?? "", "broke off its reply");
});
