import { type Fetch, RedirectError, withinOrigin } from "../../../../src/util/network/fetch.ts";
import { assertEquals, assertRejects } from "../../../support/assert.ts";

const STATUSES = [301, 302, 303, 307, 308];

interface Sent {
  readonly url: string;
  readonly init: RequestInit | undefined;
}

/** A fetch without a network: records requests and answers with the list, then with 200. */
function scripted(answers: readonly (readonly [status: number, location?: string])[]) {
  const sent: Sent[] = [];
  const send: Fetch = (url, init) => {
    sent.push({ url: String(url), init });
    const [status, location] = answers[sent.length - 1] ?? [200];
    const headers = location === undefined ? {} : { location };
    return Promise.resolve(new Response(null, { status, headers }));
  };
  return { sent, fetch: withinOrigin(send) };
}

Deno.test("withinOrigin keeps method, headers and body for a redirect on the same origin", async () => {
  const init = { method: "POST", headers: { "x-key": "k" }, body: "text" };
  for (const status of STATUSES) {
    const { sent, fetch } = scripted([[status, "/v2"], [status, "v3?a=1"]]);
    assertEquals((await fetch("https://host.example/v1", init)).status, 200);
    assertEquals(sent.map(({ url }) => url), [
      "https://host.example/v1",
      "https://host.example/v2",
      "https://host.example/v3?a=1",
    ]);
    for (const one of sent) assertEquals(one.init, { ...init, redirect: "manual" });
  }
});

Deno.test("withinOrigin follows a redirect to https of the same host and to no other origin", async () => {
  const followed: readonly (readonly [string, string])[] = [
    ["http://host.example/v1", "https://host.example/v1"],
    ["http://a:b@host.example/v1", "http://a:b@host.example/v2"],
    ["http://a:b@host.example/v1", "http://host.example/v2"],
    ["https://HOST.example/v1", "https://host.EXAMPLE:443/v2"],
  ];
  for (const [from, to] of followed) {
    const { sent, fetch } = scripted([[307, to]]);
    await fetch(from);
    assertEquals(sent.map(({ url }) => url)[1], new URL(to).href);
  }
  const refused: readonly (readonly [string, string])[] = [
    ["https://host.example/v1", "https://other.example/v1"],
    ["https://host.example/v1", "//other.example/v1"],
    ["https://host.example/v1", "\\\\other.example\\v1"],
    ["https://host.example/v1", "https://api.host.example/v1"],
    ["https://host.example/v1", "https://host.example.other.example/v1"],
    ["https://host.example/v1", "https://host.example:444/v1"],
    ["https://host.example/v1", "https://host.example@other.example/v1"],
    ["https://host.example/v1", "https://me@host.example/v1"],
    ["https://host.example/v1", "https://me:secret@host.example/v1"],
    ["https://host.example/v1", "http://host.example/v1"],
    ["http://host.example:8080/v1", "https://host.example:8443/v1"],
    ["http://host.example:8080/v1", "https://host.example/v1"],
    ["http://127.0.0.1/v1", "http://127.0.0.2/v1"],
    ["https://host.example/v1", "ws://host.example/v1"],
    ["https://host.example/v1", "data:text/plain,no"],
    ["https://host.example/v1", "file:///etc/passwd"],
    ["https://host.example/v1", "http://["],
  ];
  for (const [from, to] of refused) {
    for (const status of STATUSES) {
      const { sent, fetch } = scripted([[status, to]]);
      await assertRejects(() => fetch(from, { method: "POST", body: "text" }), RedirectError);
      assertEquals(sent.length, 1, `${from} to ${to}`);
    }
  }
});

Deno.test("withinOrigin compares each redirect with the previous address", async () => {
  const back = scripted([[301, "https://host.example/a"], [301, "http://host.example/b"]]);
  await assertRejects(() => back.fetch("http://host.example/"), RedirectError);
  assertEquals(back.sent.length, 2);
  const out = scripted([[302, "/a"], [302, "/b"], [302, "https://other.example/c"]]);
  await assertRejects(() => out.fetch("https://host.example/"), RedirectError);
  assertEquals(out.sent.length, 3);
});

Deno.test("withinOrigin follows at most five redirects", async () => {
  const hops = (count: number) => scripted(Array.from({ length: count }, () => [307, "/again"] as const));
  assertEquals((await hops(5).fetch("https://host.example/")).status, 200);
  await assertRejects(() => hops(6).fetch("https://host.example/"), RedirectError);
});

Deno.test("withinOrigin returns other answers, and redirects in manual mode", async () => {
  for (const answer of [[300, "/a"], [304, "/a"], [201, "https://other.example/"], [307]] as const) {
    const { sent, fetch } = scripted([answer]);
    assertEquals([(await fetch("https://host.example/")).status, sent.length], [answer[0], 1]);
  }
  const { sent, fetch } = scripted([[302, "https://other.example/"]]);
  assertEquals((await fetch("https://host.example/", { redirect: "manual" })).status, 302);
  assertEquals(sent.length, 1);
});

Deno.test("a RedirectError names both addresses without credentials and query", async () => {
  const { fetch } = scripted([[302, "https://me:secret@other.example/login?token=secret#secret"]]);
  const error = await assertRejects(
    () => fetch("https://u:secret@host.example/v1?key=secret"),
    RedirectError,
  );
  assertEquals(
    error.message,
    "https://host.example/v1 leads to https://other.example/login (302), which is not followed",
  );
});
