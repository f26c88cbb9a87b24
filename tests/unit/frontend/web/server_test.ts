import { FRONTENDS } from "../../../../src/frontend/mod.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../../support/assert.ts";
import { serveHere } from "../../../support/web.ts";

const { ROUTES } = await FRONTENDS.web();
const LIMIT_MS = 20_000;

interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends a request as it is written, which no browser or fetch would do, and reads the answer. */
async function raw(port: string, line: string, headers: Readonly<Record<string, string>> = {}, body = "") {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  const all = { host: `127.0.0.1:${port}`, connection: "close", ...headers };
  const rows = Object.entries(all).flatMap(([name, value]) => value === "" ? [] : [`${name}: ${value}`]);
  const length = body === "" || "transfer-encoding" in headers ? [] : [`content-length: ${body.length}`];
  const text = [`${line} HTTP/1.1`, ...rows, ...length, "", body].join("\r\n");
  await new Blob([text]).stream().pipeTo(connection.writable, { preventClose: true }).catch(() => {});
  const stuck = setTimeout(() => connection.close(), LIMIT_MS);
  let answer = "";
  for await (const piece of connection.readable.pipeThrough(new TextDecoderStream())) {
    answer += piece;
    const [head = "", ...rest] = answer.split("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Infinity);
    if (rest.length > 0 && new TextEncoder().encode(rest.join("\r\n\r\n")).length >= length) break;
  }
  clearTimeout(stuck);
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), head, body: rest.join("\r\n\r\n") } satisfies RawAnswer;
}

