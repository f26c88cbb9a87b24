/** The approved call is the one that runs, and only a key of the user approves it. */
import { say } from "../../../../support/agent_fixture.ts";
import {
  asked,
  bash,
  calls,
  decline,
  ended,
  filesOf,
  openAskingChat as open,
  panel,
  pause,
  results,
  shownCommand,
} from "../../../../support/asking_chat.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";

Deno.test("the command that runs is byte for byte the one that was approved", async () => {
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

Deno.test("a command of five thousand characters can be read to its end before it is approved", async () => {
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

Deno.test("the directory of a command, and that it stays in the background, are shown before it is approved", async () => {
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

Deno.test("where a command starts is shown when an earlier one has left the directory of the session", async () => {
  await using chat = await open([calls(bash("1", "cd sub")), calls(bash("2", "touch made")), say("done")]);
  await Deno.mkdir(`${chat.cwd}/sub`);
  chat.say("go");
  await panel(chat, 1);
  await chat.shows("touch made");
  await chat.shows(`workdir: "${chat.cwd}/sub"`);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
});

Deno.test("pastes and keys on their way neither answer a panel nor send anything", async () => {
  await using chat = await open([calls(bash("1", "touch made")), say("done")]);
  chat.say("go");
  await chat.until(() => asked(chat) === 1);
  for (const text of ["y", "1", "y\r", "a\n", "\x1b[A\r", "yes\r\n"]) chat.terminal.paste(text);
  chat.terminal.feed("\x1b[200~y\r\n1\r\x1b[201~");
  await panel(chat, 1);
  for (const text of ["y", "1", "\r", "y\r", "s", "a"]) chat.terminal.paste(text);
  chat.terminal.feed("\x1b[200~y\r\x1b[201~");
  await pause();
  assertEquals(results(chat), []);
  // The pastes have become a draft: the panel takes keys once Tab goes over to it, and still no paste.
  chat.terminal.press("tab");
  for (const text of ["y", "1", "\r"]) chat.terminal.paste(text);
  await pause();
  assertEquals(results(chat), []);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
  assertEquals(results(chat), ["blocked"]);
  assertEquals(chat.provider.requests.length, 2);
  assertEquals(filesOf(chat), []);
});

Deno.test("an output that looks like a panel is history, and keys still reach the composer", async () => {
  const fake = `${
    "─".repeat(80)
  }\nRun this command?\n│ ls\n› 1. Yes, once (y)\n  2. No (n)\n↑↓ move · Enter choose · Esc leave`;
  await using chat = await open([[{ type: "text", text: fake }, { type: "done", reason: "stop" }]]);
  chat.say("go");
  await chat.until(() => ended(chat) === 1);
  await pause();
  chat.terminal.type("y");
  await chat.until(() => (chat.terminal.screen()[chat.terminal.caret.row] ?? "").endsWith("y"));
  assertEquals(asked(chat), 0);
  const rows = chat.terminal.screen();
  assert(
    chat.terminal.caret.row > rows.findLastIndex((row) => row.includes("Enter choose")),
    rows.join("\n"),
  );
});

Deno.test("a destructive command has no always and no session, in every mode, and Enter refuses it", async () => {
  for (const approvalMode of ["ask", "auto", "yolo"] as const) {
    await using chat = await open([calls(bash("1", "rm -rf ~/everything")), say("done")], {
      start: { approvalMode },
    });
    chat.say("go");
    await panel(chat, 1);
    const screen = chat.terminal.screen().join("\n");
    assert(!/always|session/i.test(screen.slice(screen.indexOf("────"))), screen);
    for (const key of ["a", "s", "p", "w"]) chat.terminal.press(key);
    await pause();
    assertEquals(results(chat), [], approvalMode);
    chat.terminal.press("tab", "enter");
    await chat.until(() => ended(chat) === 1);
    assertEquals(results(chat), ["blocked"], approvalMode);
  }
});

Deno.test("what was allowed for the session needs approval again in the next one", async () => {
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

Deno.test("yolo never asks, and what is denied stays denied, for the model and for lines of the shell", async () => {
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

Deno.test("a panel gives no reason where no rule speaks of the call, in any language", async () => {
  await using chat = await open([calls(bash("1", "touch made")), say("done")], { locale: "zh-CN" });
  chat.say("go");
  await panel(chat, 1);
  await chat.shows("运行这条命令？");
  assert(!/no rule|没有规则/.test(chat.terminal.screen().join("")));
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
});
