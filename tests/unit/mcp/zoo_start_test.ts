/** Servers that fail at their start or end: each is one line, and the others continue. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { type Behaviour, type Message, NEW_VERSION, OLD_VERSION } from "../../support/mcp/behaviour.ts";
import { startHttpMcpServer } from "../../support/mcp/http_mcp_server.ts";
import { type McpFixture, openMcp, scripted } from "../../support/mcp/mcp_fixture.ts";
import { readRecord, recordedEnd, scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const ECHO = { text: "hello" };

/** Starts all servers and returns each state with its reason. */
async function started({ servers }: McpFixture): Promise<string[]> {
  await servers.start();
  return servers.status.map(({ name, state, detail }) => `${name} ${state}${detail ? `: ${detail}` : ""}`);
}

Deno.test("servers of each protocol version start and report their version", async () => {
  await using mcp = await openMcp([
    scripted("old", { era: "old" }),
    scripted("new", { era: "new" }),
    scripted("both"),
  ]);
  assertEquals(await started(mcp), ["old ready", "new ready", "both ready"]);
  assertEquals(mcp.servers.status.map(({ protocol }) => protocol), [
    "2025-11-25",
    "2026-07-28",
    "2026-07-28",
  ]);
  for (const name of ["old", "new", "both"]) {
    assertEquals((await mcp.call(`mcp__${name}__echo`, ECHO)).content, "hello");
  }
});

Deno.test("noise on standard output is logged, and the server works", async () => {
  for (const era of ["old", "new"] as const) {
    await using mcp = await openMcp([scripted("noisy", { era, noise: true })]);
    assertEquals(await started(mcp), ["noisy ready"]);
    assertEquals((await mcp.call("mcp__noisy__echo", ECHO)).content, "hello");
    const log = await mcp.log("noisy");
    assertStringIncludes(log, "no message on standard output: Starting up…");
    assert(!log.includes("\x1b"), "an escape sequence is in the log");
  }
});

Deno.test("a server that exits at its start is one line with its exit code, and other servers work", async () => {
  await using mcp = await openMcp([scripted("dead", { diesOn: "start" }), scripted("well")]);
  const [dead = "", well] = await started(mcp);
  assertMatch(dead, /^dead failed: the server ended with exit code 3/);
  assertEquals(well, "well ready");
  assertEquals((await mcp.call("mcp__well__echo", ECHO)).content, "hello");
});

Deno.test("a server that exits or stays silent at the probe is started with the old protocol", async () => {
  await using temp = await makeTempDir();
  const record = `${temp.path}/record`;
  await using mcp = await openMcp([
    scripted("ends", { era: "old", diesOn: "server/discover" }),
    scripted("silent", { era: "old", silentOn: ["server/discover"], record }),
  ], { home: `${temp.path}/home` });
  const before = performance.now();
  assertEquals(await started(mcp), ["ends ready", "silent ready"]);
  assert(performance.now() - before < 10_000, "it took more than ten seconds");
  assertEquals((await mcp.call("mcp__silent__echo", ECHO)).content, "hello");
  const probed = (await readRecord(record)).filter(({ method }) => method === "server/discover");
  assertEquals(probed.length, 1);
});

Deno.test("a server that answers the probe late is used with the new protocol", async () => {
  await using temp = await makeTempDir();
  const [record, home] = [`${temp.path}/record`, `${temp.path}/home`];
  const late = (name: string, era: "new" | "both") =>
    scripted(name, { era, sleepyAt: `${temp.path}/${name}`, record }, {
      cwd: temp.path,
      startup_timeout_seconds: 9,
    });
  const entries = [late("new", "new"), late("both", "both")];
  {
    await using mcp = await openMcp(entries, { home });
    assertEquals(await started(mcp), ["new ready", "both ready"]);
    // A server that accepts the older greeting is used with the older protocol this time.
    assertEquals(mcp.servers.status.map(({ protocol }) => protocol), ["2026-07-28", "2025-11-25"]);
    for (const name of ["new", "both"]) {
      assertEquals((await mcp.call(`mcp__${name}__echo`, ECHO)).content, "hello");
    }
    assertStringIncludes(await mcp.log("new"), "the answer to the probe came late");
    assertEquals((await readRecord(record)).filter(({ what }) => what === "start").length, 3);
  }
  await using mcp = await openMcp(entries, { home });
  assertEquals(await started(mcp), ["new ready", "both ready"]);
  assertEquals(mcp.servers.status.map(({ protocol }) => protocol), ["2026-07-28", "2026-07-28"]);
});

