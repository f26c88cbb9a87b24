import type { Message } from "../../../../src/core/mod.ts";
import { ChatMessages } from "../../../../src/provider/kinds/openai/chat_request.ts";
import { RequestBuffer } from "../../../../src/provider/wire/request_buffer.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { pairingProblems, rawMessages } from "../../../support/model_checks.ts";
import { collect, InstantClock, openClient, PREFIX, providerEntry } from "../../../support/model_client.ts";
import { type RecordedRequest, startModelServer } from "../../../support/model_server.ts";

const TOOL = { name: "ls", description: "Lists", parameters: { type: "object" } };
const STABLE = { system: "Be brief", tools: [TOOL] };
const TASK: Message = { role: "user", content: "Go" };
const IMAGE = { mime: "image/png", data: "AAAA" };

function writer(fields: Record<string, unknown> = {}, effort?: string): RequestBuffer {
  const entry = providerEntry(fields);
  const options = {
    entry,
    model: {
      provider: entry.name,
      id: "m",
      vision: entry.vision ?? false,
      ...(entry.max_output_tokens === undefined ? {} : { maxOutputTokens: entry.max_output_tokens }),
    },
    ...(effort ? { effort } : {}),
  };
  return new RequestBuffer(({ prefix }) => new ChatMessages(options, prefix));
}

const decode = (bytes: Uint8Array) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

function sent(fields: Record<string, unknown>, messages: readonly Message[] = [TASK], more = {}) {
  return JSON.parse(decode(writer(fields).body({ prefix: STABLE, messages, ...more })));
}

Deno.test("The request has only required fields by default", () => {
  assertEquals(sent({}), {
    model: "m",
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: "function", function: TOOL }],
    messages: [{ role: "system", content: "Be brief" }, { role: "user", content: "Go" }],
  });
});

Deno.test("The request sends sampling, limits and extra fields when they are configured", () => {
  const body = sent({
    temperature: 0,
    top_p: 0.9,
    seed: 7,
    max_output_tokens: 100,
    extra_body: { a: 1, b: 1 },
    extra: { b: 2, stream_options: { include_usage: false }, messages: "no" },
    compat: { max_tokens_field: "max_completion_tokens", parallel_tool_calls: false, stream_usage: false },
  });
  const { temperature, top_p, seed, max_completion_tokens, a, b, parallel_tool_calls, stream_options } = body;
  assertEquals(
    { temperature, top_p, seed, max_completion_tokens, a, b, parallel_tool_calls, stream_options },
    {
      temperature: 0,
      top_p: 0.9,
      seed: 7,
      max_completion_tokens: 100,
      a: 1,
      b: 2,
      parallel_tool_calls: false,
      stream_options: { include_usage: false },
    },
  );
  assertEquals(body.messages.length, 2);
});

Deno.test("The request leaves the limit or tool choice to extra when it sets them", () => {
  const fields = { extra: { max_tokens: 5, tool_choice: "required", tools: [{ type: "web_search" }] } };
  const plain = sent(fields);
  assertEquals([plain.max_tokens, plain.tool_choice], [5, "required"]);
  assertEquals(plain.tools.map((tool: { type: string }) => tool.type), ["function", "web_search"]);
  const own = sent(fields, [TASK], { maxOutputTokens: 9, toolChoice: "none" });
  assertEquals([own.max_tokens, own.tool_choice], [9, "none"]);
});

Deno.test("The request omits the tool choice without tools or when the server does not accept it", () => {
  assertEquals(
    sent({ compat: { tool_choice: false } }, [TASK], { toolChoice: "none" }).tool_choice,
    undefined,
  );
  const bare = { prefix: { system: "", tools: [] }, messages: [TASK], toolChoice: "none" } as const;
  const body = JSON.parse(decode(writer().body(bare)));
  assertEquals(Object.keys(body), ["model", "stream", "stream_options", "messages"]);
  assertEquals(body.messages.length, 1);
});

Deno.test("The request puts the effort into the configured field", () => {
  const request = { prefix: STABLE, messages: [TASK] };
  const nested = writer({
    compat: { effort_field: "reasoning.effort" },
    extra: { reasoning: { exclude: true } },
  }, "low");
  assertEquals(JSON.parse(decode(nested.body(request))).reasoning, { exclude: true, effort: "low" });
  assertEquals(sent({ effort: "high" }).reasoning_effort, undefined);
  assertEquals(JSON.parse(decode(writer({ effort: "high" }, "low").body(request))).reasoning_effort, "low");
});

const CALLED: Message = {
  role: "assistant",
  content: "",
  reasoning: "hm",
  calls: [{ id: "1", name: "ls", arguments: "{}" }, { id: "2", name: "ls", arguments: "{}" }],
};
const result = (callId: string, images?: Message["role"]): Message => ({
  role: "tool",
  callId,
  name: "ls",
  content: "a.txt",
  ...(images ? { images: [IMAGE] } : {}),
});

