import { createRedactor } from "../../../../src/util/redact.ts";
import { loadSignIn } from "../../../../src/mcp/mod.ts";
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import {
  AuthorizationServer,
  startProtectedServer,
  visitAsBrowser,
} from "../../../support/mcp/authorization_server.ts";
import type { HttpMcpServer } from "../../../support/mcp/http_mcp_server.ts";
import { type McpFixture, openMcp, remote, stateOf } from "../../../support/mcp/mcp_fixture.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

async function signIn({ servers, home }: McpFixture): Promise<void> {
  const { signIn } = await loadSignIn();
  await signIn(servers.named("far").spec, {
    home,
    secret: () => undefined,
    signal: AbortSignal.timeout(120_000),
    visit: (address) => void visitAsBrowser(address),
  });
}

/** A running server with a sign-in. */
async function signedIn(server: HttpMcpServer): Promise<McpFixture> {
  const mcp = await openMcp([remote(server.url)]);
  await signIn(mcp);
  await mcp.servers.start();
  assertEquals(mcp.servers.status[0]?.state, "ready", mcp.servers.status[0]?.detail);
  return mcp;
}

Deno.test("expired tokens are refreshed once for concurrent requests", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using mcp = await signedIn(server);
  issuer.accepted.clear();
  const calls = ["a", "b", "c", "d"].map((text) => mcp.call("mcp__far__echo", { text }));
  assertEquals((await Promise.all(calls)).map(({ content }) => content), ["a", "b", "c", "d"]);
  const renewals = () =>
    issuer.to("/token").filter(({ params }) => params.get("grant_type") === "refresh_token");
  assertEquals(renewals().length, 1);
  assertEquals(renewals()[0]?.params.get("resource"), server.url);

  // What another process has renewed is read from the file.
  await using other = await openMcp([remote(server.url)], { home: mcp.home });
  await other.servers.start();
  issuer.accepted.clear();
  await mcp.call("mcp__far__echo", { text: "renews" });
  assertEquals((await other.call("mcp__far__echo", { text: "reads" })).content, "reads");
  assertEquals(renewals().length, 2);
});

Deno.test("an expired sign-in is deleted, and the server requires a new one", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using mcp = await signedIn(server);
  issuer.accepted.clear();
  issuer.renewing.clear();
  const refused = await mcp.call("mcp__far__echo", { text: "a" });
  assertEquals(refused.isError, true);
  assertMatch(refused.content, /it requires you to sign in[^]*reasonix mcp login far/);
  assertEquals(stateOf(mcp), "needs-auth: reasonix mcp login far");
  assert(!(await Deno.readTextFile(`${mcp.home}/mcp-auth.json`)).includes("access_token"));
  // Another process did it; the next call detects that.
  await signIn(mcp);
  assertEquals((await mcp.call("mcp__far__echo", { text: "again" })).content, "again");
});

Deno.test("tokens are not refreshed at an authorization server that did not issue them", async () => {
  await using issuer = new AuthorizationServer();
  await using thief = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using mcp = await signedIn(server);
  await using moved = startProtectedServer(thief);
  // The same server names another authorization server from now on.
  const file = `${mcp.home}/mcp-auth.json`;
  const text = (await Deno.readTextFile(file)).replaceAll(new URL(server.url).host, new URL(moved.url).host);
  await Deno.writeTextFile(file, text);
  await using other = await openMcp([remote(moved.url)], { home: mcp.home });
  await other.servers.start();
  assertEquals(stateOf(other), "needs-auth: reasonix mcp login far");
  assertEquals(thief.to("/token"), []);
});

Deno.test("an unreachable authorization server keeps the sign-in and is reported in one line", async () => {
  const issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using mcp = await signedIn(server);
  issuer.accepted.clear();
  await issuer[Symbol.asyncDispose]();
  const { content } = await mcp.call("mcp__far__echo", { text: "a" });
  assertMatch(content, /its sign-in cannot be renewed/);
  assert((await Deno.readTextFile(`${mcp.home}/mcp-auth.json`)).includes("refresh-"));
});

