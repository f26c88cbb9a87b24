/** The effect of an answer about a read-only claim, and when late tools are offered. */
import { createAgent } from "../../../src/features/mod.ts";
import type { Chunk, Event } from "../../../src/core/mod.ts";
import { call, say, scriptedProvider, tool } from "../../support/agent_fixture.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { pluginToml } from "../../support/mcp/config.ts";
import { scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const calls = (name: string, args: unknown = {}): Chunk[] => [
  call("1", name, args),
  { type: "done", reason: "tool_calls" },
];

Deno.test("trust in a read-only claim is saved in the user's file with the server, else shown", async () => {
  await using dir = await makeTempDir();
  const home = `${dir.path}/home`;
  const cwd = `${dir.path}/work`;
  await Deno.mkdir(home);
  await Deno.mkdir(cwd);
  await Deno.writeTextFile(
    `${home}/config.toml`,
    `# mine\n[tools]\nmcp_startup_wait_seconds = 60\n${pluginToml("docs")}`,
  );
  await Deno.writeTextFile(
    `${home}/.mcp.json`,
    JSON.stringify({ mcpServers: { other: scriptedServer() } }),
  );
  const notices: string[] = [];
  const asked: string[] = [];
  const run = async () => {
    await using agent = await createAgent({
      provider: scriptedProvider([
        calls("mcp__docs__echo", { text: "a" }),
        calls("mcp__other__echo", { text: "b" }),
        calls("mcp__other__echo", { text: "c" }),
        say("done"),
      ]),
      config: "load",
      home,
      cwd,
      permissionMode: "plan",
      approver: {
        ask: ({ tool }) => {
          asked.push(tool);
          return Promise.resolve({ allow: true, scope: "always" });
        },
      },
      onEvent: (event) => void (event.type === "notice" && notices.push(event.text)),
    });
    await agent.run("go");
  };
  await run();
  assertEquals(asked, ["mcp__docs__echo", "mcp__other__echo"]);
  assertStringIncludes(await Deno.readTextFile(`${home}/config.toml`), "trusted_read_only_tools");
  assertEquals(notices.filter((text) => text.includes("for this session only")).length, 1);
  asked.length = 0;
  await run();
  assertEquals(asked, ["mcp__other__echo"]);
});

Deno.test("an answer about a project server does not affect the user's server of the same name", async () => {
  await using dir = await makeTempDir();
  const [home, cwd] = [`${dir.path}/home`, `${dir.path}/work`];
  await Deno.mkdir(home);
  await Deno.mkdir(cwd);
  const own = `[tools]\nmcp_startup_wait_seconds = 60\n${pluginToml("docs", { tools: "none" })}`;
  await Deno.writeTextFile(`${home}/config.toml`, own);
  await Deno.writeTextFile(`${cwd}/reasonix.toml`, pluginToml("docs"));
  const notices: string[] = [];
  await using agent = await createAgent({
    provider: scriptedProvider([calls("mcp__docs__echo", { text: "a" }), say("done")]),
    config: "load",
    home,
    cwd,
    trustProject: true,
    approver: { ask: () => Promise.resolve({ allow: true, scope: "always" }) },
    onEvent: (event) => void (event.type === "notice" && notices.push(event.text)),
  });
  await agent.run("go");
  assertEquals(notices.filter((text) => text.includes("for this session only")).length, 1);
  assertEquals(await Deno.readTextFile(`${home}/config.toml`), own);
});

Deno.test("a server approved during a turn connects between steps, and the same list changes nothing", async () => {
  await using dir = await makeTempDir();
  const events: Event[] = [];
  const isReady = () => events.some((event) => event.type === "mcp.server" && event.state === "ready");
  const wait = tool("wait_for_it", true, async () => {
    while (!isReady()) await new Promise((resolve) => setTimeout(resolve, 10));
    return { content: "it is there", summary: "there" };
  });
  const open = () =>
    createAgent({
      provider: scriptedProvider([
        calls("ls"),
        calls("wait_for_it"),
        calls("mcp__docs__echo", { text: "late" }),
        say("done"),
      ]),
      home: `${dir.path}/home`,
      cwd: dir.path,
      tools: [wait],
      config: {
        plugins: [{
          name: "docs",
          ...scriptedServer({ shuffled: true }),
          trusted_read_only_tools: ["echo"],
        }],
        tools: { mcp_startup_wait_seconds: 0 },
      },
      onEvent: (event) => void events.push(event),
    });
  const resets = () =>
    events.flatMap((event) => event.type === "context.prefix" ? [event.detail ?? event.reason] : []);
  {
    await using agent = await open();
    await agent.run("go");
    assertEquals(resets(), ["start", "+mcp_resource +11 of docs"]);
  }
  events.length = 0;
  await using again = await open();
  await again.run("go");
  assertEquals(resets(), ["start"]);
  assertEquals(events.filter((event) => event.type === "tool.end").map(({ content }) => content).slice(1), [
    "it is there",
    "late",
  ]);
});
