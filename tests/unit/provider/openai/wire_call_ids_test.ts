import { assertEquals } from "../../../support/assert.ts";
import type { Message } from "../../../../src/core/mod.ts";
import { collect, openClient, outcomeOf } from "../../../support/model_client.ts";
import { callEvent, finishEvent, startModelServer } from "../../../support/model_server.ts";

const call = (index: number, id?: string) => ({
  index,
  ...(id === undefined ? {} : { id }),
  function: { name: "ls", arguments: "{}" },
});

Deno.test("openai provider makes up the same ids each time when a server sends none", async () => {
  const stream = [callEvent(call(0), call(1, "")), finishEvent()];
  const first = await outcomeOf(stream);
  assertEquals(first.calls.map((c) => c.id), ["call_1_0", "call_1_1"]);
  assertEquals((await outcomeOf(stream)).calls, first.calls);
});

Deno.test("openai provider makes ids unique when a server repeats one in a message", async () => {
  const outcome = await outcomeOf([callEvent(call(0, "x"), call(1, "x"), call(2, "x")), finishEvent()]);
  assertEquals(outcome.calls.map((c) => c.id), ["x", "x_2", "x_3"]);
});

Deno.test("openai provider makes ids unique when a server counts anew in every message", async () => {
  await using server = startModelServer([], { fallback: { calls: [{ id: "call_0", name: "ls" }] } });
  const provider = await openClient(server);
  const messages: Message[] = [{ role: "user", content: "go" }];
  const ids: string[] = [];
  for (let step = 0; step < 3; step++) {
    const { calls } = await collect(provider, messages);
    ids.push(...calls.map((c) => c.id));
    messages.push({ role: "assistant", content: "", calls });
    for (const c of calls) messages.push({ role: "tool", callId: c.id, name: c.name, content: "ok" });
  }
  assertEquals(ids, ["call_0", "call_0_2", "call_0_3"]);
});
