/** The chat where it cannot draw: lines in, answers out. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { pluginToml } from "../support/mcp/config.ts";
import { type RecordedRequest, startModelServer } from "../support/model_server.ts";
import { shownSoon } from "../support/terminal_chat.ts";
import { denoDir, makeWorld, mockConfig, programFile, type World } from "../support/program.ts";
import { openTerminal, type Terminal } from "../support/tmux.ts";
import { needs } from "../support/tools.ts";

const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output().then(() => true, () => false);

function lastText({ json }: RecordedRequest): string {
  return (json.messages as { content: string }[]).at(-1)?.content ?? "";
}

function scripted() {
  return startModelServer([], {
    models: ["mock-1"],
    check: { prefix: false },
    fallback: (request) => {
      const text = lastText(request);
      if (text.includes("remove it")) {
        return { text: "It goes.", calls: [{ name: "bash", args: { command: "rm -rf build\u200b" } }] };
      }
      if (text.includes("write it")) {
        return { calls: [{ name: "write_file", args: { path: "made.txt", content: "made\n" } }] };
      }
      return { text: `heard: ${text.split("\n").at(-1)}` };
    },
  });
}

/** A line that comes sooner after a question was typed before it. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 350));

Deno.test("each line of a pipe is a message of one session; commands and shell lines work as in the chat", async () => {
  await using server = scripted();
  await using world = await makeWorld(mockConfig(server.url, '[sandbox]\nbash = "off"'));
  const lines = ["first", "", "!echo out-$((6 * 7))", "# we use tabs", "second", "//literal", "/nonsense"];
  const { code, stdout, stderr } = await world.run(["--tui"], { stdin: `${lines.join("\r\n")}\n` });
  assertEquals(code, 2, "the code of the last line");
  assertMatch(
    stdout,
    /^heard: first\nout-42\nheard: # we use tabs\nheard: second\nheard: \/literal\n$/,
  );
  assertStringIncludes(stderr, "/nonsense");
  assertStringIncludes(stderr, "Without a terminal there is no screen");
  const messages = server.requests.at(-1)?.json.messages as { role: string; content: string }[];
  const sent = messages.map(({ content }) => content);
  assert(sent.includes("!echo out-$((6 * 7))") && sent.some((text) => text.includes("Output:\nout-42")));
  assert(!sent.some((text) => text.startsWith("<memory>")), "a line of a document is no fact");
});

Deno.test("a task in quotes begins the chat; on a pipe it is the first message, and no prompt appears", async () => {
  await using server = scripted();
  await using world = await makeWorld(mockConfig(server.url));
  await Deno.mkdir(`${world.home}/commands`);
  await Deno.writeTextFile(`${world.home}/commands/mine.md`, "Do it.");
  const { code, stdout } = await world.run(["write it", "--permission-mode", "dontAsk"], {
    stdin: "then this\n/help\n",
    env: { REASONIX_LANG: "zh-CN" },
  });
  assertEquals(code, 0);
  assertStringIncludes(stdout, "heard: then this");
  assertMatch(stdout, /\/quit +[\u4e00-\u9fff][^]*\/mine/);
  assertEquals(await Deno.stat(`${world.dir}/made.txt`).then(() => true, () => false), false);
  const again = await world.run(["-c", "write it"]);
  assertEquals(again.code, 0, again.stderr);
  assertEquals(await Deno.readTextFile(`${world.dir}/made.txt`), "made\n");
});

Deno.test("a broken configuration ends a pipe with its location before any input is read", async () => {
  await using world = await makeWorld("[permissions]\nmode = 3\n");
  const { code, stdout, stderr } = await world.run([], { stdin: "hello\n" });
  assertEquals([code, stdout], [6, ""]);
  assertStringIncludes(stderr, "config.toml:2:8");
});

async function dumbTerminal(world: World): Promise<Terminal> {
  const env = { REASONIX_HOME: world.home, HOME: world.home, LANG: "en_US.UTF-8", ...denoDir() };
  const terminal = await openTerminal(await programFile(), { cwd: world.dir, env });
  await terminal.type("export TERM=dumb; clear; reasonix");
  await terminal.press("Enter");
  return terminal;
}

Deno.test({
  ...needs(
    "tmux",
    hasTmux,
    "a dumb terminal gets a notice, and numbered questions, also about repository content",
  ),
  async fn() {
    await using server = scripted();
    await using world = await makeWorld(mockConfig(server.url));
    await world.write("reasonix.toml", '[tools.shell]\npath = "./shell.sh"\n');
    await using terminal = await dumbTerminal(world);
    await terminal.shows("plain lines only");
    await terminal.shows("Continue without it, this time");
    await pause();
    await terminal.type("1");
    await terminal.press("Enter");
    await terminal.shows("none: 1\n>");
    await terminal.type("write it");
    await terminal.press("Enter");
    const question = await terminal.shows("No…");
    for (const part of ["Allow write_file?", "+ made", "1. Yes\n", "Always…"]) {
      assertStringIncludes(question, part);
    }
    await pause();
    await terminal.type("1");
    await terminal.press("Enter");
    await terminal.shows("heard: ");
    await terminal.shows("\n>");
    assertEquals(await Deno.readTextFile(`${world.dir}/made.txt`), "made\n");
    await terminal.press("C-d");
  },
});

Deno.test({
  ...needs(
    "tmux",
    hasTmux,
    "a text, or a line that was typed before a question, answers nothing and is the next message",
  ),
  async fn() {
    await using server = scripted();
    await using world = await makeWorld(mockConfig(server.url));
    await using terminal = await dumbTerminal(world);
    await terminal.shows("\n>");
    await terminal.type("write it\n1\n");
    const question = await terminal.shows("No…");
    await pause();
    await terminal.type("yes, and then\n");
    await terminal.shows("Kept as your next message");
    await terminal.type("1 or 2\n");
    assertEquals(await Deno.stat(`${world.dir}/made.txt`).then(() => true, () => false), false);
    await terminal.type(/(\d)\. No…/.exec(question)?.[1] ?? "");
    await terminal.press("Enter");
    await terminal.shows("Tell the model why");
    await terminal.press("Enter");
    for (const message of ["1", "yes, and then", "1 or 2"]) await terminal.shows(`heard: ${message}\n`);
    // Ctrl-C withdraws the question, and the next line is a message.
    await terminal.type("write it again\n");
    await terminal.shows("write it again\nAllow write_file?");
    await terminal.press("C-c");
    await terminal.shows("Interrupted");
    await terminal.type("after that\n");
    await terminal.shows("heard: after that\n");
    assertEquals(await Deno.stat(`${world.dir}/made.txt`).then(() => true, () => false), false);
    await terminal.press("C-d");
  },
});

Deno.test({
  ...needs(
    "tmux",
    hasTmux,
    "in linear mode an approval prompt follows the text in full and accepts a reason",
  ),
  async fn() {
    await using server = scripted();
    await using world = await makeWorld(mockConfig(server.url));
    const env = { REASONIX_HOME: world.home, HOME: world.home, REASONIX_LANG: "zh-CN", ...denoDir() };
    await using terminal = await openTerminal(await programFile(), {
      cwd: world.dir,
      columns: 80,
      env: { ...env, LC_ALL: "C.UTF-8" },
    });
    const enter = async (line: string) => {
      await terminal.type(line);
      await terminal.press("Enter");
    };
    await enter("clear; reasonix --tui --linear");
    await terminal.shows("线性模式");
    await enter("remove it");
    const screen = await terminal.shows("拒绝……");
    // Its description comes first, and hidden parts of the command are listed.
    assertMatch(screen, /It goes\.[^]*│ rm -rf build\\u\{200b\}[^]*1\. 是\n/);
    await pause();
    await enter(/(\d)\. 拒绝……/.exec(screen)?.[1] ?? "");
    await terminal.shows("告诉模型原因");
    await enter("keep it 留着");
    await terminal.shows("heard: ");
    await enter("remove it");
    await shownSoon(terminal, (now) => now.split("拒绝……").length === 3);
    await pause();
    await enter(/(\d)\. 始终允许……/.exec(screen)?.[1] ?? "");
    await terminal.shows("在所有项目中始终允许：bash=rm -rf build\\u{200b}");
    await pause();
    await enter("");
    const messages = JSON.stringify(server.requests.at(-1)?.json.messages);
    assertStringIncludes(messages, "keep it 留着");
    await terminal.press("C-d");
  },
});

Deno.test({
  ...needs("tmux", hasTmux, "a server that fails before the first message is reported at once, and once"),
  async fn() {
    await using server = scripted();
    await using world = await makeWorld(mockConfig(server.url) + pluginToml("dead", { diesOn: "start" }));
    await using terminal = await dumbTerminal(world);
    // The prompt appears again below it: nothing is overwritten.
    await terminal.shows("! MCP server dead cannot be used");
    await terminal.shows("\n>");
    assertEquals(server.requests.length, 0);
    await terminal.type("hello");
    await terminal.press("Enter");
    const screen = await terminal.shows("heard: ");
    assertEquals(screen.split("MCP server dead").length, 2, screen);
    await terminal.press("C-d");
  },
});

Deno.test("on a pipe a server that fails is reported once, too", async () => {
  await using server = scripted();
  await using world = await makeWorld(mockConfig(server.url) + pluginToml("dead", { diesOn: "start" }));
  const { stderr } = await world.run([], { stdin: "hello\nagain\n" });
  assertEquals(stderr.split("MCP server dead").length, 2, stderr);
});
