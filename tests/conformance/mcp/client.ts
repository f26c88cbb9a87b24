/**
 * A client for the official conformance suite, which wants one for each scenario: the MCP client of the
 * program itself, with a person who agrees to every sign-in.
 */
import {
  loadHttpAccess,
  loadMcp,
  loadSignIn,
  type McpQuestions,
  type McpServer,
  type McpServerSpec,
  serverSpecs,
} from "../../../src/mcp/mod.ts";
import { pluginEntry } from "../../support/config_entries.ts";
import { makeTempDir } from "../../support/tool_context.ts";

/** The address that the suite expects as the identifier of a client that describes itself in a document. */
const DOCUMENT = "https://conformance-test.local/client-metadata.json";

/** Calls that a scenario requires in addition to the first listing. */
const CALLS: Readonly<Record<string, readonly [tool: string, args: Record<string, unknown>]>> = {
  tools_call: ["add_numbers", { a: 5, b: 3 }],
  "elicitation-sep1034-client-defaults": ["test_client_elicitation_defaults", {}],
  "sse-retry": ["test_reconnection", {}],
};

/** Sign-ins of one run: the first, and one for missing scopes. */
const MOST_SIGN_INS = 3;

/** A scenario of the suite, as a client gets it. */
interface Scenario {
  readonly name: string;
  /** The address of the server. */
  readonly url: string;
  /** Values for the client, such as its identifier. */
  readonly context: Readonly<Record<string, string>>;
}

/** The home of a client and its secrets. */
interface Client {
  readonly home: string;
  readonly secret: (name: string) => string | undefined;
}

function specOf({ url, name, context }: Scenario, home: string): McpServerSpec {
  const { client_id = name === "auth/basic-cimd" ? DOCUMENT : "", client_secret } = context;
  const oauth = {
    client_id,
    client_secret_env: client_secret === undefined ? "" : "SECRET",
    scopes: [],
    callback_port: 0,
  };
  const entry = pluginEntry({ name: "suite", type: "http", url, oauth });
  const [spec] = serverSpecs([entry], { cwd: home, callSeconds: 20 });
  if (!spec) throw new Error("no server");
  return spec;
}

/** Follows redirects like a browser, up to the page of the program. */
async function visit(address: URL): Promise<void> {
  const response = await fetch(address, { redirect: "manual" });
  await response.body?.cancel();
  const target = response.headers.get("location");
  if (target === null) throw new Error(`The authorization server answered with ${response.status}`);
  void fetch(new URL(target, address)).then((page) => page.body?.cancel()).catch(() => {});
}

/** Accepts the defaults of every form. */
const elicit: NonNullable<McpQuestions["elicit"]> = (_server, params) => {
  const { properties = {} } = "requestedSchema" in params ? params.requestedSchema : {};
  const proposed = Object.entries(properties).filter(([, field]) => "default" in field);
  const content = Object.fromEntries(proposed.map(([name, field]) => [name, field.default as string]));
  return Promise.resolve({ action: "accept", content });
};

async function signIn(spec: McpServerSpec, { home, secret }: Client): Promise<void> {
  const { signIn } = await loadSignIn();
  await signIn(spec, { home, secret, visit, signal: AbortSignal.timeout(20_000), limitMs: 10_000 });
}

/** Does what a scenario requires of a client, which has nothing of the clients before it. */
export async function runClient(scenario: Scenario): Promise<void> {
  await using temp = await makeTempDir();
  const home = temp.path;
  const client = {
    home,
    secret: (name: string) => name === "SECRET" ? scenario.context.client_secret : undefined,
  };
  const spec = specOf(scenario, home);
  const { McpServers } = await loadMcp();
  const spawn = { guard: undefined, environment: () => Promise.resolve({}) };
  const servers = new McpServers({
    home,
    cacheDir: `${home}/cache`,
    specs: [spec],
    indexAboveTokens: 0,
    spawn,
    questions: { roots: () => [], elicit },
    connection: async () => (await loadHttpAccess()).httpAccess(spec, { ...client, spawn }),
    onChange: () => {},
  });
  try {
    await use(servers.named("suite"), scenario.name, client);
  } finally {
    await servers.close();
  }
}

async function use(server: McpServer, scenario: string, client: Client): Promise<void> {
  const { spec } = server;
  await server.start();
  let signIns = 0;
  if (server.status.state === "needs-auth") {
    signIns += 1;
    await signIn(spec, client);
    await server.restart();
  }
  if (server.status.state !== "ready") throw new Error(server.status.detail ?? server.status.state);
  const [tool, args] = CALLS[scenario] ?? [server.listing.tools[0]?.name, {}];
  if (tool === undefined) return;
  const signal = AbortSignal.timeout(20_000);
  for (;;) {
    try {
      await server.use(
        (connection) => connection.call(tool, args, { signal, progress: () => {} }),
        signal,
      );
      return;
    } catch (error) {
      // Rights that the first sign-in did not bring.
      const remedy = error instanceof Error && "remedy" in error ? String(error.remedy) : "";
      if (!remedy.startsWith("reasonix mcp login") || ++signIns > MOST_SIGN_INS) throw error;
      await signIn(spec, client);
      await server.restart();
    }
  }
}
