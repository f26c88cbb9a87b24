/** The approved call is the one that runs, and only a key of the user approves it. */
import { call, say } from "../../../../support/agent_fixture.ts";
import {
  asked,
  bash,
  calls,
  decline,
  ended,
  filesOf,
  openApprovalChat,
  openApprovalChat as open,
  panel,
  results,
  shownCommand,
} from "../../../../support/approval_chat.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import type { ChatStage } from "../../../../support/chat_stage.ts";

Deno.test("the executed command equals the approved one byte for byte", async () => {
  const tricky = `touch "a  b\u200b" 'c\u202ed'\nprintf '%s' x\\\n > e\n# 中文 👩‍👩‍👧 \\x1b`;
  await using chat = await open([calls(bash("1", tricky)), say("done")]);
  chat.say("go");
  await panel(chat, 1);
  const [request] = chat.events.filter((event) => event.type === "approval.request");
  assertEquals(request?.subject, tricky);
  assertEquals(
    shownCommand(chat),
    tricky.replaceAll("\u200b", "\\u{200b}").replaceAll("\u202e", "\\u{202e}"),
  );
  chat.terminal.press("tab", "y", "enter");
  await chat.until(() => ended(chat) === 1);
  const names = filesOf(chat);
  assertEquals(names, ["a  b\u200b", "c\u202ed", "e"]);
});

Deno.test("a command of 5,000 characters can be read completely before approval", async () => {
  const command = `touch begin ${"x y".repeat(1700)} the-very-end`;
  await using chat = await open([calls(bash("1", command)), say("done")]);
  chat.say("go");
  await panel(chat, 1);
  let seen = "";
  const see = () => seen += chat.terminal.screen().filter((row) => /^[│┆]/.test(row)).join("\n");
  see();
  assert(!seen.includes("the-very-end"), "everything fits: the test shows nothing");
  for (let page = 0; page < 20; page++) {
    chat.terminal.press("pageDown");
    see();
  }
  assert(seen.includes("touch begin") && seen.includes("the-very-end"));
  chat.terminal.press("escape");
  await chat.until(() => ended(chat) === 1);
});

Deno.test("the directory of a command and its background flag are shown before approval", async () => {
  await using chat = await open([
    calls(bash("1", "touch here", { workdir: "sub", run_in_background: true })),
    say("done"),
  ]);
  await Deno.mkdir(`${chat.cwd}/sub`);
  chat.say("go");
  await panel(chat, 1);
  const screen = chat.terminal.screen().join("\n");
  assert(screen.includes('workdir: "sub"'), screen);
  assert(screen.includes("background"), screen);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
});

Deno.test("the directory of a command is shown when an earlier command has changed it", async () => {
  await using chat = await open([calls(bash("1", "cd sub")), calls(bash("2", "touch made")), say("done")]);
  await Deno.mkdir(`${chat.cwd}/sub`);
  chat.say("go");
  await panel(chat, 1);
  await chat.shows("touch made");
  await chat.shows(`workdir: "${chat.cwd}/sub"`);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
});

Deno.test("pending pastes and keys neither answer a panel nor send a message", async () => {
  await using chat = await open([calls(bash("1", "touch made")), say("done")]);
  chat.say("go");
  await chat.until(() => asked(chat) === 1);
  for (const text of ["y", "1", "y\r", "a\n", "\x1b[A\r", "yes\r\n"]) chat.terminal.paste(text);
  chat.terminal.feed("\x1b[200~y\r\n1\r\x1b[201~");
  await panel(chat, 1);
  for (const text of ["y", "1", "\r", "y\r", "s", "a"]) chat.terminal.paste(text);
  chat.terminal.feed("\x1b[200~y\r\x1b[201~");
  await chat.pause();
  assertEquals(results(chat), []);
  // The pastes have become a draft: the panel takes keys once Tab goes over to it, and still no paste.
  chat.terminal.press("tab");
  for (const text of ["y", "1", "\r"]) chat.terminal.paste(text);
  await chat.pause();
  assertEquals(results(chat), []);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
  assertEquals(results(chat), ["blocked"]);
  assertEquals(chat.provider.requests.length, 2);
  assertEquals(filesOf(chat), []);
});

Deno.test("output that looks like a panel is history, and keys still reach the composer", async () => {
  const fake = `${
    "─".repeat(80)
  }\nRun this command?\n│ ls\n› 1. Yes, once (y)\n  2. No (n)\n↑↓ move · Enter choose · Esc leave`;
  await using chat = await open([[{ type: "text", text: fake }, { type: "done", reason: "stop" }]]);
  chat.say("go");
  await chat.until(() => ended(chat) === 1);
  await chat.pause();
  chat.terminal.type("y");
  await chat.until(() => (chat.terminal.screen()[chat.terminal.caret.row] ?? "").endsWith("y"));
  assertEquals(asked(chat), 0);
  const rows = chat.terminal.screen();
  assert(
    chat.terminal.caret.row > rows.findLastIndex((row) => row.includes("Enter choose")),
    rows.join("\n"),
  );
});

