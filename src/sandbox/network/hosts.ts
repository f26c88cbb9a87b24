import { message, ReasonixError } from "../../core/mod.ts";
import { attempt } from "../../util/lazy.ts";

/** One entry of `[sandbox] network_hosts`. */
interface HostRule {
  readonly host: string;
  /** `*.host`: everything below, not the host itself. `*` alone is every host. */
  readonly wildcard: boolean;
  readonly port: number | undefined;
  readonly literal: boolean;
}

const WEB_PORTS = [80, 443];

export interface Destination {
  readonly host: string;
  readonly port: number;
}

/** `"any"`: may lead to private addresses too; `"public"`: only to addresses of the open internet. */
export type HostDecision = "refused" | "private" | "public" | "any";

const V4 = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * The form in which hosts are compared: lower case, ASCII, no final dot, numbers as dotted address. Undefined
 * when it is not a host.
 */
export function normalizeHost(host: string): string | undefined {
  const bare = host.startsWith("[") ? host : host.includes(":") ? `[${host}]` : host;
  if (!/^[^\s/?#@\\%]+$/.test(bare)) return undefined;
  return attempt(() =>
    new URL(`http://${bare}/`).hostname.replace(/\.$/, "").replace(/^\[|\]$/g, "") || undefined
  );
}

function parseRule(entry: string): HostRule {
  const match = /^(\*\.)?(\*|\[[0-9a-fA-F:.]+\]|[^:*\s/]+)(?::(\d{1,5}))?$/.exec(entry.trim());
  const host = match?.[2] === "*" ? "*" : normalizeHost(match?.[2] ?? "");
  if (!match || host === undefined || (match[1] !== undefined && host === "*")) {
    throw new ReasonixError(
      message`Cannot use ${JSON.stringify(entry)} in [sandbox] network_hosts: it is not a host`,
      {
        exit: "config",
        remedy: message`write entries like "example.com", "*.example.com" or "example.com:8443"`,
      },
    );
  }
  return {
    host,
    wildcard: match[1] !== undefined || host === "*",
    port: match[3] === undefined ? undefined : Number(match[3]),
    literal: V4.test(host) || host.includes(":") || host === "localhost",
  };
}

function matches(rule: HostRule, { host, port }: Destination): boolean {
  if (rule.port === undefined ? !WEB_PORTS.includes(port) : rule.port !== port) return false;
  if (!rule.wildcard) return rule.host === host;
  if (V4.test(host) || host.includes(":")) return false;
  return rule.host === "*" || host.endsWith(`.${rule.host}`);
}

export class HostList {
  readonly #rules: readonly HostRule[];

  constructor(entries: readonly string[]) {
    this.#rules = entries.map(parseRule);
  }

  /**
   * Others may control the addresses of a name: a wildcard leads only to public addresses, a plain name also
   * to private ones; loopback has to be listed.
   */
  judge(destination: Destination): HostDecision {
    const found = this.#rules.filter((rule) => matches(rule, destination));
    if (found.some((rule) => rule.literal)) return "any";
    if (found.some((rule) => !rule.wildcard)) return "private";
    return found.length > 0 ? "public" : "refused";
  }
}

function inRange(address: string, ranges: readonly RegExp[]): boolean {
  return ranges.some((range) => range.test(address));
}

/** Loopback, link-local, unspecified, multicast, and where clouds keep their metadata. */
const NEVER = [
  /^127\./,
  /^169\.254\./,
  /^0\./,
  /^(?:22[4-9]|2[3-5]\d)\./,
  /^192\.0\.0\./,
  /^168\.63\.129\.16$/,
  /^100\.100\.100\.200$/,
  /^::1?$/,
  /^fe[89ab]/,
  /^ff/,
  /^fd00:ec2:/,
];
const PRIVATE = [
  /^10\./,
  /^192\.168\./,
  /^172\.(?:1[6-9]|2\d|3[01])\./,
  /^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./,
  /^198\.1[89]\./,
  /^f[cd]/,
  /^fe[c-f]/,
];
/**
 * Prefixes of IPv6 addresses that contain an IPv4 one: mapped, compatible, translated (RFC 6052, 8215), 6to4
 * (RFC 3056).
 */
const EMBEDDING =
  /^(?:::(?:ffff:(?:0:)?)?|64:ff9b:(?::|1:.*?:?))([0-9a-f]{1,4}):([0-9a-f]{1,4})$|^2002:([0-9a-f]{1,4}):([0-9a-f]{0,4})(?::|$)/;

function embedded(address: string): string | undefined {
  const [, a, b, c, d] = EMBEDDING.exec(address) ?? [];
  const [high, low] = [a ?? c, b ?? d];
  if (high === undefined || low === undefined) return undefined;
  const [x, y] = [Number(`0x${high}`), Number(`0x${low || 0}`)];
  return [x >> 8, x & 255, y >> 8, y & 255].join(".");
}

export function coversAddress(decision: HostDecision, address: string): boolean {
  if (decision === "any") return true;
  const plain = normalizeHost(address.toLowerCase().replace(/%.*$/, ""));
  if (decision === "refused" || plain === undefined) return false;
  const forms = [plain, embedded(plain) ?? plain];
  if (forms.some((form) => inRange(form, NEVER))) return false;
  return decision === "private" || !forms.some((form) => inRange(form, PRIVATE));
}
