import type { AuthorizationServerMetadata, AuthProvider, FetchLike } from "@modelcontextprotocol/client";
import { isLoopback } from "../../config/mod.ts";
import { errorMessage, type LocalizedMessage, message, ReasonixError, type Text } from "../../core/mod.ts";
import { hasOwnAuthorization } from "../failures.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { loadSdk } from "../transport/http.ts";
import { serverSpawner, type SpawnContext } from "../transport/stdio.ts";
import { writeFileAtomic } from "../../util/atomic_write.ts";
import { isRecord, parseJson, recordOf } from "../../util/json.ts";
import { FileLock } from "../../util/lock.ts";
import { helperOutput, shellCommand } from "../../util/process.ts";
import { learnSecret } from "../../util/redact.ts";
import { oneLine } from "../../util/terminal_text.ts";

/** The registration of this program at an authorization server. */
export interface ClientIdentity {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly token_endpoint_auth_method?: string;
}

export interface Tokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
}

/** The sign-in of one server at one authorization server. */
export interface SignIn {
  readonly server: string;
  /** The name that it had in the configuration. */
  readonly name?: string;
  /** The authorization server; nothing of this is ever shown to another one. */
  readonly issuer: string;
  /** Address of the description that names the authorization server. */
  readonly metadata?: string | undefined;
  readonly resource?: string | undefined;
  /** A client that was registered for this; absent: the configuration names one. */
  readonly client?: ClientIdentity | undefined;
  readonly redirect?: string;
  readonly tokens?: Tokens | undefined;
  /** Missing scopes that the server asked for. */
  readonly wanted?: string;
  /** RFC 3339. */
  readonly saved: string;
}

export function keptTokens({ access_token, token_type, refresh_token, scope }: Tokens): Tokens {
  return { access_token, token_type, refresh_token, scope };
}

/**
 * The sign-ins of MCP servers, in `<home>/mcp-auth.json` (0600). The tokens in it are secrets to every
 * redactor from the first read or write.
 *
 * Contract: a file that cannot be read is an error, never an empty one: nothing of it is overwritten.
 */
export class SignInStore {
  readonly path: string;

  constructor(home: string) {
    this.path = `${home}/mcp-auth.json`;
  }

