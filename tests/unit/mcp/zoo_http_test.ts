/** HTTP servers that refuse, redirect, lose sessions, disconnect or are slow: each is one clear line. */
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { type HttpBehaviour, type Seen, startHttpMcpServer } from "../../support/mcp/http_mcp_server.ts";
import { openMcp, remote, scripted, started } from "../../support/mcp/mcp_fixture.ts";

const FORMS: readonly HttpBehaviour[] = (["old", "new"] as const).flatMap((era) =>
  (["json", "stream"] as const).map((answer) => ({ era, answer }))
);

const isCall = ({ message }: Seen, tool: string) =>
  message.method === "tools/call" && message.params?.name === tool;

Deno.test("HTTP servers work in both protocol versions, with JSON and with streams", async () => {
  for (const form of FORMS) {
    const about = JSON.stringify(form);
    await using server = startHttpMcpServer(form);
    const shown: string[] = [];
    {
      await using mcp = await openMcp([remote(server.url, { headers: { "x-key": "k" } })], {
        progress: (text) => shown.push(text),
      });
      assertEquals(await started(mcp), "ready", about);
      assertEquals((await mcp.call("mcp__far__echo", { text: "世界" })).content, "世界", about);
      assertEquals((await mcp.call("mcp__far__progress", { steps: 1 })).content, "all steps done", about);
      assertMatch((await mcp.call("mcp__far__roots")).content, /file:/, about);
    }
    assertEquals(shown, ["1/1 step 1\n"], about);
    assert(server.seen.every(({ headers }) => headers.get("x-key") === "k"), "a request lacks the header");
    const ended = server.seen.filter(({ verb }) => verb === "DELETE").length;
    assertEquals([ended, server.sessions], form.era === "old" ? [1, 0] : [0, 0], about);
  }
});

Deno.test("a slow HTTP server is used with its protocol version, also without an answer to the probe", async () => {
  for (const era of ["old", "new"] as const) {
    const asleep = Promise.withResolvers<Response>();
    let probes = 0;
    await using server = startHttpMcpServer({
      era,
      instead: ({ message }) => {
        const isProbe = message.method === "server/discover";
        return isProbe && ++probes === 1 ? asleep.promise : undefined;
      },
    });
    await using mcp = await openMcp([remote(server.url, { startup_timeout_seconds: 9 })]);
    assertEquals(await started(mcp), "ready", era);
    assertEquals((await mcp.call("mcp__far__echo", { text: "世界" })).content, "世界");
    assertEquals(mcp.servers.status[0]?.protocol, era === "new" ? "2026-07-28" : "2025-11-25");
    asleep.resolve(new Response(null, { status: 503 }));
  }
});

Deno.test("a call that fails with a status reports it, and the next call works", async () => {
  for (const { era, answer } of FORMS) {
    let isBroken = true;
    await using server = startHttpMcpServer({
      era: era ?? "both",
      answer: answer ?? "json",
      instead: (seen) => isBroken && isCall(seen, "echo") ? new Response("oops", { status: 500 }) : undefined,
    });
    await using mcp = await openMcp([remote(server.url)]);
    assertEquals(await started(mcp), "ready");
    const failed = await mcp.call("mcp__far__echo", { text: "a" });
    assertEquals(failed.isError, true);
    assertMatch(failed.content, /500/);
    isBroken = false;
    assertEquals((await mcp.call("mcp__far__echo", { text: "b" })).content, "b");
  }
});

Deno.test("an expired HTTP session is reopened, and the call is repeated", async () => {
  await using server = startHttpMcpServer({ era: "old" });
  await using mcp = await openMcp([remote(server.url)]);
  assertEquals(await started(mcp), "ready");
  server.forgetSessions();
  assertEquals((await mcp.call("mcp__far__echo", { text: "a" })).content, "a");
  assertEquals(server.methods.filter((method) => method === "initialize").length, 2);
  assertEquals(server.methods.filter((method) => method === "tools/call").length, 2);
});

Deno.test("a session that expires twice in a row is reported as that, not as a wrong address", async () => {
  await using server = startHttpMcpServer({
    era: "old",
    instead: (seen) => isCall(seen, "echo") ? new Response("Session not found", { status: 404 }) : undefined,
  });
  await using mcp = await openMcp([remote(server.url)]);
  assertEquals(await started(mcp), "ready");
  const { isError, content } = await mcp.call("mcp__far__echo", { text: "a" });
  assertEquals(isError, true);
  assertMatch(content, /it has forgotten the session twice in a row \(404\)/);
  assertEquals(server.methods.filter((method) => method === "initialize").length, 2);
  assertEquals(server.methods.filter((method) => method === "tools/call").length, 2);
});

Deno.test("a session that expires before its tools are listed is reported", async () => {
  await using server = startHttpMcpServer({
    era: "old",
    instead: ({ message }) =>
      message.method === "tools/list" ? new Response(null, { status: 404 }) : undefined,
  });
  await using mcp = await openMcp([remote(server.url)]);
  assertMatch(await started(mcp), /^failed: it has forgotten the session \(404 Not Found\)$/);
});

Deno.test("a server that does not confirm its subscription is still listed, and its log says why", async () => {
  const silent = { era: "new", silentOn: ["subscriptions/listen"] } as const;
  const over = Promise.withResolvers<Response>();
  const limit = { startup_timeout_seconds: 3 };
  await using server = startHttpMcpServer({
    era: "new",
    instead: ({ message }) => message.method === "subscriptions/listen" ? over.promise : undefined,
  });
  for (const entry of [remote(server.url, limit), scripted("far", silent, limit)]) {
    await using mcp = await openMcp([entry]);
    assertEquals(await started(mcp), "ready");
    assertEquals((await mcp.call("mcp__far__echo", { text: "a" })).content, "a");
    assertMatch(await mcp.log("far"), /no answer to subscriptions\/listen within 1 s/);
    assertEquals(mcp.changes.map(({ state }) => state), ["starting", "ready"]);
  }
  over.resolve(new Response(null, { status: 503 }));
});

