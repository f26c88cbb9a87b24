import type { AuthorizationServerMetadata, AuthProvider, FetchLike } from "@modelcontextprotocol/client";
import { isLoopback } from "../../config/mod.ts";
import { errorMessage, type LocalizedMessage, message, ReasonixError, type Text } from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { helperOutput, shellCommand } from "../../util/process.ts";
import { learnSecret } from "../../util/redact.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { loadSdk } from "../sdk.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { serverSpawner, type SpawnContext } from "../transport/stdio.ts";
import { type ClientIdentity, keptTokens, type SignIn, SignInStore } from "./sign_in_store.ts";

type HeaderValues = Readonly<Record<string, string>>;

/** Authenticates requests to a server over HTTP. */
export interface HttpAccess {
  /** Headers in addition to those of the configuration. */
  readonly headers: () => Promise<HeaderValues>;
  readonly auth?: AuthProvider;
  /** Takes the rights that the server missed. */
  readonly wanted?: (scope: string) => Promise<void>;
}

export interface AccessOptions {
  readonly home: string;
  readonly spawn: SpawnContext;
  /** The value of a variable that holds a secret. */
  readonly secret: (name: string) => string | undefined;
}

const REFRESH_MS = 20_000;
const HELPER_MS = 10_000;
const NO_HEADERS = () => Promise.resolve({});

/** Returns the authentication at a server: its helper's headers, or the tokens of its sign-in. */
export function httpAccess(spec: McpServerSpec, options: AccessOptions): HttpAccess {
  if (spec.type !== "http") return { headers: NO_HEADERS };
  for (const [name, value] of Object.entries(spec.headers)) learnHeader(name, value);
  if (spec.headersHelper !== "") return helperAccess(spec, options.spawn);
  return hasOwnAuthorization(spec.headers) ? { headers: NO_HEADERS } : new SignedInAccess(spec, options);
}

export function hasOwnAuthorization(headers: HeaderValues): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}

/** Headers of a program, which runs again when the server refuses them. */
function helperAccess(spec: McpServerSpec, spawn: SpawnContext): HttpAccess {
  let known: Promise<HeaderValues> | undefined;
  let asking = false;
  const ask = () => {
    asking = true;
    return known = printedHeaders(spec, spawn).catch((error) => {
      known = undefined;
      throw error;
    }).finally(() => asking = false);
  };
  return {
    headers: () => known ?? ask(),
    auth: {
      token: () => Promise.resolve(undefined),
      // Requests that are refused together need one new answer.
      onUnauthorized: async () => void await (asking ? known : ask()),
    },
  };
}

/**
 * Runs the command line of `headers_helper`, whose output is a JSON object of headers, in the environment of
 * the server's and without a jail. Rejects with a ReasonixError that says in one line what was wrong; values
 * are never part of it.
 */
async function printedHeaders(spec: McpServerSpec, context: SpawnContext): Promise<HeaderValues> {
  const [command, ...args] = shellCommand(spec.headersHelper);
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
  if (late) throw helperFailure(message`headers_helper did not end within ${HELPER_MS / 1000} s`);
  if (code !== 0) {
    const last = oneLine(errors.trim().split("\n").at(-1) ?? "").slice(0, 200);
    const how = message`headers_helper ended with exit code ${code}`;
    throw helperFailure(last === "" ? how : message`${how}: ${last}`);
  }
  if (output === "") throw helperFailure(message`headers_helper printed nothing`);
  const data = parseJson(output);
  if (!isRecord(data)) throw helperFailure(message`headers_helper did not print a JSON object of headers`);
  const headers = new Headers();
  for (const [name, value] of Object.entries(data)) {
    if (typeof value !== "string") {
      throw helperFailure(message`headers_helper printed a value of the header "${name}" that is not a text`);
    }
    try {
      headers.set(name, value);
    } catch {
      throw helperFailure(
        message`headers_helper printed a header that cannot be sent, "${oneLine(name).slice(0, 60)}"`,
      );
    }
    learnHeader(name, value);
  }
  return Object.fromEntries(headers);
}

function helperFailure(what: LocalizedMessage): ReasonixError {
  return obstacle(what, message`it has to print a JSON object such as {"Authorization": "Bearer …"}`);
}

const SECRET_NAME = /auth|api[-_]?key|token|secret|cookie|password|credential/i;

/** The values of such headers are secrets, and so is the part behind the word for their kind. */
function learnHeader(name: string, value: string): void {
  if (!SECRET_NAME.test(name)) return;
  learnSecret(value);
  const bare = /^(?:bearer|basic|token)\s+(\S+)$/i.exec(value)?.[1];
  if (bare !== undefined) learnSecret(bare);
}

