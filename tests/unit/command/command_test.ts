/** Values that can follow the name of a command are offered word by word. */
import { allCommands } from "../../../src/command/mod.ts";
import { promptArguments } from "../../../src/command/prompts.ts";
import { type Chunk, clauses, ReasonixError } from "../../../src/core/mod.ts";
import { loadTexts, loadTranslator, LOCALES } from "../../../src/i18n/mod.ts";
import { loadTrustedConfig } from "../../../src/run/mod.ts";
import { call, say } from "../../support/agent_fixture.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../support/assert.ts";
import { CommandFixture } from "../../support/command_fixture.ts";
import {
  AuthorizationServer,
  startProtectedServer,
  visitAsBrowser,
} from "../../support/mcp/authorization_server.ts";
import { pluginToml } from "../../support/mcp/config.ts";
import { startModelServer } from "../../support/model_server.ts";

/** Commands whose argument is free text, a file name, or a number of something that does not exist yet. */
const FREE = ["new", "rename", "compact", "export", "init", "bug", "commit"];

/** A session with some of everything. */
async function furnished(locale: (typeof LOCALES)[number]): Promise<CommandFixture> {
  const chat = await CommandFixture.open({
    locale,
    config: `${pluginToml("docs")}\n[permissions]\nallow = ["Bash(go test *)", "Bash(go vet)"]\n`,
    replies: [[
      { type: "text", text: "Do this:\n\n```sh\nls\n```\n" },
      { type: "done", reason: "stop" },
    ]],
  });
  await chat.type("hello");
  const memory = await (await chat.session()).inputs.ports.memory?.();
  await memory?.remember({ name: "tabs", description: "Tabs, not blanks", text: "Use tabs.", kind: "user" });
  return chat;
}

async function values(chat: CommandFixture, line: string): Promise<string[]> {
  const [name = "", ...before] = line.split(" ");
  const command = (await chat.commands()).find((each) => each.name === name);
  return (await command?.complete?.(chat, { before, word: "" }) ?? []).map(({ value }) => value);
}

Deno.test("every command with a fixed set of arguments completes them, without duplicate lists", async () => {
  for (const locale of LOCALES) {
    await using chat = await furnished(locale);
    for (const { name, argumentHint, kind } of await chat.commands()) {
      if (kind !== "builtin") continue;
      const first = await values(chat, name);
      // What there is none of in this session: changes of files, other sessions.
      const isEmpty = argumentHint === undefined || FREE.includes(name) || ["diff", "resume"].includes(name);
      assertEquals(first.length > 0, !isEmpty, name);
      assertEquals(new Set(first).size, first.length, name);
      for (const value of first) {
        assert(!value.includes(" "), `/${name} ${value} is more than one word`);
        const next = await values(chat, `${name} ${value}`);
        assert(next.length === 0 || next.join() !== first.join(), `/${name} ${value} offers the same again`);
      }
    }
  }
});

Deno.test("words after the first one complete, too", async () => {
  await using chat = await furnished("en");
  const cases: [string, readonly string[]][] = [
    ["permissions allow", ["Bash(", "Edit(", "Read(", "Mcp("]],
    ["permissions remove", ["Bash(go test *)", "Bash(go vet)"]],
    ["permissions remove Bash(go", ["test *)", "vet)"]],
    ["permissions remove Bash(npm", []],
    ["mcp restart", ["docs"]],
    ["mcp login", ["docs"]],
    ["mcp docs", []],
    ["mcp restart docs", []],
    ["memory forget", ["tabs"]],
    ["memory tabs", []],
    ["rewind 0", ["both", "code", "conversation"]],
    ["settings sandbox.bash", ["enforce", "auto", "off"]],
    ["settings sandbox.bash off", []],
    ["settings language", []],
    ["effort high", []],
    ["theme dark", []],
  ];
  for (const [line, expected] of cases) {
    assertEquals((await values(chat, line)).toSorted(), expected.toSorted(), line);
  }
});

const declared = [
  { name: "name", description: "Who", required: true },
  { name: "tone", description: "", required: false },
];

