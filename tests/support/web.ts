/** The web server in the process of a test, with live sessions and a scripted model. */
import { FRONTENDS } from "../../src/frontend/mod.ts";
import type { WebOptions, WebServer } from "../../src/frontend/web/mod.ts";
import { type LiveStage, liveStage, type LiveStageOptions } from "./live_stage.ts";

/** Sends a request to a path; an object becomes a JSON body, and then POST is the default method. */
export type Client = (
  path: string,
  init?: Omit<RequestInit, "body"> & { readonly json?: unknown },
) => Promise<Response>;

interface ServeOptions extends LiveStageOptions {
  /** Files of the workspace, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Sessions of an earlier server, which are not closed with this one. */
  readonly stage?: LiveStage;
  readonly web?: Partial<WebOptions>;
}

export interface ServedHere extends AsyncDisposable {
  readonly origin: string;
  readonly server: WebServer;
  readonly stage: LiveStage;
  /** Requests of a signed-in owner, viewer, and of a client without sign-in. */
  readonly owner: Client;
  readonly viewer: Client;
  readonly anyone: Client;
  /** Uses a link; returns the secret of the browser. */
  signIn(link: string): Promise<string>;
  client(secret?: string): Client;
}

export async function serveHere(
  { files = {}, web = {}, ...options }: ServeOptions = {},
): Promise<ServedHere> {
  const stage = options.stage ?? await liveStage(options);
  for (const [name, text] of Object.entries(files)) {
    await Deno.mkdir(`${stage.cwd}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${stage.cwd}/${name}`, text);
  }
  const { serveWeb } = await FRONTENDS.web();
  const server = await serveWeb({
    address: { hostname: "127.0.0.1", port: 0 },
    auth: { mode: "token" },
    sessionHours: 12,
    sessions: stage.sessions,
    home: stage.home,
    directory: stage.cwd,
    texts: stage.texts,
    ...web,
  });
  const client = (secret?: string): Client => (path, { json, headers, ...init } = {}) =>
    fetch(`${server.local}${path}`, {
      method: json === undefined ? "GET" : "POST",
      ...init,
      headers: {
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        ...(json === undefined && (init.method ?? "GET") === "GET"
          ? {}
          : { "content-type": "application/json" }),
        ...(headers as Record<string, string> | undefined),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
  const signIn = async (link: string) => {
    const token = /token=([\w-]+)/.exec(link)?.[1];
    const response = await client()("/api/v1/sign-in", { json: { token } });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error.message);
    return answer.secret as string;
  };
  const isOpen = web.auth?.mode === "none";
  return {
    origin: server.origin,
    server,
    stage,
    owner: client(isOpen ? undefined : await signIn(server.link("owner"))),
    viewer: client(isOpen ? undefined : await signIn(server.link("viewer"))),
    anyone: client(),
    signIn,
    client,
    async [Symbol.asyncDispose]() {
      await server.close();
      if (!options.stage) await stage[Symbol.asyncDispose]();
    },
  };
}

/** Looks again until there is something; fails after a minute. */
async function found<T>(missing: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + 60_000;
  for (;;) {
    const value = await look();
    if (value !== undefined) return value;
    if (performance.now() > end) throw new Error(`There is ${missing}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Uses a link of the program as a browser does; `ask` sends requests, with a body as POST. */
export async function visit(link = "") {
  const { origin, hash } = new URL(link);
  const token = new URLSearchParams(hash.slice(1)).get("token");
  const response = await fetch(`${origin}/api/v1/sign-in`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  const { role = "", secret = "" } = await response.json();
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const ask = async (path: string, body?: object) => {
    const sent = body ? { method: "POST", body: JSON.stringify(body) } : {};
    const answer = await fetch(`${origin}/api/v1${path}`, { headers, ...sent });
    return { status: answer.status, ...await answer.json() };
  };
  return {
    status: response.status,
    role,
    ask,
    /** The first open question of a session, once there is one. */
    question: (session: string) =>
      found(`no question of ${session}`, async () => {
        const { questions = [] } = await ask(`/sessions/${session}/questions`);
        return questions[0];
      }),
    /** The stored events of a session, once one has a type. */
    events: (session: string, type: string) =>
      found(`no ${type} in ${session}`, async () => {
        const { events } = await ask(`/sessions/${session}/events`);
        return events.some((event: { readonly type: string }) => event.type === type) ? events : undefined;
      }),
    /** Opens the stream and reads it until the server ends it. */
    stream: async (query = "") => await (await fetch(`${origin}/api/v1/stream${query}`, { headers })).text(),
  };
}
