/** Unusual lists and results of servers: the model gets usable ones. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { type McpFixture, openMcp, scripted } from "../../support/mcp/mcp_fixture.ts";
import { readRecord } from "../../support/mcp/scripted_mcp_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const ERAS = ["old", "new"] as const;
const MEGABYTE = 1024 * 1024;

/** Tools of servers, without those that the program adds. */
const remoteTools = ({ servers }: Pick<McpFixture, "servers">) =>
  servers.tools().filter(({ name }) => name.startsWith("mcp__"));

Deno.test("tools with invalid schemas are offered with a valid one and can be called", async () => {
  for (const era of ERAS) {
    await using mcp = await openMcp([scripted("bad", { era, tools: "bad schemas" })]);
    await mcp.servers.start();
    const tools = mcp.servers.tools();
    const names = tools.map(({ name }) => name.replace("mcp__bad__", ""));
    for (const name of ["good", "no_type", "not_an_object", "cycle", "null_schema", "no_schema"]) {
      assert(names.includes(name), `${name} is not there: ${names}`);
    }
    for (const { name, schema, description } of tools) {
      assertEquals(schema.type, "object", name);
      assert(typeof schema.properties === "object" && !Array.isArray(schema.properties), name);
      assertEquals(typeof description, "string", name);
    }
    assertEquals((await mcp.call("mcp__bad__cycle", { next: {} })).content, 'cycle {"next":{}}');
    const problems = mcp.servers.status[0]?.problems ?? [];
    assert(problems.some((line) => line.includes("without a name")), problems.join());
    assert(problems.some((line) => line.includes("not_an_object")), problems.join());
  }
});

Deno.test("names in any script become distinct names that every provider accepts", async () => {
  await using mcp = await openMcp([scripted("sträng e", { tools: "strange names" })]);
  await mcp.servers.start();
  const names = remoteTools(mcp).map(({ name }) => name);
  for (const name of names) assertMatch(name, /^mcp__[A-Za-z0-9_-]{1,59}$/);
  assertEquals(new Set(names).size, names.length);
  assertEquals(names.length, 12);
  for (const name of names) {
    assertEquals((await mcp.call(name, { text: "x" })).isError, undefined, name);
  }
  const { problems = [] } = mcp.servers.status[0] ?? {};
  assert(problems.every((line) => !line.includes("\x1b")), "an escape sequence is in a problem");
});

Deno.test("paged, unordered and endless lists are the same to the model", async () => {
  await using whole = await openMcp([scripted("s")]);
  await using paged = await openMcp([scripted("s", { pageSize: 2, shuffled: true })]);
  await using endless = await openMcp([scripted("s", { endlessPages: true })]);
  for (const { servers } of [whole, paged, endless]) await servers.start();
  const listed = ({ servers }: typeof whole) =>
    JSON.stringify([
      remoteTools({ servers }).map(({ name, description, schema }) => ({ name, description, schema })),
      servers.prompts(),
      servers.resources(),
    ]);
  assertEquals(listed(paged), listed(whole));
  assertEquals(remoteTools(endless).length, 1);
});

Deno.test("above the threshold tools are offered by an index, and called through it", async () => {
  await using mcp = await openMcp([scripted("many", { tools: 300 })], { indexAboveTokens: 8000 });
  await mcp.servers.start();
  const offered = mcp.servers.tools().filter((tool) => tool.offered !== false);
  assertEquals(offered.map(({ name }) => name), ["mcp_search", "mcp_call", "mcp_resource"]);
  const bytes = JSON.stringify(
    offered.map(({ name, description, schema }) => ({ name, description, schema })),
  );
  assert(bytes.length / 4 < 2000, `${bytes.length} bytes`);
  assertStringIncludes((await mcp.call("mcp_search", { query: "tool_250" })).content, "mcp__many__tool_250");
});

