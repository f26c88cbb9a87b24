import { type Chunk, ReasonixError } from "../../../src/core/mod.ts";
import { recordProvider } from "../../../src/provider/cassette/record.ts";
import { createProvider, listModels } from "../../../src/provider/create_provider.ts";
import { connectionFailure } from "../../../src/provider/errors.ts";
import { PROVIDER_KINDS } from "../../../src/provider/kinds.ts";
import type { Embeddings, ModelRequest, Provider } from "../../../src/provider/mod.ts";
import { plainArguments, repairArguments } from "../../../src/provider/tool_calls.ts";
import { withTextTools } from "../../../src/provider/tool_modes/text_tools.ts";
import { Fallback } from "../../../src/run/fallback.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../support/assert.ts";
import { collect, HELLO, openClient, providerEntry } from "../../support/model_client.ts";
import { DONE, startModelServer, textEvent, type Turn } from "../../support/model_server.ts";

Deno.test("createProvider describes the model from price and sizes of the entry", async () => {
  const describe = async (fields: Record<string, unknown>) => {
    const entry = providerEntry({ base_url: "http://127.0.0.1:1", ...fields });
    return (await createProvider({ entry, model: "v4", version: "1" })).model;
  };
  const full = await describe({
    name: "deepseek",
    context_window: 1000,
    max_output_tokens: 50,
    vision: true,
    price: { input: 2, output: 8, cache_hit: 0.5 },
  });
  assertEquals(full, {
    provider: "deepseek",
    id: "v4",
    contextWindow: 1000,
    effort: {},
    outputLimit: 50,
    maxOutputTokens: 50,
    vision: true,
    price: { input: 2, cachedInput: 0.5, output: 8, currency: "USD" },
  });
  assertEquals((await describe({ price: { input: 2, output: 8 } })).price?.cachedInput, 2);
});

Deno.test("createProvider lists the known kinds when the kind is unknown", async () => {
  for (const kind of ["telepathy", "constructor"]) {
    const options = { entry: providerEntry({ kind }), model: "m", version: "1" };
    const error = await assertRejects(() => createProvider(options), ReasonixError, kind);
    assertEquals([error.exit, error.remedy], [
      "config",
      `set kind to one of ${Object.keys(PROVIDER_KINDS).join(", ")}`,
    ]);
  }
});

Deno.test("createProvider rejects a base_url that is not a web address", async () => {
  for (const base_url of ["", "localhost:8080", "ftp://x/"]) {
    const options = { entry: providerEntry({ base_url }), model: "m", version: "1" };
    const error = await assertRejects(() => createProvider(options), ReasonixError, "no usable base_url");
    assertEquals(error.exit, "config");
  }
});

Deno.test("createProvider sends key, user agent and configured headers with every request", async () => {
  await using server = startModelServer([{ text: "ok" }, { text: "ok" }]);
  const entry = { headers: { "X-Team": "blue", "User-Agent": "mine" } };
  await collect(await openClient(server, { apiKey: "secret", entry }));
  await collect(await openClient(server));
  const [keyed, bare] = server.requests.map((request) => request.headers);
  assertEquals(
    [keyed?.get("authorization"), keyed?.get("x-team"), keyed?.get("user-agent")],
    ["Bearer secret", "blue", "mine"],
  );
  assertEquals([bare?.get("authorization"), bare?.get("user-agent")], [null, "reasonix/1.2.3"]);
});

Deno.test("createProvider keeps path and query of base_url when it builds addresses", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" } });
  for (const tail of ["", "/", "/chat/completions", "?api-version=3"]) {
    await collect(await openClient({ url: server.url + tail }));
  }
  assertEquals(server.requests.map((request) => request.path), [
    "/v1/chat/completions",
    "/v1/chat/completions",
    "/v1/chat/completions",
    "/v1/chat/completions?api-version=3",
  ]);
});

Deno.test("listModels returns the identifiers that the server lists", async () => {
  await using server = startModelServer([], { models: ["small", "large"] });
  const entry = providerEntry({ base_url: server.url });
  assertEquals(await listModels({ entry, version: "1" }), ["small", "large"]);
});