Deno.test("prompt arguments are positional or named, with quotes and a last one that takes the rest", () => {
  const read = (text: string): Record<string, unknown> => {
    const { given, missing, surplus } = promptArguments(declared, text);
    return { ...given, ...(missing.length > 0 ? { missing: missing.map(({ name }) => name) } : {}), surplus };
  };
  assertEquals(read("Ada"), { name: "Ada", surplus: "" });
  assertEquals(read("Ada very  warm"), { name: "Ada", tone: "very  warm", surplus: "" });
  assertEquals(read('"Ada Lovelace" warm'), { name: "Ada Lovelace", tone: "warm", surplus: "" });
  assertEquals(read('tone=warm name="Ada Lovelace"'), { name: "Ada Lovelace", tone: "warm", surplus: "" });
  assertEquals(read("tone=warm 世界 人"), { name: "世界 人", tone: "warm", surplus: "" });
  assertEquals(read("a=b"), { name: "a=b", surplus: "" });
  assertEquals(read('"name=x"'), { name: "name=x", surplus: "" });
  assertEquals(read("tone=warm"), { tone: "warm", missing: ["name"], surplus: "" });
  assertEquals(read("name= tone=warm"), { name: "", tone: "warm", missing: ["name"], surplus: "" });
  assertEquals(read("name=a tone=b c d"), { name: "a", tone: "b", surplus: "c d" });
  assertEquals(read(""), { missing: ["name"], surplus: "" });
  assertEquals(promptArguments([], "x").surplus, "x");
});

Deno.test("a prompt requests missing arguments, can be dismissed, completes, and reports extra ones", async () => {
  await using chat = await CommandFixture.open({ config: pluginToml("docs") });
  await chat.type("/mcp__docs__greet Ada tone");
  assertEquals(chat.sent.map(({ literal }) => literal), [true]);
  assertStringIncludes(chat.sent[0]?.text ?? "", "Ada");
  chat.answers.push("Grace");
  await chat.type("/mcp__docs__greet tone=warm");
  assertEquals(chat.asked, ['docs: greet needs "name"']);
  assertStringIncludes(chat.sent[1]?.text ?? "", "Grace");
  chat.answers.push(undefined);
  await chat.type("/mcp__docs__greet");
  assertEquals([chat.sent.length, chat.takeSaid()], [2, "/mcp__docs__greet was not sent"]);
  await assertRejects(() => chat.type("/mcp__docs__plain more"), Error, 'no argument for "more"');
  const greet = (await chat.commands()).find(({ name }) => name === "mcp__docs__greet");
  assertEquals([greet?.kind, greet?.argumentHint], ["prompt", "<name> [tone]"]);
  const names = await greet?.complete?.(chat, { before: ["name=Ada"], word: "" });
  assert(names?.some(({ value }) => value.startsWith("tone=") || value !== ""), JSON.stringify(names));
});

Deno.test("/mcp lists and restarts servers, and unloads and loads them for the session", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    // It is not started again meanwhile, as a server that has died would be.
    const dead = '\n[[plugins]]\nname = "dead"\ncommand = "/nowhere/server"\n';
    await using chat = await CommandFixture.open({ config: pluginToml("docs") + dead, locale });
    const session = await chat.session();
    await session.servers?.start();
    const tools = () => session.servers?.tools().filter(({ name }) => name.startsWith("mcp__docs")).length;
    await chat.type("/mcp");
    assertStringIncludes(chat.takeSaid(), locale === "en" ? "There is no program" : "没有程序");
    await chat.type("/mcp docs");
    assertStringIncludes(chat.takeSaid(), "scripted://page/{number}");
    await chat.type("/mcp unload docs");
    assertEquals(tools(), 0);
    await assertRejects(() => chat.type("/mcp restart docs"));
    await chat.type("/mcp load docs");
    assertEquals(tools(), 11);
    await chat.type("/mcp off docs");
    assertEquals(tools(), 0);
    await chat.type("/mcp on docs");
    assertEquals(tools(), 11);
    await chat.type("/mcp restart docs");
    chat.takeSaid();
    await chat.type("/status");
    assertStringIncludes(chat.takeSaid(), "dead");
    await assertRejects(() => chat.type("/mcp other"), Error, "(configured: dead, docs)");
    await assertRejects(() => chat.type("/mcp restart"));
  }
});

