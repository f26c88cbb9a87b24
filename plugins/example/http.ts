/** The example plugin over streamable HTTP on loopback, for clients of both protocol eras. */
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServer,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { PluginError } from "../common/plugin.ts";

const HOST = "127.0.0.1";
const PATH = "/mcp";

/**
 * Serves until the process is interrupted. `say` gets the address when it listens: port 0 is any free one.
 * Throws PluginError for a port in use.
 */
export async function serveHttp(
  port: number,
  createServer: () => McpServer,
  say: (line: string) => void,
): Promise<void> {
  const handler = createMcpHandler(createServer);
  const server = listen(port, say, (request) => {
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

function listen(port: number, say: (line: string) => void, answer: Deno.ServeHandler): Deno.HttpServer {
  const onListen = (address: Deno.NetAddr) => say(`Listening on http://${HOST}:${address.port}${PATH}`);
  try {
    return Deno.serve({ hostname: HOST, port, onListen }, answer);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PluginError(
      `Cannot serve the plugin on port ${port}: ${reason}`,
      "choose another port, or 0 for any free one",
    );
  }
}
