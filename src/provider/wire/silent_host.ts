import { message } from "../../core/mod.ts";
import { type Endpoint, nameOf, providerError, ProviderFailure } from "../errors.ts";
import type { Clock } from "../kind.ts";
import { attempt } from "../../util/lazy.ts";

const LIMIT_MS = 10_000;

/**
 * Looks at the connection itself while a reply is awaited for long: a model may think for minutes, but a
 * server that takes no connection, or says nothing where it should speak TLS, will never answer. Returns that
 * failure; undefined when a connection comes about, is refused, or leads through a proxy.
 */
export async function connectionSilence(
  url: string,
  endpoint: Endpoint,
  clock: Clock,
): Promise<ProviderFailure | undefined> {
  if (endpoint.proxy !== undefined) return undefined;
  const { protocol, hostname, port } = new URL(url);
  const secure = protocol === "https:";
  const address = { hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port || (secure ? 443 : 80)) };
  const connecting = Deno.connect(address);
  const tcp = await settled(connecting, clock);
  if (tcp === "failed") return undefined;
  if (tcp === "silent") connecting.then(closeQuietly, () => {});
  const problem = tcp === "silent"
    ? message`${nameOf(endpoint)} accepts no connection; check the network and base_url`
    : secure && await isMute(tcp, address.hostname, clock)
    ? message`${
      nameOf(endpoint)
    } accepts connections, but never begins TLS; check base_url, which may have to begin with http://`
    : undefined;
  if (tcp !== "silent") closeQuietly(tcp);
  if (problem === undefined) return undefined;
  return new ProviderFailure(providerError("connection", problem), true);
}

/** Reports whether the other side does not answer the TLS handshake. */
async function isMute(tcp: Deno.TcpConn, hostname: string, clock: Clock): Promise<boolean> {
  const tls = await Deno.startTls(tcp, { hostname });
  try {
    return await settled(tls.handshake(), clock) === "silent";
  } finally {
    tls.close();
  }
}

/** The result of the work, "failed" when it has none, "silent" when it takes too long. */
async function settled<T>(work: Promise<T>, clock: Clock): Promise<T | "failed" | "silent"> {
  const { promise: late, resolve } = Promise.withResolvers<"silent">();
  const cancel = clock.after(LIMIT_MS, () => resolve("silent"));
  const result = await Promise.race([work.catch(() => "failed" as const), late]);
  cancel();
  return result;
}

function closeQuietly(connection: Deno.Conn): void {
  attempt(() => connection.close());
}
