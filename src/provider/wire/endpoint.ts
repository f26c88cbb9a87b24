import { hasKeyCommand, isLoopback, type ProviderEntry } from "../../config/mod.ts";
import { message, ReasonixError } from "../../core/mod.ts";
import { readEnv } from "../../path/read_env.ts";
import type { Endpoint, ProxyOrigin } from "../errors.ts";
import type { Connection, KindOptions } from "../kind.ts";
import { type Fetch, proxyVariable, withinOrigin } from "../../util/network/fetch.ts";
import type { Network } from "../network/http_client.ts";
import { isOrdinaryText } from "../../util/redact.ts";

type Entry = KindOptions["entry"];

/**
 * The address of a path below the base URL. The query of the base URL is kept, which some gateways need;
 * `named` matches the end of a base URL that already names a path of the wire.
 */
export function endpointUrl(entry: Entry, path: string, named?: RegExp): string {
  const url = parseBase(entry);
  const base = url.pathname.replace(/\/+$/, "");
  url.pathname = (named ? base.replace(named, "") : base) + path;
  url.hash = "";
  return url.href;
}

export function endpointOf({ entry, model, apiKey }: KindOptions): Endpoint {
  const secrets = [apiKey ?? "", ...Object.values(entry.headers)].filter((text) =>
    text.length >= 6 && !isOrdinaryText(text)
  );
  return {
    provider: entry.name,
    host: parseBase(entry).host,
    model: model.id,
    keyName: entry.api_key_env,
    keyCommand: hasKeyCommand(entry),
    keyed: apiKey !== undefined && apiKey !== "",
    proxy: proxyOf(entry),
    secrets,
  };
}

/** Headers of every request, `own` those of the wire; what the user configured goes over all of them. */
export function requestHeaders(
  { entry, version }: KindOptions,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "user-agent": `reasonix/${version}`,
    ...own,
  };
  for (const [name, value] of Object.entries(entry.headers)) headers[name.toLowerCase()] = value;
  return headers;
}

/** The header with the key as OpenAI's wires send it; none without a key. */
export function bearer({ apiKey }: KindOptions): Record<string, string> {
  return apiKey ? { authorization: `Bearer ${apiKey}` } : {};
}

function parseBase(entry: Entry): URL {
  const base = URL.canParse(entry.base_url) ? new URL(entry.base_url) : undefined;
  if (base?.protocol === "http:" || base?.protocol === "https:") return base;
  throw new ReasonixError(
    message`Provider "${entry.name}" has no usable base_url: ${JSON.stringify(entry.base_url)}`,
    {
      exit: "config",
      remedy: message`set base_url to an address such as "https://api.example.com/v1"`,
    },
  );
}

/**
 * The way to the server as the entry wants it: its proxy and certificates, and a key that a command prints.
 * All requests to an endpoint take it, and it leads to no other origin.
 *
 * @throws {ReasonixError} (exit "config") for a setting that cannot be used
 */
export async function connect(entry: ProviderEntry, given: Connection): Promise<Connection> {
  const connection = { ...given, fetch: await networkFetch(entry, given.fetch) };
  if (!hasKeyCommand(entry)) return connection;
  return (await import("../network/command_key.ts")).withCommandKey(entry, connection);
}

/**
 * The same fetch with the proxy and the certificates of an entry. Most entries want nothing more, and nothing
 * is loaded then.
 *
 * @throws {ReasonixError} (exit "config") for a setting that cannot be used
 */
export async function networkFetch(entry: Network, base: Fetch): Promise<Fetch> {
  if (!wantsOwnClient(entry)) return withinOrigin(base);
  return withinOrigin(await (await import("../network/http_client.ts")).clientFetch(entry, base));
}

function proxyOf({ base_url, proxy }: Pick<Network, "base_url" | "proxy">): ProxyOrigin | undefined {
  if (proxy) return proxy === "none" ? undefined : { name: "proxy", url: proxy };
  const name = isLoopback(base_url) ? undefined : proxyVariable();
  return name === undefined ? undefined : { name, url: readEnv(name) ?? "" };
}

/** A proxy of the environment is meant for the servers out there. */
function wantsOwnClient({ base_url, proxy, ...files }: Network): boolean {
  return [proxy, files.ca_file, files.client_cert_file, files.client_key_file].some(Boolean) ||
    (isLoopback(base_url) && proxyVariable() !== undefined);
}