Deno.test("the protocol version of a server is cached: the second run does not probe it", async () => {
  await using temp = await makeTempDir();
  const [record, home] = [`${temp.path}/record`, `${temp.path}/home`];
  const entry = scripted("old", { era: "old", record }, { cwd: temp.path });
  for (const _ of [1, 2]) {
    await using mcp = await openMcp([entry], { home });
    assertEquals(await started(mcp), ["old ready"]);
  }
  const methods = (await readRecord(record)).flatMap(({ method }) => method ?? []);
  assertEquals(methods.filter((method) => method === "server/discover").length, 1);
  assertEquals(methods.filter((method) => method === "initialize").length, 2);
});

Deno.test("initialize and tools/list have a time limit that the error names", async () => {
  const limit = { startup_timeout_seconds: 0.6 };
  await using mcp = await openMcp([
    scripted("greeting", { era: "old", silentOn: ["initialize"] }, limit),
    scripted("list", { silentOn: ["tools/list"] }, limit),
    scripted("slow", { startSeconds: 30 }, limit),
    scripted("late", { startSeconds: 0.2 }),
  ]);
  const states = await started(mcp);
  assertEquals(states.slice(0, 3), [
    "greeting failed: it did not start within 0.6 s: it did not answer the greeting",
    "list failed: it did not start within 0.6 s: it did not list what it offers",
    "slow failed: it did not start within 0.6 s: it did not answer the greeting",
  ]);
  assertEquals(states[3], "late ready");
});

Deno.test("standard error of a server is kept up to a limit", async () => {
  await using mcp = await openMcp([scripted("loud", { stderrBytes: 5_000_000 })]);
  assertEquals(await started(mcp), ["loud ready"]);
  assertEquals((await mcp.call("mcp__loud__echo", ECHO)).content, "hello");
  const { path } = mcp.servers.named("loud").log;
  for (const file of [path, `${path}.1`]) {
    const size = await Deno.stat(file).then((info) => info.size, () => 0);
    assert(size <= 1024 * 1024, `${file} has ${size} bytes`);
  }
});

Deno.test("the end of a run kills servers that ignore the shutdown, and their children", async () => {
  await using temp = await makeTempDir();
  const record = `${temp.path}/record`;
  {
    await using mcp = await openMcp([
      scripted("stubborn", { stubborn: true, record }),
      scripted("parent", { child: true, record }),
    ]);
    assertEquals(await started(mcp), ["stubborn ready", "parent ready"]);
  }
  const noted = await readRecord(record);
  assert(noted.some(({ what }) => what === "signal"), "TERM did not come before KILL");
  assertEquals(await recordedEnd(record), 3);
});

Deno.test("a crashed server is reported with its exit code, even when its child holds its output", async () => {
  await using mcp = await openMcp([scripted("mortal", { child: true })]);
  await started(mcp);
  const result = await mcp.call("mcp__mortal__die");
  assertEquals(result.isError, true);
  assertMatch(result.content, /mortal: the server ended with exit code 3/);
  await mcp.changed(({ state }) => state === "failed");
  assertEquals((await mcp.call("mcp__mortal__echo", ECHO)).content, "hello");
});

Deno.test("a missing or invalid program is reported with what to correct", async () => {
  await using temp = await makeTempDir();
  await Deno.writeTextFile(`${temp.path}/plain.txt`, "no program");
  await using mcp = await openMcp([
    { name: "absent", command: "no-such-server-program" },
    { name: "path", command: `${temp.path}/nothing` },
    { name: "text", command: `${temp.path}/plain.txt` },
    { name: "sse", type: "sse", url: "http://127.0.0.1:9/sse" },
    { name: "off", command: "no-such-server-program", enabled: false },
  ]);
  const [absent = "", path = "", text = "", sse = "", off] = await started(mcp);
  assertMatch(absent, /^absent failed: There is no program "no-such-server-program" on PATH; install/);
  assertMatch(path, /^path failed: There is no program .*\/nothing; correct the command/);
  assertMatch(text, /^text failed: .*plain\.txt/);
  assertMatch(
    sse,
    /^sse failed: The transport "sse" is an older one that is not supported; set type = "http"/,
  );
  assertEquals(off, "off disabled");
});

