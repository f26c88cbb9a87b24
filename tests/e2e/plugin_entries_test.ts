/** `reasonix plugin list`, `add` and `remove`: entries in the user's file, and what they refuse. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { denoDir, makeWorld, programFile } from "../support/program.ts";
import { onTerminal } from "../support/terminal_chat.ts";
import { openTerminal } from "../support/tmux.ts";
import { PLUGINS } from "../../plugins/plugins.ts";

Deno.test("plugin add writes an entry with comments kept, and remove takes it out", async () => {
  const before = "# mine\n[agent]\nmax_steps = 9 # few\n";
  await using world = await makeWorld(before);
  const read = () => Deno.readTextFile(`${world.home}/config.toml`);
  const run = async (...words: string[]) => await world.run(["plugin", ...words]);

  for (
    const [words, code, text] of [
      [["add", "wep"], 2, /There is no plugin "wep"\n +did you mean web\?/],
      [["add", "web", "--set", "search=bravo"], 2, /Cannot use search = "bravo" for the plugin web/],
      [["add", "web", "--set", "search"], 2, /Cannot use --set search: it is no setting/],
      [["add", "web", "--preset", "offline"], 3, /the offline preset forbids web tools\n.*--allow-network/],
      [["add", "web", "--project", "--set", "key_env=K"], 2, /only your own file can set key_env/],
    ] as const
  ) {
    const done = await run(...words);
    assertMatch(done.stderr, text);
    assertEquals([done.code, await read()], [code, before], words.join(" "));
  }

  const added = await run("add", "web", "--set", "search=brave", "--preset", "offline", "--allow-network");
  assertEquals(added.code, 0, added.stderr);
  assertStringIncludes(added.stdout, "BRAVE_API_KEY is not set yet");
  assert((await read()).startsWith(before));
  assertStringIncludes(await read(), 'name = "web"\ncommand = "reasonix"\nargs = [ "plugin", "web" ]');
  assertMatch((await run("add", "web")).stderr, /there is an entry for it \(\S+config\.toml:5:1\)/);

  const listed = await run("list", "--json");
  const rows = JSON.parse(listed.stdout) as {
    name: string;
    tools: string[];
    tokens: number;
    entry?: string;
  }[];
  assertEquals(rows.map(({ name }) => name), PLUGINS.map(({ name }) => name));
  for (const { name, tools, tokens } of rows) assert(tools.length > 0 && tokens > 0, name);
  assertEquals(rows.filter(({ entry }) => entry !== undefined).map(({ name }) => name), ["web"]);

  assertEquals((await run("remove", "web")).code, 0);
  assertEquals((await read()).trimEnd(), before.trimEnd());
  assertMatch((await run("remove", "web")).stderr, /Cannot remove the plugin web: no configuration file/);

  const shared = await run("add", "map", "--project");
  assertEquals(shared.code, 0, shared.stderr);
  assertMatch((await run("list")).stdout, /set up in \S+reasonix\.toml:\d+:1; needs `reasonix trust`\n/);
  const chinese = await world.run(["plugin", "list"], { env: { REASONIX_LANG: "zh" } });
  assertMatch(
    chinese.stdout,
    /\nmap: 代码库[^]*\n {2}进程：读取工作区；写入它的状态目录\n {2}工具：\S+（\d+ 个 token）\n/,
  );
  const gone = await run("remove", "map");
  assertEquals(gone.code, 0, gone.stderr);
  assert(!(await Deno.readTextFile(`${world.dir}/reasonix.toml`)).includes("plugin"));
});

onTerminal(
  "plugin add asks on a terminal for what the plugin needs, and writes nothing when the user gives up",
  async () => {
    await using world = await makeWorld();
    const env = { REASONIX_HOME: world.home, HOME: world.home, ...denoDir() };
    await using terminal = await openTerminal(await programFile(), { cwd: world.dir, env });
    const read = () => Deno.readTextFile(`${world.home}/config.toml`).catch(() => "");
    const before = await read();
    const begin = async (language: string) => {
      await terminal.type(`clear; REASONIX_LANG=${language} reasonix plugin add web`);
      await terminal.press("Enter");
      await terminal.shows("● brave");
    };
    await begin("en");
    await terminal.press("Enter");
    await terminal.shows("│  BRAVE_API_KEY");
    await terminal.press("C-c");
    const end = await terminal.shows("Nothing was written");
    assert(!end.includes("error"), end);
    assertEquals(await read(), before);

    await begin("zh");
    await terminal.shows("搜索服务；不选择时插件只读取网页");
    await terminal.press("Enter");
    await terminal.shows("│  BRAVE_API_KEY");
    await terminal.press("Enter");
    await terminal.shows("试一试：reasonix mcp test web");
    assertStringIncludes(await read(), 'settings = { search = "brave", key_env = "BRAVE_API_KEY" }');
  },
);