Deno.test("the panel of /mcp changes trust in single tools, also for a server of another file", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    await using chat = await CommandFixture.open({ config: pluginToml("docs", { tools: "claims" }), locale });
    const session = await chat.session();
    await session.servers?.start();
    const trusted = () =>
      session.servers?.tools().filter((tool) => tool.trusted).map(({ name }) => name.split("__").at(-1));
    Object.assign(chat, { lookAt: () => Promise.resolve() });
    const mcp = await loadTexts("mcp_commands", locale);
    chat.answers.push(
      "docs",
      mcp.panelActions.trust,
      mcp.trust.all(3),
      "[ ] writes",
      "[x] known",
      undefined,
      undefined,
    );
    await chat.type("/mcp");
    assertEquals(trusted(), ["claims", "ruled", "writes"]);
    assertStringIncludes(await Deno.readTextFile(`${chat.home}/config.toml`), '"writes"');
    chat.takeSaid();
    // A server of a project, which the user trusts as a whole.
    await Deno.rename(`${chat.home}/config.toml`, `${chat.home}/other.toml`);
    await Deno.writeTextFile(`${chat.home}/config.toml`, "# mine\n");
    await chat.type("/mcp untrust docs writes");
    assertStringIncludes(chat.takeSaid(), mcp.trust.sessionOnly("docs"));
    assertEquals([trusted(), await Deno.readTextFile(`${chat.home}/config.toml`)], [
      ["claims", "ruled"],
      "# mine\n",
    ]);
  }
});

/** The address that was shown. */
async function shownAddress(chat: CommandFixture): Promise<URL> {
  const find = () => /http:\S+$/.exec(chat.asked.at(-1) ?? "")?.[0];
  while (find() === undefined) await new Promise((resolve) => setTimeout(resolve, 2));
  return new URL(find() ?? "");
}

Deno.test("/mcp login shows the address, waits for the browser and begins to use the server", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer, { scope: "read" });
  const config = `[[plugins]]\nname = "far"\ntype = "http"\nurl = "${server.url}"\n`;
  for (const locale of LOCALES) {
    await using chat = await CommandFixture.open({ config, locale });
    const { signIn } = await loadTexts("mcp_commands", locale);
    chat.answers.push(signIn.myself);
    const done = chat.type("/mcp login far");
    const address = await shownAddress(chat);
    await visitAsBrowser(address);
    await done;
    const output = chat.takeSaid();
    for (const part of [address.href, signIn.waiting, signIn.done("far", issuer.issuer, "read"), "far: "]) {
      assertStringIncludes(output, part);
    }
    assertEquals((await chat.session()).servers?.named("far").status.state, "ready");
  }
});

Deno.test("/mcp login ends when the user dismisses its prompt, and stores nothing", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  const config = `[[plugins]]\nname = "far"\ntype = "http"\nurl = "${server.url}"\n`;
  await using chat = await CommandFixture.open({ config });
  await chat.type("/mcp login far");
  assertStringIncludes(chat.takeSaid(), "The sign-in was stopped; nothing was kept");
  assertEquals(issuer.accepted.size, 0);
  await assertRejects(() => chat.type("/mcp login near"), ReasonixError, '"near"');
  await assertRejects(() => chat.type("/mcp login"), ReasonixError);
});

const REPLIES = [
  [
    call("1", "write_file", { path: "a.md", content: "```\nfenced\n```\n" }),
    call("2", "todo", { items: [{ content: "look", status: "completed" }] }),
    { type: "done" as const, reason: "tool_calls" as const },
  ],
  say("wrote it"),
];

Deno.test("/diff shows changes of the session in a safe code fence, also of single files", async () => {
  await using chat = await CommandFixture.open({ replies: REPLIES });
  await chat.type("/diff");
  assertEquals(chat.takeSaid(), "This session has changed no file");
  await chat.type("go");
  await chat.type("/diff");
  const shown = chat.takeSaid();
  assertStringIncludes(shown, "**a.md** created +3 −0\n````diff\n@@");
  assertStringIncludes(shown, "\n+fenced\n");
  await chat.type("/diff a.md");
  assertStringIncludes(chat.takeSaid(), "+fenced");
  await assertRejects(() => chat.type("/diff b.md"), Error, "this session did not change it");
});

Deno.test("/help lists and explains commands, and suggests a similar name", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/help");
  assertEquals(chat.takeSaid().match(/^ {2}\/\S+ {2,}\S/gm)?.length, 12);
  await chat.type("/help all");
  assertStringIncludes(chat.takeSaid(), "\n  /rename       Give this session a title\n");
  await chat.type("/help /model");
  assertStringIncludes(chat.takeSaid(), "Also: `/models`");
  await chat.type("/help keys");
  assertEquals(chat.takeSaid(), "- enter: send");
  await assertRejects(() => chat.type("/help modl"), Error, 'Cannot explain "modl"');
});

