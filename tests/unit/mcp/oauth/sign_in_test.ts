import { ReasonixError, type Text, textOf } from "../../../../src/core/mod.ts";
import { loadSignIn, type McpServerSpec } from "../../../../src/mcp/mod.ts";
import { createRedactor } from "../../../../src/util/redact.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../../support/assert.ts";
import {
  AuthorizationServer,
  startProtectedServer,
  visitAsBrowser,
} from "../../../support/mcp/authorization_server.ts";
import { type HttpMcpServer, startHttpMcpServer } from "../../../support/mcp/http_mcp_server.ts";
import { type McpFixture, openMcp, remote, stateOf } from "../../../support/mcp/mcp_fixture.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

interface Person {
  /** Visits the address; by default it follows the redirect. */
  readonly visit?: (address: URL) => void | Promise<void>;
  readonly pasted?: AsyncIterable<string>;
  readonly refused?: (why: Text) => void;
  readonly signal?: AbortSignal;
  readonly limitMs?: number;
  readonly secret?: (name: string) => string | undefined;
}

const specOf = ({ servers }: McpFixture): McpServerSpec => servers.named("far").spec;

/** Signs in; the result includes the text of the final page. */
async function signIn(mcp: McpFixture, person: Person = {}) {
  const { signIn } = await loadSignIn();
  let page: Promise<string> = Promise.resolve("");
  const signedIn = await signIn(specOf(mcp), {
    home: mcp.home,
    secret: () => undefined,
    signal: AbortSignal.timeout(120_000),
    visit: (address) => {
      page = visitAsBrowser(address);
    },
    ...person,
  });
  return { ...signedIn, page: await page };
}

const signInState = ({ servers }: McpFixture) => servers.status[0]?.state;
const authFile = (home: string) => `${home}/mcp-auth.json`;

Deno.test("signIn registers a client, uses PKCE and stores tokens that the server accepts", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer, { scope: "read" });
  await using mcp = await openMcp([remote(server.url)]);
  await mcp.servers.start();
  assertEquals([signInState(mcp), mcp.servers.status[0]?.detail], ["needs-auth", "reasonix mcp login far"]);
  assertEquals(issuer.seen, [], "no sign-in begins without a command");

  const { page, ...signedIn } = await signIn(mcp);
  assertEquals(signedIn, { issuer: issuer.issuer, scope: "read" });
  assertMatch(page, /You are signed in/);
  const [asked] = issuer.to("/authorize");
  assertEquals(
    ["response_type", "code_challenge_method", "scope", "resource"].map((name) => asked?.params.get(name)),
    ["code", "S256", "read", server.url],
  );
  assertMatch(asked?.params.get("redirect_uri") ?? "", /^http:\/\/127\.0\.0\.1:\d+\/callback$/);

  await mcp.servers.named("far").restart();
  assertEquals(signInState(mcp), "ready");
  assertEquals((await mcp.call("mcp__far__echo", { text: "in" })).content, "in");
  const { mode } = await Deno.stat(authFile(mcp.home));
  assertEquals((mode ?? 0) & 0o777, 0o600);
  const log = await mcp.log("far");
  for (const token of issuer.accepted.keys()) assert(!log.includes(token), log);
});