Deno.test("no request of another host, page or form gets an answer", async () => {
  await using web = await serveHere();
  const { port, host } = new URL(web.origin);
  const secret = await web.signIn(web.server.link("owner"));
  const json = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const links = "POST /api/v1/links";
  const body = '{"role":"viewer"}';
  const rows:
    readonly (readonly [status: number, line: string, headers: Record<string, string>, body?: string])[] = [
      [200, "GET /api/v1/server", {}],
      [200, links, json, body],
      [200, links, { ...json, origin: `http://${host}`, "sec-fetch-site": "same-origin" }, body],
      [200, links, { ...json, host: `localhost:${port}`, origin: `http://localhost:${port}` }, body],
      // A port that ssh forwards to this one.
      [200, links, { ...json, host: "localhost:9000", origin: "http://localhost:9000" }, body],
      ...[
        "attacker.example",
        `attacker.example:${port}`,
        "127.0.0.1.attacker.example",
        "localhost.attacker.example",
        "localhost.",
        "user@localhost",
        "0.0.0.0",
        "169.254.169.254",
        "[::]",
      ].flatMap((name) =>
        [
          [421, "GET /api/v1/server", { host: name }],
          [421, "GET /", { host: name }],
          [421, links, { ...json, host: name, origin: `http://${name}` }, body],
        ] as const
      ),
      [421, `GET http://attacker.example/api/v1/server`, { host: "attacker.example" }],
      [400, "GET /", { host: "a b" }],
      // A proxy is not configured.
      [421, "GET /api/v1/server", { host: "attacker.example", "x-forwarded-host": `127.0.0.1:${port}` }],
      [200, "GET /api/v1/server", { "x-forwarded-host": "attacker.example" }],
      [403, links, { ...json, origin: `https://${host}`, "x-forwarded-proto": "https" }, body],
      ...["http://attacker.example", "null", "http://127.0.0.1:1", `http://localhost:${port}`, "data:"].map(
        (origin) => [403, links, { ...json, origin }, body] as const,
      ),
      ...["cross-site", "same-site"].flatMap((site) =>
        [
          [403, links, { ...json, "sec-fetch-site": site }, body],
          [403, "GET /api/v1/stream", { ...json, "sec-fetch-site": site }],
          [403, "GET /api/v1/sessions", { ...json, "sec-fetch-site": site }],
        ] as const
      ),
      [403, "OPTIONS /api/v1/links", {
        origin: "http://attacker.example",
        "access-control-request-method": "POST",
      }],
      [405, "OPTIONS /api/v1/links", json],
      [405, "GET /api/v1/links", json],
      [405, "POST /", json, body],
      [415, links, { authorization: json.authorization, "content-type": "text/plain" }, body],
      [415, links, { authorization: json.authorization, "content-type": "application/json-patch" }, body],
      [
        415,
        links,
        { authorization: json.authorization, "content-type": "application/x-www-form-urlencoded" },
        body,
      ],
      [415, links, { authorization: json.authorization }, body],
      [415, "POST /api/v1/sessions/abc/interrupt", { authorization: json.authorization }],
      [400, links, json, "{"],
      [400, links, json],
      [400, links, json, '{"role":"root"}'],
      [400, links, json, '{"role":"owner","more":1}'],
      [413, links, json, JSON.stringify({ role: "owner", session: "x".repeat(2_000_000) })],
      [
        413,
        "POST /api/v1/sign-in",
        { "content-type": "application/json" },
        `{"token":"${"x".repeat(10_000)}"}`,
      ],
      [
        413,
        "POST /api/v1/sign-in",
        { "content-type": "application/json", "transfer-encoding": "chunked" },
        `2800\r\n${" ".repeat(0x2800)}\r\n0\r\n\r\n`,
      ],
      [400, "GET /api/v1/stream", {
        ...json,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
      }],
      ...[
        "/api",
        "/api/v1",
        "/api/v2/server",
        "/api/v1/server/",
        "/api/v1/sessions/..%2f..%2fetc/events",
        "/api/v1/sessions/%2e%2e/events",
        "/api/v1/sessions/a%00b/events",
        "/api/v1/sessions/a.jsonl/events",
        "/index.html",
        "/favicon.ico",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/",
        "/assets/../server.ts",
        "/assets/%2e%2e%2fserver.ts",
        "/s/",
        "/s/../x",
        "/s/a/b",
        "//attacker.example/x",
        "/constructor",
        "/assets/constructor",
      ].map((path) => [404, `GET ${path}`, json] as const),
    ];
  for (const [status, line, headers, sent] of rows) {
    const answer = await raw(port, line, headers, sent);
    const name = `${line} ${JSON.stringify(headers)}`;
    assertEquals(answer.status, status, `${name}\n${answer.body.slice(0, 300)}`);
    const head = answer.head.toLowerCase();
    assert(!/access-control|set-cookie/.test(head), name);
    for (
      const header of [
        "content-security-policy: default-src 'none'",
        "nosniff",
        "no-referrer",
        "deny",
        "no-store",
      ]
    ) {
      assert(head.includes(header), `${name}: ${header}`);
    }
    assert(!answer.body.includes(secret) && !/\bat .*\.ts:\d|file:\/\//.test(answer.body), name);
    if (status >= 400) assertMatch(JSON.parse(answer.body).error.message, /^Cannot /);
  }
});

Deno.test("only the owner changes something, and only who signed in sees something", async () => {
  await using web = await serveHere();
  for (const [key, { role }] of Object.entries(ROUTES)) {
    if (role === "none" || key === "POST /sign-out") continue;
    const [method = "", template = ""] = key.split(" ");
    const path = `/api/v1${template.replaceAll(/:\w+/g, "unknown-one")}`;
    const init = { method, ...(method === "POST" || method === "PATCH" ? { json: {} } : {}) };
    assertEquals((await web.anyone(path, init)).status, 401, key);
    assertEquals((await web.client("x".repeat(43))(path, init)).status, 401, key);
    const seen = await web.viewer(path, { ...init, signal: AbortSignal.timeout(LIMIT_MS) });
    await seen.body?.cancel();
    if (role === "owner") assertEquals(seen.status, 403, key);
    else assert(seen.status !== 401 && seen.status !== 403, `${key} ${seen.status}`);
    assert(role === "owner" || method === "GET", key);
  }
  assertEquals((await web.viewer("/api/v1/sign-out", { json: {} })).status, 200);
  assertEquals((await web.viewer("/api/v1/sessions")).status, 401);
});

Deno.test("connections that never finish a request do not keep others from theirs", async () => {
  await using web = await serveHere();
  const port = Number(new URL(web.origin).port);
  const open = await Promise.all(
    Array.from({ length: 300 }, () => Deno.connect({ hostname: "127.0.0.1", port })),
  );
  const part = new TextEncoder().encode("POST /api/v1/sign-in HTTP/1.1\r\nhost: localhost\r\nx-slow: ");
  await Promise.all(open.map((connection) => connection.write(part)));
  assertEquals((await web.owner("/api/v1/server")).status, 200);
  for (const connection of open) connection.close();
});

Deno.test("behind a proxy its headers count, and the public address is the only other origin", async () => {
  const origin = "https://agent.example.org";
  await using web = await serveHere({ web: { behindProxy: true, origin } });
  const { port } = new URL(web.server.local);
  assertMatch(web.server.link("owner"), /^https:\/\/agent\.example\.org\/#token=[\w-]{43}$/);
  const secret = await web.signIn(web.server.link("owner"));
  const json = {
    authorization: `Bearer ${secret}`,
    "content-type": "application/json",
    host: "agent.example.org",
  };
  const rows: readonly (readonly [status: number, headers: Record<string, string>])[] = [
    [200, { origin }],
    [200, { origin, host: `127.0.0.1:${port}`, "x-forwarded-host": "agent.example.org" }],
    [200, { origin, "x-forwarded-host": "attacker.example, agent.example.org" }],
    [403, { origin: "http://agent.example.org" }],
    [403, { origin: "https://agent.example.org.attacker.example" }],
    [403, { origin, host: `127.0.0.1:${port}` }],
    [421, { origin, host: `127.0.0.1:${port}`, "x-forwarded-host": "attacker.example" }],
    [421, { origin: "https://attacker.example", host: "attacker.example" }],
  ];
  for (const [status, headers] of rows) {
    const answer = await raw(port, "POST /api/v1/links", { ...json, ...headers }, '{"role":"viewer"}');
    assertEquals(answer.status, status, JSON.stringify(headers));
  }
});

Deno.test("a server that would be open to the network is refused", async () => {
  await using web = await serveHere();
  const { stage } = web;
  const rows: readonly (readonly [expected: RegExp, options: Record<string, unknown>])[] = [
    [/Cannot serve 0\.0\.0\.0 without sign-in/, {
      address: { hostname: "0.0.0.0", port: 0 },
      auth: { mode: "none" },
      insecure: true,
    }],
    [/Cannot serve 127\.0\.0\.1 without sign-in/, { auth: { mode: "none" }, behindProxy: true }],
    [/Cannot serve 0\.0\.0\.0 over plain HTTP/, { address: { hostname: "0.0.0.0", port: 0 } }],
    [/Cannot serve :: over plain HTTP/, { address: { hostname: "::", port: 0 } }],
    [/Cannot use the password: serve.password_hash has no bcrypt hash/, {
      auth: { mode: "password", passwordHash: "secret" },
    }],
    [/Cannot use "agent.example.org" for serve.origin/, { origin: "agent.example.org" }],
    [/Cannot use "https:\/\/a.example\/x" for serve.origin/, { origin: "https://a.example/x" }],
    [/Cannot listen on 127\.0\.0\.1:\d+: .+ uses the port/, {
      address: { hostname: "127.0.0.1", port: Number(new URL(web.origin).port) },
    }],
  ];
  for (const [expected, options] of rows) {
    const error = await assertRejects(() => serveHere({ stage, web: options }));
    assertMatch((error as Error).message, expected);
  }
  // Without sign-in the checks of host and origin remain, and there are no viewers.
  await using open = await serveHere({ stage, web: { auth: { mode: "none" } } });
  assertEquals((await open.anyone("/api/v1/server").then((it) => it.json())).role, "owner");
  assertEquals((await open.anyone("/api/v1/links", { json: { role: "viewer" } })).status, 400);
  const foreign = { origin: "http://attacker.example" };
  assertEquals(
    (await open.anyone("/api/v1/links", { json: { role: "owner" }, headers: foreign })).status,
    403,
  );
  // `web` takes the next port.
  const port = Number(new URL(web.origin).port);
  await using next = await serveHere({
    stage,
    web: { address: { hostname: "127.0.0.1", port, orNext: true } },
  });
  assert(Number(new URL(next.origin).port) > port);
});
