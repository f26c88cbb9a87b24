/** The calls of the page: with the secret of this browser, and sent again where that cannot count twice. */
import { signal } from "@preact/signals";
import type { ApiAnswer, Role } from "../src/frontend/web/schemas.ts";

/** The role of this browser; "no" shows the sign-in. */
export const signedIn = signal<Role | "no" | "unknown">("unknown");

/** The server, as far as this browser may know it. */
export const server = signal<ApiAnswer<"GET /server"> | undefined>(undefined);

/** A problem that the page shows until the user closes it. */
export const problem = signal<Error | undefined>(undefined);

const SECRET = "reasonix.secret";

/** A refusal by the server with its remedy; without status and message it gave no answer. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** Shows why something failed; after a 401 the sign-in says enough. */
export function report(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) return;
  problem.value = error instanceof Error ? error : new Error(String(error));
}

/** The secret of this browser for this server. */
export function secret(): string {
  return stored(SECRET) ?? "";
}

/** The values in a browser that keeps nothing: they hold until the page is closed. */
const held = new Map<string, string>();

export function stored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return held.get(key);
  }
}

/** Keeps a value in this browser; an empty one is removed. */
export function store(key: string, value: string): void {
  try {
    if (value === "") localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    held.set(key, value);
  }
}

/** Shows the sign-in. */
export function signOut(): void {
  store(SECRET, "");
  signedIn.value = "no";
}

/** Exchanges the token of a link, or a password, for a secret; the server then says who this is. */
export async function signIn(by: { readonly token: string } | { readonly password: string }): Promise<void> {
  const given = await call<ApiAnswer<"POST /sign-in">>("POST", "/sign-in", by);
  store(SECRET, given.secret);
}

/** Sends one request; a 401 shows the sign-in, once: nothing else is sent until the user signs in. */
async function call<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
  const key = secret();
  const response = await fetch(`/api/v1${path}`, {
    method,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
    credentials: "omit",
    cache: "no-store",
  }).catch((error) => {
    throw signal?.aborted ? error : new ApiError(0, "");
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401 && key === secret() && path !== "/sign-in") signOut();
  const { message = response.statusText, remedy } = answer.error ?? {};
  throw new ApiError(response.status, remedy ? `${message}: ${remedy}` : message);
}

/** Repeats a request that got no answer, up to some attempts. */
export async function repeated<T>(request: () => Promise<T>, attempts = 8): Promise<T> {
  for (let wait = 300;; wait = Math.min(wait * 2, 15_000)) {
    try {
      return await request();
    } catch (error) {
      const isLost = error instanceof ApiError && [0, 502, 503, 504].includes(error.status);
      if (!isLost || --attempts <= 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

export const api = {
  get: <T>(path: string, signal?: AbortSignal): Promise<T> => call<T>("GET", path, undefined, signal),
  /** Sent again where it got no answer and has an id, by which it counts once. */
  post: <T>(path: string, body: object = {}): Promise<T> =>
    repeated(() => call<T>("POST", path, body), "id" in body ? undefined : 1),
  patch: <T>(path: string, body: object): Promise<T> => call<T>("PATCH", path, body),
  delete: <T>(path: string): Promise<T> => call<T>("DELETE", path),
};
