/** A person in the chat: the real program on a terminal, with a model that follows instructions. */
import { exists } from "../../src/path/probe.ts";
import { loadTexts } from "../../src/i18n/mod.ts";
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { mockConfig, withoutTimes } from "../support/program.ts";
import { drawnScreens, EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

/** The last message of the user. */
function said({ json }: RecordedRequest): string {
  const last = json.messages.at(-1);
  return last.role === "user" ? JSON.stringify(last.content) : "";
}

/** Follows the instructions of the last message. */
function obedient(request: RecordedRequest): Turn {
  const text = said(request);
  if (text === "") return { text: "That was the work." };
  if (text.includes("write")) {
    return { calls: [{ name: "write_file", args: { path: "hello.txt", content: "hello\nworld\n" } }] };
  }
  if (text.includes("log")) return { calls: [{ name: "read_file", args: { path: "big.log" } }] };
  if (text.includes("remove")) return { calls: [{ name: "bash", args: { command: "rm -rf build" } }] };
  if (text.includes("code")) return { text: "Here:\n\n```ts\nconst two = 2; // 二\n```\n\nThat is all." };
  if (text.includes("number")) return { text: "It was forty-two." };
  return { text: "Noted." };
}

onTerminal(
  "a session survives an edit, a refusal with a reason, a diff, a rewind and kill -9",
  async () => {
    await using server = startModelServer([], { fallback: obedient, check: { prefix: false } });
    await using chat = await openChat(mockConfig(server.url));
    const { terminal, world } = chat;
    await terminal.shows(EMPTY);
    await chat.enter("Please write a file.");
    await terminal.shows("Allow write_file?");
    await terminal.shows("+ hello");
    await chat.answer("y");
    await terminal.shows("That was the work.");
    assertEquals(await world.read("hello.txt"), "hello\nworld\n");
    await terminal.shows(EMPTY);

    await chat.enter("Now remove the build.");
    await terminal.shows("│ rm -rf build");
    await chat.answer("n");
    await terminal.shows("Tell the model why");
    await terminal.type("keep it, 留着");
    await terminal.press("Enter");
    await terminal.shows(EMPTY);
    await server.received(4);
    assertStringIncludes(JSON.stringify(server.requests.at(-1)?.json.messages), "keep it, 留着");

    await terminal.press("C-o");
    await terminal.shows("Collapsed output");
    // The newest is selected; the file is the one before.
    await terminal.press("Up", "Enter");
    await shownSoon(terminal, (screen) => /› ▾ write hello\.txt.*\n.*\+ hello\n.*\+ world/.test(screen));
    await terminal.press("Escape");
    await terminal.shows(EMPTY);

    await chat.enter("/rewind");
    await terminal.shows("Go back to:");
    // After turn 1, before the first; the end of turn 2 is where the session is.
    await terminal.press("Down");
    await terminal.shows("hello.txt");
    await terminal.press("Enter");
    await terminal.shows("Bring back what?");
    await terminal.press("b", "Enter");
    await shownSoon(terminal, () => !exists(`${world.dir}/hello.txt`));
    await terminal.shows(EMPTY);
    await chat.enter("/redo");
    await shownSoon(terminal, () => exists(`${world.dir}/hello.txt`));
    await terminal.shows(EMPTY);

    await chat.kill();
    await chat.enter("reasonix -c; echo left-with-$?");
    await terminal.shows(EMPTY);
    await chat.enter("Which number was it?");
    await terminal.shows("It was forty-two.");
    const messages = JSON.stringify(server.requests.at(-1)?.json.messages);
    for (const text of ["Please write a file.", "Now remove the build.", "Which number"]) {
      assertStringIncludes(messages, text);
    }
    await terminal.press("C-d");
    await terminal.shows("left-with-0");
  },
);

onTerminal(
  "without a configuration the wizard precedes the answer to the first message",
  async () => {
    const texts = await loadTexts("setup", "en");
    await using server = startModelServer([], {
      models: ["small-1"],
      fallback: { text: "Forty-two." },
      check: { prefix: false },
    });
    await using chat = await openChat("", { args: "'what is six by seven?'", rows: 50 });
    const { terminal, world } = chat;
    await terminal.shows(texts.whichProvider);
    await terminal.press("Up", "Enter");
    await terminal.shows(texts.address);
    await chat.enter(server.url);
    await terminal.shows(texts.providerName);
    await chat.enter("mine");
    await terminal.shows(texts.keyOrNone("MINE_API_KEY").slice(0, 14));
    await chat.enter("sk-right-0123456789abcdef");
    await terminal.shows(`◆  ${texts.model}`);
    await terminal.press("Enter");
    await terminal.shows(texts.askWindow.slice(0, 14));
    await terminal.press("Enter");
    const screen = await terminal.shows("Forty-two.");
    assertStringIncludes(screen, "> what is six by seven?");
    await terminal.shows(EMPTY);
    assertStringIncludes(await Deno.readTextFile(`${world.home}/config.toml`), 'default_model = "mine"');
    await terminal.press("C-d");
    await terminal.shows("left-with-0");
  },
);

onTerminal("a message typed while the agent works is queued or sent at once, and is shown", async () => {
  const release = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  await using server = startModelServer([
    { text: "First.", before: release.promise },
    { text: "Second.", before: second.promise },
  ], { fallback: { text: "Third." }, check: { prefix: false } });
  await using chat = await openChat(mockConfig(server.url));
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("Begin.");
  await server.received(1);
  await chat.enter("Wait for your turn.");
  // It has left the composer and is still visible.
  await shownSoon(terminal, (screen) => /^> Ask/m.test(screen) && screen.includes("Wait for your turn."));
  assertEquals(server.requests.length, 1);
  release.resolve();
  await server.received(2);
  assertStringIncludes(said(server.requests[1] as RecordedRequest), "Wait for your turn.");
  await terminal.shows("First.");
  // Esc stops, and the queued message returns to the composer.
  await chat.enter("Not sent yet.");
  await terminal.shows("Not sent yet.");
  await terminal.press("Escape");
  await terminal.shows("> Not sent yet.");
  second.resolve();
  await terminal.press("C-c");
  await terminal.shows(EMPTY);
  await terminal.press("C-d");
  await terminal.shows("left-with-0");
});

onTerminal("an unknown slash command gets a suggestion without a model request", async () => {
  await using server = startModelServer([], { fallback: { text: "Noted." } });
  await using chat = await openChat(mockConfig(server.url));
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("/hepl");
  assertStringIncludes(await terminal.shows("/help"), "hepl");
  assertEquals(server.requests.length, 0);
  await terminal.press("C-c");
  await terminal.press("C-c", "C-c");
  await terminal.shows("left-with-0");
});

onTerminal("a paste is sent unchanged, with tabs and blank lines", async () => {
  await using server = startModelServer([], { fallback: { text: "Noted." } });
  await using chat = await openChat(mockConfig(server.url));
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  const text = 'func main() {\n\tif ok {\n\t\tprint("汉字 👩‍👩‍👧")  \n\t}\n\n}';
  await terminal.paste(text);
  await terminal.shows("func main");
  await terminal.press("Enter");
  await terminal.shows("Noted.");
  assertStringIncludes(said(server.requests[0] as RecordedRequest), JSON.stringify(text).slice(1, -1));
});

onTerminal("signals end the chat and restore the shell's terminal", async () => {
  await using server = startModelServer([], { fallback: { text: "Noted." } });
  await using chat = await openChat(mockConfig(server.url));
  const { terminal } = chat;
  for (const [signal, code] of [["SIGTERM", 143], ["SIGHUP", 143]] as const) {
    await terminal.shows(EMPTY);
    await terminal.type("a draft");
    await terminal.shows("> a draft");
    Deno.kill(await chat.pid(), signal);
    await terminal.shows(`left-with-${code}`);
    await chat.enter("echo sane-$((1+1)); stty -a | grep -o '[-]*icanon'");
    assertStringIncludes(await terminal.shows("sane-2"), "icanon");
    assertEquals(await terminal.ask("#{cursor_flag} #{wrap_flag}"), "1 1");
    await chat.enter("clear; reasonix; echo left-with-$?");
  }
  await terminal.shows(EMPTY);
  await terminal.type("kept");
  await terminal.shows("> kept");
  await terminal.press("C-z");
  await terminal.shows("Stopped");
  await chat.enter("clear; fg");
  await terminal.shows("> kept");
  await terminal.type(" on");
  await terminal.shows("> kept on");
});

onTerminal("the installed program shows code in an answer, and the chat continues", async () => {
  await using server = startModelServer([], { fallback: obedient, check: { prefix: false } });
  await using chat = await openChat(mockConfig(server.url), {
    env: { REASONIX_LANG: "zh-CN", NO_COLOR: "" },
  });
  const { terminal } = chat;
  await terminal.shows("> 说说要做什么");
  await chat.enter("code");
  const screen = await terminal.shows("That is all.");
  assertStringIncludes(screen, "const two = 2; // 二");
  await chat.enter("code");
  await terminal.shows("> 说说要做什么");
});

onTerminal("a large message is sent after yes and stays in the input after no", async () => {
  await using server = startModelServer([], { fallback: obedient, check: { prefix: false } });
  const config = mockConfig(server.url, "[agent]\nlarge_input_tokens = 1000");
  for (
    const [lang, question] of [["en", "tokens with its attachments. Send it?"], ["zh", "要发送吗？"]] as const
  ) {
    await using chat = await openChat(config, { rows: 15, columns: 40, env: { REASONIX_LANG: lang } });
    const { terminal, world } = chat;
    const before = server.requests.length;
    await world.write("long.txt", "some words of text\n".repeat(500));
    await terminal.shows(lang === "en" ? "> Ask" : ">");
    await chat.enter("look at @long.txt ");
    await shownSoon(terminal, (screen) => screen.replace(/\s+/g, "").includes(question.replace(/\s+/g, "")));
    await chat.answer("Down");
    await terminal.press("Enter");
    await shownSoon(terminal, (screen) => screen.includes("> look at @long.txt"));
    await terminal.shows("large_input_tokens");
    assertEquals(server.requests.length, before);
    await terminal.press("Enter");
    await shownSoon(terminal, (screen) => screen.replace(/\s+/g, "").includes(question.replace(/\s+/g, "")));
    await chat.answer("Enter");
    await terminal.shows("Noted.");
    assertEquals(server.requests.length, before + 1);
  }
});

onTerminal("code of edits and of read files has colors, and none with NO_COLOR", async () => {
  const call = (name: string, args: Record<string, unknown>): Turn => ({ calls: [{ name, args }] });
  for (const env of [{}, { NO_COLOR: "1" }]) {
    await using server = startModelServer([
      call("write_file", { path: "x.ts", content: 'const a = "x";\n' }),
      call("read_file", { path: "x.ts" }),
      { text: "That was the work." },
    ]);
    await using chat = await openChat(mockConfig(server.url), { env });
    const { terminal } = chat;
    const line = async (text: string) =>
      (await terminal.coloured()).split("\n").filter((row) => row.includes(text)).at(-1);
    const [added, read] = "NO_COLOR" in env
      ? ['1 + const a = "x";', '1→const a = "x";']
      : ["\x1b[35m\x1b[48;5;22mconst\x1b[39m a =", "const\x1b[39m a = \x1b[32m"];
    await terminal.shows(EMPTY);
    await chat.enter("Please write a file.");
    await terminal.shows("1 + const");
    assertStringIncludes(await line("const") ?? "", added);
    await chat.answer("y");
    await terminal.shows("That was the work.");
    assertStringIncludes(await line("const") ?? "", added);
    await terminal.press("C-o");
    await terminal.shows("› ▸ read x.ts");
    await terminal.press("Enter");
    await terminal.shows("1→const");
    assertStringIncludes(await line("1→") ?? "", read);
  }
});
onTerminal(
  "a message typed as a question opens answers nothing, runs nothing and saves no rule",
  async () => {
    const commands = ["touch made", "git push --force origin main"];
    await using server = startModelServer(
      commands.map((command) => ({ calls: [{ name: "bash", args: { command } }] })),
      { models: ["mock-1"], check: { prefix: false } },
    );
    await using chat = await openChat(mockConfig(server.url, '[sandbox]\nbash = "off"'));
    const { terminal, world } = chat;
    const config = await Deno.readTextFile(`${world.home}/config.toml`);
    await terminal.shows(EMPTY);
    for (const message of ["also add a test", "you s"]) {
      await chat.enter("go");
      await terminal.shows("enter chooses");
      for (const key of message) await terminal.type(key);
      await terminal.press("Enter");
      const screen = await terminal.shows(`waiting: ${message}`);
      assertStringIncludes(screen, "enter chooses");
      await terminal.press("Escape");
      await shownSoon(terminal, (text) => text.includes(`> ${message}`) && !text.includes("enter chooses"));
      await terminal.press("C-c");
      await terminal.shows(EMPTY);
    }
    assertEquals(await Deno.readTextFile(`${world.home}/config.toml`), config);
    assertEquals(exists(`${world.dir}/made`), false);
  },
);
const SIZES = [
  { columns: 80, rows: 24, lang: "en" },
  { columns: 40, rows: 15, lang: "zh-CN" },
  { columns: 80, rows: 24, lang: "zh-CN" },
  { columns: 40, rows: 15, lang: "en" },
] as const;

onTerminal(
  "the screen shows command headers, one line for /compact, refusals and resumed rows",
  async () => {
    for (const { columns, rows, lang } of drawnScreens(SIZES)) {
      const { run, turn_view, report_commands, chat: words } = await loadAreas(lang);
      await using server = startModelServer([], { fallback: obedient, check: { prefix: false } });
      const config = mockConfig(server.url, "", "context_window = 100000");
      const files = { "AGENTS.md": "Be kind.\n", "big.log": "some line of a big file\n".repeat(400) };
      await using chat = await openChat(config, { columns, rows, env: { REASONIX_LANG: lang }, files });
      const { terminal, world } = chat;
      /** The history without the breaks of a narrow screen. */
      const history = async () => (await terminal.history()).replace(/\s*\n\s*/g, " ");
      const shownInHistory = async (text: string) => {
        const end = performance.now() + 60_000;
        while (!(await history()).includes(text)) {
          if (performance.now() > end) throw new Error(`The history does not have ${text}`);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      };
      const ends = async (count: number) => {
        await shownSoon(terminal, () => server.requests.length >= count);
        await terminal.shows(lang === "en" ? EMPTY : "> ");
      };
      await terminal.shows("· ");
      await chat.enter("Please write a file.");
      await terminal.shows("+ hello");
      // The person thinks; the row of the call counts nothing of it.
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await chat.answer("y");
      await ends(2);
      const [row = ""] = /✓ [^\n]*hello\.txt[^\n]*/.exec(await terminal.history()) ?? [];
      assertEquals(/\d (?:s|秒)/.test(row), false, row);

      await chat.enter("Now remove the build.");
      await terminal.shows("│ rm -rf build");
      await chat.answer("Escape");
      await terminal.shows("⊘");
      assertStringIncludes(await history(), run.notExecuted);
      await terminal.shows(words.statusLine.modes.ask);

      await chat.enter("See the log.");
      await ends(5);
      const refused = "denied, not executed: the user stopped at the question about";
      assertStringIncludes(JSON.stringify(server.requests.at(-1)?.json.messages), refused);
      await chat.enter("/status");
      await shownInHistory("ask · workspace-write · normal");
      const [heading = "", ...status] = (await terminal.history()).split("\n").slice(
        (await terminal.history()).split("\n").findIndex((line) => line.startsWith("> /status")),
      );
      assertEquals([heading, status[0]?.startsWith("Reasonix")], ["> /status", true]);
      assertStringIncludes(await history(), report_commands.sandbox);
      await chat.enter("/context");
      await terminal.shows("AGENTS.md");
      await chat.enter("/compact");
      await terminal.shows("Ctrl+O");
      const text = await history();
      assertEquals(text.includes("compaction-summary"), false);
      const [said = ""] = turn_view.compacted("#", "#").split("#");
      assertEquals(text.split(said).length, 2, text);
      await terminal.press("C-o");
      await terminal.shows(turn_view.expand.summary);
      await terminal.press("Escape");

      const call = (screen: string) => withoutTimes(screen).match(/^[✓⊘] .*$/gm);
      const live = call(await terminal.history()) ?? [];
      assertEquals(
        live,
        lang === "en"
          ? [
            "✓ write hello.txt · +2 −0",
            "⊘ $ rm -rf build · denied, not executed",
            "✓ read big.log · 400 lines",
          ]
          : ["✓ 写入 hello.txt · +2 −0", "⊘ $ rm -rf build · 已拒绝，未执行", "✓ 读取 big.log · 400 行"],
      );
      await chat.kill();
      await chat.enter("reasonix -c; echo left-with-$?");
      await terminal.shows("big.log");
      await terminal.shows(turn_view.showAll);
      assertEquals(call(await terminal.history())?.slice(-live.length), live);
      await terminal.press("C-d");
      await terminal.shows("left-with-0");
      for (const form of [["show"], ["show", "--json"], ["export"]]) {
        assertStringIncludes((await world.run(["session", ...form])).stdout, refused, form.join(" "));
      }
      await chat.enter("clear; reasonix session search 'big file'; echo found-$?");
      const found = (await terminal.shows("found-0")).split("\n").filter((line) => line !== "");
      const hits = found.slice(found.findIndex((line) => /^\d{8}-/.test(line)), found.indexOf("found-0"));
      assertEquals(hits.length > 0 && hits.length % 2, 0, found.join("\n"));
      for (const [at, line] of hits.entries()) {
        assertEquals(at % 2 === 0 ? /^\d{8}-/.test(line) : /^ {4}.*(?:big|file)/.test(line), true, line);
      }
    }
  },
);

async function loadAreas(lang: "en" | "zh-CN") {
  return {
    run: await loadTexts("run", lang),
    turn_view: await loadTexts("turn_view", lang),
    report_commands: await loadTexts("report_commands", lang),
    chat: await loadTexts("chat", lang),
  };
}
