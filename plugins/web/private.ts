/**
 * Addresses that the web plugin does not connect to, and the same as ranges for the runtime.
 *
 * The program reads this file before the plugin starts: it imports nothing.
 */

/** A block of addresses, such as `10.0.0.0/8`. */
export interface AddressRange {
  readonly family: 4 | 6;
  readonly base: bigint;
  readonly prefix: number;
}

const BITS = { 4: 32, 6: 128 } as const;

/** IPv4 blocks of IANA's registry of special-purpose addresses, and multicast. */
const PRIVATE_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // The metadata service of Azure has an address of the public network.
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];

/** Everything else of IPv6 is private: unique local, link-local, multicast, loopback, unassigned. */
const GLOBAL_IPV6 = "2000::/3";
/** Blocks of it for protocols (Teredo, benchmarks), documentation and 6to4. */
const SPECIAL_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
/** The last 32 bits are an IPv4 address that the connection goes to: mapped, NAT64. */
const EMBEDDED_IPV4 = ["::ffff:0:0/96", "64:ff9b::/96"];
/** Single addresses of IPv6, since the runtime knows no ranges of it: loopback, any, metadata services. */
const REFUSED_IPV6 = ["::1", "::", "fd00:ec2::254", "fd20:ce::254"];

const read = new Map<string, AddressRange>();

/** A block of the tables above, read on first use: the start of the program pays for none. */
function known(text: string): AddressRange {
  const range = read.get(text) ?? parseRange(text);
  if (range === undefined) throw new TypeError(`${text} is not a range`);
  read.set(text, range);
  return range;
}

/** Reads an address or a range; undefined for other text, and for bits behind the prefix. */
export function parseRange(text: string): AddressRange | undefined {
  const [, address = "", length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const parsed = parseAddress(address);
  if (parsed === undefined) return undefined;
  const prefix = length === undefined ? parsed.prefix : Number(length);
  if (prefix > parsed.prefix) return undefined;
  const range = { ...parsed, prefix };
  return network(parsed.base, range) === parsed.base ? range : undefined;
}

/** An address in the spelling of resolvers and of `URL.hostname`, with or without brackets. */
export function parseAddress(text: string): AddressRange | undefined {
  const bare = text.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  if (/^(\d{1,3}\.){3}\d{1,3}$/.test(bare)) {
    const bytes = bare.split(".").map(Number);
    return bytes.some((byte) => byte > 255)
      ? undefined
      : { family: 4, base: bytes.reduce((value, byte) => value << 8n | BigInt(byte), 0n), prefix: 32 };
  }
  if (!bare.includes(":") || !URL.canParse(`http://[${bare}]/`)) return undefined;
  const [head = "", tail] = new URL(`http://[${bare}]/`).hostname.slice(1, -1).split("::");
  const groups = (part: string) => part === "" ? [] : part.split(":");
  const after = groups(tail ?? "");
  const before = groups(head);
  const zeros = new Array<string>(8 - before.length - after.length).fill("0");
  const base = [...before, ...zeros, ...after].reduce(
    (value, group) => value << 16n | BigInt(`0x${group}`),
    0n,
  );
  return { family: 6, base, prefix: 128 };
}

function network(address: bigint, { family, prefix }: AddressRange): bigint {
  const free = BigInt(BITS[family] - prefix);
  return address >> free << free;
}

/** Reports whether every address of `inner` is one of `outer`. */
export function contains(outer: AddressRange, inner: AddressRange): boolean {
  return outer.family === inner.family && outer.prefix <= inner.prefix &&
    network(inner.base, outer) === outer.base;
}

/** Reports whether a connection to this address stays refused; text that is no address is private. */
export function isPrivate(address: string, allowed: readonly AddressRange[]): boolean {
  const parsed = parseAddress(address);
  return parsed === undefined || isPrivateRange(parsed, allowed);
}

export function isAllowed(address: string, allowed: readonly AddressRange[]): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && allowed.some((range) => contains(range, parsed));
}

function isPrivateRange(address: AddressRange, allowed: readonly AddressRange[]): boolean {
  if (allowed.some((range) => contains(range, address))) return false;
  if (address.family === 4) return PRIVATE_IPV4.some((range) => contains(known(range), address));
  if (EMBEDDED_IPV4.some((range) => contains(known(range), address))) {
    return isPrivateRange({ family: 4, base: address.base & 0xffff_ffffn, prefix: 32 }, allowed);
  }
  return !contains(known(GLOBAL_IPV6), address) ||
    SPECIAL_IPV6.some((range) => contains(known(range), address));
}

/** What `--deny-net` gets: the private ranges of IPv4 without the allowed ones, and addresses of IPv6. */
export function deniedRanges(allowed: readonly AddressRange[]): string[] {
  const left = PRIVATE_IPV4.map(known).flatMap((range) =>
    allowed.reduce((parts, each) => parts.flatMap(without(each)), [range])
  );
  return [
    ...left.map(shownRange),
    ...REFUSED_IPV6.filter((address) => isPrivate(address, allowed)).map((address) => `[${address}]`),
  ];
}

/** The parts of a range that are outside of another one. */
function without(hole: AddressRange): (range: AddressRange) => AddressRange[] {
  return (range) => {
    if (contains(hole, range)) return [];
    if (!contains(range, hole)) return [range];
    const prefix = range.prefix + 1;
    const low = { ...range, prefix };
    const high = { ...low, base: range.base | 1n << BigInt(BITS[range.family] - prefix) };
    return [low, high].flatMap(without(hole));
  };
}

/** A range of IPv4, as the runtime reads it. */
export function shownRange({ base, prefix }: AddressRange): string {
  return `${[24n, 16n, 8n, 0n].map((shift) => base >> shift & 255n).join(".")}/${prefix}`;
}

/** Names that every resolver and proxy leads to this machine or its cloud. */
export function isLocalName(host: string): boolean {
  return /(^|\.)(localhost|local|internal)\.?$/i.test(host);
}
