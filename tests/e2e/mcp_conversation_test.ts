/** Prompts and resources of MCP servers in a run, with the real program and a scripted model. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { pluginToml } from "../support/mcp/config.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

type Server = ReturnType<typeof startModelServer>;

const open = () => startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });

/** The user's own message of the last request. */
function asked(server: Server): string {
  return server.requests.at(-1)?.json.messages.at(-1).content;
}

/** A busy machine starts servers late. */
const PATIENT = "[tools]\nmcp_startup_wait_seconds = 60";

Deno.test("a prompt of a new or known server is sent as the message", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url, PATIENT) + pluginToml("docs"));
  for (const line of ["/mcp__docs__greet Ada", "/mcp__docs__greet tone=warm Ada"]) {
    const run = await world.run(["run", line]);
    assertEquals([run.code, run.stdout], [0, "ok\n"], run.stderr);
    assertStringIncludes(asked(server), "Ada");
  }
  const missing = await world.run(["run", "/mcp__docs__greet"]);
  assertEquals(missing.code, 2);
  assertStringIncludes(missing.stderr, 'it needs "name"');
  assertStringIncludes(missing.stderr, "/mcp__docs__greet <name> [tone]");
  const unknown = await world.run(["run", "/mcp__docs__gret Ada"]);
  assertEquals(unknown.code, 2);
  assertStringIncludes(unknown.stderr, "did you mean /mcp__docs__greet?");
  assertStringIncludes((await world.run(["run", "/help"])).stdout, "/mcp__docs__greet");
});

Deno.test("a resource is attached by its URI, and an unreadable resource is a notice", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url, PATIENT) + pluginToml("docs"));
  const run = await world.run([
    "run",
    "see @docs:scripted://page/1 and @docs:scripted://picture and @docs:scripted://none, mail a@docs:x @other:y",
  ]);
  assertEquals(run.code, 0, run.stderr);
  const text = asked(server);
  assertStringIncludes(text, '<resource ref="docs:scripted://page/1">');
  assertStringIncludes(text, '<resource ref="docs:scripted://picture">');
  const [, picture = ""] = /saved as (\S+\.png)\]/.exec(text) ?? [];
  assert((await Deno.stat(picture)).size > 0);
  assertStringIncludes(run.stderr, "@docs:scripted://none was not attached");
});

Deno.test("the model lists and reads resources with a tool that exists only if a server has resources", async () => {
  const call = (id: string, args: unknown) => ({
    calls: [{ id, name: "mcp_resource", args }],
  });
  await using server = startModelServer([
    call("1", { server: "docs" }),
    call("2", { server: "docs", uri: "scripted://page/7" }),
    { text: "read" },
  ], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url, PATIENT) + pluginToml("docs"));
  assertEquals((await world.run(["run", "read it"])).stdout, "read\n");
  const results = server.requests[2]?.json.messages.filter(({ role }: { role: string }) => role === "tool");
  assertStringIncludes(results[0].content, "scripted://page/{number} · text/plain · page (template)");
  assertStringIncludes(results[1].content, "7");
  const offered = (index: number) =>
    server.requests[index]?.json.tools.map((tool: { function: { name: string } }) => tool.function.name);
  assert(offered(0).includes("mcp_resource"));
  await using bare = await makeWorld(mockConfig(server.url));
  await bare.run(["run", "hello"]);
  assert(!offered(3).includes("mcp_resource"));
});

Deno.test("instructions of a server are sent once per session, outside of the prompt", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url) + pluginToml("docs"));
  for (const more of [[], ["-c"]]) assertEquals((await world.run(["run", ...more, "hello"])).code, 0);
  for (const { json: { messages } } of server.requests) {
    const instructions = messages.filter(({ content }: { content: string }) =>
      content.startsWith("<mcp_instructions>")
    );
    assertEquals(instructions.length, 1);
    assertEquals(instructions[0].role, "user");
    assertStringIncludes(instructions[0].content, '<server name="docs">\nScripted for tests.\n</server>');
    assert(!messages[0].content.includes("Scripted for tests."));
  }
});

