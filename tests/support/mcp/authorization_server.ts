/** A scripted authorization server on loopback, and a scripted MCP server that it protects. */
import { type HttpBehaviour, HttpMcpServer, type Seen } from "./http_mcp_server.ts";

export interface AuthorizationBehaviour {
  /** Registers clients; default: true. */
  readonly registers?: boolean;
  /** Sends its issuer in answers and declares it in its metadata (RFC 9207); default: true. */
  readonly namesItself?: boolean;
  /** A wrong issuer in the answer. */
  readonly answersAs?: string;
  /** Accepts client ID metadata documents. */
  readonly documents?: boolean;
  /** Issues no refresh tokens; default: it does. */
  readonly renews?: boolean;
  /** Answers every authorization with this error. */
  readonly refuses?: string;
  /** Methods of authentication at the token endpoint; default: none and client_secret_basic. */
  readonly methods?: readonly string[];
  /** Further fields of the metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A request to the authorization server. */
export interface AuthorizationSeen {
  readonly path: string;
  readonly params: URLSearchParams;
  readonly headers: Headers;
}

interface Grant {
  readonly challenge: string;
  readonly client: string;
  readonly redirect: string;
  readonly scope: string;
}

export class AuthorizationServer implements AsyncDisposable {
  readonly issuer: string;
  readonly seen: AuthorizationSeen[] = [];
  /** Valid access tokens with their scopes. */
  readonly accepted = new Map<string, string>();
  /** Refresh tokens with their scopes. */
  readonly renewing = new Map<string, string>();
  /** Registered clients with their redirect URI. */
  readonly clients = new Map<string, string>();
  readonly #behaviour: AuthorizationBehaviour;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #grants = new Map<string, Grant>();
  #count = 0;

  constructor(behaviour: AuthorizationBehaviour = {}) {
    this.#behaviour = behaviour;
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    this.#server = Deno.serve(options, (request) => this.#handle(request));
    this.issuer = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Requests to one of its addresses. */
  to(path: string): AuthorizationSeen[] {
    return this.seen.filter((one) => one.path === path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  /** Creates valid tokens, as a sign-in does. */
  issue(scope = ""): { access_token: string; refresh_token: string } {
    const access_token = `access-${++this.#count}-${crypto.randomUUID()}`;
    const refresh_token = `refresh-${this.#count}-${crypto.randomUUID()}`;
    this.accepted.set(access_token, scope);
    this.renewing.set(refresh_token, scope);
    return { access_token, refresh_token };
  }

  async #handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const text = await request.text();
    const isForm = request.headers.get("content-type")?.includes("form") ?? false;
    const params = isForm ? new URLSearchParams(text) : url.searchParams;
    this.seen.push({ path: url.pathname, params, headers: request.headers });
    switch (url.pathname) {
      case "/.well-known/oauth-authorization-server":
        return Response.json(this.#metadata());
      case "/register":
        return this.#register(JSON.parse(text));
      case "/authorize":
        return this.#authorize(params);
      case "/token":
        return this.#token(params);
      case "/revoke":
        this.accepted.delete(params.get("token") ?? "");
        this.renewing.delete(params.get("token") ?? "");
        return new Response(null, { status: 200 });
    }
    return new Response("Not found", { status: 404 });
  }

  #metadata(): Record<string, unknown> {
    const { registers = true, namesItself = true, documents = false, methods, metadata } = this.#behaviour;
    const at = (path: string) => `${this.issuer}${path}`;
    return {
      issuer: this.issuer,
      authorization_endpoint: at("/authorize"),
      token_endpoint: at("/token"),
      revocation_endpoint: at("/revoke"),
      ...(registers ? { registration_endpoint: at("/register") } : {}),
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: methods ?? ["none", "client_secret_basic"],
      authorization_response_iss_parameter_supported: namesItself,
      client_id_metadata_document_supported: documents,
      ...metadata,
    };
  }

  #register(body: Record<string, unknown>): Response {
    const client_id = `client-${++this.#count}`;
    this.clients.set(client_id, (body.redirect_uris as string[])[0] ?? "");
    return Response.json({ ...body, client_id }, { status: 201 });
  }

  #authorize(params: URLSearchParams): Response {
    const redirect = params.get("redirect_uri") ?? "";
    const target = new URL(redirect);
    const { refuses, namesItself = true, answersAs } = this.#behaviour;
    target.searchParams.set("state", params.get("state") ?? "");
    if (namesItself) target.searchParams.set("iss", answersAs ?? this.issuer);
    if (refuses !== undefined) {
      target.searchParams.set("error", refuses);
      target.searchParams.set("error_description", "You said no");
    } else {
      const code = `code-${++this.#count}`;
      this.#grants.set(code, {
        challenge: params.get("code_challenge") ?? "",
        client: params.get("client_id") ?? "",
        redirect,
        scope: params.get("scope") ?? "",
      });
      target.searchParams.set("code", code);
    }
    return new Response(null, { status: 302, headers: { location: target.href } });
  }

  async #token(params: URLSearchParams): Promise<Response> {
    if (params.get("grant_type") === "refresh_token") {
      const old = params.get("refresh_token") ?? "";
      const scope = this.renewing.get(old);
      if (scope === undefined) return Response.json({ error: "invalid_grant" }, { status: 400 });
      this.renewing.delete(old);
      return this.#tokens(scope);
    }
    const grant = this.#grants.get(params.get("code") ?? "");
    this.#grants.delete(params.get("code") ?? "");
    const verifier = new TextEncoder().encode(params.get("code_verifier") ?? "");
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", verifier));
    const isProven = hash.toBase64({ alphabet: "base64url", omitPadding: true }) === grant?.challenge;
    if (!grant || !isProven || params.get("redirect_uri") !== grant.redirect) {
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    }
    return this.#tokens(grant.scope);
  }

  #tokens(scope: string): Response {
    const { access_token, refresh_token } = this.issue(scope);
    const renews = this.#behaviour.renews ?? true;
    if (!renews) this.renewing.delete(refresh_token);
    return Response.json({
      access_token,
      token_type: "Bearer",
      expires_in: 3600,
      ...(renews ? { refresh_token } : {}),
      ...(scope === "" ? {} : { scope }),
    });
  }
}

