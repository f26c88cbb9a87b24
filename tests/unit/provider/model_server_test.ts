import { assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { DONE, startModelServer, textEvent } from "../../support/model_server.ts";

function post(url: string, messages: unknown[]): Promise<Response> {
  return fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", tools: [{ messages: ["]"] }], messages }),
  });
}

const task = { role: "user", content: 'say "hi\\" [' };
const call = (id: string) => ({ id, type: "function", function: { name: "ls", arguments: "{}" } });

Deno.test("ModelServer streams consecutive requests over one kept-alive connection", async () => {
  await using server = startModelServer([{ text: ["Hel", "lo"] }, { json: true, text: "Bye" }]);
  const first = await (await post(server.url, [task])).text();
  assertStringIncludes(first, '"content":"Hel"');
  assertStringIncludes(first, DONE);
  const second = await (await post(server.url, [task, { role: "assistant", content: "Hello" }, task])).json();
  assertEquals(second.choices[0].message.content, "Bye");
  assertEquals(server.connections, 1);
  assertEquals(server.requests.map((r) => r.json.messages.length), [1, 3]);
});

Deno.test("ModelServer closes the connection after the given byte", async () => {
  await using server = startModelServer([{ stream: [textEvent("one"), textEvent("two")], cutAfter: 40 }]);
  const response = await post(server.url, [task]);
  await assertRejects(() => response.text());
});

Deno.test("ModelServer reports missing, orphan and misplaced tool results when it is closed", async () => {
  const server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await (await post(server.url, [task, { role: "assistant", tool_calls: [call("a")] }, task])).text();
  await (await post(server.url, [task, { role: "tool", tool_call_id: "x", content: "" }])).text();
  await (await post(server.url, [{ role: "assistant", tool_calls: [call("a"), call("b")] }, {
    role: "tool",
    tool_call_id: "b",
  }])).text();
  const error = await assertRejects(() => server.close());
  assertStringIncludes(error.message, "no result for tool call a");
  assertStringIncludes(error.message, "orphan tool result x");
  assertStringIncludes(error.message, "tool result b where a was due");
});

Deno.test("ModelServer reports a changed earlier message when no reset was declared", async () => {
  const server = startModelServer([], { fallback: { text: "ok" } });
  await (await post(server.url, [task])).text();
  server.expectReset();
  await (await post(server.url, [{ role: "user", content: "again" }])).text();
  await (await post(server.url, [{ role: "user", content: "changed" }])).text();
  const error = await assertRejects(() => server.close());
  assertStringIncludes(error.message, "request 3: the message array departs");
});

Deno.test("ModelServer reports a request when the script has no turn for it", async () => {
  const server = startModelServer([]);
  assertEquals(await post(server.url, [task]).then(async (r) => (await r.text(), r.status)), 400);
  await assertRejects(() => server.close(), Error, "no turn left");
});
