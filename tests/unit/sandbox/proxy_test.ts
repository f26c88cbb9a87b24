import { startFilterProxy } from "../../../src/sandbox/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { groundJail, jailed, sh } from "./jail_support.ts";
import { ground } from "./support.ts";

const POSIX = { ignore: Deno.build.os === "windows" };

/** A real web server on a loopback port that shows what reached it. */
function upstream(): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { pathname } = new URL(request.url);
    return new Response(
      `${request.method} ${pathname} ${request.headers.get("host")} ${await request.text()}`,
    );
  });
}

async function talk(port: number, bytes: Uint8Array | string): Promise<string> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  await conn.write(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes);
  let text = "";
  const buffer = new Uint8Array(4096);
  for (let count = await conn.read(buffer); count !== null; count = await conn.read(buffer)) {
    text += new TextDecoder("latin1").decode(buffer.subarray(0, count));
  }
  return text;
}

async function through(
  run: (proxy: number, server: number, refused: string[]) => Promise<void>,
): Promise<void> {
  await using server = upstream();
  const refused: string[] = [];
  await using proxy = await startFilterProxy({
    hosts: [`127.0.0.1:${server.addr.port}`],
    listen: { port: 0 },
    onRefused: ({ host, port }) => refused.push(`${host}:${port}`),
  });
  await run(proxy.address.port ?? 0, server.addr.port, refused);
}

Deno.test("the proxy relays plain HTTP to a listed host and corrects the Host header", POSIX, async () => {
  await through(async (proxy, server) => {
    const head =
      `POST http://127.0.0.1:${server}/a?b HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nContent-Length: 4\r\n\r\nbody`;
    const answer = await talk(proxy, head);
    assertMatch(answer, /^HTTP\/1\.1 200/);
    assertStringIncludes(answer, `POST /a 127.0.0.1:${server} body`);
  });
});

Deno.test("the proxy tunnels CONNECT to a listed host", POSIX, async () => {
  await through(async (proxy, server) => {
    const inner = "GET /in HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    const answer = await talk(proxy, `CONNECT 127.0.0.1:${server} HTTP/1.1\r\n\r\n${inner}`);
    assertMatch(answer, /^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 200/);
    assertStringIncludes(answer, "GET /in h");
  });
});

Deno.test("the proxy speaks SOCKS 5 with addresses and names", POSIX, async () => {
  await through(async (proxy, server) => {
    const port = [server >> 8, server & 255];
    const inner = [...new TextEncoder().encode("GET /s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")];
    const name = [...new TextEncoder().encode("127.0.0.1")];
    for (const address of [[1, 127, 0, 0, 1], [3, name.length, ...name]]) {
      const answer = await talk(proxy, Uint8Array.from([5, 1, 0, 5, 1, 0, ...address, ...port, ...inner]));
      assertEquals(answer.slice(0, 4), "\x05\x00\x05\x00");
      assertStringIncludes(answer, "GET /s h");
    }
  });
});

Deno.test("the proxy refuses what is not listed, says so and reports it", POSIX, async () => {
  await through(async (proxy, server, refused) => {
    const plain = await talk(proxy, "GET http://other.example/ HTTP/1.1\r\n\r\n");
    assertMatch(
      plain,
      /^HTTP\/1\.1 403 [\s\S]*Blocked by \[sandbox\] network_hosts: other\.example:80 is not listed/,
    );
    assertMatch(await talk(proxy, "CONNECT other.example:443 HTTP/1.1\r\n\r\n"), /^HTTP\/1\.1 403/);
    assertMatch(await talk(proxy, `CONNECT 127.0.0.1:${server + 1} HTTP/1.1\r\n\r\n`), /^HTTP\/1\.1 403/);
    assertMatch(await talk(proxy, `CONNECT localhost:${server} HTTP/1.1\r\n\r\n`), /^HTTP\/1\.1 403/);
    assertMatch(await talk(proxy, "GET ftp://127.0.0.1/ HTTP/1.1\r\n\r\n"), /^HTTP\/1\.1 403/);
    const socks = await talk(proxy, Uint8Array.from([5, 1, 0, 5, 1, 0, 1, 8, 8, 8, 8, 0, 53]));
    assertEquals(socks.slice(0, 4), "\x05\x00\x05\x02");
    assertEquals(refused.length, 5);
    assert(refused.includes("8.8.8.8:53"));
  });
});

Deno.test("the proxy drops what is neither HTTP nor SOCKS", POSIX, async () => {
  await through(async (proxy) => {
    assertEquals(await talk(proxy, "\x16\x03\x01 hello\r\n\r\n"), "");
    assertEquals(await talk(proxy, Uint8Array.from([5, 1, 2])), "\x05\xff");
    assertEquals(
      (await talk(proxy, Uint8Array.from([5, 1, 0, 5, 2, 0, 1, 8, 8, 8, 8, 0, 53]))).slice(2, 4),
      "\x05\x07",
    );
    assertEquals(await talk(proxy, `GET /${"x".repeat(100_000)}`), "");
  });
});

Deno.test("the proxy answers for a listed host that does not answer", POSIX, async () => {
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr;
  closed.close();
  await using proxy = await startFilterProxy({ hosts: [`127.0.0.1:${port}`], listen: { port: 0 } });
  const answer = await talk(proxy.address.port ?? 0, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
  assertMatch(answer, /^HTTP\/1\.1 502/);
});

Deno.test({
  ...jailed("a jail with network_hosts reaches the listed host through the proxy and nothing else"),
  fn: async () => {
    await using g = await ground();
    await using server = upstream();
    await using other = upstream();
    await using proxy = await startFilterProxy({
      hosts: [`127.0.0.1:${server.addr.port}`],
      listen: { socket: `${g.base}/proxy.sock` },
    });
    const jail = await groundJail(g, { network: "filtered", proxy: proxy.address });
    const get = (port: number) =>
      `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://127.0.0.1:${port}/x HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`;
    assertStringIncludes((await sh(jail, g.ws, get(server.addr.port))).stdout, "GET /x");
    assertStringIncludes((await sh(jail, g.ws, get(other.addr.port))).stdout, "403 Forbidden");
    const direct = await sh(jail, g.ws, `exec 3<>/dev/tcp/127.0.0.1/${server.addr.port}`);
    assertStringIncludes(direct.stderr, "Connection refused");
    const env = await sh(jail, g.ws, 'echo "$HTTPS_PROXY $ALL_PROXY"; cat; echo err >&2; exit 9');
    assertEquals(env, {
      code: 9,
      stdout: "http://127.0.0.1:3128 socks5h://127.0.0.1:3128\n",
      stderr: "err\n",
    });
    assertEquals((await sh(jail, g.ws, "kill -SEGV $$")).code, 139);
  },
});