Deno.test("listModels rejects with exit provider when the server refuses or is unreachable", async () => {
  const refuse = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("no", { status: 401 }),
  );
  const entry = providerEntry({ base_url: `http://127.0.0.1:${refuse.addr.port}`, api_key_env: "K" });
  const refused = await assertRejects(
    () => listModels({ entry, version: "1" }),
    ReasonixError,
    "status 401: no",
  );
  assertEquals(refused.exit, "provider");
  assertStringIncludes(refused.message, "set K");
  await refuse.shutdown();
  await assertRejects(() => listModels({ entry, version: "1" }), ReasonixError, "could not be reached");
});

Deno.test("listModels rejects an answer that is not a list", async () => {
  const page = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("<html>"),
  );
  const entry = providerEntry({ base_url: `http://127.0.0.1:${page.addr.port}` });
  await assertRejects(
    () => listModels({ entry, version: "1" }),
    ReasonixError,
    "did not answer with a list of models",
  );
  await page.shutdown();
});

Deno.test("listModels returns an empty list when the kind has none", async () => {
  assertEquals(await listModels({ entry: providerEntry({ kind: "replay" }), version: "1" }), []);
});

Deno.test("a DNS failure is reported as a network or proxy problem, not a server problem", async () => {
  const reported =
    "error sending request for url (http://nowhere.invalid/v1/models): client error (Connect): " +
    "dns error: failed to lookup address information: Name or service not known";
  const fetch = () => Promise.reject(new TypeError("fetch failed", { cause: new Error(reported) }));
  const entry = providerEntry({ base_url: "http://nowhere.invalid/v1" });
  const error = await assertRejects(
    () => listModels({ entry, version: "1", deps: { fetch } }),
    ReasonixError,
    "nowhere.invalid cannot be found (DNS); check the network",
  );
  assertStringIncludes(error.message, "proxy");
  assert(!error.message.includes("server is running"), error.message);
});

// Wrappers of a provider keep all of its optional capabilities.

/** Settings are not used. */
const LOADED = { config: { agent: { max_cost: 0 } } } as never;
const PREFIX = {
  system: "Be brief",
  tools: [{ name: "look", description: "Looks", parameters: { type: "object", properties: {} } }],
};

/** A provider class whose members use private state; the type requires every optional member. */
class Whole implements Required<Provider> {
  readonly name = "whole";
  readonly model = { provider: "whole", id: "m", vision: false };
  readonly remoteMode = "asks";
  readonly #asked: string[] = [];
  #last: ModelRequest | undefined;

  get asked(): readonly string[] {
    return this.#asked;
  }

  get last(): ModelRequest | undefined {
    return this.#last;
  }

  async *stream(request: ModelRequest): AsyncGenerator<Chunk, void> {
    yield await this.#note("stream", request, { type: "done", reason: "stop" });
  }

  async *warmUp(request: ModelRequest): AsyncGenerator<Chunk, void> {
    yield await this.#note("warmUp", request, { type: "done", reason: "stop" });
  }

  sentPrefix(prefix: typeof PREFIX): typeof PREFIX {
    this.#asked.push("sentPrefix");
    return prefix;
  }

  askWindow(): Promise<number> {
    this.#asked.push("askWindow");
    return Promise.resolve(8192);
  }

  count(request: ModelRequest): Promise<number> {
    return this.#note("count", request, 7);
  }

  embed(): Promise<Embeddings> {
    this.#asked.push("embed");
    return Promise.resolve({ vectors: [[1]], inputTokens: 1 });
  }

  #note<T>(name: string, request: ModelRequest, value: T): Promise<T> {
    this.#asked.push(name);
    this.#last = request;
    return Promise.resolve(value);
  }
}

