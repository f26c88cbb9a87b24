import { connectionFailure } from "../../../src/provider/errors.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { collect, openClient } from "../../support/model_client.ts";
import { startModelServer, type Turn } from "../../support/model_server.ts";

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
