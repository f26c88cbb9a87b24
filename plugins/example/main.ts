/**
 * The reference plugin. `deno run plugins/example/main.ts` speaks over standard input and output, with
 * `--allow-net` and `--http 8931` over streamable HTTP. Clients of both protocol eras are answered.
 */
import { parseArgs } from "node:util";
import { stdin } from "node:process";
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createServer } from "./server.ts";

const HOST = "127.0.0.1";
const PATH = "/mcp";

/**
 * Serves until the client has gone (stdio) or until it is interrupted (HTTP on loopback; port 0 = any free
 * one, its address is the line on standard error). Throws `Deno.errors.AddrInUse` for a port in use.
 */
export async function serve(port?: number): Promise<void> {
  if (port === undefined) await serveInput();
  else await serveHttp(port);
}

async function serveInput(): Promise<void> {
  const closed = new Promise((resolve) => stdin.once("end", resolve).once("close", resolve));
  if (stdin.isTTY) say("Waits for a client on standard input; give it to one as a command");
  const connection = serveStdio(createServer);
  await closed;
  await connection.close();
}

async function serveHttp(port: number): Promise<void> {
  const handler = createMcpHandler(createServer);
  const server = Deno.serve({
    hostname: HOST,
    port,
    onListen: (address) => say(`Listening on http://${HOST}:${address.port}${PATH}`),
  }, (request) => {
    const rejected = hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (rejected !== undefined) return rejected;
    return new URL(request.url).pathname === PATH
      ? handler.fetch(request)
      : new Response(null, { status: 404 });
  });
  const stop = async () => {
    await handler.close();
    await server.shutdown();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  await server.finished;
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, stop);
}

/** Standard output belongs to the protocol. */
function say(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}

if (import.meta.main) {
  const { values: { http } } = parseArgs({ options: { http: { type: "string" } } });
  await serve(http === undefined ? undefined : Number(http));
}
