import { brotliCompressSync, gzipSync } from "node:zlib";
import { PluginError } from "../../../../plugins/common/plugin.ts";
import { isExcepted, processAccess, proxiesOf } from "../../../../plugins/web/access.ts";
import { fetchPage, type Network, pageUrl, resolveName } from "../../../../plugins/web/fetch.ts";
import { parseRange } from "../../../../plugins/web/private.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { startProxy } from "../../../support/proxy.ts";
import { answer, send, startRawServer } from "../../../support/raw_server.ts";
import { SELF_SIGNED } from "../../../support/self_signed.ts";

const NETWORK: Network = {
  allowed: ["127.0.0.0/8", "::1"].flatMap((text) => parseRange(text) ?? []),
  proxies: { except: [] },
  maxBytes: 5e6,
  seconds: 20,
  resolve: resolveName,
};

/** The status and the body, the target of a redirect, or the error. */
async function fetched(url: string, network: Partial<Network> = {}, signal = AbortSignal.timeout(60_000)) {
  try {
    const reply = await fetchPage(
      { ...NETWORK, ...network },
      pageUrl(url),
      { accept: "text/markdown" },
      signal,
    );
    if ("redirect" in reply) return `to ${reply.redirect.href}`;
    return `${reply.status} ${new TextDecoder().decode(reply.bytes).slice(0, 40)}`;
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    return error.text.replace(/^Cannot open \S+( \(a redirect leads there\))?: /, "");
  }
}

const HEAD = "HTTP/1.1 200 OK\r\n";
const coded = (coding: string, bytes: Uint8Array) => (connection: Deno.Conn) =>
  send(connection, `${HEAD}content-encoding: ${coding}\r\n\r\n`, bytes);
const to = (location: string, status = "302 Found") => `HTTP/1.1 ${status}\r\nlocation: ${location}\r\n\r\n`;
const endless = async (connection: Deno.Conn) => {
  await send(connection, `${HEAD}\r\n`);
  for (;;) await send(connection, new Uint8Array(65_536));
};

Deno.test("each good answer arrives whole and each bad one is one line that names the cause", async () => {
  const cut = "the connection ended before the page was complete";
  const large = "at most 5 MB are read";
  const rows: [string, Parameters<typeof startRawServer>[0][string], string][] = [
    ["plain", answer("hi"), "200 hi"],
    ["until_close", `${HEAD}\r\nhi`, "200 hi"],
    ["chunked", `${HEAD}transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`, "200 hi"],
    ["gzip", coded("gzip", gzipSync("hi")), "200 hi"],
    ["brotli", coded("br", brotliCompressSync("hi")), "200 hi"],
    ["twice", coded("gzip, br", brotliCompressSync(gzipSync("hi"))), "200 hi"],
    ["longer", `${HEAD}content-length: 2\r\n\r\nhi there`, "200 hi"],
    ["nothing", "HTTP/1.1 204 No Content\r\n\r\n", "204 "],
    ["missing", answer("gone", "x: y", "404 Not Found"), "404 gone"],
    ["shorter", `${HEAD}content-length: 100\r\n\r\nhi`, cut],
    ["cut_chunk", `${HEAD}transfer-encoding: chunked\r\n\r\n9\r\nhi`, cut],
    ["cut_gzip", coded("gzip", gzipSync("hi there").subarray(0, 15)), cut],
    ["silent", "", cut],
    ["bad_chunk", `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\nhi`, ""],
    ["bad_gzip", coded("gzip", new TextEncoder().encode("0123456789")), "its compressed body is broken"],
    ["bad_brotli", coded("br", new TextEncoder().encode("0123456789")), "its compressed body is broken"],
    ["other_coding", coded("zstd", new Uint8Array(9)), 'its content encoding "zstd" is unknown'],
    ["ssh", "SSH-2.0-OpenSSH_9.2\r\n", "its answer is no valid HTTP"],
    ["long_header", `${HEAD}x: ${"a".repeat(100_000)}\r\n\r\nhi`, "its answer is no valid HTTP"],
    ["large", `${HEAD}content-length: 50000000\r\n\r\nhi`, `it is 50 MB; ${large}`],
    ["endless", endless, `it is larger than 5 MB; ${large}`],
    ["bomb", coded("gzip", gzipSync(new Uint8Array(50e6))), `it is larger than 5 MB; ${large}`],
    ["same_host", to("/plain"), "200 hi"],
    ["loop", to("/loop"), "more than 5 redirects in a row"],
    ["elsewhere", to("https://example.com/x#part", "301 Moved"), "to https://example.com/x"],
    [
      "inside",
      to("http://169.254.169.254/meta"),
      "it is a private or special address (a redirect leads there)",
    ],
    ["decimal", to("http://167772161/"), "it is a private or special address (a redirect leads there)"],
    [
      "login",
      to("http://user:secret@example.com/"),
      "it has a user name or a password; leave them out",
    ],
    ["file", to("file:///etc/passwd"), "file: is no scheme of web pages"],
    ["no_url", to("http://["), "it is no URL; write it"],
  ];
  await using server = startRawServer(Object.fromEntries(rows.map(([name, handler]) => [name, handler])));
  for (const [name, _, expected] of rows) {
    const text = await fetched(`http://127.0.0.1:${server.port}/${name}`);
    assert(text.startsWith(expected) && !text.includes("\n"), `${name}: ${text}`);
  }
  assertStringIncludes(server.requests[0] ?? "", "GET /plain HTTP/1.1\r\n");
  assertStringIncludes(server.requests[0] ?? "", `host: 127.0.0.1:${server.port}\r\n`);
});

