import { loadLocalServers } from "../../../../src/provider/mod.ts";
import { proposedEntry } from "../../../../src/provider/local/local_servers.ts";
import { assertEquals } from "../../../support/assert.ts";

type Page = unknown | ((body: string) => unknown);

/** A local server with these pages, and the requests it received. */
function serve(pages: Readonly<Record<string, Page>>) {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const body = await request.text();
    asked.push(`${request.method} ${pathname}`);
    const page = pages[pathname];
    const answer = typeof page === "function" ? page(body) : page;
    if (answer === undefined) return new Response("not found", { status: 404 });
    return answer instanceof Response ? answer : Response.json(answer);
  });
  return { asked, port: server.addr.port, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Long enough for a machine that is busy with other tests. */
const PATIENCE_MS = 60_000;

async function find(name: string, port: number, limitMs = PATIENCE_MS) {
  const { findLocalServers } = await loadLocalServers();
  return await findLocalServers([{ name, label: name, port, start: name }], limitMs);
}

Deno.test("findLocalServers reads capabilities and window of each Ollama model", async () => {
  const show = (body: string) =>
    ({
      "qwen3:8b": { capabilities: ["completion", "tools"], model_info: { "qwen3.context_length": 40_960 } },
      "llava:7b": { capabilities: ["completion", "vision"], parameters: "num_ctx 8192\nstop x" },
      "nomic-embed-text": { capabilities: ["embedding"], model_info: { "bert.context_length": 2048 } },
    })[JSON.parse(body).model as string];
  await using server = serve({
    "/v1/models": { data: [{ id: "qwen3:8b" }, { id: "llava:7b" }, { id: "nomic-embed-text" }] },
    "/api/ps": { models: [{ name: "qwen3:8b", context_length: 4096 }] },
    "/api/show": show,
  });
  const [found] = await find("ollama", server.port);
  assertEquals(found?.models, [
    { id: "qwen3:8b", window: 4096, vision: false, tools: true, chat: true },
    { id: "llava:7b", window: 8192, vision: true, tools: false, chat: true },
  ]);
  assertEquals(found && proposedEntry(found), {
    name: "ollama",
    base_url: `http://127.0.0.1:${server.port}/v1`,
    model: "qwen3:8b",
    context_window: 4096,
  });
});

Deno.test("findLocalServers reads slot and input kinds of llama.cpp", async () => {
  await using server = serve({
    "/v1/models": { data: [{ id: "gemma", meta: { n_ctx_train: 131_072 } }] },
    "/props": {
      default_generation_settings: { n_ctx: 16_384 },
      modalities: { vision: true, audio: false },
      chat_template_caps: { supports_tools: true },
    },
  });
  const [found] = await find("llamacpp", server.port);
  assertEquals(found?.models, [{ id: "gemma", window: 16_384, vision: true, tools: true }]);
  assertEquals(found && proposedEntry(found)?.vision, true);
});

Deno.test("findLocalServers reads LM Studio's native list and omits embedding models", async () => {
  await using server = serve({
    "/v1/models": { data: [{ id: "qwen2.5-vl" }, { id: "nomic" }, { id: "llama" }] },
    "/api/v0/models": {
      data: [
        { id: "qwen2.5-vl", type: "vlm", max_context_length: 128_000, capabilities: ["tool_use"] },
        { id: "nomic", type: "embeddings", max_context_length: 2048 },
        { id: "llama", type: "llm", max_context_length: 131_072, loaded_context_length: 4096 },
      ],
    },
  });
  const [found] = await find("lmstudio", server.port);
  assertEquals(found?.models, [
    { id: "qwen2.5-vl", window: 128_000, vision: true, tools: true },
    { id: "llama", window: 4096, vision: false },
  ]);
});

Deno.test("findLocalServers reads the window of vLLM from its list", async () => {
  await using server = serve({ "/v1/models": { data: [{ id: "org/model", max_model_len: 32_768 }] } });
  const [found] = await find("vllm", server.port);
  assertEquals(found?.models, [{ id: "org/model", window: 32_768 }]);
  assertEquals(server.asked, ["GET /v1/models"]);
});

Deno.test("findLocalServers reports only the presence of a server that requires a key", async () => {
  await using server = serve({ "/v1/models": () => new Response("no", { status: 401 }) });
  const [found] = await find("vllm", server.port);
  assertEquals(found?.models, []);
  assertEquals(found && proposedEntry(found), undefined);
});

Deno.test("findLocalServers treats failing and empty pages as unknown", async () => {
  await using server = serve({
    "/v1/models": { data: [{ id: "m" }, { id: 7 }, null, { name: "n" }] },
    "/api/show": () => new Response("<html>", { status: 500 }),
    "/api/ps": "words",
  });
  const [found] = await find("ollama", server.port);
  assertEquals(found?.models.map(({ id, window }) => [id, window]), [["m", undefined], ["n", undefined]]);
});

Deno.test("findLocalServers does not follow a redirect", async () => {
  await using elsewhere = serve({ "/v1/models": { data: [{ id: "m" }] } });
  await using server = serve({
    "/v1/models": () => Response.redirect(`http://127.0.0.1:${elsewhere.port}/v1/models`, 302),
  });
  assertEquals([await find("vllm", server.port), elsewhere.asked], [[], []]);
});

const NO_SERVERS: readonly (readonly [what: string, page: () => Response])[] = [
  ["a web page", () => new Response("<html><h1>It works!</h1></html>")],
  ["another API", () => Response.json({ status: "ok" })],
  ["ten megabytes", () => new Response(`{"data":[{"id":"${"x".repeat(10_000_000)}"}]}`)],
  ["nothing", () => new Response(null, { status: 204 })],
];

for (const [what, page] of NO_SERVERS) {
  Deno.test(`findLocalServers does not treat ${what} as a model server`, async () => {
    await using server = serve({ "/v1/models": page });
    assertEquals(await find("vllm", server.port), []);
  });
}

Deno.test("findLocalServers limits its wait and returns at once for closed ports", async () => {
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  // Without a limit this would wait forever.
  assertEquals(await find("ollama", silent.addr.port, 20), []);
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  closed.close();
  assertEquals(await find("ollama", closed.addr.port), []);
});

Deno.test("findLocalServers keeps partial results of a slow server", async () => {
  const release = Promise.withResolvers<Response>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    if (new URL(request.url).pathname === "/v1/models") return Response.json({ data: [{ id: "m" }] });
    return release.promise;
  });
  // The list comes long before; the rest never.
  const found = await find("llamacpp", server.addr.port, 3_000);
  assertEquals(found.map(({ models }) => models), [[{ id: "m" }]]);
  release.resolve(new Response("late"));
  await server.shutdown();
});