/** Answers that end a sign-in. */
const GONE: ReadonlySet<string> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"]);

type UnauthorizedContext = Parameters<NonNullable<AuthProvider["onUnauthorized"]>>[0];

/** Tokens of the sign-in that `reasonix mcp login` has made; they are renewed, never requested. */
class SignedInAccess implements HttpAccess {
  readonly headers = NO_HEADERS;
  readonly auth: AuthProvider = {
    token: async () => (await this.#latest())?.tokens?.access_token,
    onUnauthorized: (context) => this.#refused(context),
  };
  readonly #spec: McpServerSpec;
  readonly #options: AccessOptions;
  readonly #store: SignInStore;
  #signIn: SignIn | undefined | null = null;

  constructor(spec: McpServerSpec, options: AccessOptions) {
    this.#spec = spec;
    this.#options = options;
    this.#store = new SignInStore(options.home);
  }

  wanted = async (scope: string): Promise<void> => {
    const signIn = this.#signIn;
    // The next sign-in asks for it; that it cannot be kept is no reason to fail in another way.
    if (signIn) await this.#store.save({ ...signIn, wanted: scope }).catch(() => {});
  };

  async #latest(): Promise<SignIn | undefined> {
    if (this.#signIn === null) this.#signIn = (await this.#store.of(keyOf(this.#spec)))[0];
    return this.#signIn;
  }

  /** Renews the tokens, unless another request or process has just done so. */
  async #refused(context: UnauthorizedContext): Promise<void> {
    const used = (await this.#latest())?.tokens?.access_token;
    const { UnauthorizedError } = await loadSdk();
    if (used === undefined) {
      this.#signIn = null;
      if ((await this.#latest())?.tokens === undefined) throw new UnauthorizedError();
      return;
    }
    await this.#store.alone(keyOf(this.#spec), async () => {
      this.#signIn = null;
      const signIn = await this.#latest();
      const { access_token, refresh_token } = signIn?.tokens ?? {};
      if (access_token !== undefined && access_token !== used) return;
      if (signIn === undefined || refresh_token === undefined) throw new UnauthorizedError();
      this.#signIn = await this.#renewed(signIn, refresh_token, context);
    });
  }

  async #renewed(signIn: SignIn, refreshToken: string, context: UnauthorizedContext): Promise<SignIn> {
    const { OAuthError, refreshAuthorization, UnauthorizedError } = await loadSdk();
    const signal = AbortSignal.timeout(REFRESH_MS);
    const fetchFn: typeof context.fetchFn = (url, init) => context.fetchFn(url, { ...init, signal });
    try {
      const { url, issuer, metadata } = await findAuthorizationServer(
        context.serverUrl,
        signIn.metadata,
        fetchFn,
      );
      const client = configuredClient(this.#spec, this.#options.secret) ?? signIn.client;
      // The tokens of one authorization server are not shown to another one.
      if (issuer !== signIn.issuer || client === undefined) throw new UnauthorizedError();
      const { refresh_token = refreshToken, scope = signIn.tokens?.scope, ...tokens } =
        await refreshAuthorization(url, {
          ...(metadata ? { metadata } : {}),
          ...(signIn.resource === undefined ? {} : { resource: signIn.resource }),
          clientInformation: client,
          refreshToken,
          fetchFn,
        });
      return await this.#store.save({ ...signIn, tokens: keptTokens({ ...tokens, refresh_token, scope }) });
    } catch (error) {
      if (error instanceof UnauthorizedError || error instanceof ReasonixError) throw error;
      if (error instanceof OAuthError && GONE.has(error.code)) {
        this.#signIn = await this.#store.save({ ...signIn, tokens: undefined });
        throw new UnauthorizedError();
      }
      throw obstacle(message`its sign-in cannot be renewed: ${errorMessage(error)}`, undefined, error);
    }
  }
}

/** The error of a sign-in that cannot be made or renewed. */
export function obstacle(why: Text, remedy?: Text, cause?: unknown): ReasonixError {
  return new ReasonixError(why, { ...(remedy === undefined ? {} : { remedy }), cause });
}

/** The server at which users sign in for an MCP server. */
export interface AuthorizationServer {
  readonly url: string;
  /** Its name, to which its tokens are bound. */
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata | undefined;
  /** The resource that the tokens are for. */
  readonly resource: string | undefined;
  /** Scopes that the server proposes. */
  readonly scopes: string | undefined;
  /** No metadata names its endpoints, so they are those of the first servers. */
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

/** The client that the configuration names for a server, if it does. */
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

/** The address under which the sign-ins of a server are kept. */
export function keyOf({ url }: Pick<McpServerSpec, "url">): string {
  const address = URL.parse(url);
  if (!address) return url;
  address.hash = "";
  return address.href;
}
