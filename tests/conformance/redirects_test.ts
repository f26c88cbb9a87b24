/**
 * Every function that sends requests, redirected to another origin in each way: nothing reaches it. The cases
 * are those of SENDERS (tests/support/connections.ts), which a house rule keeps complete.
 */
import { loadSignIn } from "../../src/mcp/mod.ts";
import { checkProvider, createProvider, loadLocalServers, loadWindow } from "../../src/provider/mod.ts";
import { askHealth, askWindow, knowsKey } from "../../src/provider/managed/managed_server.ts";
import { connect } from "../../src/provider/wire/endpoint.ts";
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import {
  AuthorizationServer,
  startProtectedServer,
  visitAsBrowser,
} from "../support/mcp/authorization_server.ts";
import { startHttpMcpServer } from "../support/mcp/http_mcp_server.ts";
import { type McpFixture, openMcp } from "../support/mcp/mcp_fixture.ts";
import { collect, HELLO, openClient, providerEntry } from "../support/model_client.ts";
import { type Redirect, REDIRECTS, sendersOf, type TwoOrigins, twoOrigins } from "../support/redirects.ts";

const KEY = "sk-the-key-0123456789";
const signal = () => AbortSignal.timeout(60_000);

const PREFIX = { system: "You help.", tools: [] };

function entryAt({ first }: TwoOrigins, more: Record<string, unknown> = {}) {
  return providerEntry({ base_url: `${first}/v1`, model: "m", headers: { "x-own": KEY }, ...more });
}

/** Answers the list of models, so that later requests are sent, too. */
function withModels(request: Request): Response | undefined {
  return new URL(request.url).pathname === "/v1/models"
    ? Response.json({ data: [{ id: "m" }], models: [{ name: "m" }] })
    : undefined;
}

async function messageOf(work: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await work());
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function signIn({ servers, home }: McpFixture): Promise<unknown> {
  const { signIn } = await loadSignIn();
  return await signIn(servers.named("far").spec, {
    home,
    secret: () => undefined,
    signal: signal(),
    visit: (address) => void visitAsBrowser(address),
  });
}

const far = (url: string, more: Record<string, unknown> = {}) => ({
  name: "far",
  type: "http",
  url,
  ...more,
});

/** Signs in at a protected server whose authorization server has these endpoints elsewhere. */
async function signedInWith(
  metadata: Record<string, unknown>,
  work: (mcp: McpFixture, issuer: AuthorizationServer) => Promise<unknown>,
): Promise<void> {
  await using issuer = new AuthorizationServer({ metadata });
  await using server = startProtectedServer(issuer);
  await using mcp = await openMcp([far(server.url)]);
  await work(mcp, issuer);
}

/** A request that is redirected to another origin. */
interface Case {
  readonly answer?: (request: Request) => Response | undefined;
  readonly run: (origins: TwoOrigins) => Promise<unknown>;
  /** The user reads the result, which must name the target of the redirect. */
  readonly names?: true;
}

