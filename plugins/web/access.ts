/**
 * Proxies of the environment, and what the process of the web plugin may reach.
 *
 * The program reads this file before the plugin starts: it imports nothing heavy.
 */
import { contains, deniedRanges, parseAddress, parseRange, shownRange } from "./private.ts";
import { searchKey } from "./search.ts";

type Environment = (name: string) => string | undefined;

const PROXY_VARIABLES = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"];
const VARIABLES = PROXY_VARIABLES.flatMap((name) => [name, name.toLowerCase()]);

/** The proxies of a process. */
export interface Proxies {
  /** Where one of the two is set, pages of both schemes go through it. */
  readonly https?: string;
  readonly http?: string;
  /** Hosts of NO_PROXY: names, suffixes, addresses, ranges. */
  readonly except: readonly string[];
}

export function proxiesOf(env: Environment): Proxies {
  const read = (...names: string[]) =>
    names.flatMap((name) => [env(name), env(name.toLowerCase())]).find(Boolean);
  const except = read("NO_PROXY")?.toLowerCase().split(",").map((each) => each.trim()).filter(Boolean) ?? [];
  const [https, http] = [["HTTPS_PROXY", "HTTP_PROXY"], ["HTTP_PROXY", "HTTPS_PROXY"]].map((
    [first = "", other = ""],
  ) => read(first, "ALL_PROXY", other)?.replace(/^(?!\w+:\/\/)/, "http://"));
  return https === undefined || http === undefined || except.includes("*")
    ? { except }
    : { https, http, except };
}

/** Reports whether NO_PROXY names this host. */
export function isExcepted(host: string, { except }: Proxies): boolean {
  const address = parseAddress(host);
  return except.some((entry) => {
    const [name = ""] = /^\[.*\]|^[^:]*$|^[^:]*(?=:\d+$)|^.*$/.exec(entry) ?? [];
    const range = parseRange(name);
    if (address || range) return address !== undefined && range !== undefined && contains(range, address);
    const suffix = name.replace(/^\*?\./, "");
    return host === suffix || host.endsWith(`.${suffix}`);
  });
}

/**
 * Without a proxy the process reaches everything but the denied ranges. Behind a proxy it reaches only the
 * proxy, the search server and the allowed ranges: whatever else there is, the proxy decides.
 */
export function processAccess(
  settings: Readonly<Record<string, unknown>>,
  env: Environment = () => undefined,
): { readonly net: true | string[]; readonly denyNet?: string[]; readonly env: string[] } {
  const { allow_private: ranges, searxng_url: server, search, key_env: key = searchKey(search) } = settings;
  const allowed = Array.isArray(ranges) ? ranges.flatMap((each) => parseRange(String(each)) ?? []) : [];
  const hosts = hostsOf(server);
  const proxies = proxiesOf(env);
  const variables = [...VARIABLES, ...(typeof key === "string" ? [key] : [])];
  if (proxies.http === undefined) {
    const addresses = hosts.flatMap((host) => parseRange(host) ?? []);
    return { net: true, denyNet: deniedRanges([...allowed, ...addresses]), env: variables };
  }
  const names = proxies.except.flatMap((entry) => {
    const name = entry.replace(/^\*?\./, "");
    return /^[a-z0-9_-][a-z0-9._-]*$/.test(name) && !parseAddress(name) ? [name, `*.${name}`] : [];
  });
  const reached = [
    ...[proxies.https, proxies.http, server].flatMap((url) => hostsOf(url, ":")),
    ...allowed.filter(({ family }) => family === 4).map(shownRange),
    ...names,
  ];
  return { net: [...new Set(reached)], env: variables };
}

/** The host of a URL, with its port where a separator is given; of `localhost` its addresses, too. */
function hostsOf(text: unknown, separator?: string): string[] {
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (url === null || url.hostname === "") return [];
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return [url.hostname, ...(url.hostname === "localhost" ? ["127.0.0.1", "[::1]"] : [])]
    .map((host) => separator === undefined ? host : `${host}${separator}${port}`);
}
