import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  type ClientOptions,
  collect,
  HELLO,
  InstantClock,
  openClient,
  PREFIX,
} from "../../../support/model_client.ts";
import { startModelServer, type Turn } from "../../../support/model_server.ts";

async function run(script: readonly Turn[], options: ClientOptions = {}) {
  await using server = startModelServer(script);
  const clock = new InstantClock();
  const outcome = await collect(await openClient(server, { clock, ...options }));
  return { ...outcome, waits: clock.waits, requests: server.requests.length };
}

const busy = (headers: Record<string, string> = {}, status = 429): Turn => ({
  status,
  headers,
  body: "busy",
});

for (const status of [408, 409, 429, 500, 502, 503, 504, 529]) {
  Deno.test(`openai provider retries status ${status}`, async () => {
    const outcome = await run([busy({}, status), { text: "ok" }]);
    assertEquals([outcome.text, outcome.waits], ["ok", [1000]]);
  });
}

for (const status of [400, 401, 402, 403, 404, 413, 422]) {
  Deno.test(`openai provider does not retry status ${status}`, async () => {
    const outcome = await run([busy({}, status)]);
    assertEquals([outcome.requests, outcome.retries.length, outcome.error?.status], [1, 0, status]);
  });
}

Deno.test("openai provider doubles its delays and fails after the last attempt", async () => {
  const outcome = await run(Array.from({ length: 6 }, () => busy({}, 500)));
  assertEquals(outcome.waits, [1000, 2000, 4000, 8000, 16000]);
  assertEquals(outcome.retries.map((retry) => [retry.attempt, retry.maxAttempts, retry.waitMs]), [
    [2, 6, 1000],
    [3, 6, 2000],
    [4, 6, 4000],
    [5, 6, 8000],
    [6, 6, 16000],
  ]);
  assertStringIncludes(outcome.error?.message ?? "", "gave up after 6 attempts");
});

Deno.test("openai provider follows Retry-After in seconds, in milliseconds and as a date", async () => {
  const date = new Date(1_700_000_000_000 + 7000).toUTCString();
  for (
    const [headers, wait] of [
      [{ "retry-after": "3" }, 3000],
      [{ "retry-after": "0.5" }, 500],
      [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
      [{ "retry-after": date }, 7000],
      [{ "retry-after": new Date(0).toUTCString() }, 0],
      [{ "retry-after": "soon" }, 1000],
    ] as const
  ) {
    const outcome = await run([busy(headers), { text: "ok" }]);
    assertEquals([outcome.text, outcome.waits], ["ok", [wait]]);
  }
});

Deno.test("openai provider fails immediately when Retry-After exceeds the limit", async () => {
  const outcome = await run([busy({ "retry-after": "400" })]);
  assertEquals([outcome.waits, outcome.error?.kind, outcome.error?.retryAfterMs], [
    [],
    "rate_limit",
    400_000,
  ]);
  assertStringIncludes(
    outcome.error?.message ?? "",
    "asks to wait 400 s, more than max_wait_seconds = 120 leaves",
  );
});

Deno.test("openai provider compares the sum of all delays with the limit", async () => {
  const outcome = await run([busy(), busy(), busy()], { entry: { max_wait_seconds: 4 } });
  assertEquals(outcome.waits, [1000, 2000]);
  assertStringIncludes(outcome.error?.message ?? "", "gave up after 3 attempts, max_wait_seconds = 4");
});

Deno.test("openai provider does not retry when the server advises against it", async () => {
  assertEquals((await run([busy({ "x-should-retry": "false" }, 500)])).requests, 1);
});

Deno.test("openai provider does not retry when the account is out of credit", async () => {
  const outcome = await run([{
    status: 429,
    body: { error: { code: "insufficient_quota", message: "No quota" } },
  }]);
  assertEquals([outcome.requests, outcome.error?.kind], [1, "auth"]);
  assertStringIncludes(outcome.error?.message ?? "", "add credit");
});

Deno.test("openai provider retries when nothing listens at first", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = listener.addr.port;
  listener.close();
  const provider = await openClient({ url: `http://127.0.0.1:${port}/v1` }, {
    clock: new InstantClock(),
    entry: { max_attempts: 2 },
  });
  const outcome = await collect(provider);
  assertEquals([outcome.error?.kind, outcome.retries.length], ["connection", 1]);
  assertStringIncludes(
    outcome.error?.message ?? "",
    `Provider "test" at 127.0.0.1:${port} could not be reached`,
  );
  assert(!outcome.error?.message.includes("chat/completions"));
});

Deno.test("openai provider does not retry an empty answer that ended normally", async () => {
  const outcome = await run([{ text: "" }]);
  assertEquals([outcome.reason, outcome.text, outcome.requests], ["stop", "", 1]);
});

Deno.test("openai provider announces a delay and ends it when the signal aborts", async () => {
  await using server = startModelServer([busy({ "retry-after": "60" })]);
  const controller = new AbortController();
  const seen: string[] = [];
  const provider = await openClient(server);
  for await (const chunk of provider.stream({ prefix: PREFIX, messages: HELLO }, controller.signal)) {
    seen.push(chunk.type === "error" ? chunk.error.kind : chunk.type);
    setTimeout(() => controller.abort());
  }
  assertEquals(seen, ["retry", "aborted"]);
});
