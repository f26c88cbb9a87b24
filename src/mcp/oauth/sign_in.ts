import type { FetchLike } from "@modelcontextprotocol/client";
import { errorMessage, isAbort, ReasonixError } from "../../core/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { explain } from "../connection/explain.ts";
import { loadSdk } from "../connection/sdk.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { serverFetch } from "../transport/http_fetch.ts";
import { addressOf } from "../transport/http_transport.ts";
import {
  type AuthorizationServer,
  findAuthorizationServer,
  isSafeEndpoint,
  obstacle,
} from "./authorization_server.ts";
import { Callback } from "./callback.ts";
import { askedFor, type Challenge, challengeOf } from "./challenge.ts";
import { chooseClient } from "./client_identity.ts";
import { keyOf } from "./http_access.ts";
import { type ClientIdentity, type SignIn, SignInStore } from "./sign_in_store.ts";

export interface SignInOptions {
  /** The Reasonix home, where the sign-in is kept. */
  readonly home: string;
  /** The value of a variable that holds a secret. */
  readonly secret: (name: string) => string | undefined;
  /** Shows the person the address to visit, and opens it where that is possible. */
  readonly visit: (address: URL) => void | Promise<void>;
  /** Addresses that a person pastes who has come back with a browser on another machine. */
  readonly pasted?: AsyncIterable<string>;
  /** Hears why what was pasted is of no use. */
  readonly refused?: (why: string) => void;
  /** Ends the sign-in. */
  readonly signal: AbortSignal;
  /** Time that the person has; five minutes when absent. */
  readonly limitMs?: number;
}

/** What a person has agreed to. */
export interface SignedIn {
  readonly issuer: string;
  /** What the tokens allow, as far as that was said. */
  readonly scope?: string;
}

const LIMIT_MS = 300_000;
const REQUEST_MS = 30_000;

/**
 * Signs a person in at an MCP server: finds its authorization server, registers the program there where that
 * is needed, sends the person to it, and keeps the tokens. Rejects with a ReasonixError that says what was in
 * the way, or for the signal.
 *
 * Sources: RFC 6749, 7636 (PKCE), 7591 (registration), 8252 (loopback), 8414 and 9728 (metadata), 8707
 * (resource), 9207 (iss), and the authorization chapter of MCP 2026-07-28.
 */
export async function signIn(spec: McpServerSpec, options: SignInOptions): Promise<SignedIn> {
  options.signal.throwIfAborted();
  const without = knowsNoSignIn(spec);
  if (without !== undefined) {
    throw new ReasonixError(`MCP server ${spec.name} needs no sign-in: ${without}`, {
      exit: "usage",
      said: [["noSignIn", spec.name, without]],
    });
  }
  try {
    return await new SigningIn(spec, options).run();
  } catch (error) {
    if (isAbort(error) && options.signal.aborted) throw error;
    const silent = isAbort(error) ? obstacle(`no answer within ${REQUEST_MS / 1000} s`) : undefined;
    const explained = silent ?? explain(error, { spec });
    const remedy = explained instanceof ReasonixError ? explained.remedy : undefined;
    throw new ReasonixError(`Cannot sign in at ${spec.name}: ${errorMessage(explained)}`, {
      ...(remedy === undefined ? {} : { remedy }),
      said: [["signInFailed", spec.name, [errorMessage(explained), remedy ?? ""].filter(Boolean).join("；")]],
      cause: error,
    });
  }
}

function knowsNoSignIn({ type, headers, headersHelper }: McpServerSpec): string | undefined {
  if (type === "stdio") return "it is a program on this machine";
  if (headersHelper !== "") return "its headers_helper lets it in";
  const own = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  return own ? "the Authorization header of its configuration lets it in" : undefined;
}

/** One sign-in, from the first question to the tokens. */
class SigningIn {
  readonly #spec: McpServerSpec;
  readonly #options: SignInOptions;
  readonly #url: URL;
  readonly #store: SignInStore;
  readonly #request: FetchLike;

