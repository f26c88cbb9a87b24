import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import { startHttpMcpServer } from "../../../support/mcp/http_mcp_server.ts";
import { openMcp, remote, started } from "../../../support/mcp/mcp_fixture.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

Deno.test("headers_helper runs at the start and after a rejection, and its headers are sent", async () => {
  await using temp = await makeTempDir();
  const count = `${temp.path}/count`;
  let good = "Bearer token-number-1";
  await using server = startHttpMcpServer({
    instead: ({ headers }) =>
      headers.get("authorization") === good ? undefined : new Response(null, { status: 401 }),
  });
  const line = `echo x >> ${count}; printf '{"Authorization": "Bearer token-number-%s", "X-Who": "%s"}' ` +
    `"$(wc -l < ${count} | tr -d ' ')" "$REASONIX_MCP_SERVER_NAME:$GIVEN"`;
  const entry = remote(server.url, { headers_helper: line, env: { GIVEN: "env" } });
  await using mcp = await openMcp([entry]);
  assertEquals(await started(mcp), "ready");
  assertEquals((await mcp.call("mcp__far__echo", { text: "a" })).content, "a");
  assertEquals(server.seen.at(-1)?.headers.get("x-who"), "far:env");
  assertEquals(await Deno.readTextFile(count), "x\n");

  good = "Bearer token-number-2";
  const calls = ["b", "c", "d"].map((text) => mcp.call("mcp__far__echo", { text }));
  assertEquals((await Promise.all(calls)).map(({ content }) => content), ["b", "c", "d"]);
  good = "Bearer another";
  const { content } = await mcp.call("mcp__far__echo", { text: "e" });
  assertMatch(content, /it refuses the headers that headers_helper printed \(401\)/);
});

Deno.test("a failing headers_helper is one line without any value", async () => {
  const lines: readonly [string, RegExp][] = [
    ["echo oops >&2; exit 3", /ended with exit code 3: oops/],
    ["true", /printed nothing/],
    ["echo nonsense", /did not print a JSON object/],
    ["echo '[1]'", /did not print a JSON object/],
    [`echo '{"A": 1}'`, /a value of the header "A" that is not a text/],
    [`echo '{"A b": "s3cret-value"}'`, /a header that cannot be sent, "A b"/],
    [`printf '{"A": "s3cret\\\\u000avalue"}'`, /a header that cannot be sent, "A"/],
    ["/nowhere/program", /ended with exit code 127/],
  ];
  await using server = startHttpMcpServer();
  for (const [line, problem] of lines) {
    await using mcp = await openMcp([remote(server.url, { headers_helper: line })]);
    const shown = await started(mcp);
    assertMatch(shown, /^failed: headers_helper /);
    assertMatch(shown, problem);
    assert(!shown.includes("s3cret") && !shown.includes("\n"), shown);
  }
  assertEquals(server.seen, []);
});

Deno.test("a headers_helper does not wait for its background processes and ends them", async () => {
  await using server = startHttpMcpServer();
  const line = `sleep 300 & echo '{"X-Pid": "'$!'"}'`;
  await using mcp = await openMcp([remote(server.url, { headers_helper: line })]);
  assertEquals(await started(mcp), "ready");
  const pid = server.seen[0]?.headers.get("x-pid") ?? "";
  if (Deno.build.os !== "linux") return;
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "State:\tgone");
  assertMatch(status, /^State:\t(?:gone|Z)/m);
});