/** Reads every optional member of a provider and returns those it has. */
async function useAll(provider: Provider): Promise<readonly string[]> {
  const { signal } = new AbortController();
  const request = { prefix: PREFIX, messages: HELLO };
  const uses: { readonly [K in keyof Required<Provider>]: () => unknown } = {
    name: () => provider.name,
    model: () => provider.model,
    remoteMode: () => provider.remoteMode,
    stream: () => Array.fromAsync(provider.stream(request, signal)),
    warmUp: () => provider.warmUp && Array.fromAsync(provider.warmUp(request, signal)),
    sentPrefix: () => provider.sentPrefix?.(PREFIX),
    askWindow: () => provider.askWindow?.(),
    count: () => provider.count?.(request, signal),
    embed: () => provider.embed?.(["a"], "m", signal),
  };
  const has = [];
  for (const [name, use] of Object.entries(uses)) if (await use() !== undefined) has.push(name);
  return has.toSorted();
}

const ALL = [
  "askWindow",
  "count",
  "embed",
  "model",
  "name",
  "remoteMode",
  "sentPrefix",
  "stream",
  "warmUp",
];

Deno.test("a wrapped provider keeps all capabilities", async () => {
  const file = await Deno.makeTempFile({ suffix: ".jsonl" });
  const wrappers: readonly ((inner: Provider) => Provider | Promise<Provider>)[] = [
    (inner) => recordProvider(inner, { file }),
    (inner) => withTextTools(inner, "pseudo"),
    (inner) => withTextTools(inner, "none"),
    (inner) => withTextTools(inner, "official with text"),
    (inner) => recordProvider(withTextTools(inner, "pseudo"), { file }),
    (first) => new Fallback({ loaded: LOADED, first, chain: [], create: () => Promise.reject() }).provider,
  ];
  try {
    for (const wrap of wrappers) {
      const inner = new Whole();
      assertEquals(await useAll(await wrap(inner)), ALL);
      for (const name of ["askWindow", "count", "embed", "warmUp", "stream"]) {
        assert(inner.asked.includes(name), name);
      }
    }
    const poor: Provider = { name: "p", model: new Whole().model, stream: (r) => new Whole().stream(r) };
    assertEquals(await useAll(await recordProvider(poor, { file })), ["model", "name", "stream"]);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("a cassette does not contain the warm-up", async () => {
  const file = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    const provider = await recordProvider(new Whole(), { file });
    await Array.fromAsync(
      provider.warmUp?.({ prefix: PREFIX, messages: HELLO }, new AbortController().signal) ?? [],
    );
    assertEquals((await Deno.readTextFile(file)).trim().split("\n").length, 1);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("a provider with text tools counts tokens of the converted request", async () => {
  const inner = new Whole();
  const provider = withTextTools(inner, "pseudo");
  await provider.count?.({ prefix: PREFIX, messages: HELLO }, new AbortController().signal);
  assertEquals(inner.last?.prefix.tools, []);
  assert(inner.last?.prefix.system.includes("look"));
});

async function errorOf(turn: Turn, apiKey?: string, entry: Record<string, unknown> = {}) {
  await using server = startModelServer([turn]);
  const options = { entry: { max_attempts: 1, ...entry }, ...(apiKey === undefined ? {} : { apiKey }) };
  const { error } = await collect(await openClient(server, options));
  assert(error);
  return { ...error, host: `127.0.0.1:${server.port}` };
}

const errorBody = (message: string, more = {}) => ({ error: { message, ...more } });

/** Error messages of servers, with their status. */
const TOO_LONG: readonly (readonly [vendor: string, status: number, body: unknown])[] = [
  [
    "OpenAI",
    400,
    errorBody(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      { code: "context_length_exceeded" },
    ),
  ],
  [
    "OpenAI, newer",
    400,
    errorBody("Your input exceeds the context window of this model. Please adjust your input and try again."),
  ],
  [
    "DeepSeek",
    400,
    errorBody("This model's maximum context length is 131072 tokens. However, you requested 140000 tokens"),
  ],
  ["Anthropic, compatible", 400, {
    type: "error",
    error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
  }],
  ["vLLM", 400, {
    object: "error",
    message: "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    code: 400,
  }],
  ["llama.cpp", 400, {
    error: {
      code: 400,
      message: "the request exceeds the available context size, try increasing it",
      type: "exceed_context_size_error",
    },
  }],
  ["llama.cpp, older", 500, errorBody("context size exceeded")],
  ["Ollama", 400, errorBody("prompt too long; exceeded max context length by 400 tokens")],
  ["Gemini, compatible", 400, [{
    error: {
      code: 400,
      message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    },
  }]],
  ["Mistral", 400, {
    object: "error",
    message:
      "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    code: "3051",
  }],
  [
    "Groq",
    400,
    errorBody("Please reduce the length of the messages or completion.", { code: "context_length_exceeded" }),
  ],
  ["xAI", 400, {
    error: "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
  }],
  ["Moonshot", 400, errorBody("Invalid request: Your request exceeded model token limit: 131072")],
  [
    "OpenRouter",
    400,
    errorBody(
      "This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens",
    ),
  ],
  ["LM Studio", 400, {
    error:
      "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
  }],
  ["Bedrock gateway", 400, errorBody("Input is too long for requested model.")],
  ["a proxy", 413, "Request Entity Too Large"],
];

for (const [vendor, status, body] of TOO_LONG) {
  Deno.test(`openai provider recognizes a context overflow of ${vendor}`, async () => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    assertEquals((await errorOf({ status, body: text })).kind, "context_length");
  });
}

const OTHERS: readonly (readonly [status: number, body: string, kind: string])[] = [
  [400, "temperature must be a number", "bad_request"],
  [400, '{"error":{"code":"content_filter","message":"The response was filtered"}}', "content_filter"],
  [400, '{"error":{"message":"Content Exists Risk"}}', "content_filter"],
  [402, '{"error":{"message":"Insufficient Balance"}}', "auth"],
  [404, '{"error":{"message":"model \'x\' not found"}}', "not_found"],
  [429, '{"error":{"message":"Rate limit: too many tokens per minute"}}', "rate_limit"],
  [503, "<html><body><h1>503 Service Unavailable</h1></body></html>", "server"],
];

for (const [status, body, kind] of OTHERS) {
  Deno.test(`openai provider reports kind ${kind} when status ${status} says ${body.slice(0, 60)}`, async () => {
    assertEquals((await errorOf({ status, body })).kind, kind);
  });
}

Deno.test("openai provider reports provider, host, status, message and variable of a rejected key", async () => {
  const entry = { api_key_env: "TEST_API_KEY" };
  const refused = await errorOf({ status: 401, body: errorBody("Invalid key") }, "very-secret", entry);
  assertEquals(
    refused.message,
    `Provider "test" at ${refused.host} answered with status 401: Invalid key; check the value of TEST_API_KEY`,
  );
  const missing = await errorOf({ status: 401, body: errorBody("No key") }, undefined, entry);
  assertStringIncludes(missing.message, "set TEST_API_KEY in the environment or in the .env file");
  assertStringIncludes(
    (await errorOf({ status: 403, body: "" })).message,
    "set api_key_env of this provider",
  );
});

Deno.test("openai provider shows the text of an HTML error page", async () => {
  const body = "<html><head><style>x</style></head><body><h1>502</h1>\n<p>Bad\n gateway</p></body></html>";
  assertStringIncludes((await errorOf({ status: 502, body })).message, "status 502: 502 Bad gateway");
});

Deno.test("openai provider shows the title of a page once", async () => {
  const body =
    "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center>" +
    "<hr><center>nginx</center></body></html>";
  assertMatch((await errorOf({ status: 502, body })).message, /status 502: 502 Bad Gateway nginx(;|$)/);
});

Deno.test("openai provider suggests other models when the model cannot call tools", async () => {
  for (
    const text of [
      "registry.ollama.ai/gemma:2b does not support tools",
      "No endpoints found that support tool use",
    ]
  ) {
    assertStringIncludes(
      (await errorOf({ status: 400, body: errorBody(text) })).message,
      "choose a model that can call tools",
    );
  }
});

Deno.test("openai provider names the target of a redirect", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) =>
      request.method === "POST"
        ? new Response(null, { status: 301, headers: { location: "/v2/other" } })
        : new Response("what?", { status: 400 }),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const { error } = await collect(await openClient({ url: `${url}/v1` }, { entry: { max_attempts: 1 } }));
  await server.shutdown();
  assertStringIncludes(error?.message ?? "", `the request was redirected to ${url}/v2/other`);
});

Deno.test("an untrusted certificate and a missing CA file have errors with a remedy", () => {
  const endpoint = { provider: "p", host: "h", model: "m", keyName: "", keyed: false, secrets: [] };
  const failureOf = (text: string) => connectionFailure(new TypeError(text), endpoint, false);
  const authority = failureOf("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))");
  assertStringIncludes(authority.message, "basicConstraints=critical,CA:FALSE");
  assertStringIncludes(authority.message, "name its file in ca_file of this provider");
  const missing = failureOf("Failed opening CA file: No such file or directory (os error 2)");
  assertEquals([missing.retryable, /DENO_CERT names a file/.test(missing.message)], [false, true]);
});

Deno.test("openai provider bounds quoted server messages", async () => {
  const { message } = await errorOf({ status: 500, body: "long words ".repeat(100_000) });
  assert(message.length < 700, `${message.length}`);
});

Deno.test("openai provider redacts a key that the server repeats", async () => {
  const key = "very-secret-key-4711";
  const headers = { "x-team-token": "team-token-0815" };
  const body = `Key ${key} / team-token-0815 / Bearer abcdefghijkl / sk-abcdefghijklmnop is wrong`;
  const { message } = await errorOf({ status: 401, body }, key, { headers });
  for (const secret of [key, "team-token-0815", "abcdefghijkl"]) assert(!message.includes(secret), message);
  assertStringIncludes(message, "Key [redacted] / [redacted] / [redacted] / [redacted] is wrong");
});

Deno.test("openai provider quotes the upstream error that a gateway passes on", async () => {
  const body = errorBody("Provider returned error", { metadata: { raw: "engine is warming up" } });
  assertStringIncludes(
    (await errorOf({ status: 502, body })).message,
    "Provider returned error (engine is warming up)",
  );
});

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

const REPAIRED: readonly (readonly [name: string, text: string, value: unknown])[] = [
  ["a trailing comma", '{"a":1,"b":[1,2,],}', { a: 1, b: [1, 2] }],
  ["closing brackets missing at the end", '{"a":{"b":["x"', { a: { b: ["x"] } }],
  ["single quotes", "{'a':'x y'}", { a: "x y" }],
  ["bare keys", '{a:"x",b_2:true}', { a: "x", b_2: true }],
  ["Python's constants", '{"a":True,"b":None}', { a: true, b: null }],
  ["raw line breaks in a string", '{"a":"one\ntwo"}', { a: "one\ntwo" }],
  ["a code fence", '```json\n{"a":1}\n```', { a: 1 }],
];

for (const [name, text, value] of REPAIRED) {
  Deno.test(`repairArguments repairs a text whose only error is ${name}`, async () => {
    assertEquals(plainArguments(text), undefined);
    assertEquals(JSON.parse(await repairArguments(text)), value);
  });
}

const AMBIGUOUS: readonly (readonly [name: string, text: string])[] = [
  ["a string is truncated", '{"path":"a.txt","content":"half of'],
  ["a number is truncated", '{"limit":1'],
  ["a literal is truncated", '{"all":tr'],
  ["a key has no value", '{"path":}'],
  ["a key has no colon", '{"path"'],
  ["it ends with a comma", '{"path":"a.txt",'],
  ["quotes are not escaped", '{"command":"echo "hi" there"}'],
  ["a value has no quotes", '{"command": ls -la, "cwd": "."}'],
  ["an escape is unknown", '{"pattern":"\\d+"}'],
  ["two objects follow each other", '{"a":1}{"b":2}'],
  ["it is a list", '["a"'],
  ["it is prose", "I would rather list the files"],
];

for (const [name, text] of AMBIGUOUS) {
  Deno.test(`repairArguments keeps a text unchanged when ${name}`, async () => {
    assertEquals(await repairArguments(text), text);
  });
}