  constructor(spec: McpServerSpec, options: SignInOptions) {
    this.#spec = spec;
    this.#options = options;
    this.#url = addressOf(spec);
    this.#store = new SignInStore(options.home);
    const send = serverFetch({ server: this.#url, headers: () => Promise.resolve(spec.headers) });
    this.#request = (input, init) => {
      const limits = [
        options.signal,
        AbortSignal.timeout(REQUEST_MS),
        ...(init?.signal ? [init.signal] : []),
      ];
      return send(input, { ...init, signal: AbortSignal.any(limits) });
    };
  }

  async run(): Promise<SignedIn> {
    const known = await this.#store.of(keyOf(this.#spec));
    const challenge = await challengeOf(this.#url, this.#request);
    const server = await findAuthorizationServer(this.#url, challenge.metadataUrl, this.#request);
    if (server.guessed && !challenge.refused) {
      throw obstacle("it does not ask for a sign-in", "just use it");
    }
    const before = known.find(({ issuer }) => issuer === server.issuer);
    await using callback = this.#listen(before);
    const scope = await askedFor({ spec: this.#spec, challenge, server, before });
    const parts = { spec: this.#spec, server, before, redirect: callback.redirect, scope };
    const client = await chooseClient(parts, { secret: this.#options.secret, request: this.#request });
    const code = await this.#authorize({ callback, server, client: client.identity, scope });
    try {
      const saved = await this.#redeem({
        ...code,
        challenge,
        server,
        client,
        redirect: callback.redirect,
        before,
      });
      callback.finish("You are signed in. This page can be closed.");
      return saved;
    } catch (error) {
      callback.finish("The sign-in failed. The terminal says why.");
      throw error;
    }
  }

  /** Where a client was registered before, it is known under the port of that time. */
  #listen(before: SignIn | undefined): Callback {
    const { callback_port: port = 0 } = this.#spec.oauth ?? {};
    const old = Number(URL.parse(before?.redirect ?? "")?.port ?? 0);
    if (port > 0 || old === 0) return new Callback(port);
    try {
      return new Callback(old);
    } catch {
      return new Callback(0);
    }
  }

  /** Sends the person away, and waits for what the authorization server says. */
  async #authorize({ callback, server, client, scope }: {
    readonly callback: Callback;
    readonly server: AuthorizationServer;
    readonly client: ClientIdentity;
    readonly scope: string | undefined;
  }) {
    const { startAuthorization, validateAuthorizationResponseIssuer } = await loadSdk();
    const { metadata, resource } = server;
    const { authorizationUrl, codeVerifier } = await startAuthorization(server.url, {
      ...(metadata ? { metadata } : {}),
      ...(scope === undefined ? {} : { scope }),
      ...(resource === undefined ? {} : { resource }),
      clientInformation: client,
      redirectUrl: callback.redirect,
      state: callback.state,
    });
    if (!isSafeEndpoint(authorizationUrl.href)) {
      throw obstacle(`it sends people to ${authorizationUrl.origin}, which is not encrypted`);
    }
    await this.#options.visit(authorizationUrl);
    const answer = await this.#comeBack(callback);
    const iss = answer.get("iss") ?? undefined;
    const supported = metadata?.authorization_response_iss_parameter_supported === true;
    // Before anything else of the answer counts: who gave it.
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: metadata?.issuer,
      issParameterSupported: supported,
    });
    const code = answer.get("code");
    if (code === null) {
      callback.finish("The sign-in was not completed.");
      const said = [answer.get("error"), answer.get("error_description")].filter(Boolean).join(": ");
      throw obstacle(`the authorization server refused${said === "" ? "" : ` (${oneLine(said, 200)})`}`);
    }
    return { code, iss, codeVerifier };
  }

  async #comeBack(callback: Callback): Promise<URLSearchParams> {
    const { signal, limitMs = LIMIT_MS, pasted } = this.#options;
    const over = Promise.withResolvers<never>();
    const stop = () => over.reject(signal.reason);
    const timer = setTimeout(() => {
      const late = `nobody came back from the browser within ${Math.round(limitMs / 1000)} s`;
      const forget = `reasonix mcp logout ${this.#spec.name}`;
      over.reject(obstacle(late, `try again; where the page does not know the program, first \`${forget}\``));
    }, limitMs);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    if (pasted) void this.#takePasted(pasted, callback);
    try {
      return await Promise.race([callback.answer, over.promise]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  async #takePasted(pasted: AsyncIterable<string>, callback: Callback): Promise<void> {
    for await (const text of pasted) {
      if (text.trim() === "") continue;
      const problem = callback.accept(text);
      if (problem === undefined) return;
      this.#options.refused?.(problem);
    }
  }

  /** Turns the code into tokens, and keeps them. */
  async #redeem({ code, iss, codeVerifier, challenge, server, client, redirect, before }: {
    readonly code: string;
    readonly iss: string | undefined;
    readonly codeVerifier: string;
    readonly challenge: Challenge;
    readonly server: AuthorizationServer;
    readonly client: { readonly identity: ClientIdentity; readonly registered: boolean };
    readonly redirect: string;
    readonly before: SignIn | undefined;
  }): Promise<SignedIn> {
    const { exchangeAuthorization } = await loadSdk();
    const { metadata, resource, issuer } = server;
    const tokens = await exchangeAuthorization(server.url, {
      ...(metadata ? { metadata } : {}),
      ...(resource === undefined ? {} : { resource }),
      ...(iss === undefined ? {} : { iss }),
      clientInformation: client.identity,
      authorizationCode: code,
      codeVerifier,
      redirectUri: redirect,
      fetchFn: this.#request,
    });
    const { access_token, refresh_token, token_type, scope } = tokens;
    const registered = client.registered ? { client: client.identity, redirect } : {};
    const metadataUrl = challenge.metadataUrl?.href ?? before?.metadata;
    await this.#store.save({
      server: keyOf(this.#spec),
      name: this.#spec.name,
      issuer,
      ...(metadataUrl === undefined ? {} : { metadata: metadataUrl }),
      ...(resource === undefined ? {} : { resource }),
      ...registered,
      tokens: {
        access_token,
        token_type,
        ...(refresh_token === undefined ? {} : { refresh_token }),
        ...(scope === undefined ? {} : { scope }),
      },
    });
    return { issuer, ...(scope === undefined ? {} : { scope }) };
  }
}
