import { assert, assertEquals } from "../../../support/assert.ts";
import type { Message } from "../../../../src/core/mod.ts";
import { ChatMessages } from "../../../../src/provider/kinds/openai/chat_request.ts";
import { RequestBuffer } from "../../../../src/provider/wire/request_buffer.ts";
import { collect, InstantClock, openClient, PREFIX, providerEntry } from "../../../support/model_client.ts";
import { type RecordedRequest, startModelServer } from "../../../support/model_server.ts";

/** A user message of distinct kilobytes, partly in multi-byte characters. */
function large(kilobytes: number, name = "x"): Message {
  const line = (at: number) => `${name} ${at} → “quoted” \u{1F98A}\n`.padEnd(64, ".");
  return { role: "user", content: Array.from({ length: kilobytes * 16 }, (_, at) => line(at)).join("") };
}

/** The way in which a request marked the end of its body. */
function framing({ headers, body }: RecordedRequest): Record<string, unknown> {
  return {
    length: headers.get("content-length") === String(new TextEncoder().encode(body).length),
    chunked: headers.has("transfer-encoding"),
    expects: headers.has("expect"),
    type: headers.get("content-type"),
  };
}

const FRAMED = { length: true, chunked: false, expects: false, type: "application/json" };

function written(messages: readonly Message[]): string {
  const entry = providerEntry({});
  const options = {
    entry,
    model: { provider: entry.name, id: "m", vision: false },
  };
  const writer = new RequestBuffer(({ prefix }) => new ChatMessages(options, prefix));
  return new TextDecoder().decode(writer.body({ prefix: PREFIX, messages }));
}

for (const kilobytes of [1, 250, 300, 4000]) {
  Deno.test(`openai provider sends the length of a request of ${kilobytes} KB`, async () => {
    await using server = startModelServer([{ text: "ok" }]);
    const messages = [large(kilobytes)];
    assertEquals((await collect(await openClient(server), messages)).text, "ok");
    const [request] = server.requests;
    assert(request !== undefined);
    assertEquals(framing(request), FRAMED);
    assert(request.body === written(messages), "other bytes were sent than were written");
  });
}

Deno.test("openai provider keeps its connection and prefix in a long conversation", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" } });
  const provider = await openClient(server);
  const messages: Message[] = [];
  for (let n = 0; n < 12; n++) {
    messages.push(large(60, `part ${n}`));
    assertEquals((await collect(provider, messages)).text, "ok");
    messages.push({ role: "assistant", content: "ok" });
  }
  assertEquals(server.requests.map(framing), Array(12).fill(FRAMED));
  assertEquals(server.connections, 1);
});

Deno.test("openai provider resends a large body after a failed attempt", async () => {
  const script = [{ status: 503, body: "busy" }, { drop: true }, { text: "ok" }];
  await using server = startModelServer(script);
  const outcome = await collect(await openClient(server, { clock: new InstantClock() }), [large(1000)]);
  assertEquals([outcome.text, outcome.retries.length], ["ok", 2]);
  assertEquals(server.requests.map(framing), Array(3).fill(FRAMED));
  assertEquals(new Set(server.requests.map((request) => request.body)).size, 1);
});

Deno.test("openai provider resends a large body after a redirect on the same origin", async () => {
  const statuses = [301, 302, 303, 307, 308];
  const headers = { location: "/v1/chat/completions" };
  const redirects = statuses.map((status) => ({ status, headers, body: "elsewhere" }));
  await using server = startModelServer([...redirects, { text: "ok" }]);
  const messages = [large(1000)];
  assertEquals((await collect(await openClient(server), messages)).text, "ok");
  assertEquals(server.requests.map(framing), Array(6).fill(FRAMED));
  assertEquals(new Set(server.requests.map(({ body }) => body)), new Set([written(messages)]));
});

/** A server that reads the first bytes of a request and then handles the connection as scripted. */
async function withDeafServer(
  answer: (conn: Deno.TcpConn) => Promise<unknown>,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    using conn = await listener.accept();
    await conn.read(new Uint8Array(1000));
    await answer(conn);
  })();
  try {
    await work(`http://127.0.0.1:${listener.addr.port}/v1`);
    await serving;
  } finally {
    listener.close();
  }
}

/**
 * More than the buffers of both ends of a connection hold, so that it cannot be sent before a read.
 */
const ENDLESS = [large(32 * 1024)];

Deno.test("openai provider stops immediately when it is interrupted while it sends a request", async () => {
  const reached = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  await withDeafServer((_conn) => (reached.resolve(), stopped.promise), async (url) => {
    const controller = new AbortController();
    const running = collect(await openClient({ url }), ENDLESS, controller.signal);
    await reached.promise;
    controller.abort();
    assertEquals((await running).error?.kind, "aborted");
    stopped.resolve();
  });
});

Deno.test("openai provider reports a connection that is lost while it sends a request", async () => {
  await withDeafServer(() => Promise.resolve(), async (url) => {
    const outcome = await collect(await openClient({ url }, { entry: { max_attempts: 1 } }), ENDLESS);
    assertEquals(outcome.error?.kind, "connection");
  });
});

Deno.test("openai provider reports an error that arrives before the request is sent", async () => {
  const refusal = "HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\n\r\ntoo large";
  const stopped = Promise.withResolvers<void>();
  const answer = async (conn: Deno.TcpConn) => {
    await conn.write(new TextEncoder().encode(refusal));
    await stopped.promise;
  };
  await withDeafServer(answer, async (url) => {
    const outcome = await collect(await openClient({ url }, { entry: { max_attempts: 1 } }), ENDLESS);
    assertEquals(outcome.error?.status, 413);
    stopped.resolve();
  });
});