Deno.test("a server that sends slowly or not at all ends with the time limit, and a canceled call at once", async () => {
  const never = (connection: Deno.Conn) => connection.read(new Uint8Array(1));
  await using server = startRawServer({
    silent: never,
    slow: async (connection) => {
      await send(connection, `${HEAD}content-length: 100000\r\n\r\n`);
      for (;;) {
        await send(connection, "x");
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  });
  for (const path of ["silent", "slow"]) {
    assertEquals(
      await fetched(`http://127.0.0.1:${server.port}/${path}`, { seconds: 0.2 }),
      "it took over 0.2 s",
    );
  }
  const controller = new AbortController();
  const call = fetched(`http://127.0.0.1:${server.port}/silent`, {}, controller.signal);
  setTimeout(() => controller.abort(new Error("canceled")), 20);
  assertEquals(await call.catch((error) => error.message), "canceled");
});

Deno.test("the connection goes to the address that was checked, and each connection checks again", async () => {
  await using server = startRawServer({ page: answer("secret"), again: to("/page") });
  const url = (path: string) => `http://rebind.test:${server.port}/${path}`;
  const resolver = (...answers: string[][]) => {
    const asked: string[] = [];
    return {
      asked,
      resolve: (
        host: string,
      ) => (asked.push(host), Promise.resolve(answers[asked.length - 1] ?? ["127.0.0.1"])),
    };
  };
  const only = { allowed: [parseRange("127.0.0.1")].flatMap((range) => range ?? []) };
  assertEquals(await fetched(url("page"), { ...only, ...resolver(["127.0.0.1"]) }), "200 secret");
  // Allowed first, private afterwards.
  const rebinding = resolver(["127.0.0.1"], ["127.0.0.2"]);
  assertStringIncludes(await fetched(url("again"), { ...only, ...rebinding }), "rebind.test is at 127.0.0.2");
  assertEquals(rebinding.asked, ["rebind.test", "rebind.test"]);
  const before = server.requests.length;
  const none = { allowed: [] };
  for (
    const address of [
      "127.0.0.1",
      "::1",
      "::ffff:127.0.0.1",
      "0.0.0.0",
      "10.0.0.1",
      "fe80::1%eth0",
      "nonsense",
    ]
  ) {
    assertStringIncludes(
      await fetched(url("page"), { ...none, ...resolver([address]) }),
      `rebind.test is at ${address}`,
    );
  }
  // A name with addresses of both kinds: the private one is not used.
  const six = {
    allowed: [parseRange("::1")].flatMap((range) => range ?? []),
    ...resolver(["127.0.0.1", "::1"]),
  };
  assert(!(await fetched(url("page"), six)).startsWith("200"), "the private address was used");
  assertEquals(server.requests.length, before);
});

Deno.test("a certificate is checked against the name of the URL", async () => {
  const options = { hostname: "127.0.0.1", port: 0, ...SELF_SIGNED, onListen() {} };
  await using server = Deno.serve(options, () => new Response("hi"));
  await using proxy = startProxy();
  const port = server.addr.port;
  const through = {
    proxies: { http: `http://127.0.0.1:${proxy.port}`, https: `http://127.0.0.1:${proxy.port}`, except: [] },
  };
  for (const network of [{}, through]) {
    const host = network === through ? "a.test" : "127.0.0.1";
    assertStringIncludes(
      await fetched(`https://${host}:${port}/`, network),
      "the TLS connection fails (self-signed",
    );
  }
  const script = `import { fetchPage, pageUrl } from "${new URL(
    "../../../../plugins/web/fetch.ts",
    import.meta.url,
  )}";
    const [port, proxy] = Deno.args;
    const network = { allowed: [{ family: 4, base: 2130706433n, prefix: 32 }], maxBytes: 1e6, seconds: 20,
      resolve: () => Promise.resolve(["127.0.0.1"]) };
    for (const proxies of [{ except: [] }, { http: proxy, https: proxy, except: [] }]) {
      for (const host of ["www.localhost.test", "localhost"].slice(0, proxies.http ? 1 : 2)) {
        const line = await fetchPage({ ...network, proxies }, pageUrl("https://" + host + ":" + port), {},
          AbortSignal.timeout(20000)).then(({ status }) => status, (error) => error.message);
        console.log(line);
      }
    }
    Deno.exit();`;
  const file = await Deno.makeTempFile({ suffix: ".pem" });
  await Deno.writeTextFile(file, SELF_SIGNED.cert);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      "--allow-net",
      "--allow-read",
      "--allow-env=HTTPS_PROXY",
      "--no-check",
    ]
      .concat(`data:application/typescript,${encodeURIComponent(script)}`, `${port}`, through.proxies.http),
    env: { DENO_CERT: file },
  }).output();
  await Deno.remove(file);
  const lines = new TextDecoder().decode(stdout).trim().split("\n");
  assertEquals(lines.length, 3, new TextDecoder().decode(stderr));
  assertStringIncludes(lines[0] ?? "", "does not match certificate's altnames");
  assertEquals(lines[1], "200");
  assertStringIncludes(lines[2] ?? "", "does not match certificate's altnames");
});

