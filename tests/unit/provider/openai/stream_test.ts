import { assertEquals } from "../../../support/assert.ts";
import { createProvider } from "../../../../src/provider/mod.ts";
import { collect, openClient, providerEntry } from "../../../support/model_client.ts";
import { finishEvent, sse, startModelServer, textEvent } from "../../../support/model_server.ts";

Deno.test("openai provider gives text, reasoning, calls, usage and the reason when all goes well", async () => {
  await using server = startModelServer([{
    reasoning: ["Let me ", "see"],
    text: ["I look ", "first"],
    calls: [{ id: "c1", name: "ls", args: { path: "." } }],
    usage: { input: 100, cached: 60, output: 20, reasoning: 5 },
  }]);
  const outcome = await collect(await openClient(server));
  assertEquals(outcome.reasoning, "Let me see");
  assertEquals(outcome.text, "I look first");
  assertEquals(outcome.calls, [{ id: "c1", name: "ls", arguments: '{"path":"."}' }]);
  assertEquals(outcome.usage, { inputTokens: 100, cachedTokens: 60, outputTokens: 20, reasoningTokens: 5 });
  assertEquals(outcome.reason, "tool_calls");
  assertEquals(outcome.chunks.map((chunk) => chunk.type).slice(-3), ["tool_call", "usage", "done"]);
});

Deno.test("openai provider reads a reply when the runtime's stream has no byte reader", async () => {
  const bytes = new TextEncoder().encode(sse(textEvent("plain")) + sse(finishEvent()));
  const entry = providerEntry({ base_url: "http://127.0.0.1:1/v1" });
  const fetch = () => Promise.resolve(new Response(ReadableStream.from([bytes])));
  const provider = await createProvider({ entry, model: "m", version: "1", deps: { fetch } });
  assertEquals((await collect(provider)).text, "plain");
});
