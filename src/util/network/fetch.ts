import { errorMessage, type LocalizedMessage, message } from "../../core/mod.ts";
import { readEnv } from "../../path/read_env.ts";

/** Sends a request as the global `fetch` does, with the client of an entry where there is one. */
export type Fetch = (
  url: string | URL,
  init?: RequestInit & { readonly client?: Deno.HttpClient },
) => Promise<Response>;

/** A redirect to another server. */
export class RedirectError extends Error {
  override readonly name = "RedirectError";
  readonly status: number;
  /** The status of the answer, such as `302 Found`. */
  readonly answer: string;

  /** `from` and `to` are addresses without credentials, query and fragment. */
  constructor(readonly from: string, readonly to: string, { status, statusText }: Response) {
    const answer = `${status} ${statusText}`.trim();
    super(`${from} leads to ${to} (${answer}), which is not followed`);
    this.status = status;
    this.answer = answer;
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_HOPS = 5;

/**
 * Sends requests only to the origin that they name. A redirect there, or to the https form of the same
 * address, gets the same method, headers and body. Others, and the sixth in a row, are a RedirectError: keys
 * may be in any header, and conversations in bodies.
 */
export function withinOrigin(send: Fetch): Fetch {
  return async (url, init) => {
    if (init?.redirect === "manual") return await send(url, init);
    let from = url;
    for (let hops = 0;; hops++) {
      const response = await send(from, { ...init, redirect: "manual" });
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null) return response;
      await response.body?.cancel();
      const base = new URL(from);
      const to = URL.parse(location, base);
      if (to === null || hops === MAX_HOPS || !staysWithin(base, to)) {
        throw new RedirectError(shown(base), to === null ? "no address" : shown(to), response);
      }
      from = to;
    }
  };
}

/** The fetch of the program. Nothing else of it may send a request (tests/house). */
export const programFetch: Fetch = withinOrigin((url, init) => fetch(url, init));

export function isSameServer(from: URL, to: URL): boolean {
  if (to.origin === from.origin) return true;
  const isUpgrade = from.protocol === "http:" && to.protocol === "https:";
  return isUpgrade && to.hostname === from.hostname && from.port === "" && to.port === "";
}

function staysWithin(from: URL, to: URL): boolean {
  const logsIn = to.username !== "" || to.password !== "";
  const same = to.username === from.username && to.password === from.password;
  return isSameServer(from, to) && (!logsIn || same);
}

function shown({ protocol, origin, pathname }: URL): string {
  return protocol === "http:" || protocol === "https:" ? `${origin}${pathname}` : protocol;
}

interface NetworkFailure {
  readonly detail: string;
  /** The name has no address; `detail` adds nothing. */
  readonly unknownName: boolean;
  readonly remedy?: LocalizedMessage;
}

const PROXIES = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"].flatMap((name) => [name, name.toLowerCase()]);

export function proxyVariable(): string | undefined {
  return PROXIES.find((name) => readEnv(name) !== undefined);
}

/** Explains that requests to this machine go through a proxy, which is unexpected; undefined without one. */
export function proxyHint(host: string): LocalizedMessage | undefined {
  const variable = proxyVariable();
  if (variable === undefined) return undefined;
  const name = host.replace(/:\d+$/, "");
  return message`${variable} is set: put ${name} into NO_PROXY if it needs no proxy`;
}

const NO_ADDRESS = /dns error|failed to lookup address|name or service not known|no such host is known/i;

/** Failures that a repetition cannot change, by what the runtime says, and what can. */
const LASTING: readonly (readonly [detail: RegExp, remedy: (setting: string) => LocalizedMessage])[] = [
  [/opening CA file/i, () => {
    const file = readEnv("DENO_CERT") ?? "";
    return message`DENO_CERT names a file that cannot be read: ${file}`;
  }],
  [
    /CaUsedAsEndEntity/,
    (setting) => {
      const holder = setting === "base_url" ? message`ca_file of this provider` : "DENO_CERT";
      return message`its certificate is one of an authority (CA:TRUE), which no server may use: create it again with openssl req -x509 -addext basicConstraints=critical,CA:FALSE …, and name its file in ${holder}`;
    },
  ],
  [
    /alert: (?:CertificateRequired|AccessDenied|BadCertificate|UnknownCA)/,
    (setting) =>
      setting === "base_url"
        ? message`it requires a client certificate: set client_cert_file and client_key_file of this provider to one it knows`
        : message`it requires a client certificate, which cannot be given here`,
  ],
  [/certificate|UnknownIssuer|NotValidForName/i, certificateAdvice],
  [
    /InvalidContentType/,
    (setting) =>
      message`the server does not speak TLS there: check ${setting}, which may have to begin with http://`,
  ],
  [
    /invalid HTTP version/i,
    (setting) =>
      message`the server does not speak HTTP there: check ${setting}, which may have to begin with https://`,
  ],
  [
    /Unsupported scheme|Invalid URL|Requests to port \d+ are blocked/i,
    (setting) => message`check ${setting}`,
  ],
];

/** Reads what `fetch` threw; `setting` is the name of the one that holds the address. */
export function networkFailure(thrown: unknown, setting: string): NetworkFailure {
  const all = innermost(thrown);
  const detail = all.replace(/^error sending request(?: from \S+)? for (?:url )?\S+(?: \([^)]*\))?:? ?/, "")
    .replace(/^client error \(\w+\):? ?/, "");
  const remedy = LASTING.find(([pattern]) => pattern.test(all))?.[1](setting);
  return { detail, unknownName: NO_ADDRESS.test(all), ...(remedy === undefined ? {} : { remedy }) };
}

function certificateAdvice(setting: string): LocalizedMessage {
  if (setting === "base_url") {
    return message`if you trust it, name the file of its certificate authority in ca_file of this provider, or set DENO_TLS_CA_STORE=system to use the authorities of this machine`;
  }
  return readEnv("SSL_CERT_FILE") === undefined
    ? message`if you trust it, name the file of its certificate authority in DENO_CERT, or set DENO_TLS_CA_STORE=system to use the authorities of this machine`
    : message`if you trust it, name the file of its certificate authority in DENO_CERT (SSL_CERT_FILE is read only with DENO_TLS_CA_STORE=system), or set DENO_TLS_CA_STORE=system to use the authorities of this machine`;
}

/** The runtime says only that fetching failed; why is in the cause. */
function innermost(thrown: unknown): string {
  let error = thrown;
  while (error instanceof Error && error.cause instanceof Error) error = error.cause;
  return errorMessage(error);
}
