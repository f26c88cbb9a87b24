/**
 * Replaces llama-server: accepts its flags, is "Loading model" for a while, and answers /health, /props, chat
 * completions as publicly documented. Its model file defines its behavior
 * after the magic bytes.
 */
import { contentType, type FakeModel, MAGIC } from "./fake_llama.ts";

/** Flags of llama-server that the program or tests use, and whether a value follows. */
const FLAGS: Readonly<Record<string, boolean>> = {
  "--model": true,
  "--model-draft": true,
  "--host": true,
  "--port": true,
  "--alias": true,
  "--api-key-file": true,
  "--ctx-size": true,
  "--no-webui": false,
  "--jinja": false,
  "--no-cache-prompt": false,
  "-ngl": true,
};

function log(line: string): void {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stderr.writeSync(bytes.subarray(at));
}

function parse(args: readonly string[], old: boolean): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const name = args[at] ?? "";
    const takesValue = FLAGS[name];
    if (takesValue === undefined || (old && name === "--no-webui")) {
      log(`error: invalid argument: ${name}`);
      Deno.exit(1);
    }
    found.set(name, takesValue ? args[++at] ?? "" : "");
  }
  return found;
}

const model: FakeModel = JSON.parse(
  Deno.readTextFileSync(Deno.args[Deno.args.indexOf("--model") + 1] ?? "").slice(MAGIC.length),
);
const flags = parse(Deno.args, model.old ?? false);
const value = (name: string) => flags.get(name) ?? "";
const key = Deno.readTextFileSync(value("--api-key-file")).trim();
const port = Number(value("--port"));
Deno.writeTextFileSync(`${value("--model")}.starts`, `${Deno.pid} ${port}\n`, { append: true });
Deno.writeTextFileSync(`${value("--model")}.env`, JSON.stringify([Deno.env.toObject(), Deno.args]));
const starts = Deno.readTextFileSync(`${value("--model")}.starts`).trim().split("\n").length;
log("build: 6123 (fake)");
if (model.takenPorts?.includes(port)) {
  log(`start: couldn't bind HTTP server socket, hostname: ${value("--host")}, port: ${port}`);
  Deno.exit(1);
}
const began = performance.now();
const isLoading = () => model.diesLoading !== undefined || performance.now() - began < (model.loadMs ?? 0);
if (model.diesLoading) {
  setTimeout(() => {
    log("llama_model_load: error loading model: missing tensor 'blk.0.attn_q.weight'");
    log("main: exiting due to model loading error");
    Deno.exit(1);
  }, model.diesLoading);
}
let requests = 0;

const error = (code: number, message: string, type: string) =>
  Response.json({ error: { code, message, type } }, { status: code });

function sse(events: readonly unknown[]): Response {
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + "data: [DONE]\n\n";
  return new Response(text, { headers: { "content-type": contentType } });
}

function delta(content: string): unknown {
  return {
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  };
}

async function complete(request: Request): Promise<Response> {
  requests++;
  const body = await request.text();
  log(`srv  log_server_r: request: POST ${new URL(request.url).pathname}`);
  if (model.noise) log("x".repeat(1023).concat("\n").repeat(model.noise * 1024));
  if (starts <= (model.crashingStarts ?? 0)) {
    const bytes = new TextEncoder().encode(`data: ${JSON.stringify(delta("lost"))}\n\n`);
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(bytes);
        setTimeout(() => {
          log("ggml-cuda.cu:75: CUDA error: out of memory");
          Deno.kill(Deno.pid, "SIGKILL");
        }, 50);
      },
    });
    return new Response(stream, { headers: { "content-type": contentType } });
  }
  if (model.redirect !== undefined) {
    const [status, origin] = model.redirect;
    return new Response(null, { status, headers: { location: origin + new URL(request.url).pathname } });
  }
  if (model.upstream !== undefined) {
    const response = await fetch(model.upstream + new URL(request.url).pathname.replace(/^\/v1/, ""), {
      method: "POST",
      body,
      headers: { "content-type": "application/json" },
    });
    return new Response(response.body, { status: response.status, headers: response.headers });
  }
  const usage = { prompt_tokens: 20, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 12 } };
  const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  return sse([delta(`Hello from ${port}, `), delta(`request ${requests}.`), end, { choices: [], usage }]);
}

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/health") {
    return isLoading() ? error(503, "Loading model", "unavailable_error") : Response.json({ status: "ok" });
  }
  if (request.headers.get("authorization") !== `Bearer ${key}`) {
    return error(401, "Invalid API Key", "authentication_error");
  }
  if (isLoading()) return error(503, "Loading model", "unavailable_error");
  if (pathname === "/props") {
    return Response.json({
      default_generation_settings: { n_ctx: Number(flags.get("--ctx-size") ?? model.window ?? 4096) },
      model_path: value("--model"),
    });
  }
  if (pathname.startsWith("/v1/")) return await complete(request);
  return error(404, "File Not Found", "not_found_error");
}

Deno.serve({
  // Only the test itself connects to it.
  hostname: value("--host") === "0.0.0.0" ? "127.0.0.1" : value("--host"),
  port,
  onListen() {},
  onError: () => error(500, "broken", "server_error"),
}, answer);
