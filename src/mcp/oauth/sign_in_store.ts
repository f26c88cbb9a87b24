import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { writeFileAtomic } from "../../util/atomic_write.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { FileLock } from "../../util/lock.ts";
import { learnSecret } from "../../util/redact.ts";

/** The program as an authorization server knows it. */
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

/** The kept sign-in of one server at one authorization server. */
export interface SignIn {
  /** Address of the MCP server. */
  readonly server: string;
  /** The name that it had in the configuration. */
  readonly name?: string;
  /** The authorization server; nothing of this is ever shown to another one. */
  readonly issuer: string;
  /** Address of the description that names the authorization server. */
  readonly metadata?: string | undefined;
  /** The resource that the tokens are for. */
  readonly resource?: string | undefined;
  /** A client that was registered for this; absent: the configuration names one. */
  readonly client?: ClientIdentity | undefined;
  /** The address that the client was registered with. */
  readonly redirect?: string;
  readonly tokens?: Tokens | undefined;
  /** Scopes that the server asked for in vain. */
  readonly wanted?: string;
  /** RFC 3339. */
  readonly saved: string;
}

/** The fields of an answer with tokens that are kept. */
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

  /** Keeps a sign-in, in place of the one of the same server at the same authorization server. */
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

  /** Does work that no other process does for this server at the same time. */
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
    const { version, signIns } = isRecord(data) ? data : {};
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
