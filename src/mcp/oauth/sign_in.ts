import type { FetchLike } from "@modelcontextprotocol/client";
import {
  errorMessage,
  isAbort,
  type LocalizedMessage,
  message,
  ReasonixError,
  type Text,
  usageError,
} from "../../core/mod.ts";
import { explain, hasOwnAuthorization } from "../failures.ts";
import {
  type AuthorizationServer,
  type ClientIdentity,
  configuredClient,
  findAuthorizationServer,
  isSafeEndpoint,
  keptTokens,
  keyOf,
  obstacle,
  type SignIn,
  SignInStore,
} from "./http_access.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { addressOf, loadSdk, serverFetch } from "../transport/http.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { after, unlessAborted } from "../../util/timer.ts";

export interface SignInOptions {
  readonly home: string;
  readonly secret: (name: string) => string | undefined;
  /** Shows the address to the user, and opens it if possible. */
  readonly visit: (address: URL) => void | Promise<void>;
  /** Addresses that a user pastes whose browser runs on another machine. */
  readonly pasted?: AsyncIterable<string>;
  /** Receives the reason why a pasted text is of no use. */
  readonly refused?: (why: Text) => void;
  readonly signal: AbortSignal;
  /** Time limit of the user; five minutes when absent. */
  readonly limitMs?: number;
}

export interface SignedIn {
  readonly issuer: string;
  /** The rights of the tokens, if the authorization server named them. */
  readonly scope?: string;
}

const LIMIT_MS = 300_000;
const REQUEST_MS = 30_000;
const REVOKE_MS = 10_000;

/**
 * Signs a user in at an MCP server: finds its authorization server, registers the program there where that
 * is needed, sends the user to it, and keeps the tokens. Rejects with a ReasonixError that names the
 * obstacle, or for the signal.
 *
 * The steps are those of the SDK, called one by one: its `auth()` prints warnings to the terminal, presents a
 * refused code a second time, and registers clients in the middle of a run when it only had to renew.
 *
 * Sources: RFC 6749, 7636 (PKCE), 7591 (registration), 8252 (loopback), 8414 and 9728 (metadata), 8707
 * (resource), 9207 (iss), and the authorization chapter of MCP 2026-07-28.
 */
export async function signIn(spec: McpServerSpec, options: SignInOptions): Promise<SignedIn> {
  options.signal.throwIfAborted();
  const other = otherAuthentication(spec);
  if (other !== undefined) {
    throw usageError(message`MCP server ${spec.name} needs no sign-in: ${other}`);
  }
  try {
    return await authorize(spec, options);
  } catch (error) {
    if (isAbort(error) && options.signal.aborted) throw error;
    const silent = isAbort(error) ? obstacle(message`no answer within ${REQUEST_MS / 1000} s`) : undefined;
    const explained = silent ?? explain(error, { spec });
    const { message: why, remedy } = explained instanceof ReasonixError
      ? explained.texts
      : { message: errorMessage(explained) };
    throw new ReasonixError(message`Cannot sign in at ${spec.name}: ${why}`, {
      ...(remedy === undefined ? {} : { remedy }),
      cause: error,
    });
  }
}

function otherAuthentication({ type, headers, headers_helper: helper }: McpServerSpec) {
  if (type === "stdio") return message`it is a program on this machine`;
  if (helper !== "") return message`its headers_helper authenticates`;
  return hasOwnAuthorization(headers)
    ? message`the Authorization header of its configuration authenticates`
    : undefined;
}