Deno.test("missing scopes are named, and the next sign-in requests them with the current ones", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer, { scope: "read", scopeOf: { echo: "write" } });
  await using mcp = await signedIn(server);
  const refused = await mcp.call("mcp__far__echo", { text: "a" });
  assertMatch(refused.content, /the permission "write"[^]*reasonix mcp login far/);
  assertEquals(mcp.servers.status[0]?.state, "ready");
  await signIn(mcp);
  assertEquals(issuer.to("/authorize").at(-1)?.params.get("scope"), "read write");
  await mcp.servers.named("far").restart();
  assertEquals((await mcp.call("mcp__far__echo", { text: "a" })).content, "a");
});

Deno.test("scopes that initialize reports as missing are requested at the next sign-in", async () => {
  for (const method of ["server/discover", "initialize", "tools/list"]) {
    await using issuer = new AuthorizationServer();
    const scopeOf = { [method]: "write" };
    const era = method === "initialize" ? "old" : "new";
    await using server = startProtectedServer(issuer, { era, scope: "read", scopeOf });
    await using mcp = await openMcp([remote(server.url)]);
    await signIn(mcp);
    await mcp.servers.start();
    assertMatch(
      stateOf(mcp),
      /^failed: it requires the permission "write" .*; reasonix mcp login far$/,
      method,
    );
    await signIn(mcp);
    assertEquals(issuer.to("/authorize").at(-1)?.params.get("scope"), "read write", method);
    await mcp.servers.named("far").restart();
    assertEquals(stateOf(mcp), "ready", method);
  }
});

Deno.test("missing scopes must be added to a configured list of scopes", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer, { scope: "read", scopeOf: { echo: "write" } });
  await using mcp = await openMcp([remote(server.url, { oauth: { scopes: ["read"] } })]);
  await signIn(mcp);
  await mcp.servers.start();
  const { content } = await mcp.call("mcp__far__echo", { text: "a" });
  assertMatch(
    content,
    /the permission "write"[^]*add it to scopes in oauth of the server, then reasonix mcp login far/,
  );
});

Deno.test("tokens are redacted in results and in the log", async () => {
  const redact = createRedactor([]);
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer, {
    instead: ({ headers, message }) =>
      message.method === "prompts/list"
        ? new Response(`You sent ${headers.get("authorization")}`, { status: 400 })
        : undefined,
  });
  await using mcp = await signedIn(server);
  const [token = ""] = [...issuer.accepted.keys()];
  assertEquals(redact(`got ${token}, thanks`), "got [redacted], thanks");
  const log = await mcp.log("far");
  assertMatch(log, /You sent Bearer \[redacted\]/);
});

Deno.test("a damaged token file is an error that names it and is not overwritten", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  for (const damage of ["{", '{"version": 2, "signIns": []}', '{"version": 1, "signIns": [{"server": 1}]}']) {
    await using temp = await makeTempDir();
    const home = `${temp.path}/home`;
    await Deno.mkdir(home);
    await Deno.writeTextFile(`${home}/mcp-auth.json`, damage);
    await using mcp = await openMcp([remote(server.url)], { home });
    await mcp.servers.start();
    assertMatch(
      stateOf(mcp),
      /^failed: Cannot read the sign-ins of MCP servers in .*mcp-auth.json: .*; repair/,
    );
    const failed = await signIn(mcp).catch((error: Error) => error.message);
    assertMatch(failed ?? "", /^Cannot sign in at far: Cannot read the sign-ins/);
    assertEquals(await Deno.readTextFile(`${home}/mcp-auth.json`), damage);
  }
});

Deno.test("concurrent sign-ins are all saved", async () => {
  await using temp = await makeTempDir();
  const home = `${temp.path}/home`;
  await using issuer = new AuthorizationServer();
  await using one = startProtectedServer(issuer);
  await using two = startProtectedServer(issuer);
  await using three = startProtectedServer(issuer);
  await Promise.all([one, two, three].map(async ({ url }) => {
    await using mcp = await openMcp([remote(url)], { home });
    await signIn(mcp);
  }));
  const { signIns } = JSON.parse(await Deno.readTextFile(`${home}/mcp-auth.json`));
  assertEquals(
    signIns.map(({ server }: { server: string }) => server).sort(),
    [one, two, three].map((s) => s.url).sort(),
  );
});
