import type { AuthProvider } from "@modelcontextprotocol/client";
import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { loadSdk } from "../connection/sdk.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { learnHeader, printedHeaders } from "../transport/printed_headers.ts";
import type { SpawnContext } from "../transport/server_process.ts";
import { configuredClient, findAuthorizationServer, obstacle } from "./authorization_server.ts";
import { type SignIn, SignInStore } from "./sign_in_store.ts";

/** What lets the program in at a server over HTTP. */
export interface HttpAccess {
  /** Headers beside those of the configuration. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly auth?: AuthProvider;
  /** The server wants rights that nobody gave it. */
  readonly wanted?: (scope: string) => Promise<void>;
}

export interface AccessOptions {
  readonly home: string;
  readonly spawn: SpawnContext;
  /** The value of a variable that holds a secret. */
  readonly secret: (name: string) => string | undefined;
}

type UnauthorizedContext = Parameters<NonNullable<AuthProvider["onUnauthorized"]>>[0];

const REFRESH_MS = 20_000;

/** Returns what lets the program in at a server: its helper's headers, or the tokens of its sign-in. */
export function httpAccess(spec: McpServerSpec, options: AccessOptions): HttpAccess {
  if (spec.type !== "http") return { headers: () => Promise.resolve({}) };
  for (const [name, value] of Object.entries(spec.headers)) learnHeader(name, value);
  if (spec.headersHelper !== "") return new HelperAccess(spec, options.spawn);
  if (Object.keys(spec.headers).some((name) => name.toLowerCase() === "authorization")) {
    return { headers: () => Promise.resolve({}) };
  }
  return new SignedInAccess(spec, options);
}

/** Headers of a program; it is asked anew when the server refuses them. */
class HelperAccess implements HttpAccess {
  readonly auth: AuthProvider;
  readonly headers: () => Promise<Readonly<Record<string, string>>>;

  constructor(spec: McpServerSpec, spawn: SpawnContext) {
    let known: ReturnType<typeof printedHeaders> | undefined;
    let asking = false;
    const ask = () => {
      asking = true;
      known = printedHeaders(spec, spawn).catch((error) => {
        known = undefined;
        throw error;
      }).finally(() => asking = false);
      return known;
    };
    this.headers = () => known ?? ask();
    this.auth = {
      token: () => Promise.resolve(undefined),
      // Requests that are refused together need one new answer.
      onUnauthorized: async () => void await (asking ? known : ask()),
    };
  }
}

/** Tokens of the sign-in that `reasonix mcp login` has made; renewed, never asked for. */
class SignedInAccess implements HttpAccess {
  readonly auth: AuthProvider;
  readonly #spec: McpServerSpec;
  readonly #options: AccessOptions;
  readonly #store: SignInStore;
  #signIn: SignIn | undefined | null = null;

  constructor(spec: McpServerSpec, options: AccessOptions) {
    this.#spec = spec;
    this.#options = options;
    this.#store = new SignInStore(options.home);
    this.auth = {
      token: async () => (await this.#latest())?.tokens?.access_token,
      onUnauthorized: (context) => this.#refused(context),
    };
  }

  headers = () => Promise.resolve({});

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
      if (signIn?.tokens === undefined) throw new UnauthorizedError();
      if (signIn.tokens.access_token !== used) return;
      if (signIn.tokens.refresh_token === undefined) throw new UnauthorizedError();
      this.#signIn = await this.#renewed(signIn, signIn.tokens.refresh_token, context);
    });
  }

  async #renewed(signIn: SignIn, refreshToken: string, context: UnauthorizedContext): Promise<SignIn> {
    const { OAuthError, refreshAuthorization, UnauthorizedError } = await loadSdk();
    const signal = AbortSignal.timeout(REFRESH_MS);
    const fetchFn: typeof context.fetchFn = (url, init) => context.fetchFn(url, { ...init, signal });
    try {
      const metadataUrl = signIn.metadata === undefined ? undefined : new URL(signIn.metadata);
      const server = await findAuthorizationServer(context.serverUrl, metadataUrl, fetchFn);
      // What one authorization server gave out is not shown to another one.
      if (server.issuer !== signIn.issuer) throw new UnauthorizedError();
      const client = configuredClient(this.#spec, this.#options.secret) ?? signIn.client;
      if (client === undefined) throw new UnauthorizedError();
      const tokens = await refreshAuthorization(server.url, {
        ...(server.metadata ? { metadata: server.metadata } : {}),
        ...(signIn.resource === undefined ? {} : { resource: signIn.resource }),
        clientInformation: client,
        refreshToken,
        fetchFn,
      });
      const { access_token, refresh_token = refreshToken, token_type, scope = signIn.tokens?.scope } = tokens;
      return await this.#store.save({
        ...signIn,
        tokens: { access_token, refresh_token, token_type, ...(scope === undefined ? {} : { scope }) },
      });
    } catch (error) {
      if (error instanceof UnauthorizedError || error instanceof ReasonixError) throw error;
      if (error instanceof OAuthError && GONE.has(error.code)) {
        const { tokens: _tokens, ...rest } = signIn;
        this.#signIn = await this.#store.save(rest);
        throw new UnauthorizedError();
      }
      throw obstacle(`its sign-in cannot be renewed: ${errorMessage(error)}`, undefined, error);
    }
  }
}

/** Answers that say that a sign-in is over. */
const GONE: ReadonlySet<string> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"]);

/** Under which address the sign-ins of a server are kept. */
export function keyOf({ url }: Pick<McpServerSpec, "url">): string {
  const address = URL.parse(url);
  if (!address) return url;
  address.hash = "";
  return address.href;
}