  /** The sign-ins of a server, the latest first. */
  async of(server: string): Promise<readonly SignIn[]> {
    return (await this.#read()).filter((one) => one.server === server)
      .sort((a, b) => a.saved < b.saved ? 1 : a.saved > b.saved ? -1 : 0);
  }

  /** Addresses of the servers that had a name at their sign-in. */
  async named(name: string): Promise<readonly string[]> {
    return [...new Set((await this.#read()).filter((one) => one.name === name).map(({ server }) => server))];
  }

  /** Saves a sign-in, in place of one of the same server and authorization server. */
  async save(signIn: Omit<SignIn, "saved">): Promise<SignIn> {
    const saved: SignIn = { ...signIn, saved: new Date().toISOString() };
    await this.#update((known) => [
      ...known.filter(({ server, issuer }) => server !== saved.server || issuer !== saved.issuer),
      saved,
    ]);
    return saved;
  }

  async forget(server: string): Promise<void> {
    await this.#update((known) => known.filter((one) => one.server !== server));
  }

  /** Runs `work` while no other process does for this server. */
  async alone<T>(server: string, work: () => Promise<T>): Promise<T> {
    const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(server));
    using _lock = await FileLock.acquire(`${this.path}.${new Uint8Array(bytes).toHex().slice(0, 12)}.lock`);
    return await work();
  }

  async #read(): Promise<readonly SignIn[]> {
    let text: string;
    try {
      text = await Deno.readTextFile(this.path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw this.#damaged("Cannot read", errorMessage(error));
    }
    const data = parseJson(text);
    if (data === undefined) throw this.#damaged("Cannot read", "it is no JSON");
    const { version, signIns } = recordOf(data);
    if (version !== 1 || !Array.isArray(signIns) || !signIns.every(isSignIn)) {
      throw this.#damaged("Cannot read", "it has another format");
    }
    signIns.forEach(learn);
    return signIns;
  }

  async #update(change: (known: readonly SignIn[]) => readonly SignIn[]): Promise<void> {
    try {
      await Deno.mkdir(this.path.slice(0, this.path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
      using _lock = await FileLock.acquire(`${this.path}.lock`);
      const signIns = change(await this.#read());
      signIns.forEach(learn);
      const text = `${JSON.stringify({ version: 1, signIns }, undefined, 2)}\n`;
      await writeFileAtomic(this.path, text, { setMode: 0o600 });
    } catch (error) {
      if (error instanceof ReasonixError) throw error;
      throw this.#damaged("Cannot write", errorMessage(error));
    }
  }

  #damaged(what: string, why: string): ReasonixError {
    return new ReasonixError(`${what} the sign-ins of MCP servers in ${this.path}: ${why}`, {
      remedy: "repair the file, or remove it and sign in again with `reasonix mcp login NAME`",
    });
  }
}

function learn({ tokens, client }: SignIn): void {
  for (const value of [tokens?.access_token, tokens?.refresh_token, client?.client_secret]) {
    if (value !== undefined) learnSecret(value);
  }
}

function isSignIn(data: unknown): data is SignIn {
  if (!isRecord(data) || typeof data.server !== "string" || typeof data.issuer !== "string") return false;
  const { tokens, client, saved } = data;
  return typeof saved === "string" &&
    (tokens === undefined || isRecord(tokens) && typeof tokens.access_token === "string") &&
    (client === undefined || isRecord(client) && typeof client.client_id === "string");
}

type HeaderValues = Readonly<Record<string, string>>;

/** Authenticates requests to a server over HTTP. */
export interface HttpAccess {
  /** Current headers, such as of a helper program. */
  readonly headers: () => Promise<HeaderValues>;
  readonly auth?: AuthProvider;
  /** Receives the scopes that the server missed. */
  readonly wanted?: (scope: string) => Promise<void>;
}

export interface AccessOptions {
  readonly home: string;
  readonly spawn: SpawnContext;
  readonly secret: (name: string) => string | undefined;
}

const REFRESH_MS = 20_000;
const HELPER_MS = 10_000;
const NO_HEADERS = () => Promise.resolve({});

export function httpAccess(spec: McpServerSpec, options: AccessOptions): HttpAccess {
  if (spec.type !== "http") return { headers: NO_HEADERS };
  for (const [name, value] of Object.entries(spec.headers)) learnHeader(name, value);
  if (spec.headers_helper !== "") return helperAccess(spec, options.spawn);
  return hasOwnAuthorization(spec.headers) ? { headers: NO_HEADERS } : signedInAccess(spec, options);
}

/** Authenticates with headers of a program, which runs again when the server refuses them. */
function helperAccess(spec: McpServerSpec, spawn: SpawnContext): HttpAccess {
  let known: Promise<HeaderValues> | undefined;
  let isAsking = false;
  const ask = () => {
    isAsking = true;
    return known = printedHeaders(spec, spawn).catch((error) => {
      known = undefined;
      throw error;
    }).finally(() => isAsking = false);
  };
  return {
    headers: () => known ?? ask(),
    auth: {
      token: () => Promise.resolve(undefined),
      // Requests that are refused together need one new answer.
      onUnauthorized: async () => void await (isAsking ? known : ask()),
    },
  };
}

/**
 * Runs the command line of `headers_helper`, whose output is a JSON object of headers, in the environment of
 * the server's and without a jail. Rejects with a ReasonixError that says in one line what was wrong; values
 * are never part of it.
 */
async function printedHeaders(spec: McpServerSpec, context: SpawnContext): Promise<HeaderValues> {
  const [command, ...args] = shellCommand(spec.headers_helper);
  const env = {
    ...spec.env,
    REASONIX_MCP_SERVER_NAME: spec.name,
    REASONIX_MCP_SERVER_URL: spec.url,
    // Helpers that were written for the program whose files are read, too.
    CLAUDE_CODE_MCP_SERVER_NAME: spec.name,
    CLAUDE_CODE_MCP_SERVER_URL: spec.url,
  };
  const process = (await serverSpawner({ ...spec, command, args, env }, context))();
  void process.child.stdin.close().catch(() => {});
  const { code, output, errors, late } = await helperOutput(process.child, {
    limitMs: HELPER_MS,
    end: () => process.end(0),
  });
  const failure = (what: LocalizedMessage) =>
    obstacle(what, message`it has to print a JSON object such as {"Authorization": "Bearer …"}`);
  if (late) throw failure(message`headers_helper did not end within ${HELPER_MS / 1000} s`);
  if (code !== 0) {
    const last = oneLine(errors.trim().split("\n").at(-1) ?? "").slice(0, 200);
    const how = message`headers_helper ended with exit code ${code}`;
    throw failure(last === "" ? how : message`${how}: ${last}`);
  }
  if (output === "") throw failure(message`headers_helper printed nothing`);
  const data = parseJson(output);
  if (!isRecord(data)) throw failure(message`headers_helper did not print a JSON object of headers`);
  const headers = new Headers();
  for (const [name, value] of Object.entries(data)) {
    if (typeof value !== "string") {
      throw failure(message`headers_helper printed a value of the header "${name}" that is not a text`);
    }
    try {
      headers.set(name, value);
    } catch {
      const shown = oneLine(name).slice(0, 60);
      throw failure(message`headers_helper printed a header that cannot be sent, "${shown}"`);
    }
    learnHeader(name, value);
  }
  return Object.fromEntries(headers);
}

const SECRET_NAME = /auth|api[-_]?key|token|secret|cookie|password|credential/i;

/** Registers secret header values for redaction, also without their scheme. */
function learnHeader(name: string, value: string): void {
  if (!SECRET_NAME.test(name)) return;
  learnSecret(value);
  const bare = /^(?:bearer|basic|token)\s+(\S+)$/i.exec(value)?.[1];
  if (bare !== undefined) learnSecret(bare);
}

/** Error codes that end a sign-in. */
const GONE: ReadonlySet<string> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"]);

type UnauthorizedContext = Parameters<NonNullable<AuthProvider["onUnauthorized"]>>[0];

/** Authenticates with the tokens of `reasonix mcp login`; they are renewed, never requested. */
function signedInAccess(spec: McpServerSpec, { home, secret }: AccessOptions): HttpAccess {
  const store = new SignInStore(home);
  const key = keyOf(spec);
  let signIn: SignIn | undefined | null = null;
  const latest = async () => signIn === null ? signIn = (await store.of(key))[0] : signIn;
  /** Renews the tokens, unless another request or process has just done so. */
  const onUnauthorized = async (context: UnauthorizedContext) => {
    const used = (await latest())?.tokens?.access_token;
    const { UnauthorizedError } = await loadSdk();
    if (used === undefined) {
      signIn = null;
      if ((await latest())?.tokens === undefined) throw new UnauthorizedError();
      return;
    }
    await store.alone(key, async () => {
      signIn = null;
      const known = await latest();
      const { access_token, refresh_token } = known?.tokens ?? {};
      if (access_token !== undefined && access_token !== used) return;
      if (!known || refresh_token === undefined) throw new UnauthorizedError();
      const client = configuredClient(spec, secret) ?? known.client;
      if (!client) throw new UnauthorizedError();
      const tokens = await renewedTokens(known, context, { client, refreshToken: refresh_token });
      signIn = await store.save({ ...known, tokens });
      if (!tokens) throw new UnauthorizedError();
    });
  };
  return {
    headers: NO_HEADERS,
    auth: { token: async () => (await latest())?.tokens?.access_token, onUnauthorized },
    async wanted(scope) {
      // The next sign-in asks for it; that it cannot be kept is no reason to fail in another way.
      if (signIn) await store.save({ ...signIn, wanted: scope }).catch(() => {});
    },
  };
}

/** Returns the next tokens of a sign-in; undefined: it is over. */
async function renewedTokens(
  signIn: SignIn,
  { serverUrl, fetchFn: send }: UnauthorizedContext,
  { client, refreshToken }: { readonly client: ClientIdentity; readonly refreshToken: string },
): Promise<Tokens | undefined> {
  const { OAuthError, refreshAuthorization, UnauthorizedError } = await loadSdk();
  const signal = AbortSignal.timeout(REFRESH_MS);
  const fetchFn: typeof send = (url, init) => send(url, { ...init, signal });
  try {
    const { url, issuer, metadata } = await findAuthorizationServer(serverUrl, signIn.metadata, fetchFn);
    // The tokens of one authorization server are not shown to another one.
    if (issuer !== signIn.issuer) throw new UnauthorizedError();
    const { refresh_token = refreshToken, scope = signIn.tokens?.scope, ...tokens } =
      await refreshAuthorization(url, {
        ...(metadata ? { metadata } : {}),
        ...(signIn.resource === undefined ? {} : { resource: signIn.resource }),
        clientInformation: client,
        refreshToken,
        fetchFn,
      });
    return keptTokens({ ...tokens, refresh_token, scope });
  } catch (error) {
    if (error instanceof UnauthorizedError || error instanceof ReasonixError) throw error;
    if (error instanceof OAuthError && GONE.has(error.code)) return undefined;
    throw obstacle(message`its sign-in cannot be renewed: ${errorMessage(error)}`, undefined, error);
  }
}

export function obstacle(why: Text, remedy?: Text, cause?: unknown): ReasonixError {
  return new ReasonixError(why, { ...(remedy === undefined ? {} : { remedy }), cause });
}

export interface AuthorizationServer {
  readonly url: string;
  /** The tokens are bound to it. */
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata | undefined;
  readonly resource: string | undefined;
  readonly scopes: string | undefined;
  /** No metadata names its endpoints, so default ones are used. */
  readonly guessed: boolean;
}

/**
 * Requests the metadata of a server, then that of its authorization server. Throws a ReasonixError for a
 * server that claims to be another one, or an authorization server whose name is not its address.
 */
export async function findAuthorizationServer(
  server: URL,
  metadataUrl: URL | string | undefined,
  fetchFn: FetchLike,
): Promise<AuthorizationServer> {
  const { discoverOAuthServerInfo, checkResourceAllowed } = await loadSdk();
  const discover = (skipIssuerMetadataValidation: boolean) =>
    discoverOAuthServerInfo(server, {
      ...(metadataUrl === undefined ? {} : { resourceMetadataUrl: new URL(metadataUrl) }),
      fetchFn,
      skipIssuerMetadataValidation,
    });
  const info = await discover(false).catch((error: unknown) => {
    // The first servers of all sign people in themselves, under any name: an origin names itself.
    if (isOwnName(error, server)) return discover(true);
    throw error;
  });
  const { authorizationServerUrl: url, authorizationServerMetadata: metadata, resourceMetadata } = info;
  const resource = resourceMetadata?.resource;
  if (
    resource !== undefined &&
    !checkResourceAllowed({ requestedResource: server, configuredResource: resource })
  ) {
    throw obstacle(
      message`it declares itself another server, ${resource}`,
      message`correct the url of the server, or report it to its operator`,
    );
  }
  return {
    url,
    issuer: metadata?.issuer ?? url,
    metadata,
    resource,
    scopes: resourceMetadata?.scopes_supported?.join(" ") || undefined,
    guessed: resourceMetadata === undefined && metadata === undefined,
  };
}

function isOwnName(error: unknown, { origin }: URL): boolean {
  if (!(error instanceof Error) || error.name !== "IssuerMismatchError") return false;
  const { expected = "", received = "" } = error as { expected?: string; received?: string };
  return expected === `${origin}/` && URL.parse(received)?.origin === origin;
}

export function configuredClient(
  { oauth }: Pick<McpServerSpec, "oauth">,
  secret: (name: string) => string | undefined,
): ClientIdentity | undefined {
  const { client_id = "", client_secret_env = "" } = oauth ?? {};
  if (client_id === "") return undefined;
  if (client_secret_env === "") return { client_id };
  const client_secret = secret(client_secret_env);
  if (client_secret !== undefined) return { client_id, client_secret };
  throw obstacle(
    message`the secret of the client ${client_id} is missing: ${client_secret_env} is not set`,
    message`write ${client_secret_env}=… into .env of the Reasonix home`,
  );
}

/** Reports whether credentials may go there: encrypted, or to this machine. */
export function isSafeEndpoint(address: string): boolean {
  const protocol = URL.parse(address)?.protocol;
  return protocol === "https:" || protocol === "http:" && isLoopback(address);
}

export function keyOf({ url }: Pick<McpServerSpec, "url">): string {
  const address = URL.parse(url);
  if (!address) return url;
  address.hash = "";
  return address.href;
}
