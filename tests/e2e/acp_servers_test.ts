/** MCP servers and further directories that an editor gives to its sessions. */
import { methods, type NewSessionRequest } from "@agentclientprotocol/sdk";
import { startAcp } from "../support/acp.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { recordedEnd, scriptedServer } from "../support/mcp/scripted_mcp_server.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const { session } = methods.agent;
const call = (name: string, args: unknown) => ({ calls: [{ name, args }] });

Deno.test("servers and directories of an editor belong to its session, also when it is resumed", async () => {
  await using server = startModelServer([
    call("mcp__docs__surroundings", {}),
    { text: "One" },
    call("write_file", { path: "../more/made.txt", content: "made" }),
    { text: "Two" },
    call("mcp__docs__surroundings", {}),
    { text: "Three" },
    call("mcp__docs__surroundings", {}),
    { text: "Four" },
  ], { check: { prefix: false } });
  await using world = await makeWorld(
    mockConfig(server.url) +
      '\n[permissions]\nallow = ["Mcp", "Edit"]\n[tools]\nmcp_startup_wait_seconds = 60\n',
  );
  const more = `${world.dir}/../more`;
  await Deno.mkdir(more);
  const record = `${world.home}/record`;
  const docs = {
    name: "docs",
    ...scriptedServer({ record }),
    env: [{ name: "DOCS_TOKEN", value: "docs-value-58q2" }, { name: "MARK", value: "amber" }],
  };
  const mcpServers = [docs, { name: "gone", command: `${world.dir}/missing`, args: [], env: [] }];
  const acp = await startAcp(world, { capabilities: { session: { notices: {} } } });
  const here: NewSessionRequest = {
    cwd: world.dir,
    mcpServers,
    additionalDirectories: [await Deno.realPath(more)],
  };
  const { sessionId } = await acp.agent.request(session.new, here);
  assertEquals(await acp.prompt(sessionId, "Look"), "end_turn");
  assertEquals(await acp.prompt(sessionId, "Write"), "end_turn");
  assertEquals(await Deno.readTextFile(`${more}/made.txt`), "made");
  await acp.agent.request(session.close, { sessionId });
  await acp.agent.request(session.resume, { sessionId, ...here });
  assertEquals(await acp.prompt(sessionId, "Look again"), "end_turn");
  // Without the servers the session has no such tool.
  await acp.agent.request(session.close, { sessionId });
  await acp.agent.request(session.resume, { sessionId, cwd: world.dir });
  assertEquals(await acp.prompt(sessionId, "Look once again"), "end_turn");
  const results = server.requests.flatMap(({ json }) =>
    json.messages.at(-1).role === "tool" ? [String(json.messages.at(-1).content)] : []
  );
  assertEquals(results.map((text) => text.includes('"MARK":"amber"')), [true, false, true, false]);
  assertStringIncludes(results[3] ?? "", "Unknown tool");
  assertEquals((await acp.end()).code, 0);
  assertEquals(await recordedEnd(record), 2);
  const shown = JSON.stringify(acp.updates(sessionId));
  assertStringIncludes(shown, "MCP servers of the client: docs, gone");
  assertStringIncludes(shown, "MCP server gone cannot be used: There is no program");
  assertStringIncludes(shown, '\\"DOCS_TOKEN\\":\\"[redacted]\\"');
  assert(!shown.includes("docs-value-58q2"));
});
