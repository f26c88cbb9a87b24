import type { Chunk } from "../../../src/core/mod.ts";
import { call, say } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { CommandFixture } from "../../support/command_fixture.ts";

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