// The scripted servers of the other tests follow the protocol unless a test requires otherwise.

const META = { "io.modelcontextprotocol/protocolVersion": NEW_VERSION };
const PROBE: Message = { jsonrpc: "2.0", id: 0, method: "server/discover", params: { _meta: META } };
const WELCOME: Message = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: OLD_VERSION, capabilities: {} },
};
const ECHO_CALL: Message = {
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: { name: "echo", arguments: { text: "世界" } },
};

/** Sends messages to a server's standard input, closes it, and returns the parsed answers. */
async function talk(behaviour: Behaviour, messages: readonly Message[]): Promise<Message[]> {
  const { command, args } = scriptedServer(behaviour);
  const child = new Deno.Command(command, { args, stdin: "piped", stdout: "piped", stderr: "piped" }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(messages.map((line) => `${JSON.stringify(line)}\n`).join("")));
  await writer.close();
  const output = new TextDecoder().decode((await child.output()).stdout);
  return output.split("\n").flatMap((line) => line.startsWith('{"jsonrpc"') ? [JSON.parse(line)] : []);
}

const codes = (answers: readonly Message[]) => answers.map(({ id, error }) => [id, error?.code]);

Deno.test("a scripted server answers requests of its protocol versions and rejects others", async () => {
  assertEquals(codes(await talk({ era: "old" }, [PROBE, WELCOME])), [[0, -32601], [1, undefined]]);
  assertEquals(codes(await talk({ era: "new" }, [PROBE, WELCOME])), [[0, undefined], [1, -32022]]);
  assertEquals(codes(await talk({}, [PROBE, WELCOME])), [[0, undefined], [1, undefined]]);
});

Deno.test("a scripted server records requests, and is noisy, silent or dead on request", async () => {
  await using temp = await makeTempDir();
  const record = `${temp.path}/record`;
  const answers = await talk({ era: "old", noise: true, silentOn: ["initialize"], record }, [
    WELCOME,
    ECHO_CALL,
  ]);
  assertEquals(answers.filter(({ id }) => id !== 99999).map(({ result }) => result), [
    { content: [{ type: "text", text: "世界" }] },
  ]);
  assert(answers.length > 1, "it made no noise");
  const noted = (await readRecord(record)).map(({ what, method }) => method ?? what);
  assertEquals(noted, ["start", "initialize", "tools/call", "end of input"]);
  assertEquals(await talk({ diesOn: "tools/call" }, [ECHO_CALL, WELCOME]), []);
});

Deno.test("a scripted HTTP server has sessions in the old protocol and resumes a broken stream", async () => {
  await using server = startHttpMcpServer({ era: "old", breaksOn: "echo" });
  const post = (message: Message, headers: Record<string, string> = {}) =>
    fetch(server.url, { method: "POST", body: JSON.stringify(message), headers });
  const welcome = await post(WELCOME);
  const session = { "mcp-session-id": welcome.headers.get("mcp-session-id") ?? "" };
  assertEquals((await welcome.json()).result.protocolVersion, OLD_VERSION);
  assertEquals(await post(PROBE).then((response) => response.json()).then(({ error }) => error.code), -32601);
  const broken = await (await post(ECHO_CALL, session)).text();
  const last = /^id: (.+)$/m.exec(broken)?.[1] ?? "";
  const rest = await (await fetch(server.url, { headers: { ...session, "last-event-id": last } })).text();
  assertEquals(JSON.parse(/^data: (.+)$/m.exec(rest)?.[1] ?? "").result.content[0].text, "世界");
  assertEquals(server.sessions, 1);
  server.forgetSessions();
  const gone = await post(ECHO_CALL, session);
  assertEquals([gone.status, await gone.text()], [404, "Session not found"]);
  assertEquals(server.methods, ["initialize", "server/discover", "tools/call", "tools/call"]);
});
