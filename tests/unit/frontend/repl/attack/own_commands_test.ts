/** Shell lines that the user types: the same rules, the same record, and output as plain text. */
import { say } from "../../../../support/agent_fixture.ts";
import {
  asked,
  decline,
  ended,
  filesOf,
  openApprovalChat,
  panel,
  results,
} from "../../../../support/approval_chat.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";

const config = {
  sandbox: { bash: "off" as const },
  permissions: { deny: ["Bash(touch denied)"], ask: ["Bash(touch asked)"] },
};

Deno.test("a typed command runs without approval unless rules prompt, deny or warn", async () => {
  await using chat = await openApprovalChat([], { config });
  await Deno.mkdir(`${chat.cwd}/.git/hooks`, { recursive: true });
  const lines = [
    ["!touch made", "ok", 0],
    ["!touch denied", "blocked", 0],
    ["!true && touch denied", "blocked", 0],
    ["!touch asked", "blocked", 1],
    ["!echo x > .git/hooks/pre-commit", "blocked", 1],
    ["!rm -rf ~/everything", "blocked", 1],
    ["!ls; git push --force", "blocked", 1],
    ['!eval "$(echo touch denied)"', "blocked", 1],
  ] as const;
  let questions = 0;
  for (const [turn, [line, outcome, asks]] of lines.entries()) {
    chat.say(line);
    if (asks > 0) {
      await panel(chat, ++questions);
      await decline(chat);
    }
    await chat.until(() => ended(chat) === turn + 1);
    assertEquals([results(chat).at(-1), asked(chat)], [outcome, questions], line);
  }
  assertEquals(filesOf(chat), [".git", "made"]);
  assertEquals([...Deno.readDirSync(`${chat.cwd}/.git/hooks`)], []);
});

Deno.test("a typed command cannot write in read-only and plan mode", async () => {
  await using chat = await openApprovalChat([], { config });
  await Deno.writeTextFile(`${chat.cwd}/notes.txt`, "notes");
  // The status line says the model once the session is open.
  await chat.shows("scripted-1");
  for (const [index, mode] of ["read-only", "plan"].entries()) {
    chat.say(`/mode ${mode}`);
    await chat.until(() => chat.assembly().modes.permission === mode);
    chat.say("!touch made");
    await chat.until(() => ended(chat) === 2 * index + 1);
    chat.say("!cat notes.txt");
    await chat.until(() => ended(chat) === 2 * index + 2);
  }
  assertEquals(results(chat), ["blocked", "ok", "blocked", "ok"]);
  assertEquals(filesOf(chat), ["notes.txt"]);
});

Deno.test("a typed command adds a user message and one with command, exit code and output", async () => {
  await using chat = await openApprovalChat([say("seen")], { config });
  chat.say("!echo out; echo err >&2; exit 3");
  await chat.until(() => ended(chat) === 1);
  chat.say("what was it?");
  await chat.until(() => ended(chat) === 2);
  const messages = chat.provider.requests[0] ?? [];
  const at = messages.findIndex(({ content }) => content === "!echo out; echo err >&2; exit 3");
  assertEquals(messages[at]?.role, "user");
  assertEquals(messages[at + 1]?.role, "assistant");
  const report = messages[at + 1]?.content ?? "";
  for (const part of ["echo out; echo err >&2; exit 3", "Exit code: 3", "out\n", "err"]) {
    assert(report.includes(part), report);
  }
  assertEquals(messages.at(-1)?.content, "what was it?");
});

Deno.test("the output of a typed command is plain text, and its end is visible after megabytes", async () => {
  await using chat = await openApprovalChat([], { config });
  const evil = "\\033]0;OWNED\\007\\033[2J\\033[?1049h\\033]52;c;T1dORUQ=\\007\\033c\\r\\b\\342\\200\\256x";
  chat.say(`!printf '${evil}end-of-it\\n'`);
  await chat.until(() => ended(chat) === 1);
  await chat.shows("end-of-it");
  chat.say("!head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the-very-end");
  await chat.until(() => ended(chat) === 2);
  await chat.shows("the-very-end");
  const written = chat.terminal.writes.join("");
  for (const bad of ["\x1b]0;", "\x1b]52;", "\x1b[?1049h", "\x1bc", "\u202e"]) {
    assert(!written.includes(bad), JSON.stringify(bad));
  }
  assertEquals(chat.terminal.destructive(), []);
});
