import { parseProvider } from "../../../../src/config/mod.ts";
import { loadWindow } from "../../../../src/provider/mod.ts";
import { assertEquals } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

type Page = unknown;

/** The result of discoverWindow on a real server with these pages, and the pages that it requested. */
async function discovered(pages: Record<string, Page>, entry: Record<string, unknown> = {}) {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const body = await request.text();
    asked.push(`${request.method} ${pathname}${body}`);
    const page = pages[pathname];
    if (page === undefined) return new Response("<h1>Not found</h1>", { status: 404 });
    return typeof page === "string" ? new Response(page) : Response.json(page);
  });
  try {
    const { discoverWindow } = await loadWindow();
    const found = await discoverWindow({
      entry: parseProvider({
        name: "p",
        base_url: `http://127.0.0.1:${server.addr.port}/v1`,
        context_window: 0,
        ...entry,
      }),
      model: "qwen",
      fetch,
    });
    return { found, asked };
  } finally {
    await server.shutdown();
  }
}

Deno.test("discoverWindow prefers a declared window and sends no request", async () => {
  const { found, asked } = await discovered({ "/v1/models": { data: [{ id: "qwen", max_model_len: 9 }] } }, {
    context_window: 32_000,
  });
  assertEquals(found, { tokens: 32_000, source: "declared" });
  assertEquals(asked, []);
});

for (const field of ["max_model_len", "context_length", "context_window", "max_context_length"]) {
  Deno.test(`discoverWindow reads ${field} of the model list`, async () => {
    const { found, asked } = await discovered({
      "/v1/models": { data: [{ id: "other", [field]: 1 }, { id: "qwen", [field]: 40_960 }] },
    });
    assertEquals(found, { tokens: 40_960, source: "models" });
    assertEquals(asked, ["GET /v1/models"]);
  });
}

Deno.test("discoverWindow returns the window of the llama.cpp slot, not of the training", async () => {
  const { found } = await discovered({
    "/v1/models": { data: [{ id: "qwen", meta: { n_ctx_train: 131_072 } }] },
    "/props": { default_generation_settings: { n_ctx: 8_192 } },
  });
  assertEquals(found, { tokens: 8_192, source: "props" });
});

Deno.test("discoverWindow returns the window that Ollama loaded the model with", async () => {
  const running = await discovered({ "/api/ps": { models: [{ name: "qwen", context_length: 4_096 }] } });
  assertEquals(running.found, { tokens: 4_096, source: "ollama" });
  const set = await discovered({
    "/api/show": { parameters: "stop x\nnum_ctx   16384", model_info: { "q.context_length": 99 } },
  });
  assertEquals(set.found, { tokens: 16_384, source: "ollama" });
  assertEquals(set.asked.at(-1), 'POST /api/show{"model":"qwen"}');
  const model = await discovered({ "/api/show": { model_info: { "qwen3.context_length": 40_960 } } });
  assertEquals(model.found, { tokens: 40_960, source: "ollama" });
});

Deno.test("discoverWindow returns nothing for pages without a window", async () => {
  assertEquals((await discovered({})).found, undefined);
  assertEquals((await discovered({ "/v1/models": "<html>", "/props": '{"n_ctx":"many"}' })).found, undefined);
  assertEquals((await discovered({ "/v1/models": { data: [{ id: "a" }, { id: "b" }] } })).found, undefined);
});

Deno.test("discoverWindow runs a command that prints no key once, and asks nothing", async () => {
  await using temp = await makeTempDir();
  const { found, asked } = await discovered({}, { api_key_command: `echo x >> ${temp.path}/runs; exit 3` });
  assertEquals([found, asked, await Deno.readTextFile(`${temp.path}/runs`)], [undefined, [], "x\n"]);
});

Deno.test("discoverWindow requests only the model list of a remote server", async () => {
  const asked: string[] = [];
  const { discoverWindow } = await loadWindow();
  const found = await discoverWindow({
    entry: parseProvider({ name: "p", base_url: "https://api.example.com/v1", headers: { "x-a": "b" } }),
    model: "m",
    apiKey: "k",
    fetch: (input, init) => {
      asked.push(`${input} ${new Headers(init?.headers).get("authorization")}`);
      return Promise.reject(new TypeError("offline"));
    },
  });
  assertEquals([found, asked], [undefined, ["https://api.example.com/v1/models Bearer k"]]);
});
