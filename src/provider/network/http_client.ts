import { isLoopback, type ProviderEntry } from "../../config/mod.ts";
import { errorMessage, message, ReasonixError, type Text } from "../../core/mod.ts";
import { learnSecret } from "../../util/redact.ts";
import { type Fetch, proxyVariable } from "../../util/network/fetch.ts";
import { attempt } from "../../util/lazy.ts";

type Setting = "proxy" | "ca_file" | "client_cert_file" | "client_key_file";

/** A server with the settings of its connection: those of a provider, or variables with the same meaning. */
export type Network =
  & Pick<ProviderEntry, Setting | "base_url">
  & (Pick<ProviderEntry, "name"> | { readonly variables: Readonly<Partial<Record<Setting, string>>> });

type ClientOptions = Deno.CreateHttpClientOptions & Partial<Deno.TlsCertifiedKeyPem>;

/** Clients of this process: a new provider for the same server reuses its connections. */
const clients = new Map<string, Deno.HttpClient>();

/**
 * The same fetch with the proxy and the certificates of the entry.
 *
 * @throws {ReasonixError} (exit "config") that names the setting which cannot be used
 */
export async function clientFetch(entry: Network, base: Fetch): Promise<Fetch> {
  const url = proxyUrl(entry);
  const options: ClientOptions = {
    ...await authorities(entry),
    ...await ownCertificate(entry),
    ...(url === undefined ? {} : { proxy: { url } }),
  };
  const direct = entry.proxy === "none" || (!entry.proxy && isLoopback(entry.base_url));
  const exempt = direct ? EVERY_HOST : url === undefined ? undefined : "";
  const id = JSON.stringify([options, exempt]);
  const client = clients.get(id) ?? createClient(entry, options, exempt);
  clients.set(id, client);
  return (input, init) => base(input, { ...init, client });
}

/** A single `*` is not taken for addresses in numbers. */
const EVERY_HOST = "*,0.0.0.0/0,::/0";
const EXEMPTIONS = ["NO_PROXY", "no_proxy"] as const;

/**
 * Makes a client. The runtime takes the hosts that need no proxy from the environment while it makes one, and
 * lets them go before a proxy that it is given; so `exempt` is set for that moment, in which nothing
 * else runs.
 */
function createClient(entry: Network, options: ClientOptions, exempt: string | undefined): Deno.HttpClient {
  if (exempt === undefined || (exempt === EVERY_HOST && proxyVariable() === undefined)) {
    return tryClient(entry, options);
  }
  const before = EXEMPTIONS.map((name) => [name, Deno.env.get(name)] as const);
  try {
    for (const name of EXEMPTIONS) Deno.env.set(name, exempt);
    return tryClient(entry, options);
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
}

function tryClient(entry: Network, options: ClientOptions): Deno.HttpClient {
  try {
    return Deno.createHttpClient(options);
  } catch (error) {
    const detail = errorMessage(error);
    if (/proxy/i.test(detail)) throw badProxy(entry);
    if (/KeyMismatch/.test(detail)) {
      throw unusable(
        entry,
        "client_key_file",
        message`it is not the key of client_cert_file`,
        message`name a certificate and its key`,
      );
    }
    const { cert: _, key: __, ...rest } = options;
    const isOwn = options.cert !== undefined && isUsable(rest);
    const setting = !isOwn
      ? "ca_file"
      : /private key|No keys/i.test(detail)
      ? "client_key_file"
      : "client_cert_file";
    throw unusable(entry, setting, detail, message`name a file in PEM format that openssl can read`);
  }
}

/** Reports whether these options work, to find the broken file. */
function isUsable(options: ClientOptions): boolean {
  try {
    Deno.createHttpClient(options).close();
    return true;
  } catch {
    return false;
  }
}

const PROXY_SCHEMES = ["http:", "https:", "socks5:", "socks5h:"];

function proxyUrl(entry: Network): string | undefined {
  if (!entry.proxy || entry.proxy === "none") return undefined;
  const url = URL.parse(entry.proxy);
  if (!url || !PROXY_SCHEMES.includes(url.protocol) || url.hostname === "") throw badProxy(entry);
  const { password } = url;
  for (const secret of [password, attempt(() => decodeURIComponent(password)) ?? password]) {
    learnSecret(secret);
  }
  return url.href;
}

/** The message omits the value: a user and a password may be in it. */
function badProxy(entry: Network): ReasonixError {
  return unusable(
    entry,
    "proxy",
    message`it is not the address of a proxy`,
    message`write for example proxy = "http://proxy.example.com:3128", or "none"`,
  );
}

async function authorities(entry: Network): Promise<Pick<ClientOptions, "caCerts">> {
  return entry.ca_file ? { caCerts: [await readCertificate(entry, "ca_file")] } : {};
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----/;
const PRIVATE_KEY = /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----/;
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

async function readCertificate(entry: Network, setting: "ca_file" | "client_cert_file"): Promise<string> {
  const text = await readPem(entry, setting);
  if (CERTIFICATE.test(text)) return text;
  const remedy = message`name a file in PEM format, which has a line -----BEGIN CERTIFICATE-----`;
  throw unusable(entry, setting, message`it contains no certificate`, remedy);
}

async function ownCertificate(entry: Network): Promise<Pick<ClientOptions, "cert" | "key">> {
  const { client_cert_file: certFile, client_key_file: keyFile } = entry;
  if (!certFile && !keyFile) return {};
  if (!certFile || !keyFile) {
    const [there, missing] = !certFile
      ? ["client_key_file", "client_cert_file"] as const
      : ["client_cert_file", "client_key_file"] as const;
    throw unusable(entry, there, message`${missing} is missing`, message`set ${missing} too`);
  }
  const cert = await readCertificate(entry, "client_cert_file");
  const key = await readPem(entry, "client_key_file");
  if (ENCRYPTED.test(key)) {
    const remedy = message`write it without one: openssl pkey -in … -out …, readable only by you`;
    throw unusable(entry, "client_key_file", message`its key is protected by a passphrase`, remedy);
  }
  if (PRIVATE_KEY.test(key)) return { cert, key };
  const remedy = message`name a file in PEM format, which has a line -----BEGIN PRIVATE KEY-----`;
  throw unusable(entry, "client_key_file", message`it contains no key`, remedy);
}

async function readPem(entry: Network, setting: Exclude<Setting, "proxy">): Promise<string> {
  try {
    return await Deno.readTextFile(entry[setting]);
  } catch (error) {
    const detail = error instanceof Deno.errors.NotFound
      ? message`there is no such file`
      : error instanceof Deno.errors.PermissionDenied
      ? message`it cannot be read`
      : errorMessage(error);
    throw unusable(entry, setting, detail, message`correct the path, or remove the setting`);
  }
}

function unusable(entry: Network, setting: Setting, why: Text, remedy: Text): ReasonixError {
  const value = setting === "proxy" ? "" : ` ${JSON.stringify(entry[setting])}`;
  const text = "name" in entry
    ? message`Cannot use ${setting}${value} of provider "${entry.name}": ${why}`
    : message`Cannot use ${entry.variables[setting] ?? setting}${value}: ${why}`;
  return new ReasonixError(text, { exit: "config", setting, remedy });
}
