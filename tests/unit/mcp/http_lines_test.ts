/** Failures to reach an HTTP server are one line with the reason and a remedy. */
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { type HttpBehaviour, type Seen, startHttpMcpServer } from "../../support/mcp/http_mcp_server.ts";
import { openMcp, remote, started } from "../../support/mcp/mcp_fixture.ts";
import { SELF_SIGNED } from "../../support/self_signed.ts";

async function lineOf(entry: Record<string, unknown>): Promise<string> {
  await using mcp = await openMcp([entry]);
  const shown = await started(mcp);
  assert(shown.length < 400 && !shown.includes("\n"), shown);
  return shown;
}

async function refusedWith(instead: NonNullable<HttpBehaviour["instead"]>, more = {}): Promise<string> {
  await using server = startHttpMcpServer({ instead });
  return (await lineOf(remote(server.url, more))).replace(new URL(server.url).host, "HOST");
}

Deno.test("an HTTP error is reported with its status, its text and the next step", async () => {
  const html = "<!doctype html><html><head><title>Gone fishing</title></head><body>…</body></html>";
  const cases: readonly [Response, string][] = [
    [
      Response.json({ error: { message: "Not for you" } }, { status: 403 }),
      "failed: it refuses access (403 Forbidden): Not for you; check the account or the headers",
    ],
    [
      new Response(html, { status: 404 }),
      "failed: there is no MCP server at http://HOST/mcp (404 Not Found); check the url of the server; many end with /mcp",
    ],
    [new Response(html, { status: 500 }), "failed: it answers with 500 Internal Server Error: Gone fishing"],
    [
      new Response("busy", { status: 503, headers: { "retry-after": "120" } }),
      "failed: it answers with 503 Service Unavailable: busy; try again in 120 s",
    ],
    [
      new Response(null, { status: 307, headers: { location: "https://mcp.example/v2?key=s3cret" } }),
      "failed: http://HOST/mcp leads to https://mcp.example/v2 (307 Temporary Redirect), which is not followed; correct the url of the server",
    ],
    [
      new Response(html, { headers: { "content-type": "text/html" } }),
      "failed: http://HOST/mcp is not an MCP server: it answers with text/html; check the url of the server; many end with /mcp",
    ],
  ];
  for (const [response, line] of cases) assertEquals(await refusedWith(() => response.clone()), line);
});

Deno.test("a rejected credential from the configuration does not start a sign-in", async () => {
  const no = () => new Response(null, { status: 401 });
  assertMatch(
    await refusedWith(no, { headers: { Authorization: "Bearer old" } }),
    /^failed: it refuses the Authorization header of its configuration \(401\); correct or renew the value$/,
  );
  assertEquals(await refusedWith(no), "needs-auth: reasonix mcp login far");
});

Deno.test("a short Retry-After is respected, and the request is repeated", async () => {
  for (const status of [429, 503]) {
    let isBusy = true;
    const isCall = ({ message }: Seen) => message.method === "tools/call";
    await using server = startHttpMcpServer({
      instead: (seen) => {
        if (!isBusy || !isCall(seen)) return undefined;
        isBusy = false;
        return new Response("busy", { status, headers: { "retry-after": "0" } });
      },
    });
    await using mcp = await openMcp([remote(server.url)]);
    await mcp.servers.start();
    assertEquals((await mcp.call("mcp__far__echo", { text: "a" })).content, "a");
    assertEquals(server.seen.filter(isCall).length, 2);
  }
});

Deno.test("a busy server is tried three times, and other failures are not retried", async () => {
  for (const [status, times] of [[429, 3], [500, 1]] as const) {
    let count = 0;
    await using server = startHttpMcpServer({
      instead: ({ message }) => {
        if (message.method !== "tools/call") return undefined;
        count += 1;
        return new Response("busy", { status, headers: { "retry-after": "0" } });
      },
    });
    await using mcp = await openMcp([remote(server.url)]);
    await mcp.servers.start();
    assertMatch((await mcp.call("mcp__far__echo", { text: "a" })).content, new RegExp(`${status} .*busy`));
    assertEquals(count, times);
  }
});

Deno.test("an untrusted certificate and unexpected TLS are errors with a remedy", async () => {
  const options = { hostname: "127.0.0.1", port: 0, onListen() {}, ...SELF_SIGNED };
  await using server = Deno.serve(options, () => new Response("never"));
  const host = `localhost:${server.addr.port}`;
  assertMatch(
    await lineOf(remote(`https://${host}/mcp`)),
    /^failed: localhost:\d+ could not be reached: invalid peer certificate: .*; if you trust it, .* in DENO_CERT/,
  );
  assertMatch(await lineOf(remote(`http://${host}/mcp`)), /its url, which may have to begin with https:\/\//);
});

Deno.test("an address with no server or another service is named without its secrets", async () => {
  await using plain = startHttpMcpServer();
  const { port } = new URL(plain.url);
  using closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const free = (closed.addr as Deno.NetAddr).port;
  closed.close();
  const cases: readonly [string, RegExp][] = [
    [`http://127.0.0.1:${free}/mcp?key=s3cret`, /^failed: 127\.0\.0\.1:\d+ could not be reached: .*refused/i],
    [
      `https://127.0.0.1:${port}/mcp`,
      /^failed: .* could not be reached: .*; the server does not speak TLS there/,
    ],
    [
      "http://no-such-host.invalid/mcp",
      /^failed: no-such-host\.invalid (?:cannot be found|could not be reached)/,
    ],
    [
      "127.0.0.1:80",
      /^failed: "127\.0\.0\.1:80" is not the address of a server; give an http:\/\/ or https:\/\/ address/,
    ],
    ["ftp://127.0.0.1/", /is not the address of a server/],
  ];
  for (const [url, line] of cases) {
    const shown = await lineOf(remote(url));
    assertMatch(shown, line);
    assert(!shown.includes("s3cret"), shown);
  }
});