const KINDS: Readonly<Record<string, RegExp>> = {
  text: /^plain text$/,
  two: /^one\ntwo$/,
  empty: /^\(no output\)$/,
  image: /^\[image: image\/png, 1 KB, saved as .*\.png\]$/,
  audio: /^\[audio: audio\/wav, 1 KB, saved as .*\.wav\]$/,
  link: /^\[resource scripted:\/\/page\/1: The first page\]$/,
  embedded: /^<resource uri="scripted:\/\/page\/1">\npage 1\n/,
  blob: /^\[scripted:\/\/file\.bin: application\/octet-stream, 1 KB, saved as .*\.bin\]$/,
  structured: /^\{"answer":42,"list":\["世界"\]\}$/,
  wrapped: /^once$/,
  complete: /^all$/,
  both: /^\{"answer":42\}$/,
  error: /^error: it did not work$/,
};

Deno.test("results of every kind reach the model as text, data as files", async () => {
  for (const era of ERAS) {
    await using mcp = await openMcp([scripted("s", { era })]);
    await mcp.servers.start();
    for (const [kind, expected] of Object.entries(KINDS)) {
      const { content, isError } = await mcp.call("mcp__s__result", { kind });
      assertMatch(content, expected, `${era} ${kind}`);
      assertEquals(isError ?? false, kind === "error", kind);
    }
    const unknown = await mcp.call("mcp__s__result", { kind: "unknown" });
    assertEquals(unknown.content, '[content of an unknown kind: {"type":"hologram","data":"?"}]');
    const nothing = await mcp.call("mcp__s__result", { kind: "nothing" });
    assertMatch(
      nothing.content,
      /^\(no output\)$|^error: s: Invalid result for tools\/call: content: .{1,80}$/,
    );
  }
});

Deno.test("a result of 3 MB is truncated; one of 20 or 50 MB is an error, and the server continues", async () => {
  await using mcp = await openMcp([scripted("big")]);
  await mcp.servers.start();
  const cut = await mcp.call("mcp__big__size", { bytes: 3 * MEGABYTE });
  assertEquals([cut.isError, cut.truncated !== undefined], [undefined, true]);
  assert(cut.content.length < 100_000, `${cut.content.length} characters`);
  for (const megabytes of [20, 50]) {
    const large = await mcp.call("mcp__big__size", { bytes: megabytes * MEGABYTE });
    assertEquals(large.isError, true);
    assertMatch(large.content, /too large: the answer has (21|51) MB, the limit is 16 MB/);
  }
  assertEquals((await mcp.call("mcp__big__echo", { text: "still here" })).content, "still here");
});

Deno.test("a changed tool list is fetched again, once for each change", async () => {
  for (const era of ERAS) {
    await using mcp = await openMcp([scripted("s", { era })]);
    await mcp.servers.start();
    const before = mcp.servers.tools().length;
    await mcp.call("mcp__s__change");
    await mcp.changed(({ listed, durationMs }) => listed === true && durationMs === undefined);
    assertEquals(mcp.servers.tools().length, before + 1, era);
    assertEquals((await mcp.call("mcp__s__late")).content, "late {}");
  }
});

Deno.test("a server that crashes in a call fails it with its exit code and restarts for the next", async () => {
  for (const era of ERAS) {
    await using mcp = await openMcp([scripted("mortal", { era }), scripted("other", { era })]);
    await mcp.servers.start();
    const dead = await mcp.call("mcp__mortal__die");
    assertMatch(dead.content, /^error: mortal: the server ended with exit code 3/);
    assertEquals((await mcp.call("mcp__other__echo", { text: "well" })).content, "well");
    assertEquals((await mcp.call("mcp__mortal__echo", { text: "again" })).content, "again");
  }
});

Deno.test("a call without an answer ends at its limit or with the turn, and the server is notified", async () => {
  for (const era of ERAS) {
    await using temp = await makeTempDir();
    const record = `${temp.path}/record`;
    await using mcp = await openMcp([
      scripted("s", { era, record }, { tool_timeout_seconds: { wait: 0.2 }, call_timeout_seconds: 60 }),
    ]);
    await mcp.servers.start();
    const late = await mcp.call("mcp__s__wait");
    assertMatch(
      late.content,
      /No answer within 0\.2 s; the call was cancelled, and it may have taken effect/,
    );
    const controller = new AbortController();
    const aborted = mcp.call("mcp__s__wait", {}, controller.signal).then(
      () => "a result",
      (error) => error.name,
    );
    controller.abort();
    assertEquals(await aborted, "AbortError");
    assertEquals((await mcp.call("mcp__s__echo", { text: "on" })).content, "on");
    const methods = (await readRecord(record)).flatMap(({ method }) => method ?? []);
    assert(methods.includes("notifications/cancelled"), methods.join());
  }
});