const namesOf = (server: Server, at: number): string[] =>
  server.requests.at(at)?.json.tools.map((tool: { function: { name: string } }) => tool.function.name);

Deno.test("the model calls a server's tool by its short name, and rules use only the full name", async () => {
  const said = { calls: [{ name: "say", args: { text: "hello 世界" } }] };
  const rows: [rules: string, flags: string[], result: RegExp][] = [
    ['allow = ["mcp__docs__echo"]', ["--on-ask", "deny"], /^hello 世界$/],
    ['allow = ["say"]', ["--on-ask", "deny"], /no rule allows it/],
    ['deny = ["say"]', ["--on-ask", "allow"], /deny say/],
    ['deny = ["Mcp"]', ["--on-ask", "allow"], /deny Mcp/],
  ];
  for (const [rules, flags, result] of rows) {
    await using server = startModelServer([said], { fallback: { text: "ok" }, check: { prefix: false } });
    await using world = await makeWorld(
      mockConfig(server.url, `[permissions]\n${rules}\n${PATIENT}`) +
        pluginToml("docs", {}, 'aliases = { say = "echo", read_file = "wait", gone = "nothing" }'),
    );
    await world.run(["run", ...flags, "go"]);
    const names = namesOf(server, 0);
    assertEquals(["say", "mcp__docs__wait", "mcp__docs__echo"].map((name) => names.includes(name)), [
      true,
      true,
      false,
    ]);
    const tool = server.requests.at(1)?.json.messages.at(-1);
    assertMatch(String(tool?.content ?? server.requests.length), result);
  }
});

Deno.test("mcp tools, test and call accept the short names of a server's tools", async () => {
  await using world = await makeWorld(
    pluginToml("docs", {}, 'aliases = { say = "echo", gone = "nothing", bash = "die" }'),
  );
  assertEquals((await world.run(["mcp", "call", "docs", "say", "text=hello"])).stdout, "hello\n");
  assertStringIncludes(
    (await world.run(["mcp", "test", "docs"])).stdout,
    "aliases names nothing, which it does not offer",
  );
  assertStringIncludes(
    (await world.run(["mcp", "test", "docs"])).stdout,
    '"bash", which is a built-in tool or no name',
  );
  const [docs] = JSON.parse((await world.run(["mcp", "tools", "--json"])).stdout);
  const echo = docs.tools.find(({ name }: { name: string }) => name === "echo");
  assertEquals([echo.calledBy, echo.alias], ["mcp__docs__echo", "say"]);
});

onTerminal(
  "/mcp unload and load remove and restore the tools of a server as declared resets",
  async () => {
    await using server = open();
    await using chat = await openChat(
      mockConfig(server.url, PATIENT) + pluginToml("docs", {}, 'aliases = { say = "echo" }\nenabled = false'),
    );
    const { terminal, world } = chat;
    await terminal.shows(EMPTY);
    const offered: boolean[] = [];
    for (const [at, line] of [undefined, "/mcp load docs", "/mcp unload docs"].entries()) {
      if (line) {
        await chat.enter(line);
        await terminal.shows(line.includes("unload") ? "docs is off for this session" : "docs: ready");
      }
      await chat.enter(`message ${at}`);
      await server.received(at + 1);
      await shownSoon(terminal, (screen) => screen.split("ok").length > at + 1);
      offered.push(namesOf(server, -1).includes("say"));
    }
    assertEquals(offered, [false, true, false]);
    const session = await world.run(["session", "show", "--json"]);
    const resets = session.stdout.split("\n").filter((each) => each.includes('"context.prefix"')).map((
      each,
    ) => JSON.parse(each));
    assertEquals(
      resets.map(({ detail = "" }) => detail.split(" ").filter((each: string) => each.includes("say"))),
      [[], ["+say"], ["−say"]],
    );
  },
);
