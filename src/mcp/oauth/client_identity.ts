import type { FetchLike } from "@modelcontextprotocol/client";
import { ReasonixError } from "../../core/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { loadSdk } from "../connection/sdk.ts";
import type { McpServerSpec } from "../server_spec.ts";
import {
  type AuthorizationServer,
  configuredClient,
  isSafeEndpoint,
  obstacle,
} from "./authorization_server.ts";
import type { ClientIdentity, SignIn } from "./sign_in_store.ts";

interface ClientChoice {
  readonly spec: McpServerSpec;
  readonly server: AuthorizationServer;
  /** An earlier sign-in at the same authorization server. */
  readonly before: SignIn | undefined;
  readonly redirect: string;
  readonly scope: string | undefined;
}

interface ClientPorts {
  readonly secret: (name: string) => string | undefined;
  readonly request: FetchLike;
}

/**
 * Who the program is for an authorization server: the client that the configuration names, which may be the
 * address of a document about it; the one that was registered before; or one that is registered now.
 */
export async function chooseClient(
  choice: ClientChoice,
  ports: ClientPorts,
): Promise<{ readonly identity: ClientIdentity; readonly registered: boolean }> {
  const { spec, server, before, redirect } = choice;
  const configured = configuredClient(spec, ports.secret);
  const documents = server.metadata?.client_id_metadata_document_supported === true;
  if (configured && (documents || !isDocument(configured.client_id))) {
    return { identity: configured, registered: false };
  }
  // A client is known under the address that the browser comes back to.
  if (before?.client && before.redirect === redirect) return { identity: before.client, registered: true };
  return { identity: await register(choice, ports.request), registered: true };
}

/** Such an identifier is the address of a document that says who the client is. */
function isDocument(clientId: string): boolean {
  return clientId.startsWith("https://");
}

async function register(
  { spec, server, redirect, scope }: ClientChoice,
  request: FetchLike,
): Promise<ClientIdentity> {
  const { registerClient } = await loadSdk();
  const { metadata } = server;
  if (metadata && !metadata.registration_endpoint) {
    throw unregistered(server, redirect, "it takes no registrations");
  }
  const endpoint = metadata?.registration_endpoint ?? new URL("/register", server.url).href;
  if (!isSafeEndpoint(endpoint)) throw unregistered(server, redirect, "its registration is not encrypted");
  const method = authMethod(metadata?.token_endpoint_auth_methods_supported);
  try {
    const { client_id, client_secret, token_endpoint_auth_method } = await registerClient(server.url, {
      ...(metadata ? { metadata } : {}),
      ...(scope === undefined ? {} : { scope }),
      clientMetadata: {
        client_name: "Reasonix",
        redirect_uris: [redirect],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        application_type: "native",
        token_endpoint_auth_method: method,
      },
      fetchFn: request,
    });
    return {
      client_id,
      ...(client_secret === undefined ? {} : { client_secret }),
      token_endpoint_auth_method: token_endpoint_auth_method ?? method,
    };
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "RegistrationRejectedError") throw error;
    if (server.guessed) {
      const why = "it asks for a sign-in, but nothing there says how to sign in";
      throw obstacle(why, `put a token into headers of ${spec.name}, as its makers describe`, error);
    }
    const { status = 0, body = "" } = error as { status?: number; body?: string };
    throw unregistered(server, redirect, `it refused the registration (${status}: ${oneLine(body, 200)})`);
  }
}

function unregistered({ issuer }: AuthorizationServer, redirect: string, why: string): ReasonixError {
  const port = new URL(redirect).port;
  return obstacle(
    `${issuer} does not know this program, and ${why}`,
    `make a client there whose redirect address is ${redirect}, and name it: ` +
      `oauth = { client_id = "…", callback_port = ${port} }`,
  );
}

/** A program on somebody's machine keeps no secret, so it is given one only where that is a must. */
function authMethod(supported: readonly string[] | undefined): string {
  if (supported === undefined || supported.length === 0 || supported.includes("none")) return "none";
  return supported.includes("client_secret_basic") ? "client_secret_basic" : "client_secret_post";
}
