import { hasKeyCommand, isLoopback, type ProviderEntry } from "../../config/mod.ts";
import { readEnv } from "../../path/read_env.ts";
import { withinOrigin } from "../../util/network/fetch.ts";
import { proxyVariable } from "../../util/network/failure.ts";
import type { ProxyOrigin } from "../failure.ts";
import type { Connection } from "../kind.ts";

type Network = Pick<ProviderEntry, "base_url" | "proxy" | "ca_file" | "client_cert_file" | "client_key_file">;

/**
 * The way to the server as the entry wants it: its proxy and certificates, and a key that a command prints.
 * All requests to an endpoint take it, and it leads to no other origin. Most entries want nothing more, and
 * nothing is loaded then.
 *
 * @throws {ReasonixError} (exit "config") for a setting that cannot be used
 */
export async function connect(entry: ProviderEntry, given: Connection): Promise<Connection> {
  const send = wantsOwnClient(entry)
    ? await (await import("./http_client.ts")).clientFetch(entry, given.fetch)
    : given.fetch;
  const connection = { ...given, fetch: withinOrigin(send) };
  if (!hasKeyCommand(entry)) return connection;
  return (await import("./command_key.ts")).withCommandKey(entry, connection);
}

/** Returns the proxy that leads to the server of an entry. */
export function proxyOf({ base_url, proxy }: Pick<Network, "base_url" | "proxy">): ProxyOrigin | undefined {
  if (proxy) return proxy === "none" ? undefined : { name: "proxy", url: proxy };
  const name = isLoopback(base_url) ? undefined : proxyVariable();
  return name === undefined ? undefined : { name, url: readEnv(name) ?? "" };
}

/** A proxy of the environment is meant for the servers out there. */
function wantsOwnClient({ base_url, proxy, ...files }: Network): boolean {
  return [proxy, files.ca_file, files.client_cert_file, files.client_key_file].some(Boolean) ||
    (isLoopback(base_url) && proxyVariable() !== undefined);
}