Deno.test("changes before the confirmation of a subscription are not missed", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using server = startHttpMcpServer({ era: "new", beforeEvent: () => promise });
  await using mcp = await openMcp([remote(server.url, { startup_timeout_seconds: 3 })]);
  assertEquals(await started(mcp), "ready");
  const before = mcp.servers.tools().length;
  server.change();
  resolve();
  await mcp.changed(({ listed, durationMs }) => listed === true && durationMs === undefined);
  assertEquals(mcp.servers.tools().length, before + 1);
});

Deno.test("a server that fails at its start is one update and is retried", async () => {
  let works = false;
  const instead = () =>
    works ? undefined : new Response(null, { status: 302, headers: { location: "//x.test/" } });
  await using server = startHttpMcpServer({ instead });
  await using mcp = await openMcp([remote(server.url)]);
  assertMatch(
    await started(mcp),
    /^failed: .* leads to http:\/\/x\.test\/ \(302 Found\), which is not followed/,
  );
  assertEquals(mcp.changes.map(({ state }) => state), ["starting", "failed"]);
  works = true;
  await mcp.changed(({ state }) => state === "ready");
});

Deno.test("a redirect on the same host is followed, and another host receives nothing", async () => {
  await using other = startHttpMcpServer();
  let target = "";
  await using server = startHttpMcpServer({
    instead: ({ path }) =>
      path === "/mcp" && target !== ""
        ? new Response(null, { status: 307, headers: { location: target } })
        : undefined,
  });
  target = `${server.url}/moved`;
  {
    await using mcp = await openMcp([remote(server.url, { headers: { authorization: "Bearer s3cret" } })]);
    assertEquals(await started(mcp), "ready");
    assertEquals((await mcp.call("mcp__far__echo", { text: "a" })).content, "a");
  }
  target = other.url.replace("127.0.0.1", "localhost");
  await using mcp = await openMcp([
    remote(server.url, { headers: { authorization: "Bearer s3cret", "x-key": "k" } }),
  ]);
  await mcp.servers.start();
  assertEquals(other.seen, []);
});

Deno.test("a slow stream is awaited, and a broken one is resumed if possible", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isHeld = false;
  await using slow = startHttpMcpServer({
    answer: "stream",
    beforeEvent: () => isHeld ? promise : Promise.resolve(),
  });
  await using mcp = await openMcp([remote(slow.url)]);
  assertEquals(await started(mcp), "ready");
  isHeld = true;
  const call = mcp.call("mcp__far__echo", { text: "late" });
  while (!slow.seen.some((seen) => isCall(seen, "echo"))) await new Promise((done) => setTimeout(done, 1));
  resolve();
  assertEquals((await call).content, "late");
  await using broken = startHttpMcpServer({ era: "old", breaksOn: "echo" });
  await using second = await openMcp([remote(broken.url)]);
  assertEquals(await started(second), "ready");
  assertEquals((await second.call("mcp__far__echo", { text: "resumed" })).content, "resumed");
  assertEquals(broken.methods.filter((method) => method === "tools/call").length, 1);
});

Deno.test("an aborted call ends immediately, and the server is notified as its version requires", async () => {
  for (const { era = "both", answer = "json" } of FORMS) {
    await using server = startHttpMcpServer({ era, answer });
    await using mcp = await openMcp([remote(server.url)]);
    assertEquals(await started(mcp), "ready");
    const controller = new AbortController();
    const call = mcp.call("mcp__far__wait", {}, controller.signal).then(
      () => "a result",
      (error) => error.name,
    );
    while (!server.seen.some((seen) => isCall(seen, "wait"))) {
      await new Promise((done) => setTimeout(done, 1));
    }
    controller.abort();
    assertEquals(await call, "AbortError");
    assertEquals((await mcp.call("mcp__far__echo", { text: "on" })).content, "on");
    if (era === "old") assert(server.methods.includes("notifications/cancelled"), server.methods.join());
  }
});

Deno.test("HTTP answers have the same limits: 3 MB is truncated, 20 MB is too large", async () => {
  for (const form of FORMS) {
    await using server = startHttpMcpServer(form);
    await using mcp = await openMcp([remote(server.url)]);
    assertEquals(await started(mcp), "ready");
    const cut = await mcp.call("mcp__far__size", { bytes: 3 * 1024 * 1024 });
    assertEquals([cut.isError, cut.truncated !== undefined], [undefined, true]);
    const large = await mcp.call("mcp__far__size", { bytes: 20 * 1024 * 1024 });
    assertEquals(large.isError, true);
    assertMatch(large.content, /too large: the answer has over 16 MB/i);
    assertEquals((await mcp.call("mcp__far__echo", { text: "on" })).content, "on");
  }
});

Deno.test("a changed tool list over HTTP is fetched again in both protocol versions", async () => {
  for (const era of ["old", "new"] as const) {
    await using server = startHttpMcpServer({ era });
    await using mcp = await openMcp([remote(server.url)]);
    assertEquals(await started(mcp), "ready");
    const before = mcp.servers.tools().length;
    const hears = ({ verb, message }: Seen) => verb === "GET" || message.method === "subscriptions/listen";
    while (!server.seen.some(hears)) await new Promise((done) => setTimeout(done, 1));
    server.change();
    await mcp.changed(({ listed, durationMs }) => listed === true && durationMs === undefined);
    assertEquals(mcp.servers.tools().length, before + 1, era);
  }
});