async function authorize(spec: McpServerSpec, options: SignInOptions): Promise<SignedIn> {
  const {
    computeScopeUnion,
    exchangeAuthorization,
    startAuthorization,
    validateAuthorizationResponseIssuer,
  } = await loadSdk();
  const url = addressOf(spec);
  const store = new SignInStore(options.home);
  const send = serverFetch({ server: url, headers: () => Promise.resolve(spec.headers) });
  const request: FetchLike = (input, init) => {
    const limits = [options.signal, AbortSignal.timeout(REQUEST_MS), ...(init?.signal ? [init.signal] : [])];
    return send(input, { ...init, signal: AbortSignal.any(limits) });
  };
  const known = await store.of(keyOf(spec));
  const challenge = await challengeOf(url, request);
  const server = await findAuthorizationServer(url, challenge.metadataUrl, request);
  if (server.guessed && !challenge.refused) {
    throw obstacle(message`it does not require a sign-in`, message`use it without one`);
  }
  const { issuer, metadata, resource } = server;
  const before = known.find((one) => one.issuer === issuer);
  await using callback = listen(spec, before);
  const { redirect: redirectUrl, state } = callback;
  // The configuration decides; else the server, with the rights that were given and that were missing since.
  const required = challenge.scope ?? server.scopes;
  const wanted = (spec.oauth?.scopes?.join(" ") || undefined) ??
    (before?.wanted === undefined
      ? required
      : computeScopeUnion(before.tokens?.scope, required, before.wanted));
  // Without it some give no token to renew the sign-in with.
  const offline = metadata?.scopes_supported?.includes("offline_access") ?? false;
  const scope = wanted !== undefined && offline ? computeScopeUnion(wanted, "offline_access") : wanted;
  const configured = configuredClient(spec, options.secret);
  // An identifier may be the address of a document about the client.
  const isUsable = !configured?.client_id.startsWith("https://") ||
    metadata?.client_id_metadata_document_supported === true;
  const usable = isUsable ? configured : undefined;
  // A client is known under the address that the browser comes back to.
  const isRegistered = before?.client !== undefined && before.redirect === redirectUrl;
  const client = usable ?? (isRegistered ? before.client : undefined) ??
    await register({ spec, server, redirectUrl, scope }, request);
  const optional = {
    ...(metadata ? { metadata } : {}),
    ...(resource === undefined ? {} : { resource }),
    clientInformation: client,
  };
  const { authorizationUrl, codeVerifier } = await startAuthorization(server.url, {
    ...optional,
    ...(scope === undefined ? {} : { scope }),
    redirectUrl,
    state,
  });
  if (!isSafeEndpoint(authorizationUrl.href)) {
    throw obstacle(message`it sends users to ${authorizationUrl.origin}, which is not encrypted`);
  }
  await options.visit(authorizationUrl);
  const answer = await comeBack(callback, spec, options);
  const iss = answer.get("iss") ?? undefined;
  // The issuer is judged before anything else of the answer counts.
  validateAuthorizationResponseIssuer({
    iss,
    expectedIssuer: metadata?.issuer,
    issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
  });
  const authorizationCode = answer.get("code");
  if (authorizationCode === null) {
    callback.finish("The sign-in was not completed.");
    const detail = [answer.get("error"), answer.get("error_description")].filter(Boolean).join(": ");
    throw obstacle(
      detail === ""
        ? message`the authorization server refused`
        : message`the authorization server refused (${oneLine(detail, 200)})`,
    );
  }
  try {
    const tokens = await exchangeAuthorization(server.url, {
      ...optional,
      ...(iss === undefined ? {} : { iss }),
      authorizationCode,
      codeVerifier,
      redirectUri: redirectUrl,
      fetchFn: request,
    });
    await store.save({
      server: keyOf(spec),
      name: spec.name,
      issuer,
      metadata: challenge.metadataUrl?.href ?? before?.metadata,
      resource,
      ...(usable ? {} : { client, redirect: redirectUrl }),
      tokens: keptTokens(tokens),
    });
    callback.finish("You are signed in. This page can be closed.");
    return { issuer, ...(tokens.scope === undefined ? {} : { scope: tokens.scope }) };
  } catch (error) {
    callback.finish("The sign-in failed. The terminal says why.");
    throw error;
  }
}

/** Sends a greeting without tokens. A session that results is ended at once. */
async function challengeOf(server: URL, request: FetchLike) {
  const { extractWWWAuthenticateParams, LATEST_PROTOCOL_VERSION } = await loadSdk();
  const response = await request(server, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: LATEST_PROTOCOL_VERSION,
        capabilities: {},
        clientInfo: { name: "reasonix", version: "0" },
      },
    }),
  });
  await response.body?.cancel();
  const session = response.headers.get("mcp-session-id");
  if (session !== null) {
    const ended = await request(server, { method: "DELETE", headers: { "mcp-session-id": session } });
    await ended.body?.cancel();
  }
  const { resourceMetadataUrl: metadataUrl, scope } = extractWWWAuthenticateParams(response);
  return { refused: response.status === 401 || response.status === 403, metadataUrl, scope };
}

