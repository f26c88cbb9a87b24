/** Access to the web page: checks of requests, links that count once, secrets of browsers, passwords. */
import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { networkInterfaces } from "node:os";
import process from "node:process";
import * as z from "zod/mini";
import { isLoopback } from "../../config/mod.ts";
import { message, ReasonixError, type Text, usageError } from "../../core/mod.ts";
import { readSmallText } from "../../path/probe.ts";
import { saveFile } from "../../util/atomic_write.ts";
import { parseJson } from "../../util/json.ts";
import type { ApiAnswer, ApiRequest, Role } from "./schemas.ts";

/** A request that is answered with an error status. */
export class Refusal extends ReasonixError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: Text, remedy?: Text, headers: Readonly<Record<string, string>> = {}) {
    super(message, remedy === undefined ? {} : { remedy });
    [this.status, this.headers] = [status, headers];
  }
}

/** The addresses of a server, and the sign-in. */
export interface AccessOptions {
  /** It listens here. `orNext`: at the next free port, beginning with this one. */
  readonly address: { readonly hostname: string; readonly port: number; readonly orNext?: boolean };
  /** Certificate and key as PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** The public address, such as `https://agent.example.org`. */
  readonly origin?: string | undefined;
  /** Headers of a proxy count: `X-Forwarded-For`, `-Host` and `-Proto`. */
  readonly behindProxy?: boolean;
  /** `token`: a fixed one of the owner, for scripts. */
  readonly auth: {
    readonly mode: "token" | "none" | "password";
    readonly token?: string | undefined;
    readonly passwordHash?: string | undefined;
  };
  /** Hours without use after which a browser has to sign in again. */
  readonly sessionHours: number;
  /** Called when a link was used. */
  readonly signedIn?: (role: Role, from: string) => void;
}

type Signing = Pick<AccessOptions, "auth" | "sessionHours" | "signedIn">;
type Addresses = Pick<AccessOptions, "address" | "tls" | "origin" | "behindProxy">;

/** A name or an address as URLs contain it. */
export function inUrl(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/** A header of the proxy next to this server, which has added the last value. */
export function forwarded(
  { headers }: Request,
  { behindProxy = false }: Addresses,
  name: "for" | "host" | "proto",
): string | undefined {
  return behindProxy ? headers.get(`x-forwarded-${name}`)?.split(",").at(-1)?.trim() || undefined : undefined;
}

/**
 * Refuses requests for other names than ours, and requests that pages of other origins have caused. A name
 * that someone else controls could lead a browser to this server (DNS rebinding); addresses cannot.
 */
export function checkOrigin(request: Request, url: URL, addresses: Addresses): void {
  const { headers, method } = request;
  const given = forwarded(request, addresses, "host") ?? headers.get("host") ?? url.host;
  const isTls = addresses.tls !== undefined || forwarded(request, addresses, "proto") === "https";
  const host = HOST.test(given) ? URL.parse(`${isTls ? "https" : "http"}://${given}`) : null;
  const known = URL.parse(addresses.origin ?? "");
  const ours = host && (known?.host === host.host ? known : isOurs(host, addresses) ? host : undefined);
  if (!ours) {
    throw new Refusal(
      421,
      message`Cannot answer for the host "${given}": it is not an address of this server`,
      message`use the address that the server has printed, or set serve.origin to its public address`,
    );
  }
  if (headers.has("upgrade")) {
    throw new Refusal(400, message`Cannot change the protocol to "${headers.get("upgrade") ?? ""}"`);
  }
  const isPage = /^(?:GET|HEAD)$/.test(method) && !url.pathname.startsWith("/api/");
  const [from, site] = [headers.get("origin"), headers.get("sec-fetch-site") ?? "none"];
  if (isPage || /^(?:same-origin|none)$/.test(site) && (from ?? ours.origin) === ours.origin) return;
  throw new Refusal(
    403,
    message`Cannot answer a request of another page (${from ?? site})`,
    addresses.behindProxy ? message`behind a proxy, set serve.origin to the public address` : undefined,
  );
}

const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

function isOurs({ href, hostname }: URL, { address }: Addresses): boolean {
  if (isLoopback(href) || hostname === inUrl(address.hostname).toLowerCase()) return true;
  return Object.values(networkInterfaces()).flat().some((own) => own && inUrl(own.address) === hostname);
}

/** A browser or a script that has signed in. */
export interface Visitor {
  readonly role: Role;
  /** Aborted when it has signed out. */
  readonly signal?: AbortSignal;
  /** Called while it reads a stream, which counts as use. The returned function ends that. */
  readonly reads: () => () => void;
}

const SCRIPT: Visitor = { role: "owner", reads: () => () => {} };

/** Only the hash of a secret is kept. */
interface Link {
  readonly hash: Uint8Array;
  readonly role: Role;
}

/** A secret of a browser. */
interface Secret extends Link {
  /** Time of the last use in ms. */
  used: number;
  readers: number;
  readonly end: AbortController;
}

/** The file of the hashes, and the address that secrets are made for. */
interface Kept {
  readonly file: string;
  readonly at: string;
  readonly now?: () => number;
}

/** Most secrets of browsers, and most unused links; the oldest are dropped. */
const [MOST_SECRETS, MOST_LINKS] = [200, 50];
const MAX_PASSWORD_BYTES = 72;
const [SAVE_EVERY_MS, HOUR_MS] = [60_000, 3_600_000];
/** A secret or the code of a link: 32 random bytes. */
const MADE = /^[\w-]{43}$/;

const FILE = z.object({
  address: z.string(),
  secrets: z.array(z.object({ hash: z.string().check(z.regex(/^[\da-f]{64}$/)), used: z.number() })),
});

function hashOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

/** Compares all, so that the time says nothing about its position. */
function find<T extends Link>(all: readonly T[], text = ""): T | undefined {
  const hash = hashOf(text);
  return all.filter((each) => timingSafeEqual(each.hash, hash))[0];
}

function makeSecret(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toBase64({ alphabet: "base64url", omitPadding: true });
}

function secretOf(hash: Uint8Array, role: Role, used: number): Secret {
  return { hash, role, used, readers: 0, end: new AbortController() };
}

const bearerOf = ({ headers }: Request) => /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];

