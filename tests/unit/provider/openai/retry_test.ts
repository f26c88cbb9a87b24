import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  type ClientOptions,
  collect,
  HELLO,
  InstantClock,
  openClient,
  PREFIX,
} from "../../../support/model_client.ts";
import { DONE, finishEvent, startModelServer, textEvent, type Turn } from "../../../support/model_server.ts";
import { SELF_SIGNED } from "../../../support/self_signed.ts";

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

const never = new Promise(() => {});
const SHORT = { first_byte_timeout_seconds: 0.05, idle_timeout_seconds: 0.05, max_attempts: 1 };

Deno.test("openai provider times out when no first byte arrives", async () => {
  for (const turn of [{ before: never }, { stream: [never] }]) {
    await using server = startModelServer([turn]);
    const outcome = await collect(await openClient(server, { entry: SHORT }));
    assertEquals(outcome.error?.kind, "timeout");
    assertStringIncludes(outcome.error?.message ?? "", "first_byte_timeout_seconds");
  }
});

Deno.test("openai provider times out when a stream stops", async () => {
  await using server = startModelServer([{ stream: [textEvent("a"), never] }]);
  const outcome = await collect(
    await openClient(server, { entry: { ...SHORT, first_byte_timeout_seconds: 0 } }),
  );
  assertEquals([outcome.error?.kind, outcome.text], ["timeout", "a"]);
  assertStringIncludes(outcome.error?.message ?? "", "idle_timeout_seconds");
});

Deno.test("openai provider waits without limit when the limits are 0", async () => {
  const later = new Promise((resolve) => setTimeout(resolve, 120));
  await using server = startModelServer([{
    before: later,
    stream: [textEvent("slow"), later, finishEvent(), DONE],
  }]);
  const entry = { ...SHORT, first_byte_timeout_seconds: 0, idle_timeout_seconds: 0 };
  assertEquals((await collect(await openClient(server, { entry }))).text, "slow");
});

Deno.test("openai provider emits text as it arrives", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using server = startModelServer([{
    stream: [textEvent("first"), promise, textEvent(" second"), DONE],
  }]);
  const seen: string[] = [];
  const provider = await openClient(server);
  for await (
    const chunk of provider.stream({ prefix: PREFIX, messages: HELLO }, new AbortController().signal)
  ) {
    if (chunk.type === "text") seen.push(chunk.text);
    resolve();
  }
  assertEquals(seen, ["first", " second"]);
});

Deno.test("openai provider ends with kind aborted when the signal aborts before an answer", async () => {
  await using server = startModelServer([{ before: never }]);
  const controller = new AbortController();
  server.received(1).then(() => controller.abort());
  const outcome = await collect(await openClient(server), HELLO, controller.signal);
  assertEquals(outcome.chunks.map((chunk) => chunk.type), ["error"]);
  assertEquals(outcome.error?.kind, "aborted");
  await server.requests[0]?.gone;
});

Deno.test("openai provider ends with kind aborted when the signal aborts within a text", async () => {
  await using server = startModelServer([{ stream: [textEvent("a"), never] }]);
  const controller = new AbortController();
  const kinds: string[] = [];
  const provider = await openClient(server);
  for await (const chunk of provider.stream({ prefix: PREFIX, messages: HELLO }, controller.signal)) {
    kinds.push(chunk.type === "error" ? chunk.error.kind : chunk.type);
    controller.abort();
  }
  assertEquals(kinds, ["text", "aborted"]);
});

Deno.test("openai provider sends nothing when the signal is already aborted", async () => {
  await using server = startModelServer([]);
  const outcome = await collect(await openClient(server), HELLO, AbortSignal.abort());
  assertEquals([outcome.error?.kind, server.requests.length], ["aborted", 0]);
});

Deno.test("openai provider closes the connection when its reader stops early", async () => {
  await using server = startModelServer([{ stream: [textEvent("a"), never] }]);
  const provider = await openClient(server);
  for await (const _ of provider.stream({ prefix: PREFIX, messages: HELLO }, new AbortController().signal)) {
    break;
  }
  await server.requests[0]?.gone;
});

Deno.test("openai provider reuses one connection for consecutive requests", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" } });
  const provider = await openClient(server);
  for (let n = 0; n < 5; n++) {
    assertEquals((await collect(provider)).text, "ok");
    // The runtime takes the connection back after the reader has seen the end of the body.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert(server.connections === 1, `${server.connections} connections`);
});