Deno.test("/memory lists, shows and deletes memories", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/memory");
  assertStringIncludes(chat.takeSaid(), "Nothing is remembered here");
  await (await chat.session()).remember("We use tabs");
  await chat.type("/memory");
  const [, name = ""] = /- `([^`]+)`/.exec(chat.takeSaid()) ?? [];
  await chat.type(`/memory ${name}`);
  assertStringIncludes(chat.takeSaid(), "We use tabs");
  await chat.type("/memory archive");
  assertEquals(chat.takeSaid(), "No forgotten fact is kept");
  await chat.type(`/memory forget ${name}`);
  chat.takeSaid();
  await chat.type("/memory");
  assertMatch(
    chat.takeSaid(),
    /^Nothing is remembered here[^]*1 forgotten fact is kept: `\/memory archive`$/,
  );
  await chat.type("/memory archive");
  assertMatch(
    chat.takeSaid(),
    new RegExp(`^- \`${name}\` \\(project, forgotten on \\d{4}-\\d\\d-\\d\\d\\): We use tabs$`),
  );
  await chat.type(`/memory archive ${name}`);
  assertStringIncludes(chat.takeSaid(), "We use tabs");
  await assertRejects(() => chat.type("/memory archive other"), Error, 'Cannot show "other"');
});

Deno.test("/status, /cost, /todo, /skills, /mcp, /sandbox and /context report in both languages", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    await using chat = await CommandFixture.open({ locale });
    await chat.type("hello");
    for (const name of ["status", "cost", "todo", "skills", "mcp", "sandbox", "context"]) {
      await chat.type(`/${name}`);
      const output = chat.takeSaid();
      assert(output.trim() !== "" && !/undefined|NaN|\[object/.test(output), `/${name}: ${output}`);
    }
  }
});

Deno.test("/context names instruction files and servers, hides empty rows, and marks estimates", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    const config = "[[plugins]]\nname = 'docs'\ncommand = 'no-such-program'\n";
    await using chat = await CommandFixture.open({ locale, config });
    await chat.write("AGENTS.md", "Be kind.\n");
    await chat.reopen({});
    await chat.type("/context");
    const output = chat.takeSaid();
    assertMatch(output, locale === "en" ? /about [\d,]+ tokens/ : /约 [\d,]+ 个词元/);
    assertMatch(output, locale === "en" ? /^ +\d+ {2}MCP server docs/m : /^ +\d+ {2}MCP 服务器 docs/m);
    assertStringIncludes(output, "/AGENTS.md");
    const [, categories = ""] = output.split("\n\n");
    assert(categories !== "" && !/^ +0 /m.test(categories), output);
  }
});

Deno.test("/status shows the modes and whether commands are confined", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/mode auto");
  await chat.type("/mode plan");
  chat.takeSaid();
  await chat.type("/status");
  const output = chat.takeSaid();
  assertMatch(output, /^modes +auto · plan · plan$/m);
  assertMatch(output, /^sandbox +off: commands can do what you can/m);
});

Deno.test("/bug contains no secret and no conversation text, and overwrites nothing", async () => {
  await using chat = await CommandFixture.open({
    env: { MY_TOKEN: "tok-very-secret-1" },
    config: "[[plugins]]\nname = 'p'\ncommand = 'x'\nenv = { A_TOKEN = '${MY_TOKEN}' }\n",
  });
  await chat.type("the word is xylophone");
  await chat.type("/bug");
  const output = chat.takeSaid();
  assertStringIncludes(output, "What happened");
  assert(!output.includes("xylophone") && !output.includes("tok-very-secret-1"), output);
  await chat.type("/bug report.txt");
  assertStringIncludes(await chat.read("report.txt"), "reasonix");
  await assertRejects(() => chat.type("/bug report.txt"), Error, "it exists already");
});

Deno.test("an unknown command is an error with a suggestion; paths and other scripts are text", async () => {
  await using chat = await CommandFixture.open();
  await assertRejects(() => chat.type("/modle two"), Error, "Cannot run /modle");
  for (const line of ["/etc/hosts is", "/", "/中文 怎么说", "/tmp"]) await chat.type(line);
  assertEquals((await chat.session()).session.state.turns.length, 4);
});

const write = (id: string, content: string): Chunk[] => [
  call(id, "write_file", { path: "a.txt", content }),
  { type: "done", reason: "tool_calls" },
];
const TWO_TURNS = [write("1", "one\n"), say("wrote one"), write("2", "two\n"), say("wrote two"), say("more")];
const exists = (path: string) => Deno.stat(path).then(() => true, () => false);

