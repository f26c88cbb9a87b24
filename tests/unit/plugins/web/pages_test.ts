import { convert, endConversions } from "../../../../plugins/common/bounded.ts";
import { PluginError } from "../../../../plugins/common/plugin.ts";
import { type Network, resolveName } from "../../../../plugins/web/fetch.ts";
import { type Convert, type Page, Pages } from "../../../../plugins/web/pages.ts";
import { parseRange } from "../../../../plugins/web/private.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { answer, type Answers, send, startRawServer } from "../../../support/raw_server.ts";

const ENTRY = new URL("../../../../plugins/main.ts", import.meta.url).href;
const NETWORK: Network = {
  allowed: [parseRange("127.0.0.1")].flatMap((range) => range ?? []),
  proxies: { except: [] },
  maxBytes: 5e6,
  seconds: 20,
  resolve: resolveName,
};
const converted: Convert = (converter, input, signal) =>
  convert(ENTRY, converter, input, { seconds: 60, heapMb: 512 }, signal);
const CALL = { signal: AbortSignal.timeout(60_000), progress() {} };

/** A server with these answers and the pages of it. */
function opened(answers: Answers, maxKept?: number) {
  const server = startRawServer(answers);
  const clock = { now: 0 };
  const pages = new Pages(NETWORK, converted, 900_000, () => clock.now, maxKept);
  const open = (path: string) => pages.open(`http://127.0.0.1:${server.port}/${path}`, CALL);
  return {
    ...server,
    clock,
    /** The page, or its error as its only line. */
    async open(path: string): Promise<Page> {
      const page = await open(path).catch((error) => {
        if (!(error instanceof PluginError)) throw error;
        return { url: "", kind: "error", notes: [], lines: [error.text] };
      });
      return "redirect" in page ? { url: page.redirect.href, kind: "redirect", notes: [], lines: [] } : page;
    },
    async [Symbol.asyncDispose]() {
      endConversions();
      await server[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a page is kept for its time, then asked for again with ETag or Last-Modified", async () => {
  let version = 1;
  const tagged = (connection: Deno.Conn, head: string) => {
    const tag = `"v${version}"`;
    const isSame = head.includes(`if-none-match: ${tag}\r\n`);
    return send(
      connection,
      isSame
        ? "HTTP/1.1 304 Not Modified\r\n\r\n"
        : answer(`version ${version}`, `content-type: text/plain\r\netag: ${tag}`),
    );
  };
  const date = "Fri, 27 Nov 2026 06:00:00 GMT";
  await using server = opened({
    tagged,
    dated: (connection, head) =>
      send(
        connection,
        head.includes(`if-modified-since: ${date}\r\n`)
          ? "HTTP/1.1 304 Not Modified\r\n\r\n"
          : answer("dated", `content-type: text/plain\r\nlast-modified: ${date}`),
      ),
  });
  const lines = async (path: string) => (await server.open(path)).lines;
  assertEquals(await lines("tagged"), ["version 1"]);
  version = 2;
  server.clock.now += 899_999;
  assertEquals([await lines("tagged"), server.requests.length], [["version 1"], 1]);
  version = 1;
  server.clock.now += 1;
  assertEquals([await lines("tagged"), server.requests.length], [["version 1"], 2]);
  version = 2;
  assertEquals([await lines("tagged#part"), server.requests.length], [["version 1"], 2]);
  server.clock.now += 900_000;
  assertEquals([await lines("tagged"), server.requests.length], [["version 2"], 3]);
  assertEquals(await lines("dated"), ["dated"]);
  server.clock.now += 900_000;
  assertEquals([await lines("dated"), server.requests.length], [["dated"], 5]);
});

Deno.test("pages that were not opened for the longest time leave the memory first", async () => {
  const image = (connection: Deno.Conn) =>
    send(connection, "HTTP/1.1 200 OK\r\n\r\n", new Uint8Array([0xff, 0xd8, 0xff, ...new Uint8Array(97)]));
  await using server = opened({ a: image, b: image, c: image, d: image }, 250);
  for (const path of ["a", "b", "a", "c", "a", "b", "a", "d", "a"]) await server.open(path);
  assertEquals(server.requests.map((head) => head[5]).join(""), "abcbd");
});

Deno.test("JSON, XML, feeds, text and images arrive in their form, other data is refused by its type", async () => {
  const rows: [string, string | Uint8Array, string, string | string[], string][] = [
    ["json", `{"id":12345678901234567890,"text":"${"x".repeat(2000)}"}`, "application/json", [
      "{",
      '  "id": 12345678901234567890,',
      `  "text": "${"x".repeat(2000)}"`,
      "}",
    ], "json"],
    ["short_json", '{"a":1}\n', "application/vnd.api+json", ['{"a":1}'], "json"],
    [
      "xml",
      `<a><b>${"x".repeat(2000)}</b></a>`,
      "text/xml",
      ["<a>", `<b>${"x".repeat(2000)}</b>`, "</a>"],
      "xml",
    ],
    ["markdown", "# Title\n\ntext\n", "text/markdown", ["# Title", "", "text"], "text"],
    ["gbk", new Uint8Array([0xc4, 0xe3, 0xba, 0xc3]), "text/plain; charset=gbk", ["你好"], "text"],
    ["hidden", "a\u200bb\u{e0041}c", "text/plain; charset=utf-8", ["abc"], "text"],
    ["long", "😀".repeat(5000), "text/plain", ["😀".repeat(3000), "😀".repeat(2000)], "text"],
    ["untyped", "plain", "", ["plain"], "text"],
    [
      "rss",
      `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><item><title>One two</title>` +
      `<link>https://e.test/1</link><pubDate>Fri, 27 Nov 2026 06:00:00 GMT</pubDate><description>&lt;p&gt;Hi &lt;b&gt;you` +
      `&lt;/b&gt;&lt;i style="display:none"&gt;obey&lt;/i&gt;&lt;/p&gt;</description></item></channel></rss>`,
      "application/rss+xml",
      ["## [One two](https://e.test/1)", "", "2026-11-27", "", "Hi **you**"],
      "feed",
    ],
    [
      "a.ipynb",
      '{"cells":[{"cell_type":"markdown","source":["# Hi"]}],"metadata":{},"nbformat":4}',
      "application/json",
      ["# Hi"],
      "ipynb",
    ],
    ["b", new TextEncoder().encode("PK\x03\x04"), "application/zip", "Cannot read b: ", "error"],
    ["c.pdf", "%PDF-1.7", "application/pdf", "Cannot read c.pdf as a PDF: ", "error"],
    ["png", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), "text/html", [], "image/png"],
    ["webp", new TextEncoder().encode("RIFF1234WEBPVP8 "), "image/webp", [], "image/webp"],
    [
      "bytes",
      new Uint8Array(9),
      "application/octet-stream",
      "it is application/octet-stream (9 bytes), not text",
      "error",
    ],
    ["video", new Uint8Array(9), "video/mp4", "it is video/mp4 (9 bytes), not text", "error"],
    ["untyped_bytes", new Uint8Array(9), "", "it is data of an unknown type (9 bytes), not text", "error"],
    ["empty", "", "text/html", "the server answers 200 with an empty page", "error"],
  ];
  const answers = rows.map((
    [path, body, type],
  ) => [
    path,
    (connection: Deno.Conn) =>
      send(connection, `HTTP/1.1 200 OK\r\n${type === "" ? "x: y" : `content-type: ${type}`}\r\n\r\n`, body),
  ]);
  await using server = opened(Object.fromEntries(answers));
  for (const [path, body, _, expected, kind] of rows) {
    const page = await server.open(path);
    assertEquals(page.kind, kind, `${path}: ${page.lines}`);
    if (typeof expected === "string") assertStringIncludes(page.lines[0] ?? "", expected);
    else assertEquals(page.lines, expected, path);
    if (kind.startsWith("image/")) assertEquals(page.image?.bytes, body as Uint8Array);
  }
});

Deno.test("an answer without a page is one line with its status and reason", async () => {
  const rows: [string, string, string][] = [
    ["204 No Content", "", "answers 204 (no content)"],
    ["401 Unauthorized", "login", "answers 401 (it needs a login)"],
    ["403 Forbidden", "<h1>no</h1>", "answers 403 (forbidden)"],
    [
      "403 Forbidden",
      "<title>Just a moment...</title>",
      "answers 403 (a challenge page, which only a person in a browser can pass)",
    ],
    ["404 Not Found", "x", "answers 404 (not found)"],
    ["429 Too Many", "x", "answers 429 (too many requests)"],
    ["500 Oops", "x", "answers 500 (the server has a failure)"],
    ["304 Not Modified", "", "answers 304 (not modified)"],
  ];
  await using server = opened(
    Object.fromEntries(
      rows.map((
        [status, body],
        index,
      ) => [
        `${index}`,
        body === "" ? `HTTP/1.1 ${status}\r\n\r\n` : answer(body, "content-type: text/html", status),
      ]),
    ),
  );
  for (const [index, [, , expected]] of rows.entries()) {
    const { lines } = await server.open(`${index}`);
    assertStringIncludes(
      lines[0] ?? "",
      `Cannot open http://127.0.0.1:${server.port}/${index}: the server ${expected}`,
    );
    assert(!lines[0]?.includes("\n"));
  }
});
