/** Rules about addresses: `WebFetch(domain:HOST)` and globs such as `WebFetch(https://HOST/docs/*)`. */
import { type Match, matchPattern, toPattern } from "./pattern.ts";
import type { RuleList } from "./path_rules.ts";

/** The parts of an address that rules are compared with. Ports, fragments and credentials count for none. */
interface Address {
  readonly scheme: string;
  /** Lower case and ASCII, without a dot at its end. */
  readonly host: string;
  /** Path and query; escapes of letters, digits, `-`, `.`, `_` and `~` are replaced. */
  readonly rest: string;
}

/** The content of the parentheses of a rule; a host may have `*`. `rest` is absent for a domain. */
type AddressPattern = Omit<Address, "rest"> & { readonly rest?: string };

/** Reads what a rule for WebFetch names; undefined for a text that names neither a domain nor an address. */
export function readAddressPattern(raw: string): AddressPattern | undefined {
  const domain = /^domain:(.*)$/is.exec(raw)?.[1];
  if (domain !== undefined) {
    const host = hostPattern(domain.trim());
    return host === undefined ? undefined : { scheme: "*", host };
  }
  const [, scheme = "", authority = "", rest = ""] =
    /^([a-z*][a-z\d+.*-]*):\/\/([^/?#]*)([^#]*)/is.exec(raw) ?? [];
  const host = hostPattern(authority);
  if (host === undefined) return undefined;
  const open = rest === "" && host.endsWith("*");
  return { scheme: scheme.toLowerCase(), host, rest: open ? "*" : unescaped(rest === "" ? "/" : rest) };
}

/** A host as addresses have it, where it has no `*`; undefined for what no host can be. */
function hostPattern(written: string): string | undefined {
  const text = written.replace(/:\d*$/, "");
  if (text === "" || /[\s/?#@\\]/.test(text)) return undefined;
  const [, open = "", name = ""] = /^(\*?\.?)(.*)$/s.exec(text) ?? [];
  if (name === "") return open.startsWith("*") ? "*" : undefined;
  if (name.includes("*")) return text.toLowerCase().replace(/\.+$/, "");
  const host = asciiHost(name);
  return host === undefined ? undefined : open + host;
}

function asciiHost(name: string): string | undefined {
  const url = URL.parse(`https://${name}/`);
  const host = url?.hostname.replace(/\.+$/, "");
  return url?.pathname === "/" && host !== "" ? host : undefined;
}

/**
 * Compares an address, as the model wrote it, with what a rule names. An allowance needs a web address
 * without credentials; a refusal also holds for other schemes, for an address without a scheme, and may hold
 * for one that servers could read in different ways.
 */
export function matchAddress(raw: string, list: RuleList, written: string): Match {
  const pattern = readAddressPattern(raw);
  if (!pattern) return "no";
  const url = URL.parse(written);
  if (list === "allow") return isPlainWeb(url) && names(pattern, addressOf(url)) ? "yes" : "no";
  const readings = [url, url?.host ? null : URL.parse(`https://${written}`)].filter((each) => each !== null);
  if (readings.some((each) => names(pattern, addressOf(each)))) return "yes";
  const authority = /^[^:/?#]*:?[/\\]*([^/?#]*)/.exec(written.trim())?.[1] ?? "";
  // deno-lint-ignore no-control-regex
  return readings.length === 0 || /[\\@%\s\x00-\x1f]/.test(authority) ? "maybe" : "no";
}

function isPlainWeb(url: URL | null): url is URL {
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

function addressOf(url: URL): Address {
  return {
    scheme: url.protocol.slice(0, -1),
    host: asciiHost(url.hostname) ?? url.hostname.toLowerCase(),
    rest: unescaped(url.pathname + url.search),
  };
}

function unescaped(text: string): string {
  return text.replace(/%(2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi, (whole, code: string) => {
    const char = String.fromCharCode(parseInt(code, 16));
    return /[\w.~-]/.test(char) ? char : whole;
  });
}

function names(pattern: AddressPattern, { scheme, host, rest }: Address): boolean {
  const fits = (part: string, text: string) => matchPattern(toPattern(part), text) === "yes";
  return fits(pattern.scheme, scheme) && fits(pattern.host, host) &&
    (pattern.rest === undefined || fits(pattern.rest, rest));
}

/** The host of a web address, by which rules name it; undefined for another one. */
export function webHost(written: string): string | undefined {
  const url = URL.parse(written);
  return isPlainWeb(url) ? addressOf(url).host || undefined : undefined;
}
