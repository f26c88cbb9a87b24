import type { FetchLike } from "@modelcontextprotocol/client";
import { loadSdk } from "../connection/sdk.ts";
import type { McpServerSpec } from "../server_spec.ts";
import type { AuthorizationServer } from "./authorization_server.ts";
import type { SignIn } from "./sign_in_store.ts";

/** What a server says to someone whom it does not know. */
export interface Challenge {
  /** It wants to know who is there. */
  readonly refused: boolean;
  /** Where it describes how to sign in. */
  readonly metadataUrl?: URL;
  /** The rights that it wants to see. */
  readonly scope?: string;
}

/** Knocks at a server without tokens. A session that comes of it is ended at once. */
export async function challengeOf(server: URL, request: FetchLike): Promise<Challenge> {
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
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  return {
    refused: response.status === 401 || response.status === 403,
    ...(resourceMetadataUrl ? { metadataUrl: resourceMetadataUrl } : {}),
    ...(scope === undefined ? {} : { scope }),
  };
}

/**
 * The rights to ask for: those of the configuration; else those that the server wants to see, with those that
 * were given and those that were missing since; else those that it proposes. Undefined: whatever it gives.
 */
export async function askedFor({ spec, challenge, server, before }: {
  readonly spec: McpServerSpec;
  readonly challenge: Challenge;
  readonly server: AuthorizationServer;
  readonly before: SignIn | undefined;
}): Promise<string | undefined> {
  const { computeScopeUnion } = await loadSdk();
  const chosen = spec.oauth?.scopes?.join(" ") || undefined;
  const { wanted, tokens } = before ?? {};
  const scope = chosen ??
    (wanted === undefined
      ? challenge.scope ?? server.scopes
      : computeScopeUnion(tokens?.scope, challenge.scope ?? server.scopes, wanted));
  // Without it some give no token to renew the sign-in with.
  const offline = server.metadata?.scopes_supported?.includes("offline_access") ?? false;
  return scope !== undefined && offline ? computeScopeUnion(scope, "offline_access") : scope;
}