Deno.test("/new starts a session, keeps the old one and sends the following text", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("hello");
  const { id, paths } = (await chat.session()).session;
  await chat.type("/new and now this");
  assertEquals([chat.reopened, chat.sent], [[{}], [{ text: "and now this" }]]);
  assertStringIncludes(chat.takeSaid(), `/resume ${id}`);
  assert(await exists(paths.path));
});

Deno.test("/clear deletes the session only after confirmation or without a turn", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/clear");
  assertEquals([chat.takeSaid(), chat.asked], ["There is nothing to clear: the session is empty", []]);
  await chat.type("hello");
  const { paths } = (await chat.session()).session;
  chat.answers.push(false);
  await chat.type("/clear");
  assertEquals([chat.takeSaid(), await exists(paths.path)], ["Nothing was changed", true]);
  chat.answers.push(true);
  await chat.type("/clear");
  assertStringIncludes(chat.takeSaid(), "is deleted");
  assertEquals([await exists(paths.path), await exists(paths.dir)], [false, false]);
  assertEquals((await chat.session()).session.state.turns.length, 0);
});

Deno.test("/undo reverts files and conversation of the last turn, /redo restores both", async () => {
  await using chat = await CommandFixture.open({ replies: TWO_TURNS });
  await chat.type("first");
  await chat.type("second, 中文 👍");
  assertEquals(await chat.read("a.txt"), "two\n");
  await chat.type("/undo");
  assertEquals([await chat.read("a.txt"), chat.drafts], ["one\n", ["second, 中文 👍"]]);
  assertStringIncludes(chat.takeSaid(), "- updated `a.txt`");
  await chat.type("/redo");
  assertEquals(await chat.read("a.txt"), "two\n");
  assertEquals((await chat.session()).session.state.turns.length, 2);
  await chat.type("/undo");
  await chat.type("/undo");
  assertEquals(await exists(`${chat.dir}/a.txt`), false);
  chat.takeSaid();
  await chat.type("/undo");
  assertEquals(chat.takeSaid(), "There is no turn to take back");
});

Deno.test("/undo asks before it overwrites later changes of another program", async () => {
  await using chat = await CommandFixture.open({ replies: TWO_TURNS });
  await chat.type("first");
  await chat.write("a.txt", "mine\n");
  chat.answers.push(false);
  await chat.type("/undo");
  assertEquals(await chat.read("a.txt"), "mine\n");
  assertStringIncludes(chat.asked[0] ?? "", "a.txt");
  chat.answers.push(true);
  await chat.type("/undo");
  assertEquals(await exists(`${chat.dir}/a.txt`), false);
});

Deno.test("/rewind reads turn and scope from the line and reports invalid ones", async () => {
  await using chat = await CommandFixture.open({ replies: TWO_TURNS });
  await chat.type("first");
  await chat.type("second");
  await chat.type("/rewind 1 code");
  assertEquals(await chat.read("a.txt"), "one\n");
  assertEquals((await chat.session()).session.state.turns.length, 2);
  await chat.type("/rewind 1 conversation");
  assertEquals((await chat.session()).session.state.turns.length, 1);
  await assertRejects(() => chat.type("/rewind one"), Error, 'Cannot use "one" as a turn');
  await assertRejects(() => chat.type("/rewind 7"), Error, "no such finished turn");
});

Deno.test("/fork continues in a copy, also from a turn; /resume opens by id and by title", async () => {
  await using chat = await CommandFixture.open({ replies: TWO_TURNS });
  await chat.type("first");
  await chat.type("second");
  const { id } = (await chat.session()).session;
  await chat.type("/fork 1");
  const forked = (await chat.session()).session;
  assert(forked.id !== id);
  assertEquals(forked.state.turns.length, 1);
  await chat.type("/rename   The copy  ");
  assertStringIncludes(chat.takeSaid(), 'The session is now "The copy"');
  await chat.type(`/resume ${id}`);
  assertEquals((await chat.session()).session.id, id);
  await chat.type("/resume the copy");
  assertEquals((await chat.session()).session.id, forked.id);
  await assertRejects(() => chat.type("/rename"), Error, "empty title");
});

Deno.test("/export chooses the format by file extension and overwrites nothing", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("hello there");
  for (const [name, begins] of [["s.md", "# "], ["s.html", "<!"], ["s.json", "{"]] as const) {
    await chat.type(`/export ${name}`);
    const text = await chat.read(name);
    assert(text.trimStart().toLowerCase().startsWith(begins), text.slice(0, 40));
    assertStringIncludes(text, "hello there");
  }
  await assertRejects(() => chat.type("/export s.md"), Error, "it exists already");
});