/** Listens on a port; a connection of another test may have it for a moment. */
async function listenSoon(port: number): Promise<Deno.Listener> {
  const end = performance.now() + 30_000;
  for (;;) {
    try {
      return Deno.listen({ hostname: "127.0.0.1", port });
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse) || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

Deno.test("signIn reuses its client at the same authorization server and registers again elsewhere", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using mcp = await openMcp([remote(server.url)]);
  await signIn(mcp);
  const [redirect = ""] = [...issuer.clients.values()];
  const { port } = new URL(redirect);
  (await listenSoon(Number(port))).close();
  await signIn(mcp);
  assertEquals(issuer.clients.size, 1);
  using _busy = await listenSoon(Number(port));
  await signIn(mcp);
  assertEquals(issuer.clients.size, 2);
});

Deno.test("signIn uses the client of the configuration, with its secret or its document", async () => {
  await using issuer = new AuthorizationServer({ registers: false, documents: true });
  await using server = startProtectedServer(issuer);
  const client = { client_id: "known", client_secret_env: "SECRET" };
  {
    await using mcp = await openMcp([remote(server.url, { oauth: client })]);
    await assertRejects(() => signIn(mcp), ReasonixError, "SECRET is not set");
    await signIn(mcp, { secret: (name) => name === "SECRET" ? "s3cret-of-client" : undefined });
    const basic = issuer.to("/token").at(-1)?.headers.get("authorization");
    assertEquals(basic, `Basic ${btoa("known:s3cret-of-client")}`);
    assert(!(await Deno.readTextFile(authFile(mcp.home))).includes("s3cret-of-client"));
  }
  const document = "https://reasonix.example/client.json";
  await using mcp = await openMcp([remote(server.url, { oauth: { client_id: document } })]);
  await signIn(mcp);
  assertEquals(issuer.to("/authorize").at(-1)?.params.get("client_id"), document);
});

Deno.test("signIn redirects to the configured port and reports a port that is in use", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  await using mcp = await openMcp([remote(server.url, { oauth: { callback_port: port } })]);
  const error = await assertRejects(() => signIn(mcp), ReasonixError, `Cannot listen on port ${port}`);
  assertMatch(error.remedy ?? "", /callback_port/);
  taken.close();
  await signIn(mcp);
  assertEquals([...issuer.clients.values()], [`http://127.0.0.1:${port}/callback`]);
});

Deno.test("signIn explains what to do when no client is registered or configured", async () => {
  await using issuer = new AuthorizationServer({ registers: false });
  await using server = startProtectedServer(issuer);
  await using mcp = await openMcp([remote(server.url)]);
  const error = await assertRejects(() => signIn(mcp), ReasonixError, "accepts no registrations");
  assertMatch(error.remedy ?? "", /http:\/\/127\.0\.0\.1:\d+\/callback.*client_id = /);
});

Deno.test("signIn rejects an answer with another state or iss", async () => {
  await using issuer = new AuthorizationServer();
  await using liar = new AuthorizationServer({ answersAs: "http://127.0.0.1:1" });
  await using silent = new AuthorizationServer({ namesItself: false, metadata: NAMES_ITSELF });
  await using server = startProtectedServer(issuer);
  await using mcp = await openMcp([remote(server.url)]);
  const pages: string[] = [];
  await signIn(mcp, {
    visit: async (address) => {
      const back = new URL(address.searchParams.get("redirect_uri") ?? "");
      for (const query of ["?code=stolen", "?code=stolen&state=guessed"]) {
        pages.push(await (await fetch(new URL(query, back))).text());
      }
      const other = await fetch(new URL("/other", back));
      assertEquals([other.status, (await other.text()).length > 0], [404, true]);
      void visitAsBrowser(address);
    },
  });
  assert(pages.every((page) => page.includes("does not belong")), pages.join());
  assertEquals(issuer.to("/token").length, 1);
  for (const wrong of [liar, silent]) {
    await using protectedServer = startProtectedServer(wrong);
    await using other = await openMcp([remote(protectedServer.url)]);
    await assertRejects(() => signIn(other), ReasonixError, "Issuer mismatch");
    assertEquals(wrong.to("/token"), []);
  }
});

const NAMES_ITSELF = { authorization_response_iss_parameter_supported: true };

Deno.test("signIn stores nothing after a refusal, a timeout or an interrupt", async () => {
  await using no = new AuthorizationServer({ refuses: "access_denied" });
  await using refusing = startProtectedServer(no);
  await using mcp = await openMcp([remote(refusing.url)]);
  await assertRejects(() => signIn(mcp), ReasonixError, "refused (access_denied: You said no)");

  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using second = await openMcp([remote(server.url)]);
  const late = { visit: () => {}, limitMs: 20 };
  const error = await assertRejects(() => signIn(second, late), ReasonixError, "did not return");
  assertMatch(error.remedy ?? "", /reasonix mcp logout far/);

  const life = new AbortController();
  const interrupted = {
    visit: () => life.abort(new DOMException("Interrupted", "AbortError")),
    signal: life.signal,
  };
  await assertRejects(() => signIn(second, interrupted), DOMException, "Interrupted");
  await assertRejects(() => Deno.stat(authFile(second.home)), Deno.errors.NotFound, "");
});

