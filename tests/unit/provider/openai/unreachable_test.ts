import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { SELF_SIGNED } from "../../../support/self_signed.ts";
import { collect, InstantClock, openClient } from "../../../support/model_client.ts";

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