Deno.test("/copy sends the last answer or a code block to the terminal and truncates long text", async () => {
  const answer =
    "Text\n```ts\nconst a = 1;\n```\nmore\n````md\n```\ninner\n```\n````\n  ~~~\n  indented\n  ~~~\n";
  const decode = (sequence = "") =>
    new TextDecoder().decode(Uint8Array.fromBase64(sequence.slice("\x1b]52;c;".length, -1)));
  await using chat = await CommandFixture.open({
    replies: [say(answer), say("界".repeat(30_000))],
    env: { SSH_TTY: "/dev/pts/1" },
  });
  await chat.type("go");
  await chat.type("/copy 1");
  await chat.type("/copy 2");
  await chat.type("/copy 3");
  await chat.type("/copy");
  assertEquals(chat.written.map(decode), ["const a = 1;", "```\ninner\n```", "indented", answer]);
  await assertRejects(() => chat.type("/copy 4"), Error, 'Cannot copy code block "4"');
  await chat.type("more");
  chat.takeSaid();
  await chat.type("/copy");
  const part = decode(chat.written.at(-1));
  assert(/^界+$/.test(part) && part.length < 30_000, `${part.length} characters`);
  assertStringIncludes(chat.takeSaid(), `Sent the first ${part.length} of 30000 characters`);
});

Deno.test("/copy on this machine runs no program of the workspace", async () => {
  await using chat = await CommandFixture.open({ env: { DISPLAY: ":0", PATH: "bin:." } });
  await chat.write("xclip", "#!/bin/sh\ntouch pwned\n");
  await Deno.chmod(`${chat.dir}/xclip`, 0o755);
  await chat.type("go");
  await chat.type("/copy");
  assertStringIncludes(chat.takeSaid(), "OSC 52");
  assertEquals(await exists(`${chat.dir}/pwned`), false);
});

Deno.test("/compact reports when there is nothing to compact", async () => {
  await using chat = await CommandFixture.open();
  await assertRejects(() => chat.type("/compact"), Error, "the session has nothing in it yet");
  await chat.type("hello");
  await chat.type("/compact");
  assertStringIncludes(chat.takeSaid(), "Nothing was compacted");
});

Deno.test("/quit closes the front end", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/quit");
  assertEquals(chat.hasLeft, true);
});

const config = (chat: CommandFixture) => Deno.readTextFile(`${chat.home}/config.toml`);

Deno.test("/model switches the model of the session, by name or from the list", async () => {
  await using chat = await CommandFixture.open();
  const { id } = (await chat.session()).session;
  await chat.type("/model two");
  assertEquals(chat.reopened, [{ model: "mock/two", sessionId: id }]);
  await chat.type("hello");
  assertEquals((await chat.session()).session.id, id);
  chat.answers.push("mock/one");
  await chat.type("/model");
  assertEquals(chat.reopened.at(-1), { model: "mock/one", resume: id });
  await chat.type("/models mock/one");
  assertStringIncludes(chat.said.at(-1) ?? "", "is the model already");
  await assertRejects(() => chat.type("/model three"), Error, 'Unknown model "three"');
  assertEquals(chat.reopened.length, 2);
});

Deno.test("/model fetches the models of a provider and saves the choice only on request", async () => {
  await using server = startModelServer([], { models: ["zeta", "one", "模型-β"] });
  await using chat = await CommandFixture.open({
    config: `[[providers]]\nname = "own" # mine\nbase_url = "${server.url}"\nmodel = "one"\n`,
  });
  assertEquals(server.requests.length, 0);
  chat.answers.push("List what own offers", "模型-β", "For this chat");
  await chat.type("/model");
  assertEquals(chat.asked, [
    "Which model?",
    "Which of the 3 models of own?",
    "Use own/模型-β? It is not in the configuration.",
  ]);
  assertEquals(chat.reopened.at(-1)?.model, "own/模型-β");
  assertEquals(chat.reopened.at(-1)?.offered?.models, ["one", "模型-β"]);
  assert(!(await config(chat)).includes("模型-β"));

  chat.answers.push("List what own offers", "zeta", "write it to my configuration");
  await chat.type("/model");
  const written = await config(chat);
  assertStringIncludes(written, 'name = "own" # mine');
  assertStringIncludes(written, '"zeta"');
  const { loaded } = await chat.session();
  assertEquals(loaded.config.default_model, "own/zeta");
  const saved =
    (await loadTrustedConfig({ cwd: chat.dir, home: chat.home, env: () => undefined }, {})).config;
  const own = saved.providers.find(({ name }) => name === "own");
  assertEquals([own?.models, own?.default], [["one", "模型-β", "zeta"], "one"]);

  chat.answers.push("List what own offers");
  await chat.type("/model");
  assertEquals(chat.reopened.length, 2, "leaving the list changes nothing");
});

