import { errorMessage, ReasonixError } from "../../core/mod.ts";

const PATH = "/callback";

/** Where the browser comes back to after a sign-in: a server on this machine, for as long as it is waited. */
export class Callback implements AsyncDisposable {
  /** The address that the authorization server is told. */
  readonly redirect: string;
  /** A value that only the one who was sent away can know. */
  readonly state: string = new Uint8Array(crypto.getRandomValues(new Uint8Array(24))).toHex();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #answer = Promise.withResolvers<URLSearchParams>();
  readonly #outcome = Promise.withResolvers<string>();

  /** Listens on a port of the loopback address; 0: any. Throws a ReasonixError where that is not possible. */
  constructor(port: number) {
    const options = { hostname: "127.0.0.1", port, onListen() {} };
    try {
      this.#server = Deno.serve(options, (request) => this.#handle(request));
    } catch (error) {
      throw new ReasonixError(
        `Cannot listen on port ${port} for the end of the sign-in: ${errorMessage(error)}`,
        {
          remedy: "end what uses the port, or set another callback_port",
          cause: error,
        },
      );
    }
    this.redirect = `http://127.0.0.1:${this.#server.addr.port}${PATH}`;
  }

  /** What the authorization server says, once the browser has come back. */
  get answer(): Promise<URLSearchParams> {
    return this.#answer.promise;
  }

  /** Takes the address at which a browser on another machine ended. Returns what is wrong with it. */
  accept(address: string): string | undefined {
    const url = URL.canParse(address.trim()) ? new URL(address.trim()) : undefined;
    if (!url?.searchParams.has("state")) return `that is not an address that begins with ${this.redirect}?…`;
    if (url.searchParams.get("state") !== this.state) return "that address belongs to another sign-in";
    this.#answer.resolve(url.searchParams);
    return undefined;
  }

  /** Tells the person at the browser how it went. */
  finish(text: string): void {
    this.#outcome.resolve(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.finish("The sign-in was given up.");
    await this.#server.shutdown();
  }

  async #handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname !== PATH || request.method !== "GET") return page("There is nothing here.", 404);
    if (url.searchParams.get("state") !== this.state) {
      return page("This address does not belong to the sign-in that is waited for.", 400);
    }
    this.#answer.resolve(url.searchParams);
    return page(await this.#outcome.promise, 200);
  }
}

function page(text: string, status: number): Response {
  const shown = text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const body = `<!doctype html><meta charset="utf-8"><title>Reasonix</title>` +
    `<body style="font:1.1em sans-serif;margin:3em"><p>${shown}</p>`;
  return new Response(body, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "referrer-policy": "no-referrer",
      connection: "close",
    },
  });
}