Deno.test("a destructive command offers no always and no session in any mode, and Enter refuses it", async () => {
  for (const approvalMode of ["ask", "auto", "yolo"] as const) {
    await using chat = await open([calls(bash("1", "rm -rf ~/everything")), say("done")], {
      start: { approvalMode },
    });
    chat.say("go");
    await panel(chat, 1);
    const screen = chat.terminal.screen().join("\n");
    assert(!/always|session/i.test(screen.slice(screen.indexOf("────"))), screen);
    for (const key of ["a", "s", "p", "w"]) chat.terminal.press(key);
    await chat.pause();
    assertEquals(results(chat), [], approvalMode);
    chat.terminal.press("tab", "enter");
    await chat.until(() => ended(chat) === 1);
    assertEquals(results(chat), ["blocked"], approvalMode);
  }
});

Deno.test("a session approval does not apply to the next session", async () => {
  const again = () => calls(bash(crypto.randomUUID(), "touch made"));
  await using chat = await open([again(), say("a"), again(), say("b"), again(), say("c")]);
  chat.say("one");
  await panel(chat, 1);
  chat.terminal.press("tab", "s", "enter");
  await chat.until(() => ended(chat) === 1);
  chat.say("two");
  await chat.until(() => ended(chat) === 2);
  assertEquals(asked(chat), 1);
  chat.say("/new");
  await chat.until(() => chat.opened.length === 2);
  chat.say("three");
  await panel(chat, 2);
  chat.terminal.press("escape");
  await chat.until(() => ended(chat) === 3);
});

Deno.test("yolo shows no prompt and keeps denials, for the model and for shell lines", async () => {
  await using chat = await open([calls(bash("1", "touch denied"), bash("2", "touch fine")), say("done")], {
    start: { approvalMode: "yolo" },
    config: { sandbox: { bash: "off" }, permissions: { deny: ["Bash(touch denied)"] } },
  });
  chat.say("go");
  await chat.until(() => ended(chat) === 1);
  assertEquals(results(chat), ["blocked", "ok"]);
  chat.say("!touch denied");
  await chat.until(() => ended(chat) === 2);
  assertEquals(asked(chat), 0);
  assertEquals(filesOf(chat), ["fine"]);
});

Deno.test("a panel shows no reason when no rule matches the call, in any language", async () => {
  await using chat = await open([calls(bash("1", "touch made")), say("done")], { locale: "zh-CN" });
  chat.say("go");
  await panel(chat, 1);
  await chat.shows("运行这条命令？");
  assert(!/no rule|没有规则/.test(chat.terminal.screen().join("")));
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
});

// An answer of the user allows no more than its label states.

let ids = 0;
const write = (path: string) => calls(call(`w${++ids}`, "write_file", { path, content: `${ids}\n` }));
const touch = (name: string) => calls(bash(`b${++ids}`, `touch ${name}`));

/** Sends a message whose call needs approval, and answers. */
async function allow(chat: ChatStage, key: string): Promise<void> {
  const [questions, turns] = [asked(chat), ended(chat)];
  chat.say("go");
  await panel(chat, questions + 1);
  for (const each of key.split(" ")) chat.terminal.press("tab", each, "enter");
  await chat.until(() => ended(chat) === turns + 1);
}

/** Sends a message; returns whether its call needed approval. */
async function asks(chat: ChatStage): Promise<boolean> {
  const [questions, turns] = [asked(chat), ended(chat)];
  chat.say("go on");
  await chat.until(() => asked(chat) > questions || ended(chat) > turns);
  if (asked(chat) === questions) return false;
  await panel(chat, questions + 1);
  await decline(chat);
  await chat.until(() => ended(chat) === turns + 1);
  return true;
}

const turn = (reply: ReturnType<typeof calls>) => [reply, say("done")];

Deno.test("a session approval ends with the session, however it is closed", async () => {
  for (const way of ["/new", "/clear", "/fork", "/resume"]) {
    const replies = [turn(touch("made")), turn(touch("made")), turn(touch("made"))].flat();
    await using chat = await openApprovalChat(replies, { onDisk: true });
    await allow(chat, "s");
    assertEquals(await asks(chat), false, way);
    const { id } = chat.assembly().session;
    chat.say(way === "/resume" ? `/resume ${id}` : way);
    if (way === "/clear") {
      await chat.until(() => chat.terminal.screen().some((line) => line.startsWith("────")));
      chat.terminal.press("tab", "y", "enter");
    }
    await chat.until(() => chat.opened.length === 2);
    await chat.until(() => chat.assembly().session.id !== id || way === "/resume");
    assertEquals(await asks(chat), true, way);
  }
});

Deno.test("a session rule added in the list of rules ends with the session", async () => {
  await using chat = await openApprovalChat([turn(touch("a")), turn(touch("b"))].flat(), { onDisk: true });
  chat.say("hello");
  await panel(chat, 1);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
  chat.assembly().modes.allowForSession("Bash(touch:*)");
  chat.say("/new");
  await chat.until(() => chat.opened.length === 2);
  assertEquals(await asks(chat), true);
});