Deno.test("log messages of a server are logged as one line without control characters", async () => {
  for (const era of ERAS) {
    await using mcp = await openMcp([scripted("s", { era, logs: true })]);
    await mcp.servers.start();
    assertEquals((await mcp.call("mcp__s__echo", { text: "hi" })).content, "hi");
    assertMatch(await mcp.log("s"), /^\[.*\] disk warning: \{"full":"\\u001b\[31m世界"\}$/m);
  }
});

Deno.test("progress of a call is shown as it arrives", async () => {
  for (const era of ERAS) {
    const shown: string[] = [];
    await using mcp = await openMcp([scripted("s", { era })], { progress: (text) => shown.push(text) });
    await mcp.servers.start();
    assertEquals((await mcp.call("mcp__s__progress", { steps: 2 })).content, "all steps done");
    assertEquals(shown, ["1/2 step 1\n", "2/2 step 2\n"]);
  }
});

Deno.test("requests of servers are answered in both versions: roots, forms, addresses, sampling", async () => {
  for (const era of ERAS) {
    const asked: unknown[] = [];
    await using mcp = await openMcp([scripted("s", { era })], {
      questions: {
        elicit: (server, params) => {
          asked.push([server, params.mode ?? "form", params.message]);
          return Promise.resolve({ action: "accept", content: { name: "世界" } });
        },
        sample: (server, { maxTokens }) => {
          asked.push([server, maxTokens]);
          return Promise.resolve({ model: "m", role: "assistant", content: { type: "text", text: "hello" } });
        },
      },
    });
    await mcp.servers.start();
    const answer = async (tool: string, args = {}) =>
      JSON.parse((await mcp.call(`mcp__s__${tool}`, args)).content);
    assertMatch((await answer("roots")).roots[0].uri, /^file:\/\//);
    assertEquals(await answer("ask"), { action: "accept", content: { name: "世界" } });
    assertEquals((await answer("ask", { mode: "url" })).action, "accept");
    assertEquals((await answer("sample")).content, { type: "text", text: "hello" });
    assertEquals(asked, [["s", "form", "Who are you?"], ["s", "url", "Sign in"], ["s", 100]]);
  }
});

Deno.test("a request for input in a headless run is an error and ends its call", async () => {
  for (const era of ERAS) {
    await using mcp = await openMcp([scripted("s", { era })]);
    await mcp.servers.start();
    const { content } = await mcp.call("mcp__s__ask");
    assertMatch(content, /elicitation|Method not found|does not support/i, era);
    assertEquals((await mcp.call("mcp__s__echo", { text: "on" })).content, "on");
  }
});

Deno.test("prompts, resources, templates and completions work in both protocol versions", async () => {
  const { signal } = new AbortController();
  const intake = { signal, vision: true, directory: "/nowhere" };
  for (const era of ERAS) {
    await using mcp = await openMcp([scripted("s", { era, pageSize: 1 })]);
    const { servers } = mcp;
    await servers.start();
    assertEquals(servers.prompts().map(({ prompt }) => [prompt.name, prompt.arguments.length]), [
      ["greet", 2],
      ["plain", 0],
    ]);
    const prompt = await servers.prompt({ server: "s", name: "greet", args: { name: "Ada" } }, intake);
    assertEquals(prompt.text, "Greet Ada, warmly.");
    assertEquals(servers.resources().map(({ resource, template }) => [resource.uri, template]), [
      ["scripted://page/1", false],
      ["scripted://page/2", false],
      ["scripted://picture", false],
      ["scripted://page/{number}", true],
    ]);
    assertEquals((await servers.read("s", "scripted://page/7", intake)).text.trim(), "page 7");
    const query = { ref: { prompt: "greet" }, argument: "tone", value: "w" };
    assertEquals(await servers.complete("s", query, signal), ["warmly"]);
    const missing = await servers.read("s", "scripted://nothing", intake).then(
      () => "",
      (error) => error.message,
    );
    assertMatch(missing, /not found/i);
  }
});