Deno.test("/model offers vendors with a key and reports why a provider lists nothing", async () => {
  await using chat = await CommandFixture.open({ env: { GROQ_API_KEY: "gsk_x" } });
  const command = (await chat.commands()).find(({ name }) => name === "model");
  const values = await command?.complete?.(chat, { before: [], word: "" }) ?? [];
  const groq = values.find(({ value }) => value.startsWith("groq/"));
  assertStringIncludes(groq?.detail ?? "", "GROQ_API_KEY");
  assert(!values.some(({ value }) => value.startsWith("openai/")));
  chat.answers.push("For this chat");
  await chat.type(`/model ${groq?.value}`);
  assertEquals(chat.reopened.at(-1)?.offered?.base_url.startsWith("https://"), true);
  chat.answers.push("List what mock offers");
  const error = await assertRejects(() => chat.type("/model"), Error, "Cannot list the models of mock");
  assertStringIncludes(String((error as { remedy?: string } | undefined)?.remedy ?? ""), "mock");
});

Deno.test("/effort sets a known level, and dismissing the list changes nothing", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/effort");
  assertEquals(chat.reopened, []);
  const { session: { id: sessionId } } = await chat.session();
  await chat.type("/effort high");
  assertEquals([chat.reopened, (await chat.session()).effort], [[{ effort: "high", sessionId }], "high"]);
  for (const unknown of ["nosuch", "very high"]) {
    const error = await assertRejects(() => chat.type(`/effort ${unknown}`), ReasonixError, `"${unknown}"`);
    assertStringIncludes(error.remedy ?? "", "none, minimal, low, medium, high, xhigh, max");
  }
  assertEquals([chat.reopened.length, (await chat.session()).effort], [1, "high"]);
});

Deno.test("/effort accepts the vendor's levels that the entry names", async () => {
  await using chat = await CommandFixture.open();
  const file = `${chat.home}/config.toml`;
  const text = await Deno.readTextFile(file);
  await Deno.writeTextFile(
    file,
    text.replace('models = ["one"', 'efforts = ["low", "turbo"]\nmodels = ["one"'),
  );
  await chat.reopen({});
  await chat.type("/effort Turbo");
  assertEquals(chat.reopened.at(-1)?.effort, "turbo");
});

Deno.test("/mode changes both kinds of mode, and yolo requires confirmation", async () => {
  await using chat = await CommandFixture.open();
  const { modes } = await chat.session();
  await chat.type("/mode auto");
  assertEquals(modes.approval, "auto");
  chat.answers.push(false, true);
  await chat.type("/mode yolo");
  assertEquals(modes.approval, "auto");
  await chat.type("/mode YOLO");
  assertEquals(modes.approval, "yolo");
  for (const [name, mode] of [["read-only", "read-only"], ["plan", "plan"], ["write", "workspace-write"]]) {
    await chat.type(`/mode ${name}`);
    assertEquals(modes.permission, mode);
  }
  await assertRejects(() => chat.type("/mode brave"), Error, "there is no such mode");
});

Deno.test("/mode selects normal, plan or goal and keeps the approval mode", async () => {
  await using chat = await CommandFixture.open();
  const { modes, session } = await chat.session();
  await chat.type("/mode auto");
  const goal = () => session.state.goal?.state;
  for (const line of ["/mode goal make it fast", "/mode"]) {
    chat.answers.push("goal", "make it fast");
    await chat.type(line);
    chat.answers.length = 0;
    assertEquals([modes.collaboration, goal(), chat.sent.pop()?.text], ["goal", "active", "make it fast"]);
    await chat.type("/mode plan");
    assertEquals([modes.collaboration, goal()], ["plan", "cleared"]);
    await chat.type("/mode normal");
    assertEquals([modes.collaboration, modes.permission], ["normal", "workspace-write"]);
  }
  await chat.type("/mode goal again");
  await chat.type("/mode normal");
  assertEquals([modes.collaboration, goal(), modes.approval], ["normal", "cleared", "auto"]);
  await assertRejects(() => chat.type("/mode plan it"), Error, 'Cannot switch to "plan it"');
});

