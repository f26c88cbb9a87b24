import { startFilterProxy } from "../../../../src/sandbox/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { jailed, sandboxJail, sh } from "../jail/jail_support.ts";
import { sandboxTest } from "../support.ts";

const POSIX = { ignore: Deno.build.os === "windows" };

/** A real web server on a loopback port that records its requests. */
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

Deno.test("the proxy supports SOCKS 5 with addresses and names", POSIX, async () => {
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

Deno.test("the proxy refuses an unlisted host with a reason and reports it", POSIX, async () => {
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

Deno.test("the proxy drops connections that are neither HTTP nor SOCKS", POSIX, async () => {
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

Deno.test("the proxy never confuses two forms of a destination", POSIX, async () => {
  await through(async (proxy, server, refused) => {
    const forms = [
      `LOCALHOST.:${server}`,
      `127.1:${server + 1}`,
      `0x7f000002:${server}`,
      `2130706434:${server}`,
      `[::ffff:127.0.0.1]:${server}`,
      `[::1]:${server}`,
      `127.0.0.1@evil.example:${server}`,
      `evil.example#127.0.0.1:${server}`,
      `127.0.0.1%00.evil.example:${server}`,
      `127.0.0.1.evil.example:${server}`,
      `xn--.:${server}`,
    ];
    for (const form of forms) {
      const answer = await talk(proxy, `CONNECT ${form} HTTP/1.1\r\n\r\n`);
      assert(/^HTTP\/1\.1 403/.test(answer), `${form}: ${answer}`);
    }
    assertEquals(refused.length, forms.length);
    // The same address in other words is the same address.
    for (const form of ["127.1", "0x7f.1", "2130706433", "127.0.0.1."]) {
      const inner = "GET / HTTP/1.0\r\n\r\n";
      assertMatch(await talk(proxy, `CONNECT ${form}:${server} HTTP/1.1\r\n\r\n${inner}`), /^HTTP\/1\.1 200/);
    }
    const user = await talk(proxy, `GET http://127.0.0.1:${server}@evil.example/ HTTP/1.1\r\n\r\n`);
    assertStringIncludes(user, "evil.example:80 is not listed");
  });
});

Deno.test("the proxy drops requests that a server could interpret as for another host", POSIX, async () => {
  await through(async (proxy, server) => {
    const line = `GET http://127.0.0.1:${server}/ HTTP/1.1\r\n`;
    const heads = [
      `${line}X: a\nHost: evil\r\n\r\n`,
      `${line}X: a\rHost: evil\r\n\r\n`,
      `${line}Host : evil\r\n\r\n`,
      `${line} Host: evil\r\n\r\n`,
      `${line}X: a\r\n\tb\r\n\r\n`,
      `GET http://127.0.0.1:${server}/ HTTP/1.1 HTTP/1.1\r\n\r\n`,
      `GET\thttp://127.0.0.1:${server}/ HTTP/1.1\r\n\r\n`,
    ];
    for (const head of heads) assertEquals(await talk(proxy, head), "", JSON.stringify(head));
    const two = await talk(proxy, `${line}hOsT: evil\r\nHost: evil\r\n\r\n`);
    assertStringIncludes(two, `GET / 127.0.0.1:${server} `);
  });
});

Deno.test("the proxy resolves a name once and connects to the checked address", POSIX, async () => {
  await using server = upstream();
  const { port } = server.addr;
  const asked: string[] = [];
  const answers: Record<string, string[][]> = {
    "inside.example": [["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"]],
    "none.example": [[]],
    localhost: [["127.0.0.1"]],
  };
  await using proxy = await startFilterProxy({
    hosts: [`*.example:${port}`, `localhost:${port}`],
    listen: { port: 0 },
    resolve: (name) => {
      asked.push(name);
      const [first = [], ...rest] = answers[name] ?? [];
      answers[name] = rest;
      return Promise.resolve(first);
    },
  });
  const connect = (host: string) =>
    talk(proxy.address.port ?? 0, `CONNECT ${host}:${port} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n`);
  assertStringIncludes(await connect("inside.example"), "leads to 127.0.0.1");
  assertStringIncludes(await connect("none.example"), "leads to nowhere");
  assertMatch(await connect("localhost"), /200 Connection established/);
  assertEquals(asked, ["inside.example", "none.example", "localhost"]);
});

Deno.test(
  "the proxy limits concurrent connections and accepts new ones after others close",
  POSIX,
  async () => {
    await through(async (proxy, server) => {
      const held: Deno.Conn[] = [];
      const refusedAt = async () => {
        for (let count = 0; count < 300; count++) {
          const conn = await Deno.connect({ hostname: "127.0.0.1", port: proxy });
          held.push(conn);
        }
        // The last one is turned away, however long the others say nothing.
        return await held.at(-1)?.read(new Uint8Array(1));
      };
      assertEquals(await refusedAt(), null);
      for (const conn of held) conn.close();
      const ask = () => talk(proxy, `CONNECT 127.0.0.1:${server} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n`);
      let answer = await ask();
      while (answer === "") answer = await ask();
      assertMatch(answer, /200 Connection established/);
    });
  },
);

Deno.test("the proxy reports a listed host that does not answer", POSIX, async () => {
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr;
  closed.close();
  await using proxy = await startFilterProxy({ hosts: [`127.0.0.1:${port}`], listen: { port: 0 } });
  const answer = await talk(proxy.address.port ?? 0, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
  assertMatch(answer, /^HTTP\/1\.1 502/);
});

sandboxTest(
  jailed("a jail with network_hosts reaches the listed host through the proxy and nothing else"),
  async (g) => {
    await using server = upstream();
    await using other = upstream();
    await using proxy = await startFilterProxy({
      hosts: [`127.0.0.1:${server.addr.port}`],
      listen: { socket: `${g.base}/proxy.sock` },
    });
    const jail = await sandboxJail(g, { network: "filtered", proxy: proxy.address });
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
);
