import { assertEquals } from "../../../support/assert.ts";
import { createProvider } from "../../../../src/provider/mod.ts";
import { collect, providerEntry } from "../../../support/model_client.ts";
import { finishEvent, sse, textEvent } from "../../../support/model_server.ts";

Deno.test("openai provider reads a reply when the runtime's stream has no byte reader", async () => {
  const bytes = new TextEncoder().encode(sse(textEvent("plain")) + sse(finishEvent()));
  const entry = providerEntry({ base_url: "http://127.0.0.1:1/v1" });
  const fetch = () => Promise.resolve(new Response(ReadableStream.from([bytes])));
  const provider = await createProvider({ entry, model: "m", version: "1", deps: { fetch } });
  assertEquals((await collect(provider)).text, "plain");
});
