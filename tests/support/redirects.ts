/** Two origins; the first redirects every request to the second. */
import { SENDERS } from "./connections.ts";

export const REDIRECTS = [301, 302, 303, 307, 308] as const;

export type Redirect = (typeof REDIRECTS)[number];

export interface TwoOrigins extends AsyncDisposable {
  /** Origin of the server that redirects. */
  readonly first: string;
  readonly port: number;
  /** Origin of the server that nothing may reach. */
  readonly second: string;
  /** Redirects that the first server gave, as method and path. */
  readonly redirected: string[];
  /** The connections to the second server, with their first bytes. */
  readonly reached: string[];
}

/** On Linux the whole of 127.0.0.0/8 is this machine; elsewhere the port alone makes the second origin. */
const SECOND_HOST = Deno.build.os === "linux" ? "127.0.0.2" : "127.0.0.1";

/** Starts both; `answer` returns an answer of the first one instead of its redirect. */
export function twoOrigins(
  status: Redirect,
  answer: (request: Request) => Response | undefined | Promise<Response | undefined> = () => undefined,
): TwoOrigins {
  const listener = Deno.listen({ hostname: SECOND_HOST, port: 0 });
  const reached: string[] = [];
  const redirected: string[] = [];
  const second = `http://${SECOND_HOST}:${listener.addr.port}`;
  const listening = (async () => {
    for await (const connection of listener) {
      const bytes = new Uint8Array(1024);
      const count = await connection.read(bytes).catch(() => null) ?? 0;
      reached.push(new TextDecoder().decode(bytes.subarray(0, count)));
      connection.close();
    }
  })();
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const server = Deno.serve(options, async (request) => {
    const { pathname, search } = new URL(request.url);
    const own = await answer(request);
    if (own !== undefined) return own;
    await request.body?.cancel();
    redirected.push(`${request.method} ${pathname}`);
    return new Response(null, { status, headers: { location: `${second}${pathname}${search}` } });
  });
  return {
    first: `http://127.0.0.1:${server.addr.port}`,
    port: server.addr.port,
    second,
    redirected,
    reached,
    async [Symbol.asyncDispose]() {
      listener.close();
      await Promise.all([server.shutdown(), listening]);
    },
  };
}

/** Files that send requests and that a kind of test has to redirect. */
export function sendersOf(tested: "program" | "functions"): string[] {
  return Object.keys(SENDERS).filter((path) => SENDERS[path] === tested);
}