Deno.test("a session approval covers the same call only", async () => {
  const replies = [
    turn(touch("made")),
    turn(touch("made")),
    turn(touch("made2")),
    turn(touch("made x")),
    turn(touch("made; touch other")),
    turn(calls(bash("x", "touch made", { workdir: "sub" }))),
    turn(calls(bash("y", "touch made", { run_in_background: true }))),
  ].flat();
  await using chat = await openApprovalChat(replies);
  await Deno.mkdir(`${chat.cwd}/sub`);
  await allow(chat, "s");
  assertEquals(await asks(chat), false);
  for (const what of ["another name", "one more word", "a second command", "another directory"]) {
    assertEquals(await asks(chat), true, what);
  }
});

Deno.test("file changes approved for the session are limited to the workspace without protected files", async () => {
  const replies = [
    write("a"),
    write("sub/b"),
    write("../out"),
    write(".git/hooks/pre-commit"),
    write(".envrc"),
  ]
    .map(turn).flat();
  await using chat = await openApprovalChat(replies);
  await allow(chat, "s");
  assertEquals(await asks(chat), false);
  assertEquals(await asks(chat), false);
  assertEquals(results(chat).at(-1), "error");
  assertEquals([await asks(chat), await asks(chat)], [true, true]);
});

Deno.test("always saves exactly the displayed rule in the named file", async () => {
  const replies = [turn(touch("made")), turn(touch("made")), turn(touch("other"))].flat();
  await using chat = await openApprovalChat(replies, { onDisk: true });
  const file = `${chat.home}/config.toml`;
  const before = '# mine\ndefault_model = "x" # stays\n';
  await Deno.writeTextFile(file, before);
  chat.say("go");
  await panel(chat, 1);
  chat.terminal.press("tab", "a", "enter");
  const rows = chat.terminal.screen().join(" ").replace(/\s+/g, " ");
  assertStringIncludes(rows, "Yes, always everywhere: Bash(touch made) (e)");
  assertStringIncludes(rows.replaceAll(" ", ""), `savedin${file}`);
  assertEquals(await Deno.readTextFile(file), before);
  chat.terminal.press("tab", "e", "enter");
  await chat.until(() => ended(chat) === 1);
  const after = await Deno.readTextFile(file);
  assertEquals(after.replace('\n[permissions]\nallow = [ "Bash(touch made)" ]\n', ""), before);
  chat.say("/new");
  await chat.until(() => chat.opened.length === 2);
  assertEquals([await asks(chat), await asks(chat)], [false, true]);
});

Deno.test("always for a file covers only this path, not the name in other directories or projects", async () => {
  const replies = [write("a"), write("a"), write("sub/a")].map(turn).flat();
  await using chat = await openApprovalChat(replies, { onDisk: true });
  await allow(chat, "a e");
  const saved = await Deno.readTextFile(`${chat.home}/config.toml`);
  assertEquals(/^allow = .*$/m.exec(saved)?.[0], `allow = [ "Edit(${chat.cwd}/a)" ]`);
  assertEquals([await asks(chat), await asks(chat)], [false, true]);
});

Deno.test("no key saves a rule for a destructive command", async () => {
  const replies = [
    turn(calls(bash("1", "rm -rf ~/everything"))),
    turn(calls(bash("2", "rm -rf ~/everything"))),
  ].flat();
  await using chat = await openApprovalChat(replies, { onDisk: true });
  chat.say("go");
  await panel(chat, 1);
  for (const key of ["a", "s", "p", "w", "4", "5", "n"]) chat.terminal.press("tab", key);
  chat.terminal.press("enter");
  await chat.pause();
  chat.terminal.press("enter");
  await chat.until(() => ended(chat) === 1);
  assertEquals(results(chat), ["blocked"]);
  assert(!await Deno.stat(`${chat.home}/config.toml`).then(() => true, () => false));
  assertEquals(chat.assembly().modes.sessionRules, []);
  assertEquals(await asks(chat), true);
});

Deno.test("always that cannot be saved lets the call run, applies to the session, and reports it", async () => {
  const replies = [turn(touch("made")), turn(touch("made"))].flat();
  await using chat = await openApprovalChat(replies, { onDisk: true });
  const file = `${chat.home}/config.toml`;
  await Deno.writeTextFile(file, "");
  chat.say("go");
  await panel(chat, 1);
  await Deno.writeTextFile(file, "broken = [");
  chat.terminal.press("tab", "a", "enter", "tab", "e", "enter");
  await chat.until(() => ended(chat) === 1);
  assertEquals(results(chat), ["ok"]);
  await chat.shows("The rule Bash(touch made) is not saved and applies to this session only");
  assertEquals(await Deno.readTextFile(file), "broken = [");
  assertEquals(await asks(chat), false);
});
