/** The web page of a chat: links, browsers, and its end. */
import { encode } from "uqr";
import { qrLines } from "../../../../cli/commands/run/hand_over.ts";
import type { FrontEnd } from "../../../../src/frontend/session/live_session.ts";
import { visit } from "../../../support/web.ts";
import { call, type Reply, say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../support/assert.ts";
import { type ChatStage, heldReply, openChat } from "../../../support/chat_stage.ts";

/** Any free port. */
const config = { serve: { addr: "127.0.0.1:0" } };

/** A chat on a screen as high as a link with its code. */
function webChat(...replies: readonly Reply[]): Promise<ChatStage> {
  return openChat({ replies, config, columns: 130, rows: 80, onDisk: true });
}

/** The links on the screen, each in one piece. */
function links({ terminal }: ChatStage): string[] {
  return terminal.text().join("\n").match(/http:\/\/127[^\s]*\n?[^\s]*session=[\w-]{20}/g) ?? [];
}

Deno.test("/web serves the session of the chat: a link counts once and is renewed, /web off closes the page", async () => {
  await using chat = await webChat(say("Forty-two."));
  chat.say("/web off");
  await chat.shows("The web page is not open");
  chat.say("/web");
  await chat.shows("The link counts once");
  const [first = ""] = links(chat);
  const id = chat.assembly().session.id;
  assertStringIncludes(first, `&session=${id}`);
  assertEquals(chat.sessions.get(id), chat.live);
  // The code holds the link, and is drawn for a dark background: without colors light modules are drawn.
  const rows = qrLines(first, false);
  assert(rows.every((row) => chat.terminal.text().some((line) => line.includes(row))), rows.join("\n"));
  await chat.shows("web: no browser");
  assertEquals((await visit(first)).role, "owner");
  await chat.shows("A browser at 127.0.0.1 has signed in; /web makes another link");
  assertEquals((await visit(first)).status, 401);
  assertEquals(links(chat).length, 1);
  chat.say("/web");
  await chat.until(() => links(chat).length === 2);
  assertEquals((await visit(links(chat)[1])).role, "owner");
  chat.say("/web share");
  await chat.shows("one can look and do nothing else");
  assertEquals((await visit(links(chat)[2])).role, "viewer");
  chat.say("/web off");
  await chat.shows("The web page is closed");
  await assertRejects(() => visit(first));
  assert(!chat.terminal.screen().some((row) => row.includes("web: ")));
  chat.say("/web maybe");
  await chat.shows("Cannot run /web maybe");
});

Deno.test("chat and page share turn, queue and questions of a session; the first answer counts", async () => {
  const write = (name: string): Reply => [
    call(name, "write_file", { path: name, content: "x" }),
    { type: "done", reason: "tool_calls" },
  ];
  await using chat = await webChat(
    write("one.txt"),
    say("First done."),
    write("two.txt"),
    say("Second done."),
    say("Queued done."),
  );
  chat.say("/web");
  await chat.shows("The link counts once");
  const { ask, question } = await visit(links(chat)[0]);
  const { id: chatId } = chat.assembly().session;
  const session = `/sessions/${chatId}`;
  const opened = async () => (await question(chatId)).id;
  // The page begins a turn; its answer closes the dialog of the chat.
  const sent = await ask(`${session}/messages`, { id: "message-1", text: "make one" });
  assertEquals(sent, { status: 202, accepted: true });
  await chat.shows("one.txt");
  const first = await opened();
  await chat.until(() => chat.terminal.screen().some((row) => row.includes("Allow write_file?")));
  await ask(`${session}/messages`, { id: "message-2", text: "make two" });
  await chat.until(() => chat.terminal.screen().some((row) => row.includes("waiting: make two")));
  assertEquals(
    (await ask(`${session}/questions/${first}`, { answer: { allow: true, scope: "once" } })).status,
    200,
  );
  await chat.shows("First done.");
  // The chat answers; the answer of the page is refused, and says who answered.
  const second = await opened();
  await chat.until(() => chat.terminal.screen().some((row) => row.includes("Allow write_file?")));
  chat.say("last");
  await chat.until(() => chat.live.submissions.waiting.length === 1);
  chat.live.questions.answer(second, { allow: true, scope: "once" }, "terminal");
  const late = await ask(`${session}/questions/${second}`, { answer: { allow: false, scope: "once" } });
  assertEquals(late.status, 409);
  assertStringIncludes(late.error.message, '"terminal"');
  await chat.shows("Queued done.");
  assertEquals(Deno.readTextFileSync(`${chat.cwd}/two.txt`), "x");
  // A session that the page begins is in this program, and its files are those of every session.
  const { id } = await ask("/sessions", { directory: chat.cwd });
  assertEquals(chat.sessions.get(id)?.assembly?.cwd, chat.cwd);
});

Deno.test("a session that the chat has left is the page's, and the chat can have it again", async () => {
  await using chat = await webChat(say("One."), say("Two."), say("Three."));
  chat.say("first");
  await chat.shows("One.");
  chat.say("/web");
  await chat.shows("The link counts once");
  const { ask, stream } = await visit(links(chat)[0]);
  const { id } = chat.assembly().session;
  const watched = stream(`?session=${id}@0`);
  await chat.shows("web: 1 browser");
  chat.say("/new");
  await chat.shows("A new session has begun");
  assertEquals((await ask(`/sessions/${id}/messages`, { id: "message-1", text: "of the page" })).status, 202);
  await chat.until(() => chat.sessions.get(id)?.assembly?.session.state.turns.length === 2);
  await chat.until(() => chat.sessions.get(id)?.isIdle === true);
  assert(chat.sessions.get(id) !== chat.live);
  chat.say(`/resume ${id}`);
  await chat.until(() => chat.sessions.get(id) === chat.live);
  await chat.until(() => chat.live.isIdle);
  chat.say("again");
  await chat.shows("Three.");
  chat.say("/web off");
  await chat.shows("The web page is closed; 1 browser was connected");
  const events = [...(await watched).matchAll(/^data: (.+)$/gm)].flatMap(([, data = ""]) =>
    JSON.parse(data).event ?? []
  );
  const texts = events.flatMap(({ type, content }) => type === "message.end" ? [content] : []);
  assertEquals(texts, ["One.", "Two.", "Three."]);
});

Deno.test("a chat that ends closes its page, stops its turn, and names the stopped sessions of the page", async () => {
  await using chat = await webChat(heldReply("Also here"), heldReply("Thinking about it"));
  chat.say("/web");
  await chat.shows("The link counts once");
  const [link = ""] = links(chat);
  const page: FrontEnd = { name: "page", event() {} };
  const other = await chat.sessions.open({ sessionId: "20260101-000000-abcd" }, (live) => live.attach(page));
  other.submissions.add({ text: "of the page", steer: false, by: page });
  await chat.until(() => other.submissions.busy && chat.provider.requests.length === 1);
  chat.live.attach(page);
  chat.say("think");
  await chat.shows("Thinking about it");
  chat.terminal.press("ctrl+d");
  assertEquals(await chat.left, 0);
  await chat.shows("The page's session 20260101-000000-abcd was stopped");
  await assertRejects(() => visit(link));
  const ends = chat.events.flatMap((event) => event.type === "turn.end" ? [event.reason] : []);
  assertEquals(ends, ["interrupted", "terminated"]);
  assertEquals(chat.sessions.all, []);
});

Deno.test("qrLines draws the code of a text in pairs of rows, dark on light where colors are printed", () => {
  const { data } = encode("http://127.0.0.1:8787/", { ecc: "L", border: 2 });
  for (const colors of [false, true]) {
    const read = qrLines("http://127.0.0.1:8787/", colors).flatMap((line) => {
      // deno-lint-ignore no-control-regex
      const cells = [...line.replace(/\x1b\[[\d;]*m/g, "")];
      return ["▀█", "▄█"].map((drawn) => cells.map((cell) => drawn.includes(cell) === colors));
    });
    assertEquals(read.slice(0, data.length), data);
  }
});
