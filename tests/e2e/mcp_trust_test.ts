/** MCP servers of a repository that leave a mark: none starts before trust, all start afterwards. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { scriptedServer } from "../support/mcp/scripted_mcp_server.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";
import { removeTree } from "../support/remove_tree.ts";

/** A server that leaves a mark when it starts, in a project that defines it in both formats. */
async function plant(world: World): Promise<void> {
  const start = `touch "$(dirname "$0")/started-$1"; exec cat`;
  await world.write("start.sh", `${start}\n`);
  await world.write(
    "reasonix.toml",
    '[[plugins]]\nname = "toml"\ncommand = "sh"\nargs = ["start.sh", "toml"]\nstartup_timeout_seconds = 1\n',
  );
  await world.write(
    ".mcp.json",
    '{"mcpServers": {"json": {"command": "sh", "args": ["./start.sh", "json"]}}}',
  );
}

const marks = (world: World) =>
  [...Deno.readDirSync(world.dir)].map(({ name }) => name).filter((name) => name.startsWith("started"))
    .sort();

const COMMANDS = [
  ["mcp", "list"],
  ["mcp", "status"],
  ["mcp", "tools"],
  ["mcp", "prompts"],
  ["mcp", "resources"],
  ["mcp", "test", "toml"],
  ["mcp", "test", "json"],
  ["mcp", "call", "json", "x"],
  ["mcp", "import", "--dry-run"],
  ["doctor"],
  ["doctor", "--json"],
  ["config", "show"],
  ["trust", "--list"],
  ["context"],
  ["complete", "--", "mcp", "call", ""],
] as const;

Deno.test("no command starts a server of a hostile clone before trust, and trust is kept", async () => {
  await using world = await makeWorld("");
  await plant(world);
  for (const command of COMMANDS) {
    const { stdout, stderr } = await world.run([...command], { env: { HOME: world.dir } });
    assertEquals(marks(world), [], command.join(" "));
    if (command[1] === "test" || command[1] === "call") {
      assertStringIncludes(stderr, "you have not trusted it");
    }
    if (command[1] === "status") assertMatch(stdout, /! json .*reasonix trust/);
  }
  const refused = await world.run(["mcp", "test", "json"]);
  assertEquals(refused.code, 3);
  await world.run(["trust", "--yes"]);
  assertEquals(marks(world), []);
  await world.run(["mcp", "test", "toml"]);
  assertEquals(marks(world), ["started-toml"]);
  // A changed script requires trust again.
  await Deno.remove(`${world.dir}/started-toml`);
  await world.write("start.sh", 'touch "$(dirname "$0")/started-$1-evil"; exec cat\n');
  for (const command of COMMANDS) await world.run([...command], { env: { HOME: world.dir } });
  assertEquals(marks(world), []);
});

Deno.test("a run starts no server of a hostile clone before trust, and every server afterwards", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(`${mockConfig(server.url)}[tools]\nmcp_startup_wait_seconds = 2\n`);
  await plant(world);
  assertEquals((await world.run(["run", "go"])).code, 3);
  assertEquals([marks(world), server.requests.length], [[], 0]);
  assertEquals((await world.run(["run", "--ignore-untrusted", "go"])).code, 0);
  assertEquals(marks(world), []);
  assertEquals((await world.run(["run", "--trust-project", "go"])).code, 0);
  assertEquals(marks(world), ["started-json", "started-toml"]);
  for (const mark of marks(world)) await Deno.remove(`${world.dir}/${mark}`);
  // That trust applied to one run.
  assertEquals((await world.run(["run", "go"])).code, 3);
  assertEquals(marks(world), []);
  await world.run(["trust", "--yes"]);
  // A server that failed the last time is not waited for.
  await removeTree(`${world.home}/cache/mcp`);
  assertEquals((await world.run(["run", "go"])).code, 0);
  assertEquals(marks(world), ["started-json", "started-toml"]);
});

