import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { collect, openClient } from "../../../support/model_client.ts";
import { startModelServer, type Turn } from "../../../support/model_server.ts";

async function answer(turn: Turn) {
  await using server = startModelServer([turn]);
  return await collect(await openClient(server, { entry: { max_attempts: 1 } }));
}

Deno.test("openai provider reads a completion when the server does not stream", async () => {
  const outcome = await answer({
    json: true,
    text: "Hi",
    reasoning: "hm",
    calls: [{ id: "a", name: "ls", args: { path: "." } }],
    usage: { input: 3, output: 2 },
  });
  assertEquals([outcome.text, outcome.reasoning, outcome.reason], ["Hi", "hm", "tool_calls"]);
  assertEquals(outcome.calls, [{ id: "a", name: "ls", arguments: '{"path":"."}' }]);
  assertEquals(outcome.usage?.outputTokens, 2);
});

Deno.test("openai provider reports an error object when it comes with status 200", async () => {
  const outcome = await answer({ body: { error: { message: "quota is gone", code: "insufficient_quota" } } });
  assertEquals(outcome.error?.kind, "auth");
  assertStringIncludes(outcome.error?.message ?? "", "quota is gone");
});

Deno.test("openai provider reports an error object when it comes inside a list", async () => {
  const outcome = await answer({
    status: 400,
    body: '[{"error":{"code":400,"message":"API key not valid"}}]',
  });
  assertStringIncludes(outcome.error?.message ?? "", "API key not valid");
});

Deno.test("openai provider says that it got a web page when a page comes with status 200", async () => {
  const page =
    "<!doctype html><html><head><title>Sign in</title><style>p{}</style></head><body><p>Welcome</p></body></html>";
  const outcome = await answer({ body: page });
  assertEquals(outcome.error?.kind, "protocol");
  assertStringIncludes(
    outcome.error?.message ?? "",
    "web page instead of a reply: Sign in Welcome; check base_url",
  );
});

Deno.test("openai provider does not try again when it got a web page", async () => {
  await using server = startModelServer([{ body: "<html>Sign in</html>" }]);
  const outcome = await collect(await openClient(server));
  assertEquals([server.requests.length, outcome.retries.length], [1, 0]);
});

const BROKEN = [["empty", ""], ["plain text", "upstream connect error"], [
  "broken JSON",
  '{"choices":[',
]] as const;

for (const [name, body] of BROKEN) {
  Deno.test(`openai provider reports a protocol error when the body is ${name}`, async () => {
    const outcome = await answer({ body });
    assertEquals(outcome.error?.kind, "protocol");
    assert(!body || outcome.error?.message.includes(body));
  });
}