async function register({ spec, server, redirectUrl, scope }: {
  readonly spec: McpServerSpec;
  readonly server: AuthorizationServer;
  readonly redirectUrl: string;
  readonly scope: string | undefined;
}, request: FetchLike): Promise<ClientIdentity> {
  const { registerClient } = await loadSdk();
  const { metadata, issuer } = server;
  const unregistered = (why: LocalizedMessage): ReasonixError =>
    obstacle(
      message`${issuer} does not know this program, and ${why}`,
      message`create a client there whose redirect address is ${redirectUrl}, and name it: oauth = { client_id = "…", callback_port = ${
        new URL(redirectUrl).port
      } }`,
    );
  if (metadata && !metadata.registration_endpoint) throw unregistered(message`it accepts no registrations`);
  const endpoint = metadata?.registration_endpoint ?? new URL("/register", server.url).href;
  if (!isSafeEndpoint(endpoint)) throw unregistered(message`its registration is not encrypted`);
  // A program on the user's machine keeps no secret, so it gets one only where that is required.
  const methods = metadata?.token_endpoint_auth_methods_supported ?? [];
  const method = ["none", "client_secret_basic"].find((known) => methods.includes(known)) ??
    (methods.length === 0 ? "none" : "client_secret_post");
  try {
    const client = await registerClient(server.url, {
      ...(metadata ? { metadata } : {}),
      ...(scope === undefined ? {} : { scope }),
      clientMetadata: {
        client_name: "Reasonix",
        redirect_uris: [redirectUrl],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        application_type: "native",
        token_endpoint_auth_method: method,
      },
      fetchFn: request,
    });
    const { client_id, client_secret, token_endpoint_auth_method = method } = client;
    return {
      client_id,
      ...(client_secret === undefined ? {} : { client_secret }),
      token_endpoint_auth_method,
    };
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "RegistrationRejectedError") throw error;
    if (server.guessed) {
      throw obstacle(
        message`it requires a sign-in, but does not describe how to sign in`,
        message`put a token into headers of ${spec.name}, as its documentation describes`,
        error,
      );
    }
    const { status = 0, body = "" } = error as { status?: number; body?: string };
    throw unregistered(message`it refused the registration (${`${status}: ${oneLine(body, 200)}`})`);
  }
}

/** A registered client needs the port of its registration. */
function listen({ oauth }: McpServerSpec, before: SignIn | undefined): Callback {
  const { callback_port: port = 0 } = oauth ?? {};
  const old = Number(URL.parse(before?.redirect ?? "")?.port ?? 0);
  if (port > 0 || old === 0) return new Callback(port);
  try {
    return new Callback(old);
  } catch {
    return new Callback(0);
  }
}

/** Waits for the answer of the authorization server, through the browser or a pasted address. */
async function comeBack(
  callback: Callback,
  { name }: McpServerSpec,
  { signal, limitMs = LIMIT_MS, pasted, refused }: SignInOptions,
): Promise<URLSearchParams> {
  const over = Promise.withResolvers<never>();
  const clear = after(limitMs, () => {
    const late = message`the browser did not return within ${Math.round(limitMs / 1000)} s`;
    const forget = `reasonix mcp logout ${name}`;
    over.reject(
      obstacle(late, message`try again; if the page does not know the program, run \`${forget}\` first`),
    );
  });
  const takePasted = async (texts: AsyncIterable<string>) => {
    for await (const text of texts) {
      if (text.trim() === "") continue;
      const problem = callback.accept(text);
      if (problem === undefined) return;
      refused?.(problem);
    }
  };
  if (pasted) void takePasted(pasted);
  return await unlessAborted(Promise.race([callback.answer, over.promise]), signal).finally(clear);
}

const CALLBACK_PATH = "/callback";

/** The server on this machine to which the browser comes back after a sign-in. */
class Callback implements AsyncDisposable {
  readonly redirect: string;
  readonly state: string = new Uint8Array(crypto.getRandomValues(new Uint8Array(24))).toHex();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #answer = Promise.withResolvers<URLSearchParams>();
  readonly #outcome = Promise.withResolvers<string>();

  /** Listens on a port of the loopback address; 0: any. Throws a ReasonixError where that is not possible. */
  constructor(port: number) {
    const options = { hostname: "127.0.0.1", port, onListen() {} };
    try {
      this.#server = Deno.serve(options, (request) => this.#handle(request));
    } catch (error) {
      const message = `Cannot listen on port ${port} for the end of the sign-in: ${errorMessage(error)}`;
      const remedy = "end what uses the port, or set another callback_port";
      throw new ReasonixError(message, { remedy, cause: error });
    }
    this.redirect = `http://127.0.0.1:${this.#server.addr.port}${CALLBACK_PATH}`;
  }

  get answer(): Promise<URLSearchParams> {
    return this.#answer.promise;
  }