Deno.test("The request writes assistant and tool messages as the compat flags say", () => {
  const messages = [TASK, CALLED, result("1"), result("2"), {
    role: "assistant",
    content: "So",
    reasoning: "ok",
  }] as Message[];
  const plain = sent({}, messages).messages;
  assertEquals([plain[2].content, plain[2].reasoning_content, plain[3].name], [null, undefined, undefined]);
  const compat = {
    null_content: false,
    tool_name: true,
    reasoning_field: "reasoning_content",
    system_role: "developer",
  };
  const other = sent({ compat }, messages).messages;
  assertEquals([other[0].role, other[2].content, other[2].reasoning_content, other[3].name], [
    "developer",
    "",
    "hm",
    "ls",
  ]);
  assertEquals(other[5].reasoning_content, undefined);
  const all = sent({ compat: { ...compat, reasoning_scope: "all" } }, messages).messages;
  assertEquals(all[5].reasoning_content, "ok");
});

Deno.test("The request sends images of tools after the last result of the group when the model sees", () => {
  const messages = [TASK, CALLED, result("1", "user"), result("2", "user"), {
    role: "user",
    content: "and?",
    images: [IMAGE],
  }];
  const body = sent({ vision: true }, messages as Message[]).messages;
  assertEquals(body.map((m: { role: string }) => m.role), [
    "system",
    "user",
    "assistant",
    "tool",
    "tool",
    "user",
    "user",
  ]);
  assertEquals(pairingProblems(body), []);
  assertEquals(body[5].content.filter((part: { type: string }) => part.type === "image_url").length, 2);
  assertEquals(body[6].content, [
    { type: "text", text: "and?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
  ]);
});

Deno.test("The request notes omitted images for a model without vision", () => {
  const body = sent({}, [TASK, CALLED, result("1", "user"), result("2"), {
    role: "user",
    content: "",
    images: [IMAGE, IMAGE],
  }]).messages;
  assertEquals(body[3].content, "a.txt\n[1 image left out: this model takes no images]");
  assertEquals(body[5].content, "[2 images left out: this model takes no images]");
});

Deno.test("The request body is a byte prefix of the next one when messages are appended", () => {
  const write = writer({ vision: true, max_output_tokens: 50 });
  const messages: Message[] = [TASK];
  let previous = "";
  for (let step = 0; step < 60; step++) {
    const toolChoice = step % 7 === 3 ? "none" as const : "auto" as const;
    const text = decode(write.body({ prefix: STABLE, messages, toolChoice, maxOutputTokens: 50 + step }));
    const upToEnd = text.slice(0, text.lastIndexOf("]"));
    assert(upToEnd.startsWith(previous), `step ${step}`);
    assertEquals(JSON.parse(`[${rawMessages(text)}]`).length, JSON.parse(text).messages.length);
    previous = upToEnd;
    messages.push(CALLED, result("1", step % 5 === 0 ? "user" : undefined), result("2"));
    if (step % 9 === 0) messages.push({ role: "user", content: `é ${step} "quoted" ]` });
  }
});

Deno.test("The request has the same bytes when a session is resumed", () => {
  const write = writer({ vision: true });
  const messages: Message[] = [TASK];
  write.body({ prefix: STABLE, messages });
  messages.push(CALLED, result("1", "user"), result("2"));
  write.body({ prefix: STABLE, messages });
  messages.push({ role: "user", content: "more" });
  const grown = decode(write.body({ prefix: STABLE, messages }));
  assertEquals(
    decode(writer({ vision: true }).body({ prefix: { ...STABLE }, messages: [...messages] })),
    grown,
  );
});

Deno.test("The request is rebuilt after a compaction or a changed prefix", () => {
  const write = writer();
  const messages: Message[] = [TASK, { role: "assistant", content: "a" }];
  write.body({ prefix: STABLE, messages });
  messages.splice(0, 2, { role: "user", content: "digest" }, { role: "user", content: "x" }, {
    role: "user",
    content: "y",
  });
  assertEquals(JSON.parse(decode(write.body({ prefix: STABLE, messages }))).messages.length, 4);
  const other = JSON.parse(decode(write.body({ prefix: { system: "New", tools: [] }, messages })));
  assertEquals([other.messages[0].content, other.tools], ["New", undefined]);
});

Deno.test("The request serializes each message once", () => {
  let read = 0;
  const counted: Message = {
    role: "user",
    get content() {
      read++;
      return "x".repeat(100_000);
    },
  };
  const messages: Message[] = [counted];
  const write = writer();
  write.body({ prefix: STABLE, messages });
  const once = read;
  for (let step = 0; step < 20; step++) {
    messages.push({ role: "user", content: `${step}` });
    write.body({ prefix: STABLE, messages });
  }
  assertEquals(read, once);
});

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