export class Access {
  readonly #options: Signing;
  readonly #kept: Kept;
  readonly #now: () => number;
  readonly #token: readonly Link[];
  #links: Link[] = [];
  #secrets: Secret[];
  readonly #tries: Tries;
  #checking: Promise<unknown> = Promise.resolve();
  #saving: Promise<void> = Promise.resolve();
  #saved: number;

  constructor(options: Signing, kept: Kept) {
    const [{ auth: { token, mode, passwordHash } }, { now = Date.now }] = [options, kept];
    if (mode === "password" && !/^\$2[aby]\$\d\d\$[./\w]{53}$/.test(passwordHash ?? "")) {
      throw usageError(
        message`Cannot use the password: serve.password_hash has no bcrypt hash`,
        message`print one with reasonix serve --hash-password --password PASSWORD, or give --password`,
      );
    }
    [this.#options, this.#kept, this.#now, this.#saved] = [options, kept, now, now()];
    this.#tries = new Tries(now);
    this.#token = token ? [{ hash: hashOf(token), role: "owner" }] : [];
    this.#secrets = readSecrets(kept);
  }

  /** Makes the code of a link, which signs in one browser. */
  code(role: Role): string {
    const code = makeSecret();
    this.#links = [...this.#links, { hash: hashOf(code), role }].slice(-MOST_LINKS);
    return code;
  }

  /** The visitor that a request names. Throws a Refusal where there is none. */
  visitor(request: Request, from: string): Visitor {
    if (this.#options.auth.mode === "none") return SCRIPT;
    const given = bearerOf(request);
    const secret = find(this.#secrets, given);
    if (secret && this.#isValid(secret)) return this.#uses(secret);
    const back = this.#tries.take(from, this.#token.length === 0 ? "" : given ?? "");
    if (!find(this.#token, given)) {
      const headers = { "www-authenticate": 'Bearer realm="Reasonix"' };
      throw new Refusal(401, message`Cannot answer without a sign-in`, undefined, headers);
    }
    back();
    return SCRIPT;
  }

  /** Exchanges the code of a link, the fixed token or the password for a secret. */
  async signIn(
    { token, password }: ApiRequest<"POST /sign-in">["body"],
    from: string,
  ): Promise<ApiAnswer<"POST /sign-in">> {
    const back = this.#tries.take(from, token ?? password ?? "");
    const link = find(this.#links, token);
    this.#links = this.#links.filter((each) => each !== link);
    const known = link ?? find(this.#token, token);
    const role = known?.role ?? (await this.#isPassword(password) ? "owner" : undefined);
    if (!role && password !== undefined) {
      throw new Refusal(401, message`Cannot sign in: the password is wrong`);
    }
    if (!role) {
      const why = message`Cannot sign in: the link was used before, or its server has ended`;
      throw new Refusal(401, why, message`use the newest link that the server has printed`);
    }
    back();
    const [secret, now] = [makeSecret(), this.#now()];
    const others = this.#secrets.filter((each) => this.#isValid(each)).sort((a, b) => b.used - a.used);
    this.#secrets = [secretOf(hashOf(secret), role, now), ...others].slice(0, MOST_SECRETS);
    await this.save();
    if (link) this.#options.signedIn?.(role, from);
    return { secret, role, expires: new Date(now + this.#options.sessionHours * HOUR_MS).toISOString() };
  }

  async signOut(request: Request): Promise<void> {
    const secret = find(this.#secrets, bearerOf(request));
    this.#secrets = this.#secrets.filter((each) => each !== secret);
    secret?.end.abort();
    await this.save();
  }

  /**
   * Secrets outlive the server, except those of viewers: a view ends with the server that shared it. The file
   * names the process while that serves.
   */
  save({ isClosed = false } = {}): Promise<void> {
    const { file, at: address } = this.#kept;
    this.#saved = this.#now();
    return this.#saving = this.#saving.catch(() => {}).then(async () => {
      const owners = this.#secrets.filter(({ role }) => role === "owner");
      const secrets = owners.map(({ hash, used }) => ({ hash: hash.toHex(), used }));
      const text = JSON.stringify({ address, ...(isClosed ? {} : { pid: process.pid }), secrets });
      await saveFile(file, `${text}\n`, { mode: 0o600, setMode: 0o600 });
    });
  }

  #isValid({ readers, used }: Secret): boolean {
    return readers > 0 || this.#now() - used < this.#options.sessionHours * HOUR_MS;
  }

  #uses(secret: Secret): Visitor {
    const use = () => {
      secret.used = this.#now();
      // The next use after a while tries again.
      if (secret.used - this.#saved >= SAVE_EVERY_MS) void this.save().catch(() => {});
    };
    use();
    const reads = () => {
      secret.readers++;
      return () => {
        secret.readers--;
        use();
      };
    };
    return { role: secret.role, signal: secret.end.signal, reads };
  }

  /** One at a time: a check takes a tenth of a second of the processor. */
  async #isPassword(password: string | undefined): Promise<boolean> {
    const { mode, passwordHash = "" } = this.#options.auth;
    if (password === undefined || mode !== "password" || Buffer.byteLength(password) > MAX_PASSWORD_BYTES) {
      return false;
    }
    const check = this.#checking.then(async () => (await import("bcryptjs")).compare(password, passwordHash));
    this.#checking = check.catch(() => {});
    return await check;
  }
}

/** The bcrypt hash of a password. Throws a ReasonixError (usage). */
export async function hashPassword(password: string): Promise<string> {
  const bytes = Buffer.byteLength(password);
  if (bytes > 0 && bytes <= MAX_PASSWORD_BYTES) return await (await import("bcryptjs")).hash(password, 12);
  throw usageError(
    message`Cannot hash a password of ${bytes} bytes: bcrypt takes 1 to ${MAX_PASSWORD_BYTES}`,
  );
}

/** The secrets that a server at the same address has left. */
function readSecrets({ file, at }: Kept): Secret[] {
  const { data } = FILE.safeParse(parseJson(readSmallText(file) ?? ""));
  const secrets = data?.address === at ? data.secrets : [];
  return secrets.map(({ hash, used }) => secretOf(Uint8Array.fromHex(hash), "owner", used));
}

/** Failed tries from one address and from all: at most `most` at once, then one per `ms`. */
const LIMITS = { one: { most: 5, ms: 60_000 }, all: { most: 50, ms: 6_000 } };

/** Bounds tries to sign in. One counts before its check, so that many at once are no way around. */
class Tries {
  readonly #now: () => number;
  /** When all of the tries are there again, in ms, by address; "" is for all. */
  readonly #full = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Takes a try for what a client gives. The returned function gives it back. Throws a Refusal where none is
   * left.
   */
  take(from: string, given: string): () => void {
    // 32 random bytes cannot be guessed, and an open page may repeat old ones.
    if (given === "" || MADE.test(given)) return () => {};
    // One client may have all addresses of a network of IPv6.
    const network = from.includes(".") ? from : from.split(":").slice(0, 4).join(":");
    const rows = [[network, LIMITS.one], ["", LIMITS.all]] as const;
    const now = this.#now();
    for (const [key, full] of this.#full) if (full <= now) this.#full.delete(key);
    const fullAt = (key: string) => this.#full.get(key) ?? now;
    const waits = rows.map(([key, { most, ms }]) => fullAt(key) - now - (most - 1) * ms);
    const seconds = Math.ceil(Math.max(...waits) / 1000);
    if (seconds > 0) {
      const [words, again] = [message`Cannot sign in: too many tries have failed`, `${seconds}`];
      throw new Refusal(429, words, message`try again in ${again} seconds`, { "retry-after": again });
    }
    const count = (sign: 1 | -1) =>
      rows.forEach(([key, { ms }]) => this.#full.set(key, fullAt(key) + sign * ms));
    count(1);
    return () => count(-1);
  }
}
