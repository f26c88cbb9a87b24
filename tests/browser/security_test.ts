/** Attacks on the web page from a real browser. Each one must fail, and no request may leave the origin. */
import { assertEquals } from "../support/assert.ts";
import { ATTACKER, browserTest } from "../support/browser.ts";

/** Serves pages of an attacker; they are reached by the address of this machine and by another name. */
function servePages(pages: Readonly<Record<string, string>>) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    const text = pages[new URL(url).pathname];
    const headers = { "content-type": "text/html; charset=utf-8" };
    return text === undefined ? new Response("", { status: 404 }) : new Response(text, { headers });
  });
  return {
    port: server.addr.port,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

browserTest("a request to another machine would be seen: as a request, and at the trap", async (test) => {
  await using pages = servePages({
    "/": `<img src="http://leak.example/pixel"><script>alert("ran")</script>`,
  });
  for (const host of ["127.0.0.1", ATTACKER]) {
    const { page, requests, dialogs } = await test.visitor();
    await page(`http://${host}:${pages.port}/`);
    assertEquals(requests.includes("http://leak.example/pixel"), true, requests.join());
    assertEquals(dialogs, ["ran"]);
  }
  assertEquals(test.outside.filter((line) => line === "GET /pixel HTTP/1.1").length, 2);
});
