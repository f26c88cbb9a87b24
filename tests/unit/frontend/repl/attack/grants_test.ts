/** An answer of the user allows no more than its label states. */
import { call, say } from "../../../../support/agent_fixture.ts";
import {
  asked,
  bash,
  calls,
  decline,
  ended,
  openApprovalChat,
  panel,
  pause,
  results,
} from "../../../../support/approval_chat.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import type { ChatStage } from "../../../../support/chat_stage.ts";

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
  await pause();
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
