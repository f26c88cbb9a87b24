import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { writeFileAtomic } from "../../util/atomic_write.ts";
import { isRecord } from "../../util/json.ts";
import { FileLock } from "../../util/lock.ts";
import { learnSecret } from "../../util/redact.ts";

/** Who the program is for an authorization server. */
export interface ClientIdentity {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly token_endpoint_auth_method?: string;
}

/** What an authorization server gave out. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly token_type: string;
  readonly scope?: string;
}

/** What is kept of the sign-in of one server at one authorization server. */
export interface SignIn {
  /** Address of the MCP server. */
  readonly server: string;
  /** The name that it had in the configuration. */
  readonly name?: string;
  /** The authorization server; nothing of this is ever shown to another one. */
  readonly issuer: string;
  /** Where the program was sent to find the authorization server. */
  readonly metadata?: string;
  /** The resource that the tokens are for. */
  readonly resource?: string;
  /** A client that was registered for this; absent: the configuration names one. */
  readonly client?: ClientIdentity;
  /** The address that the client was registered with. */
  readonly redirect?: string;
  readonly tokens?: Tokens;
  /** Scopes that the server asked for in vain. */
  readonly wanted?: string;
  /** RFC 3339. */
  readonly saved: string;
}

interface StoreFile {
  readonly version: 1;
  readonly signIns: readonly SignIn[];
}

const EMPTY: StoreFile = { version: 1, signIns: [] };

/**
 * The sign-ins of MCP servers, in `<home>/mcp-auth.json` (0600). What is read or written of it is a secret to
 * every redactor from then on.
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
    const { signIns } = await this.#read();
    return signIns.filter((one) => one.server === server)
      .sort((a, b) => a.saved < b.saved ? 1 : a.saved > b.saved ? -1 : 0);
  }

  /** Addresses of the servers that had a name when somebody signed in at them. */
  async named(name: string): Promise<readonly string[]> {
    const { signIns } = await this.#read();
    return [...new Set(signIns.filter((one) => one.name === name).map(({ server }) => server))];
  }

  /** Keeps a sign-in, in place of the one of the same server at the same authorization server. */
  async save(signIn: Omit<SignIn, "saved">): Promise<SignIn> {
    const saved: SignIn = { ...signIn, saved: new Date().toISOString() };
    await this.#update((known) => [...known.filter((one) => !isSame(one, saved)), saved]);
    return saved;
  }

  async forget(server: string): Promise<void> {
    await this.#update((known) => known.filter((one) => one.server !== server));
  }

  /** Does something that no other process does for this server at the same time. */
  async alone<T>(server: string, work: () => Promise<T>): Promise<T> {
    const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(server));
    const lock = await FileLock.acquire(`${this.path}.${new Uint8Array(bytes).toHex().slice(0, 12)}.lock`);
    try {
      return await work();
    } finally {
      lock.release();
    }
  }

  async #read(): Promise<StoreFile> {
    let text: string;
    try {
      text = await Deno.readTextFile(this.path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return EMPTY;
      throw this.#damaged("Cannot read", errorMessage(error));
    }
    let data: unknown;
    try {
      data = JSON.parse(text);
    } catch {
      throw this.#damaged("Cannot read", "it is no JSON");
    }
    if (!isStoreFile(data)) throw this.#damaged("Cannot read", "it has another format");
    data.signIns.forEach(learn);
    return data;
  }

  async #update(change: (known: readonly SignIn[]) => readonly SignIn[]): Promise<void> {
    try {
      await Deno.mkdir(this.path.slice(0, this.path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
      const lock = await FileLock.acquire(`${this.path}.lock`);
      try {
        const next: StoreFile = { version: 1, signIns: change((await this.#read()).signIns) };
        next.signIns.forEach(learn);
        await writeFileAtomic(this.path, `${JSON.stringify(next, undefined, 2)}\n`, { setMode: 0o600 });
      } finally {
        lock.release();
      }
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

function isSame(a: SignIn, b: SignIn): boolean {
  return a.server === b.server && a.issuer === b.issuer;
}

function learn({ tokens, client }: SignIn): void {
  for (const value of [tokens?.access_token, tokens?.refresh_token, client?.client_secret]) {
    if (value !== undefined) learnSecret(value);
  }
}

function isStoreFile(data: unknown): data is StoreFile {
  return isRecord(data) && data.version === 1 && Array.isArray(data.signIns) && data.signIns.every(isSignIn);
}

function isSignIn(data: unknown): data is SignIn {
  if (!isRecord(data) || typeof data.server !== "string" || typeof data.issuer !== "string") return false;
  const { tokens, client, saved } = data;
  return typeof saved === "string" &&
    (tokens === undefined || isRecord(tokens) && typeof tokens.access_token === "string") &&
    (client === undefined || isRecord(client) && typeof client.client_id === "string");
}