Deno.test("pages go through the proxy of the environment, which never sees a private address", async () => {
  await using server = startRawServer({ page: answer("hi") });
  await using proxy = startProxy("me:pw");
  const env = (more: Record<string, string>) =>
    proxiesOf((name) => ({ https_proxy: `http://me:pw@127.0.0.1:${proxy.port}`, ...more })[name]);
  const proxies = env({});
  assertEquals(await fetched(`http://docs.test:${server.port}/page`, { proxies, allowed: [] }), "200 hi");
  assertEquals(proxy.asked, [`GET http://docs.test:${server.port}/page HTTP/1.1`]);
  for (
    const host of [
      "127.0.0.1",
      "2130706433",
      "[::1]",
      "localhost",
      "x.localhost",
      "metadata.google.internal",
      "printer",
    ]
  ) {
    assertStringIncludes(
      await fetched(`http://${host}:${server.port}/page`, { proxies, allowed: [] }),
      "is a private or special address",
    );
  }
  const wrong = proxiesOf((name) => name === "HTTP_PROXY" ? `http://127.0.0.1:${proxy.port}` : undefined);
  assertStringIncludes(
    await fetched(`https://docs.test/`, { proxies: wrong }),
    "gives no connection (it answers 407",
  );
  const socks = proxiesOf((name) => name === "ALL_PROXY" ? "socks5://127.0.0.1:1" : undefined);
  assertStringIncludes(await fetched(`https://docs.test/`, { proxies: socks }), "is no http:// proxy");
  assertEquals(proxy.asked.length, 2);
  // A host of NO_PROXY is reached directly where its address is allowed.
  const except = env({ NO_PROXY: ".corp.test, 192.0.2.0/24,other.test:80" });
  const resolve = () => Promise.resolve(["127.0.0.1"]);
  assertEquals(
    await fetched(`http://wiki.corp.test:${server.port}/page`, { proxies: except, resolve }),
    "200 hi",
  );
  assertEquals(proxy.asked.length, 2);
  assertEquals(
    await fetched(`http://wiki.corp.test:${server.port}/page`, { proxies: except, resolve, allowed: [] }),
    "200 hi",
  );
  assertEquals(proxy.asked.length, 3);
  const named = [
    "corp.test",
    "a.corp.test",
    "192.0.2.9",
    "other.test",
    "xcorp.test",
    "other.test.de",
    "192.0.3.1",
  ];
  assertEquals(named.map((host) => isExcepted(host, except)), [true, true, true, true, false, false, false]);
  assertEquals(proxiesOf((name) => name === "NO_PROXY" ? "*" : "http://p:1").http, undefined);
});

Deno.test("the process may reach the public network, or behind a proxy only what it is configured for", () => {
  const direct = processAccess({ allow_private: ["10.1.0.0/16"], search: "brave" }, () => undefined);
  assertEquals(
    [direct.net, direct.denyNet?.includes("10.0.0.0/16"), direct.denyNet?.includes("127.0.0.0/8")],
    [true, true, true],
  );
  assert(!direct.denyNet?.includes("10.0.0.0/8") && !direct.denyNet?.includes("10.1.0.0/16"));
  assertEquals(direct.env?.at(-1), "BRAVE_API_KEY");
  const own = processAccess({ search: "searxng", searxng_url: "http://localhost:8888" }, () => undefined);
  assert(
    !own.denyNet?.includes("127.0.0.0/8") && own.denyNet?.includes("127.0.0.0/32") &&
      !own.denyNet.includes("[::1]"),
  );
  const env = (name: string) => ({ HTTPS_PROXY: "proxy.corp:3128", NO_PROXY: ".corp, 10.0.0.1" })[name];
  const settings = {
    allow_private: ["10.1.0.0/16"],
    searxng_url: "http://10.1.2.3:8888/",
    key_env: "MY_KEY",
  };
  const behind = processAccess(settings, env);
  assertEquals(behind.net, ["proxy.corp:3128", "10.1.2.3:8888", "10.1.0.0/16", "corp", "*.corp"]);
  assertEquals([behind.denyNet, behind.env?.at(-1)], [undefined, "MY_KEY"]);
});