async function failureAt(url: string, entry: Record<string, unknown> = { max_attempts: 2 }) {
  const provider = await openClient({ url }, { clock: new InstantClock(), entry });
  const { error, retries } = await collect(provider);
  assert(error);
  return { ...error, retries: retries.length };
}

Deno.test("openai provider explains a connection failure of which the runtime gives no reason", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const refused = await failureAt(`http://127.0.0.1:${port}/v1`);
  assertEquals([refused.kind, refused.retries], ["connection", 1]);
  assertStringIncludes(
    refused.message,
    `Provider "test" at 127.0.0.1:${port} could not be reached: tcp connect error: `,
  );
});

/** A local port on which nothing listens. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

Deno.test("openai provider retries a local server only when it refuses, and explains how to start it", async () => {
  const url = `http://127.0.0.1:${freePort()}/v1`;
  const unknown = await failureAt(url, {});
  assertEquals(unknown.retries, 1);
  assertStringIncludes(unknown.message, "that the server is running (gave up after 2 attempts)");
  for (
    const [name, command] of [["ollama", "ollama serve"], ["lmstudio", "lms server start"], [
      "llamacpp",
      "llama-server",
    ]]
  ) {
    const failure = await failureAt(url, { name });
    assertEquals(failure.retries, 1);
    assertStringIncludes(failure.message, `starts with: ${command}`);
  }
});

Deno.test("openai provider names a local proxy and retries only when it refuses", async () => {
  const port = freePort();
  const failure = await failureAt("http://model.invalid/v1", { proxy: `http://127.0.0.1:${port}` });
  assertEquals(failure.retries, 1);
  assertStringIncludes(
    failure.message,
    `nothing listens at the proxy 127.0.0.1:${port}: start it, or correct proxy of this provider (gave up`,
  );
});

Deno.test("openai provider names ca_file for an untrusted certificate, without a retry", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", ...SELF_SIGNED, onListen: () => {} },
    () => new Response("never"),
  );
  const failure = await failureAt(`https://localhost:${server.addr.port}/v1`);
  assertEquals([failure.kind, failure.retries], ["connection", 0]);
  assertStringIncludes(failure.message, "could not be reached: invalid peer certificate: ");
  assertStringIncludes(failure.message, "in ca_file of this provider");
  const plain = await failureAt(`http://localhost:${server.addr.port}/v1`);
  assertEquals(plain.retries, 0);
  assertStringIncludes(plain.message, "may have to begin with https://");
  await server.shutdown();
});

Deno.test("openai provider reports a server without TLS behind an https address", async () => {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => new Response("ok"));
  const failure = await failureAt(`https://localhost:${server.addr.port}/v1`);
  assertEquals([failure.kind, failure.retries], ["connection", 0]);
  assertStringIncludes(failure.message, "may have to begin with http://");
  await server.shutdown();
});

/** Every time limit is 200 times shorter. */
class QuickClock extends InstantClock {
  override after(ms = 0, task: () => void = () => {}): () => void {
    const timer = setTimeout(task, ms / 200);
    return () => clearTimeout(timer);
  }
}

Deno.test("openai provider times out when a server accepts a connection but never begins TLS", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) open.push(connection);
  })().catch(() => {});
  const url = `https://127.0.0.1:${listener.addr.port}/v1`;
  const provider = await openClient({ url }, {
    clock: new QuickClock(),
    entry: { max_attempts: 1, first_byte_timeout_seconds: 0 },
  });
  const { error } = await collect(provider);
  assertEquals(error?.kind, "connection");
  assertStringIncludes(
    error?.message ?? "",
    "never begins TLS; check base_url, which may have to begin with http://",
  );
  listener.close();
  await accepting;
  for (const connection of open) connection.close();
});

Deno.test("openai provider waits for a slow model after the connection is accepted", async () => {
  const release = Promise.withResolvers<void>();
  const answer = async () => {
    await release.promise;
    return Response.json({ choices: [{ message: { content: "slow" }, finish_reason: "stop" }] });
  };
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, answer);
  const provider = await openClient({ url: `http://127.0.0.1:${server.addr.port}/v1` }, {
    clock: new QuickClock(),
    entry: { first_byte_timeout_seconds: 0 },
  });
  setTimeout(() => release.resolve(), 400);
  assertEquals((await collect(provider)).text, "slow");
});