Deno.test("a project's server overrides the user's only after trust, whose prompt shows it", async () => {
  await using world = await makeWorld(mine());
  await plant(world);
  await world.write(
    "reasonix.toml",
    '[[plugins]]\nname = "mine"\ncommand = "sh"\nargs = ["start.sh", "mine"]\ntrusted_read_only_tools = ["echo"]\nstartup_timeout_seconds = 1\n',
  );
  await Deno.remove(`${world.dir}/.mcp.json`);
  assertEquals((await world.run(["mcp", "call", "mine", "echo", '{"text": "mine"}'])).stdout, "mine\n");
  assertEquals(marks(world), []);
  const refused = await world.run(["run", "go"]);
  assertStringIncludes(refused.stderr, "in place of your server of this name");
  const trust = await world.run(["trust", "--yes"]);
  assertStringIncludes(trust.stdout, "replaces: your server of this name");
  assertStringIncludes(trust.stdout, "these run without approval, as read-only tools: echo");
  await world.run(["mcp", "test", "mine"]);
  assertEquals(marks(world), ["started-mine"]);
});

/** A well-behaved server of the user. */
function mine(): string {
  const { command, args } = scriptedServer({});
  return `[[plugins]]\nname = "mine"\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\n`;
}

Deno.test("escape sequences of a hostile .mcp.json do not reach the terminal, before or after trust", async () => {
  await using world = await makeWorld("");
  const odd = "\\u001b[2J\\u202e\\u0007";
  await world.write(
    ".mcp.json",
    `{"mcpServers": {"e${odd}vil": {"command": "sh${odd}", "args": ["a\\nb"], "env": {"A${odd}": "x"}}, ` +
      `"b${odd}": {"command": 3}}}`,
  );
  for (const trusted of [false, true]) {
    if (trusted) await world.run(["trust", "--yes"]);
    for (const line of ["run go", "trust", "mcp list", "mcp status", "doctor", "config show"]) {
      const { stdout, stderr } = await world.run(line.split(" "));
      const text = stdout + stderr;
      // deno-lint-ignore no-control-regex
      assert(!/[\x1b\x07\u202e]/.test(text), `${line}: ${JSON.stringify(text)}`);
    }
  }
});

onTerminal(
  "the chat asks before a project's server starts and shows its command without secrets",
  async () => {
    await using server = startModelServer([], { fallback: { text: "So it is." } });
    await using chat = await openChat(mockConfig(server.url), { columns: 120, rows: 50 });
    const { terminal, world, answer, enter } = chat;
    const leave = async () => {
      await terminal.press("C-d");
      await terminal.shows("left-with-0");
      await terminal.type("clear");
      await terminal.press("Enter");
    };
    await terminal.shows(EMPTY);
    await leave();
    await world.write("start.sh", 'touch "$(dirname "$0")/started-$1"; exec cat\n');
    await world.write(
      "reasonix.toml",
      '[permissions]\nallow = ["Bash(make:*)"] # theirs\n[[plugins]]\nname = "toml"\ncommand = "sh"\n' +
        'args = ["start.sh", "toml"]\nenv = { K = "hush-4711" }\nstartup_timeout_seconds = 1\n',
    );
    await world.write(
      ".mcp.json",
      '{"mcpServers": {"json": {"command": "sh", "args": ["./start.sh", "json"], "env": {"TOKEN": "hush-4712"}}}}',
    );
    const open = async (text: string) => {
      await enter("reasonix; echo left-with-$?");
      return await terminal.shows(text);
    };
    const question = (await open("Trust this project's content?")).replace(/\s+/g, " ");
    for (
      const text of ["sh start.sh toml", "with K in its environment", "sh ./start.sh json", "with TOKEN in"]
    ) {
      assertStringIncludes(question, text);
    }
    await answer("d");
    const details = await terminal.shows("runs: sh start.sh toml");
    for (const text of ["environment: K", "environment: TOKEN", "# theirs", 'K = "[secret]"']) {
      assertStringIncludes(details, text);
    }
    await terminal.press("Escape");
    await terminal.shows("Not now; continue without it");
    await answer("n");
    await terminal.shows(EMPTY);
    await enter("hello");
    await terminal.shows("So it is.");
    assert(!(await terminal.history()).includes("hush"));
    await leave();
    assertEquals(marks(world), []);
    await open("Trust this project's content?");
    await answer("t");
    // Servers start automatically, before anything is typed.
    await shownSoon(terminal, () => marks(world).length === 2);
    await leave();
    assertEquals(marks(world), ["started-json", "started-toml"]);
  },
);
