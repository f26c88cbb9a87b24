/**
 * Runs a program next to stand-ins for Ollama and LM Studio on their usual ports, and prints their requests
 * to standard error. Use it in a separate network, where it disturbs no other test.
 */
const asked: string[] = [];
const PAGES: Readonly<Record<string, unknown>> = {
  "11434 /v1/models": { data: [{ id: "qwen3:8b" }, { id: "llava:7b" }] },
  "11434 /api/ps": { models: [] },
  "11434 /api/show": { capabilities: ["completion", "vision"], model_info: { "x.context_length": 40_960 } },
  "1234 /v1/models": { data: [{ id: "gemma" }] },
  "1234 /api/v0/models": { data: [{ id: "gemma", type: "llm", loaded_context_length: 8192 }] },
};

for (const port of [11434, 1234]) {
  Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    asked.push(`${port} ${pathname}`);
    const page = PAGES[`${port} ${pathname}`];
    return page === undefined ? new Response("no such page", { status: 404 }) : Response.json(page);
  });
}
const [program = "", ...args] = Deno.args;
const { code } = await new Deno.Command(program, { args, stdin: "null" }).spawn().status;
const report = `asked: ${[...new Set(asked)].sort().join(", ") || "nothing"}\n`;
await Deno.stderr.write(new TextEncoder().encode(report));
Deno.exit(code);
