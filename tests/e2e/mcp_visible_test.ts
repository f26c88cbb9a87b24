/** Reports about the MCP servers of a run, for people and programs. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { pluginToml } from "../support/mcp/config.ts";
import { scriptedServer } from "../support/mcp/scripted_mcp_server.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { launch, user } from "../support/sdk_client.ts";
import { removeTree } from "../support/remove_tree.ts";

const open = () => startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });

/** A busy machine starts servers late. */
const PATIENT = "[tools]\nmcp_startup_wait_seconds = 60";

Deno.test("a server that fails to start prints one line, and a started server prints none", async () => {
  await using server = open();
  await using world = await makeWorld(
    mockConfig(server.url, PATIENT) + pluginToml("good") + pluginToml("dead", { diesOn: "start" }),
  );
  const first = await world.run(["run", "hello"]);
  assertEquals([first.code, first.stdout], [0, "ok\n"]);
  const lines = first.stderr.split("\n").filter((line) => /MCP server/.test(line));
  assertEquals(lines.length, 1, first.stderr);
  assertStringIncludes(lines[0] ?? "", "! MCP server dead cannot be used: the server ended with exit code 3");
  const report = (await world.run(["run", "/mcp"])).stdout;
  assertStringIncludes(report, "good  not needed yet · 11 tools · 2 prompts · 4 resources\n");
  const about = (await world.run(["run", "/mcp good"])).stdout;
  assertStringIncludes(about, "scripted://page/{number}");
  assertStringIncludes(about, `${world.home}/logs/mcp/good.log`);
  const wrong = await world.run(["run", "/mcp restart other"]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.stderr, 'There is no MCP server "other" (configured: dead, good)');
});

Deno.test("both machine formats report the servers and their states", async () => {
  await using server = open();
  await using world = await makeWorld(
    mockConfig(server.url, PATIENT) + pluginToml("good") + pluginToml("dead", { diesOn: "start" }),
  );
  const sdk = await world.run(["run", "--output-format", "stream-json", "--verbose", "hello"]);
  const [init] = sdk.stdout.split("\n").map((line) => line === "" ? {} : JSON.parse(line));
  assertEquals(init.mcp_servers, [{ name: "good", status: "connected" }, { name: "dead", status: "failed" }]);
  assert(init.tools.includes("mcp__good__echo"));
  await removeTree(`${world.home}/cache`);
  const jsonl = await world.run(["run", "--output-format", "jsonl", "hello"]);
  const events = jsonl.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line))
    .filter(({ type }) => type === "mcp.server");
  assert(events.some(({ server, state }) => server === "dead" && state === "failed"));
});

Deno.test("the tokens of each server are counted", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url, PATIENT) + pluginToml("good"));
  await world.run(["run", "hello"]);
  const report = (await world.run(["run", "--continue", "/context"])).stdout;
  assert(/[1-9]\d* {2}MCP server good \(11 tools\)/.test(report), report);
  // Without a session the last listing is used.
  assert(/[1-9]\d* {2}MCP server good \(11 tools\)/.test((await world.run(["context"])).stdout));
});

Deno.test("the tokens of a project's server are counted once the project is trusted", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url, PATIENT));
  await world.write(".mcp.json", JSON.stringify({ mcpServers: { theirs: scriptedServer() } }));
  assert(!(await world.run(["context"])).stdout.includes("theirs"));
  await world.run(["trust", "--yes"]);
  await world.run(["run", "hello"]);
  assertMatch((await world.run(["context"])).stdout, /[1-9]\d* {2}MCP server theirs \(11 tools\)/);
});

Deno.test("an SDK asks for the states of servers, starts one again, and switches one off and on", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url, PATIENT) + pluginToml("good"));
  const sdk = await launch(world, []);
  const ask = async (fields: { subtype: string; [name: string]: unknown }) =>
    await sdk.request(crypto.randomUUID(), fields);
  const state = async () => (await ask({ subtype: "mcp_status" })).response.mcpServers[0];
  assertStringIncludes((await ask({ subtype: "mcp_reconnect", serverName: "good" })).error, "not begun");
  await sdk.send(user("hello"));
  await sdk.seen('"type":"result"');
  const { name, status, tools, serverInfo } = await state();
  assertEquals([name, status, tools.length, serverInfo.name], ["good", "connected", 11, "scripted"]);
  assertEquals((await ask({ subtype: "mcp_reconnect", serverName: "good" })).subtype, "success");
  await ask({ subtype: "mcp_toggle", serverName: "good", enabled: false });
  assertEquals((await state()).status, "disabled");
  await ask({ subtype: "mcp_toggle", serverName: "good", enabled: true });
  assertEquals((await state()).status, "connected");
  assertStringIncludes((await ask({ subtype: "mcp_toggle", serverName: "x" })).error, "configured: good");
  await sdk.end();
});
