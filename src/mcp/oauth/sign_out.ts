import type { FetchLike } from "@modelcontextprotocol/client";
import { errorMessage } from "../../core/mod.ts";
import { loadSdk } from "../connection/sdk.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { addressOf } from "../transport/http_transport.ts";
import { serverFetch } from "../transport/http_fetch.ts";
import {
  configuredClient,
  findAuthorizationServer,
  isSafeEndpoint,
  obstacle,
} from "./authorization_server.ts";
import { keyOf } from "./http_access.ts";
import { type ClientIdentity, type SignIn, SignInStore, type Tokens } from "./sign_in_store.ts";

/** What became of the sign-ins of a server. */
export interface SignedOut {
  /** There was one. */
  readonly known: boolean;
  /** Authorization servers that were told, and took the tokens back. */
  readonly revoked: readonly string[];
  /** Why others could not be told; their tokens are good until they run out. */
  readonly problems: readonly string[];
}

export interface SignOutOptions {
  readonly home: string;
  readonly secret: (name: string) => string | undefined;
}

/** What has to be known of a server to sign out of it. */
export type SignedInServer = Pick<McpServerSpec, "name" | "url" | "headers" | "oauth">;

const LIMIT_MS = 10_000;

/** Addresses of the servers that the user signed in at under a name, configured or not. */
export async function signedInAs(name: string, home: string): Promise<readonly string[]> {
  return await new SignInStore(home).named(name);
}

/**
 * Forgets the sign-ins of a server, after its authorization servers were asked to take the tokens back (RFC
 * 7009). Forgets also where that fails. Rejects with a ReasonixError when the file cannot be read or written.
 */
export async function signOut(spec: SignedInServer, options: SignOutOptions): Promise<SignedOut> {
  const server = addressOf(spec);
  const store = new SignInStore(options.home);
  const known = await store.of(keyOf(spec));
  const signal = AbortSignal.timeout(LIMIT_MS);
  const send = serverFetch({ server, headers: () => Promise.resolve(spec.headers) });
  const request: FetchLike = (input, init) => send(input, { ...init, signal });
  const revoked: string[] = [];
  const problems: string[] = [];
  for (const signIn of known) {
    if (signIn.tokens === undefined) continue;
    try {
      const client = configuredClient(spec, options.secret) ?? signIn.client;
      await revoke(server, { signIn, tokens: signIn.tokens, client }, request);
      revoked.push(signIn.issuer);
    } catch (error) {
      problems.push(`${signIn.issuer}: ${errorMessage(error)}`);
    }
  }
  if (known.length > 0) await store.forget(keyOf(spec));
  return { known: known.length > 0, revoked, problems };
}

interface Revocation {
  readonly signIn: SignIn;
  readonly tokens: Tokens;
  readonly client: ClientIdentity | undefined;
}

async function revoke(
  server: URL,
  { signIn, tokens, client }: Revocation,
  request: FetchLike,
): Promise<void> {
  const { selectClientAuthMethod } = await loadSdk();
  const metadataUrl = signIn.metadata === undefined ? undefined : new URL(signIn.metadata);
  const { issuer, metadata } = await findAuthorizationServer(server, metadataUrl, request);
  if (issuer !== signIn.issuer) throw obstacle(`the server now signs people in at ${issuer}`);
  const endpoint = metadata && "revocation_endpoint" in metadata ? metadata.revocation_endpoint : undefined;
  if (typeof endpoint !== "string" || !isSafeEndpoint(endpoint)) throw obstacle("it takes no tokens back");
  // The token that makes others first; most servers end those with it.
  const kinds = [["refresh_token", tokens.refresh_token], ["access_token", tokens.access_token]] as const;
  for (const [kind, token] of kinds) {
    if (token === undefined) continue;
    const body = new URLSearchParams({ token, token_type_hint: kind });
    const headers = new Headers();
    if (client) {
      const methods = metadata?.token_endpoint_auth_methods_supported ?? [];
      if (selectClientAuthMethod(client, methods) === "client_secret_basic") {
        headers.set("authorization", `Basic ${btoa(`${client.client_id}:${client.client_secret ?? ""}`)}`);
      } else {
        body.set("client_id", client.client_id);
        if (client.client_secret !== undefined) body.set("client_secret", client.client_secret);
      }
    }
    const response = await request(endpoint, { method: "POST", headers, body });
    await response.body?.cancel();
    if (!response.ok) throw obstacle(`it answered with ${response.status}`);
  }
}