Deno.test("/permissions adds and removes rules in the user's file, comments kept", async () => {
  await using chat = await CommandFixture.open({ config: "[permissions] # mine\nallow = ['Read']\n" });
  await chat.type("/permissions allow Bash(git status:*)");
  assertStringIncludes(await config(chat), "# mine");
  assertEquals((await chat.session()).loaded.config.permissions.allow, ["Read", "Bash(git status:*)"]);
  await chat.type("/permissions remove Bash(git status:*)");
  assertEquals((await chat.session()).loaded.config.permissions.allow, ["Read"]);
  await assertRejects(() => chat.type("/permissions remove Write"), Error, "there is no such rule");
  await assertRejects(() => chat.type("/permissions allow Bash("), Error);
  await assertRejects(() => chat.type("/permissions what"), Error, 'Cannot carry out "/permissions what"');
});

Deno.test("/settings shows and saves single settings and rejects invalid values", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/settings compaction.auto false");
  assertEquals((await chat.session()).loaded.config.compaction.auto, false);
  chat.takeSaid();
  await chat.type("/settings compaction.auto");
  assertStringIncludes(chat.takeSaid(), "compaction.auto  false");
  await assertRejects(() => chat.type("/settings no.such.key 1"), Error);
  await assertRejects(() => chat.type("/settings compaction.auto perhaps"), Error);
});

Deno.test("/lang and /theme save the choice and apply it immediately", async () => {
  await using chat = await CommandFixture.open({ env: { REASONIX_LANG: "en" } });
  await chat.type("/lang zh");
  assertStringIncludes(await config(chat), 'language = "zh-CN"');
  assertStringIncludes(chat.takeSaid(), "REASONIX_LANG");
  chat.answers.push("high-contrast");
  await chat.type("/theme");
  assertStringIncludes(await config(chat), 'theme = "high-contrast"');
  assertEquals(chat.settings, [["language", "zh-CN"], ["ui.theme", "high-contrast"]]);
  await assertRejects(() => chat.type("/theme pink"), Error, "there is no such theme");
  await assertRejects(() => chat.type("/lang klingon"), Error, 'Cannot speak "klingon"');
});

Deno.test("/init asks before it changes an existing AGENTS.md", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/init");
  assert(!chat.sent[0]?.text.includes("already"));
  await chat.write("AGENTS.md", "old");
  await chat.type("/init");
  assertEquals(chat.sent.length, 1);
  chat.answers.push(true);
  await chat.type("/init in French");
  assertStringIncludes(chat.sent[1]?.text ?? "", "There is an AGENTS.md already");
  assert(chat.sent[1]?.text.endsWith("in French"));
});

Deno.test("every command has a description in every language, and listing loads no command", async () => {
  for (const locale of LOCALES) {
    const commands = await allCommands({ locale });
    assert(commands.every(({ brief, kind }) => brief !== "" && kind === "builtin"));
    const names = commands.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    assertEquals(new Set(names).size, names.length);
  }
});

Deno.test("typing errors are reported in the user's language, for rules and names of all kinds", async () => {
  await using chat = await CommandFixture.open({ locale: "zh-CN" });
  const translator = await loadTranslator("zh-CN");
  const lines = [
    "/permissions allow Bsh(ls)",
    "/permissions allow Bash(",
    "/permissions allow Bash()",
    "/permissions remove Bash(nothing)",
    "/permissions what",
    "/memory nothing",
    "/memory forget nothing",
    "/settings a..b 1",
    "/settings nothing 1",
    "/settings sandbox.bash what",
    "/effort nothing",
    "/mode nothing",
    "/theme nothing",
    "/lang nothing",
    "/rewind what",
    "/copy 7",
    "/mcp login",
  ];
  await chat.type("hello");
  for (const line of lines) {
    const error = await chat.type(line).then(() => undefined, (thrown: unknown) => thrown);
    assert(error instanceof ReasonixError, line);
    const shown = translator.text(clauses(error.texts));
    assert(/\p{Script=Han}/u.test(shown), `${line}: ${shown}`);
    assert(!/\b(?:cannot|there is|use one|such as)\b/i.test(shown), `${line}: ${shown}`);
  }
});