  /** Takes the address at which a browser on another machine ended. Returns the problem with it. */
  accept(address: string): LocalizedMessage | undefined {
    const query = URL.parse(address.trim())?.searchParams;
    if (!query?.has("state")) return message`that address does not begin with ${this.redirect}?…`;
    if (query.get("state") !== this.state) return message`that address belongs to another sign-in`;
    this.#answer.resolve(query);
    return undefined;
  }

  finish(text: string): void {
    this.#outcome.resolve(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.finish("The sign-in was given up.");
    await this.#server.shutdown();
  }

  async #handle(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== CALLBACK_PATH || request.method !== "GET") return page("There is nothing here.", 404);
    if (searchParams.get("state") !== this.state) {
      return page("This address does not belong to the sign-in that is waited for.", 400);
    }
    this.#answer.resolve(searchParams);
    return page(await this.#outcome.promise, 200);
  }
}

function page(text: string, status: number): Response {
  const shown = text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const body = `<!doctype html><meta charset="utf-8"><title>Reasonix</title>` +
    `<body style="font:1.1em sans-serif;margin:3em"><p>${shown}</p>`;
  return new Response(body, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "referrer-policy": "no-referrer",
      connection: "close",
    },
  });
}

export interface SignedOut {
  readonly known: boolean;
  readonly revoked: readonly string[];
  /** Reasons of the others; their tokens stay valid until they expire. */
  readonly problems: readonly string[];
}

export type SignedInServer = Pick<McpServerSpec, "name" | "url" | "headers" | "oauth">;

/** Addresses of the servers that the user signed in at under a name, configured or not. */
export async function signedInAs(name: string, home: string): Promise<readonly string[]> {
  return await new SignInStore(home).named(name);
}

/**
 * Forgets the sign-ins of a server, after a request to its authorization servers to revoke the tokens (RFC
 * 7009). Forgets also where that fails. Rejects with a ReasonixError when the file cannot be read or written.
 */
export async function signOut(
  spec: SignedInServer,
  { home, secret }: Pick<SignInOptions, "home" | "secret">,
): Promise<SignedOut> {
  const server = addressOf(spec);
  const store = new SignInStore(home);
  const known = await store.of(keyOf(spec));
  const signal = AbortSignal.timeout(REVOKE_MS);
  const send = serverFetch({ server, headers: () => Promise.resolve(spec.headers) });
  const request: FetchLike = (input, init) => send(input, { ...init, signal });
  const revoked: string[] = [];
  const problems: string[] = [];
  for (const signIn of known) {
    if (signIn.tokens === undefined) continue;
    try {
      await revoke(server, { ...signIn, client: configuredClient(spec, secret) ?? signIn.client }, request);
      revoked.push(signIn.issuer);
    } catch (error) {
      problems.push(`${signIn.issuer}: ${errorMessage(error)}`);
    }
  }
  if (known.length > 0) await store.forget(keyOf(spec));
  return { known: known.length > 0, revoked, problems };
}

async function revoke(
  server: URL,
  { issuer, metadata: metadataUrl, tokens, client }: SignIn,
  request: FetchLike,
): Promise<void> {
  const { selectClientAuthMethod } = await loadSdk();
  const now = await findAuthorizationServer(server, metadataUrl, request);
  if (now.issuer !== issuer) throw obstacle(message`the server now signs users in at ${now.issuer}`);
  const { metadata } = now;
  const endpoint = metadata && "revocation_endpoint" in metadata ? metadata.revocation_endpoint : undefined;
  if (typeof endpoint !== "string" || !isSafeEndpoint(endpoint)) {
    throw obstacle(message`it does not revoke tokens`);
  }
  // The token that makes others first; most servers end those with it.
  const kinds = [["refresh_token", tokens?.refresh_token], ["access_token", tokens?.access_token]] as const;
  for (const [kind, token] of kinds) {
    if (token === undefined) continue;
    const body = new URLSearchParams({ token, token_type_hint: kind });
    const headers = new Headers();
    const { client_id, client_secret } = client ?? {};
    const methods = metadata?.token_endpoint_auth_methods_supported ?? [];
    if (client && selectClientAuthMethod(client, methods) === "client_secret_basic") {
      headers.set("authorization", `Basic ${btoa(`${client_id}:${client_secret ?? ""}`)}`);
    } else {
      for (const [name, value] of Object.entries({ client_id, client_secret })) {
        if (value !== undefined) body.set(name, value);
      }
    }
    const response = await request(endpoint, { method: "POST", headers, body });
    await response.body?.cancel();
    if (!response.ok) throw obstacle(message`it answered with ${response.status}`);
  }
}
