import { hasKeyCommand } from "../../config/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import { isOrdinaryText } from "../../util/secret_look.ts";
import type { Endpoint } from "../failure.ts";
import type { KindOptions } from "../kind.ts";
import { proxyOf } from "../network/connection.ts";

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

function parseBase(entry: Entry): URL {
  const base = URL.canParse(entry.base_url) ? new URL(entry.base_url) : undefined;
  if (base?.protocol === "http:" || base?.protocol === "https:") return base;
  throw new ReasonixError(
    `Provider "${entry.name}" has no usable base_url: ${JSON.stringify(entry.base_url)}`,
    {
      exit: "config",
      remedy: 'set base_url to an address such as "https://api.example.com/v1"',
    },
  );
}
