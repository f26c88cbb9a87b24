/** Sends a request as the global `fetch` does, with the client of an entry where there is one. */
export type Fetch = (
  url: string | URL,
  init?: RequestInit & { readonly client?: Deno.HttpClient },
) => Promise<Response>;

/** A redirect that was not followed, since it leads away from the server that the request was meant for. */
export class RedirectError extends Error {
  override readonly name = "RedirectError";
  readonly status: number;

  /** `from` and `to` are addresses without credentials, query and fragment. */
  constructor(readonly from: string, readonly to: string, { status, statusText }: Response) {
    super(`${from} leads to ${to} (${`${status} ${statusText}`.trim()}), which is not followed`);
    this.status = status;
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_HOPS = 5;

/**
 * Keeps the requests of a fetch at the origin that they name: a redirect there, or to the https form of the
 * same address, gets the same method, headers and body; any other one, and the sixth in a row, is a
 * RedirectError. Keys stand in headers of many names, and conversations in bodies, so that no part of a
 * request is safe to pass on.
 */
export function withinOrigin(send: Fetch): Fetch {
  return async (url, init) => {
    if (init?.redirect === "manual") return await send(url, init);
    let from = url;
    for (let hops = 0;; hops++) {
      const response = await send(from, { ...init, redirect: "manual" });
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null) return response;
      await response.body?.cancel();
      const base = new URL(from);
      const to = URL.parse(location, base);
      if (to === null || hops === MAX_HOPS || !staysWithin(base, to)) {
        throw new RedirectError(shown(base), to === null ? "no address" : shown(to), response);
      }
      from = to;
    }
  };
}

/** The fetch of the program. Nothing else of it may send a request (tests/house). */
export const programFetch: Fetch = withinOrigin((url, init) => fetch(url, init));

/** Reports whether an address is of the same origin as another one, or its encrypted form. */
export function isSameServer(from: URL, to: URL): boolean {
  if (to.origin === from.origin) return true;
  const isUpgrade = from.protocol === "http:" && to.protocol === "https:";
  return isUpgrade && to.hostname === from.hostname && from.port === "" && to.port === "";
}

function staysWithin(from: URL, to: URL): boolean {
  const logsIn = to.username !== "" || to.password !== "";
  const same = to.username === from.username && to.password === from.password;
  return isSameServer(from, to) && (!logsIn || same);
}

function shown({ protocol, origin, pathname }: URL): string {
  return protocol === "http:" || protocol === "https:" ? `${origin}${pathname}` : protocol;
}