const CASES: Readonly<Record<string, readonly Case[]>> = {
  "src/provider/wire/queries.ts": [
    ...["openai", "responses", "anthropic", "google"].map((kind): Case => ({
      names: true,
      run: (origins) =>
        messageOf(() =>
          checkProvider({ entry: entryAt(origins, { kind }), apiKey: KEY, version: "1" }, signal())
        ),
    })),
    {
      names: true,
      run: async (origins) => {
        const entry = entryAt(origins, { kind: "anthropic" });
        const provider = await createProvider({ entry, model: "m", apiKey: KEY, version: "1" });
        return await messageOf(async () =>
          await provider.count?.({ prefix: PREFIX, messages: HELLO }, signal())
        );
      },
    },
  ],
  "src/provider/wire/embeddings.ts": [{
    names: true,
    run: async (origins) => {
      const provider = await createProvider({
        entry: entryAt(origins),
        model: "m",
        apiKey: KEY,
        version: "1",
      });
      return await messageOf(async () => await provider.embed?.(["a"], "m", signal()));
    },
  }],
  "src/provider/local/local_servers.ts": [
    ...[undefined, withModels].map((answer): Case => ({
      ...(answer ? { answer } : {}),
      run: async (origins) => {
        const { discoverWindow } = await loadWindow();
        return await discoverWindow({ entry: entryAt(origins), model: "m", apiKey: KEY, fetch });
      },
    })),
    ...["ollama", "llamacpp", "lmstudio", "vllm"].map((name): Case => ({
      ...(name === "vllm" ? {} : { answer: withModels }),
      run: async ({ port }) => {
        const { findLocalServers } = await loadLocalServers();
        return await findLocalServers([{ name, label: name, port, start: name }], 60_000);
      },
    })),
  ],
  "src/provider/managed/managed_server.ts": [{
    run: async (origins) => {
      const { fetch: own } = await connect(entryAt(origins), { fetch });
      const address = { origin: origins.first, key: KEY, fetch: own };
      return [await askHealth(address), await knowsKey(address), await askWindow(address)];
    },
  }],
  "src/provider/network/command_key.ts": [{
    names: true,
    run: async ({ first }) => {
      const entry = { api_key_command: ["echo", KEY] };
      return (await collect(await openClient({ url: `${first}/v1` }, { entry }))).error?.message;
    },
  }],
  "src/provider/network/http_client.ts": [{
    names: true,
    run: async ({ first }) => {
      const entry = { proxy: "none" };
      return (await collect(await openClient({ url: `${first}/v1` }, { entry, apiKey: KEY }))).error?.message;
    },
  }],
  "src/provider/create_provider.ts": [{
    names: true,
    run: async (origins) => {
      const entry = entryAt(origins);
      // An embedding program may supply any fetch.
      const deps = { fetch };
      const provider = await createProvider({
        entry,
        model: "m",
        apiKey: KEY,
        version: "1",
        deps,
        onReply() {},
      });
      return (await collect(provider)).error?.message;
    },
  }],
  "src/mcp/transport/http.ts": [
    {
      names: true,
      run: async ({ first }) => {
        const headers = { authorization: `Bearer ${KEY}`, "x-own": KEY };
        await using mcp = await openMcp([far(`${first}/mcp`, { headers })]);
        await mcp.servers.start();
        return mcp.servers.status[0]?.detail;
      },
    },
    // A server that works, and is somewhere else from one moment to the next.
    ...(["old", "new"] as const).map((era): Case => ({
      names: true,
      run: async ({ first, redirected, second }) => {
        let moved = 0;
        await using server = startHttpMcpServer({
          era,
          instead: ({ verb, path }) => {
            if (moved === 0) return undefined;
            redirected.push(`${verb} ${path}`);
            return new Response(null, { status: moved, headers: { location: `${second}${path}` } });
          },
        });
        const mcp = await openMcp([far(server.url, { headers: { "x-own": KEY } })]);
        await mcp.servers.start();
        moved = (await fetch(first, { redirect: "manual" })).status;
        const { content } = await mcp.call("mcp__far__echo", { text: "a" });
        await mcp[Symbol.asyncDispose]();
        return content;
      },
    })),
  ],
  "src/mcp/oauth/http_access.ts": [
    {
      run: async ({ first }) => {
        const where = `Bearer resource_metadata="${first}/.well-known/oauth-protected-resource"`;
        await using server = startHttpMcpServer({
          instead: ({ path }) =>
            path === "/mcp"
              ? new Response(null, { status: 401, headers: { "www-authenticate": where } })
              : new Response(null, { status: 404 }),
        });
        await using mcp = await openMcp([far(server.url)]);
        return await messageOf(() => signIn(mcp));
      },
    },
    {
      run: async ({ first }) => {
        await using issuer = new AuthorizationServer();
        await using server = startProtectedServer(issuer, { namesIssuer: first });
        await using mcp = await openMcp([far(server.url)]);
        return await messageOf(() => signIn(mcp));
      },
    },
    {
      names: true,
      run: async ({ first }) => {
        let message: string | undefined;
        const metadata: Record<string, unknown> = {};
        await signedInWith(metadata, async (mcp, issuer) => {
          await signIn(mcp);
          issuer.accepted.clear();
          metadata.token_endpoint = `${first}/token`;
          await mcp.servers.start();
          message = mcp.servers.status[0]?.detail;
        });
        return message;
      },
    },
  ],
  "src/mcp/oauth/sign_in.ts": [
    {
      names: true,
      run: async ({ first }) => {
        await using mcp = await openMcp([far(`${first}/mcp`, { headers: { "x-own": KEY } })]);
        return await messageOf(() => signIn(mcp));
      },
    },
    {
      names: true,
      run: async ({ first }) => {
        let message = "";
        await signedInWith({ registration_endpoint: `${first}/register` }, async (mcp) => {
          message = await messageOf(() => signIn(mcp));
        });
        return message;
      },
    },
    {
      names: true,
      run: async ({ first }) => {
        let message = "";
        await signedInWith({ token_endpoint: `${first}/token` }, async (mcp) => {
          message = await messageOf(() => signIn(mcp));
        });
        return message;
      },
    },
    {
      names: true,
      run: async ({ first }) => {
        let message = "";
        const { signOut } = await loadSignIn();
        await signedInWith({ revocation_endpoint: `${first}/revoke` }, async (mcp) => {
          await signIn(mcp);
          const { spec } = mcp.servers.named("far");
          message = JSON.stringify(await signOut(spec, { home: mcp.home, secret: () => undefined }));
        });
        return message;
      },
    },
  ],
};

for (const [path, cases] of Object.entries(CASES)) {
  Deno.test(`${path} sends nothing to another origin for any redirect`, async () => {
    for (const status of REDIRECTS) {
      for (const one of cases) await check(one, status);
    }
  });
}

async function check({ answer, run, names }: Case, status: Redirect): Promise<void> {
  await using origins = twoOrigins(status, answer);
  const result = String(await run(origins));
  assert(origins.redirected.length > 0, `${status}: nothing was asked, so nothing was redirected`);
  assertEquals(origins.reached, [], `${status} was followed`);
  assert(!result.includes(KEY), result);
  if (!names) return;
  assertMatch(result, /not followed/);
  assert(result.includes(origins.second), result);
}

Deno.test("every function that sends requests has a redirect test", () => {
  assertEquals(Object.keys(CASES).sort(), sendersOf("functions").sort());
});
