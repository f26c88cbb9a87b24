/** Panels in the chat itself: a real gate, real tools, a scripted model. */
import { exists } from "../../../../../src/path/probe.ts";
import { call, type Reply, say } from "../../../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { type ChatStage, openChat } from "../../../../support/chat_stage.ts";

/** The placeholder of an empty composer. */
const COMPOSER = "Ask for something";
const DONE = { type: "done", reason: "tool_calls" } as const;
const WRITE = { path: "notes.txt", content: "first\n第二行\n" };

function screen({ terminal }: ChatStage): string {
  return terminal.screen().join("\n").trimEnd();
}

/** Longer than the pause before a panel accepts a key, or Enter again. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 350));

/** Chooses the row of a letter or digit in a panel that the user did not open. */
async function answer(chat: ChatStage, key: string): Promise<void> {
  await pause();
  chat.terminal.press("tab", key, "enter");
}

function results({ events }: ChatStage): string[] {
  return events.flatMap((event) => event.type === "tool.end" ? [event.content] : []);
}

Deno.test("an approval shows the diff of a dry run above the status line, instead of the composer", async () => {
  await using chat = await openChat({ replies: [[call("1", "write_file", WRITE), DONE], say("Done.")] });
  chat.say("write");
  await chat.shows("+ 第二行");
  await chat.shows("Allow write_file?");
  assert(!screen(chat).includes(COMPOSER), screen(chat));
  assert(!exists(`${chat.cwd}/notes.txt`), "the dry run wrote the file");
  await answer(chat, "y");
  await chat.shows("Done.");
  assertEquals(await Deno.readTextFile(`${chat.cwd}/notes.txt`), WRITE.content);
  await chat.shows(COMPOSER);
});

Deno.test("an approval during typing is shown above the composer until Tab switches to it", async () => {
  const go = Promise.withResolvers<void>();
  const reply: Reply = async function* () {
    await go.promise;
    yield* [call("1", "write_file", WRITE), DONE];
  };
  for (const [columns, rows] of [[80, 24], [30, 8]] as const) {
    await using chat = await openChat({ replies: [reply, say("Done.")], columns, rows });
    chat.say("write");
    chat.terminal.type("and then the y");
    go.resolve();
    await chat.shows("Tab: answer this first");
    const before = screen(chat);
    assert(before.includes("Allow write_file?") && before.includes("> and then the y"), before);
    chat.terminal.type("es");
    assertStringIncludes(screen(chat), "> and then the yes");
    assertEquals(chat.terminal.screen()[chat.terminal.caret.row], "> and then the yes");
    assert(!exists(`${chat.cwd}/notes.txt`), "typing approved the call");
    chat.terminal.press("tab");
    assert(!screen(chat).includes("and then the yes"), screen(chat));
    chat.terminal.press("y", "enter");
    await chat.shows("Done.");
    assert(exists(`${chat.cwd}/notes.txt`));
    await chat.shows("> and then the yes");
  }
});

Deno.test("an approval for the session covers what it states, and a note is sent to the model", async () => {
  await using chat = await openChat({
    replies: [
      [call("1", "write_file", WRITE), DONE],
      [call("2", "write_file", { path: "more.txt", content: "more\n" }), DONE],
      [call("3", "bash", { command: "rm notes.txt" }), DONE],
      say("Done."),
    ],
  });
  chat.say("write");
  await chat.shows("all file changes in the workspace");
  await answer(chat, "s");
  await chat.shows("Run this command?");
  assert(exists(`${chat.cwd}/more.txt`), "the second file needed approval");
  await chat.shows("│ rm notes.txt");
  await answer(chat, "n");
  chat.terminal.type("keep it 留着");
  chat.terminal.press("enter");
  await chat.shows("Done.");
  assertStringIncludes(results(chat)[2] ?? "", "keep it 留着");
  assert(exists(`${chat.cwd}/notes.txt`));
});

Deno.test("a question of the model accepts an option or custom text", async () => {
  const questions = [
    { question: "Which colour?", options: [{ label: "red" }, { label: "blue" }] },
    { question: "Which size?", options: [{ label: "small" }] },
  ];
  await using chat = await openChat({ replies: [[call("1", "ask", { questions }), DONE], say("Thanks.")] });
  chat.say("ask me");
  await chat.shows("Question 1 of 2");
  await answer(chat, "2");
  await chat.shows("Question 2 of 2");
  await answer(chat, "2");
  chat.terminal.type("as large as it gets");
  chat.terminal.press("enter");
  await chat.shows("Thanks.");
  assertStringIncludes(results(chat)[0] ?? "", "→ blue");
  assertStringIncludes(results(chat)[0] ?? "", "→ as large as it gets");
});

Deno.test("the rewind panel lists turns with their changes", async () => {
  await using chat = await openChat({ replies: [say("one"), say("two")] });
  chat.say("first question");
  await chat.shows("one");
  chat.say("second question");
  await chat.shows("two");
  await chat.until(() => chat.events.filter(({ type }) => type === "turn.end").length === 2);
  chat.say("/rewind");
  await chat.shows("After turn 1: first question");
  chat.terminal.press("down");
  await chat.shows("Drops 1 turn");
  chat.terminal.press("enter");
  await chat.shows("Bring back what?");
  chat.terminal.press("c", "enter");
  await chat.until(() => chat.events.some(({ type }) => type === "rewind"));
});

Deno.test("a rule can be added for the session and removed", async () => {
  await using chat = await openChat();
  chat.say("/permissions");
  await chat.shows("Add a rule");
  await pause();
  chat.terminal.press("enter");
  await chat.shows("until this session ends");
  await pause();
  chat.terminal.press("enter");
  await chat.shows("For example Bash(go test:*)");
  chat.terminal.type("Bash(");
  chat.terminal.press("enter");
  await chat.until(() => !screen(chat).includes("For example"));
  chat.terminal.type("make:*)");
  chat.terminal.press("enter");
  await chat.until(() => chat.assembly().modes.sessionRules.length === 1);
  assertEquals(chat.assembly().modes.sessionRules, ["Bash(make:*)"]);
  await chat.shows("this session");
  chat.terminal.press("down", "enter");
  await chat.shows("Remove the rule");
  chat.terminal.press("y", "enter");
  await chat.until(() => chat.assembly().modes.sessionRules.length === 0);
});

Deno.test("a setting is saved in the user's file, which keeps its comments", async () => {
  await using chat = await openChat();
  const file = `${chat.home}/config.toml`;
  await Deno.writeTextFile(file, "# mine\n[agent] # stays\nmax_steps = 7\n");
  chat.say("/settings");
  await chat.shows("saved in your own file");
  chat.terminal.type("permissions.mode");
  chat.terminal.press("enter");
  await chat.shows("Now: ");
  chat.terminal.press("1", "enter");
  await chat.until(() => Deno.readTextFileSync(file).includes("deny"));
  const text = await Deno.readTextFile(file);
  assertStringIncludes(text, "# mine\n[agent] # stays\nmax_steps = 7\n");
  assertStringIncludes(text, 'mode = "deny"');
});