export interface ProtectionOptions extends HttpBehaviour {
  /** Scopes that every request needs. */
  readonly scope?: string;
  /** Additional scopes for calls of a tool or requests of another method. */
  readonly scopeOf?: Readonly<Record<string, string>>;
  /** Names this authorization server instead of the issuer of its tokens. */
  readonly namesIssuer?: string;
}

/** Starts an MCP server that accepts tokens of the authorization server. */
export function startProtectedServer(
  issuer: AuthorizationServer,
  { scope = "", scopeOf = {}, namesIssuer, ...behaviour }: ProtectionOptions = {},
): HttpMcpServer {
  const server: HttpMcpServer = new HttpMcpServer({
    ...behaviour,
    instead: (seen) => {
      const { origin } = new URL(server.url);
      if (seen.path.startsWith("/.well-known/oauth-protected-resource")) {
        return Response.json({ resource: server.url, authorization_servers: [namesIssuer ?? issuer.issuer] });
      }
      if (seen.path !== "/mcp") return new Response("Not found", { status: 404 });
      const where = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      return refusal(seen, { issuer, scope, scopeOf, where }) ?? behaviour.instead?.(seen);
    },
  });
  return server;
}

interface Protection {
  readonly issuer: AuthorizationServer;
  readonly scope: string;
  readonly scopeOf: Readonly<Record<string, string>>;
  readonly where: string;
}

function refusal(
  { headers, message }: Seen,
  { issuer, scope, scopeOf, where }: Protection,
): Response | undefined {
  const token = /^Bearer (.*)$/.exec(headers.get("authorization") ?? "")?.[1] ?? "";
  const given = issuer.accepted.get(token);
  const wanted = scope === "" ? "" : `, scope="${scope}"`;
  if (given === undefined) {
    const challenge = `Bearer error="invalid_token", ${where}${wanted}`;
    return new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
  }
  const { method = "", params } = message;
  const needed = scopeOf[method === "tools/call" ? String(params?.name) : method];
  if (needed === undefined || given.split(" ").includes(needed)) return undefined;
  const challenge = `Bearer error="insufficient_scope", scope="${needed}", ${where}`;
  return new Response(null, { status: 403, headers: { "www-authenticate": challenge } });
}

/** Opens the URL like a browser and follows its redirects back to the program. */
export async function visitAsBrowser(address: URL): Promise<string> {
  const response = await fetch(address, { redirect: "manual" });
  await response.body?.cancel();
  const back = await fetch(new URL(response.headers.get("location") ?? "", address));
  return await back.text();
}