Deno.test("signIn accepts the redirect address of a browser on another machine", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using mcp = await openMcp([remote(server.url)]);
  const sent = Promise.withResolvers<URL>();
  const refused: string[] = [];
  await signIn(mcp, {
    visit: sent.resolve,
    refused: (why) => refused.push(textOf(why)),
    pasted: (async function* () {
      const address = await sent.promise;
      const answer = await fetch(address, { redirect: "manual" });
      await answer.body?.cancel();
      yield "";
      yield "no address";
      yield `${address.searchParams.get("redirect_uri")}?code=1&state=another`;
      yield ` ${answer.headers.get("location")} `;
    })(),
  });
  assertEquals(refused.length, 2);
  assertMatch(refused[1] ?? "", /another sign-in/);
});

Deno.test("signIn opens only encrypted web addresses", async () => {
  const addresses = ["file:///etc/passwd", "javascript:alert(1)", "http://auth.example/authorize"];
  for (const authorization_endpoint of addresses) {
    await using issuer = new AuthorizationServer({ metadata: { authorization_endpoint } });
    await using server = startProtectedServer(issuer);
    await using mcp = await openMcp([remote(server.url)]);
    const visited: URL[] = [];
    await assertRejects(
      () => signIn(mcp, { visit: (url) => void visited.push(url) }),
      ReasonixError,
      "sign in at far",
    );
    assertEquals(visited, []);
  }
});

Deno.test("signIn reports a server without authorization", async () => {
  await using open = startHttpMcpServer();
  await using closed = startHttpMcpServer({ instead: () => new Response(null, { status: 401 }) });
  const cases: [Record<string, unknown>, string][] = [
    [remote(open.url), "does not require a sign-in"],
    [remote(closed.url), "does not describe how to sign in"],
    [remote("http://127.0.0.1:1/mcp"), "could not be reached"],
    [remote(open.url, { headers: { Authorization: "Bearer x" } }), "Authorization header"],
    [remote(open.url, { headers_helper: "echo {}" }), "headers_helper"],
    [{ name: "far", command: "x" }, "program on this machine"],
  ];
  for (const [one, line] of cases) {
    await using mcp = await openMcp([one]);
    await assertRejects(() => signIn(mcp), ReasonixError, line);
  }
  assertEquals(open.sessions, 0, "a session that was only knocked for is ended");
});

Deno.test("signOut revokes and deletes tokens, even when the server cannot revoke them", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using mcp = await openMcp([remote(server.url)]);
  const { signOut } = await loadSignIn();
  const out = () => signOut(specOf(mcp), { home: mcp.home, secret: () => undefined });
  assertEquals(await out(), { known: false, revoked: [], problems: [] });
  await signIn(mcp);
  assertEquals(await out(), { known: true, revoked: [issuer.issuer], problems: [] });
  assertEquals([issuer.accepted.size, issuer.renewing.size], [0, 0]);
  assert(!(await Deno.readTextFile(authFile(mcp.home))).includes("access-"));

  await signIn(mcp);
  await issuer[Symbol.asyncDispose]();
  const { known, revoked, problems } = await out();
  assertEquals([known, revoked, problems.length], [true, [], 1]);
  assertEquals((await out()).known, false);
});

async function signInFar({ servers, home }: McpFixture): Promise<void> {
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
  await signInFar(mcp);
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
  await signInFar(mcp);
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
  await signInFar(mcp);
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
    await signInFar(mcp);
    await mcp.servers.start();
    assertMatch(
      stateOf(mcp),
      /^failed: it requires the permission "write" .*; reasonix mcp login far$/,
      method,
    );
    await signInFar(mcp);
    assertEquals(issuer.to("/authorize").at(-1)?.params.get("scope"), "read write", method);
    await mcp.servers.named("far").restart();
    assertEquals(stateOf(mcp), "ready", method);
  }
});

Deno.test("missing scopes must be added to a configured list of scopes", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer, { scope: "read", scopeOf: { echo: "write" } });
  await using mcp = await openMcp([remote(server.url, { oauth: { scopes: ["read"] } })]);
  await signInFar(mcp);
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
    const failed = await signInFar(mcp).catch((error: Error) => error.message);
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
    await signInFar(mcp);
  }));
  const { signIns } = JSON.parse(await Deno.readTextFile(`${home}/mcp-auth.json`));
  assertEquals(
    signIns.map(({ server }: { server: string }) => server).sort(),
    [one, two, three].map((s) => s.url).sort(),
  );
});
