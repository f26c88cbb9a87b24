import type { AuthorizationServerMetadata, FetchLike, OAuthServerInfo } from "@modelcontextprotocol/client";
import { isLoopback } from "../../config/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import { loadSdk } from "../connection/sdk.ts";
import type { McpServerSpec } from "../server_spec.ts";
import type { ClientIdentity } from "./sign_in_store.ts";

/** Why a sign-in cannot be made or renewed, to stand after the name of what was tried. */
export function obstacle(why: string, remedy?: string, cause?: unknown): ReasonixError {
  return new ReasonixError(why, { ...(remedy === undefined ? {} : { remedy }), cause });
}

/** Where a server lets people sign in. */
export interface AuthorizationServer {
  readonly url: string;
  /** Names it; what it gives out is bound to this. */
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata | undefined;
  /** What the tokens are to be for. */
  readonly resource: string | undefined;
  /** Scopes that the server proposes. */
  readonly scopes: string | undefined;
  /** Nothing told where it is, so its places are guessed, as the first servers had them. */
  readonly guessed: boolean;
}

/**
 * Asks a server, then its authorization server, for their metadata. Throws a ReasonixError for a server that
 * claims to be another one, or an authorization server that does not name itself as it was called.
 */
export async function findAuthorizationServer(
  server: URL,
  metadataUrl: URL | undefined,
  request: FetchLike,
): Promise<AuthorizationServer> {
  const { discoverOAuthServerInfo, checkResourceAllowed } = await loadSdk();
  const discover = (skipIssuerMetadataValidation: boolean): Promise<OAuthServerInfo> =>
    discoverOAuthServerInfo(server, {
      ...(metadataUrl ? { resourceMetadataUrl: metadataUrl } : {}),
      fetchFn: request,
      skipIssuerMetadataValidation,
    });
  const info = await discover(false).catch((error: unknown) => {
    // The first servers of all sign people in themselves, under a name that was not asked for. Who answers
    // for an origin may name itself as it likes there.
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
      `it says that it is another server, ${resource}`,
      "correct the url of the server, or tell those who run it",
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
  const value = client_secret_env === "" ? undefined : secret(client_secret_env);
  if (client_secret_env !== "" && value === undefined) {
    throw obstacle(
      `the secret of the client ${client_id} is missing: ${client_secret_env} is not set`,
      `write ${client_secret_env}=… into .env of the Reasonix home`,
    );
  }
  return { client_id, ...(value === undefined ? {} : { client_secret: value }) };
}

/** Reports whether credentials may go there: encrypted, or to this machine. */
export function isSafeEndpoint(address: string): boolean {
  const protocol = URL.parse(address)?.protocol;
  return protocol === "https:" || protocol === "http:" && isLoopback(address);
}
