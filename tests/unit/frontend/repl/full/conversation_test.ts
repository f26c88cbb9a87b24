import { assert, assertEquals } from "../../../../support/assert.ts";
import {
  type ConversationStage,
  conversationStage,
  RandomSession,
  rowsOf,
  SessionStore,
} from "../../../../support/conversation_stage.ts";
import { withoutStyles } from "../../../../../src/frontend/repl/screen/line.ts";
import type { DiffMarks } from "../../../../../src/view/mod.ts";
import type { ConversationPanel } from "../../../../../src/frontend/repl/full/conversation.ts";
import { openChat } from "../../../../support/chat_stage.ts";
import { longLog } from "../../../../support/long_session.ts";
import { TURN_END } from "../../../../support/transcript_stage.ts";
import { Random, SEED, soakSize } from "../../../../support/seed.ts";

/** Loads what renders texts, so that pieces are printed as they come. */
async function warm(stage: ConversationStage): Promise<void> {
  const content = "ready *now*\n\n```ts\nlet x;\n```";
  stage.feed({ type: "message.end", step: 1, model: "m", content, durationMs: 1 });
  const diff = "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n";
  stage.feed({
    type: "tool.end",
    callId: "w",
    name: "bash",
    outcome: "ok",
    content: "",
    summary: "",
    durationMs: 1,
    changes: [{ path: "a", change: "updated", added: 1, removed: 1, diff }],
  });
  await stage.settle();
  await loaded(stage, stage.panel);
}

/** A panel over the conversation which has laid out nothing yet, but has loaded what renders it. */
async function loaded(stage: ConversationStage, panel = stage.another()): Promise<ConversationPanel> {
  const end = performance.now() + 20_000;
  // In front of the end of a resumed session there is a note on the main screen.
  const isLoaded = () => rowsOf(stage, 60, panel).join("\n").endsWith(stage.main.slice(2).join("\n"));
  while (!isLoaded() && performance.now() < end) await stage.settle();
  return panel;
}

Deno.test("the panel shows the same rows as the main screen", async () => {
  for (let at = 0; at < soakSize(300, 5); at++) {
    const seed = SEED + at;
    const random = new Random(seed);
    const session = new RandomSession(seed);
    const stage = await conversationStage({ colors: random.chance(0.5) });
    await warm(stage);
    for (let turn = 0; turn < 5; turn++) {
      for (const event of session.turn()) {
        stage.clock.now += random.below(900);
        stage.feed(event);
        if (random.chance(0.02)) stage.transcript.say(session.text());
        if (random.chance(0.1)) stage.panel.frame(60, 20);
        if (random.chance(0.01)) assertEquals(rowsOf(stage, 60), stage.main, `seed ${seed}, within a turn`);
      }
    }
    assertEquals(rowsOf(stage, 60), stage.main, `seed ${seed}`);
    assertEquals(rowsOf(stage, 60, await loaded(stage)), stage.main, `seed ${seed}, another panel`);
  }
});

Deno.test("the main screen gets what it has missed when the view changes within a turn", async () => {
  for (let at = 0; at < soakSize(300, 5); at++) {
    const seed = SEED + 1000 + at;
    const random = new Random(seed);
    const session = new RandomSession(seed);
    const stage = await conversationStage();
    await warm(stage);
    const whole = await conversationStage();
    await warm(whole);
    let isFull = false;
    for (const event of [...session.turn(), ...session.turn(), ...session.turn()]) {
      const time = random.below(900);
      const report = random.chance(0.03) ? session.words(30) : undefined;
      for (const each of [stage, whole]) {
        each.clock.now += time;
        each.feed(event);
        if (report) each.transcript.say(report);
      }
      if (!random.chance(0.05)) continue;
      isFull = !isFull;
      if (isFull) stage.full();
      else stage.scroll();
      if (!isFull) assertEquals(stage.main, whole.main, `seed ${seed}, within a turn`);
    }
    if (isFull) stage.scroll();
    assertEquals(stage.main, whole.main, `seed ${seed}`);
  }
});

Deno.test("a resumed session is shown from its beginning, and ends as on the main screen", async () => {
  for (let at = 0; at < soakSize(100, 2); at++) {
    const seed = SEED + 2000 + at;
    const random = new Random(seed);
    const events = new RandomSession(seed);
    const store = new SessionStore();
    for (let turn = 0; turn < 20; turn++) events.turn().forEach((event) => store.append(event));
    const stage = await conversationStage({ session: store, full: random.chance(0.5) });
    await warm(stage);
    for (const event of events.turn()) stage.feed(event);
    stage.scroll();
    await loaded(stage, stage.panel);
    const rows = rowsOf(stage, 60);
    assert(stage.main[0]?.includes("earlier messages"), stage.main[0]);
    const [, , ...shown] = stage.main;
    assertEquals(rows.slice(-shown.length), shown, `seed ${seed}`);
    assert(rows.length > shown.length, "more than the last turns");
    assert(!rows.some((row) => row.includes("earlier messages")));
  }
});

/** A conversation of 10,000 messages, of which none is on the main screen. */
async function longStage(): Promise<ConversationStage> {
  const store = new SessionStore();
  const lines = longLog("").trimEnd().split("\n");
  for (const line of lines) store.append(JSON.parse(line));
  return await conversationStage({ session: store, columns: 80 });
}

Deno.test("of 10,000 messages only the blocks in view are laid out, and few rows are kept", async () => {
  const stage = await longStage();
  const { panel } = stage;
  for (const columns of [80, 40, 100, 80]) {
    panel.frame(columns, 40);
    assert(panel.kept.blocks <= 12, `${panel.kept.blocks} blocks after a resize`);
  }
  for (let page = 0; page < 300; page++) {
    panel.key("pageUp");
    panel.frame(80, 40);
    assert(panel.kept.rows <= 2200, `${panel.kept.rows} rows`);
  }
  panel.key("home");
  const { lines } = panel.frame(80, 40);
  assert(lines[0]?.includes("What about 2?"), lines[0]);
  assert(panel.find("line 1234 of the file", 1) || panel.find("answer for 1234", 1));
  assert(panel.frame(80, 40).lines.some((line) => line.includes("1234")));
  assert(panel.kept.rows <= 2200, `${panel.kept.rows} rows after a search`);
  // As many live ones.
  const live = await conversationStage({ full: true });
  for (const line of longLog("").trimEnd().split("\n")) live.feed(JSON.parse(line));
  live.panel.frame(60, 40);
  for (let page = 0; page < 50; page++) {
    live.panel.key("pageUp");
    live.panel.frame(60, 40);
  }
  assert(live.panel.kept.rows <= 2200, `${live.panel.kept.rows} rows`);
  // What is far above is shown as a resumed session shows it.
  for (let tries = 0; !live.transcript.renderer && tries < 1000; tries++) await live.settle();
  for (const shown of [panel, live.panel]) shown.key("home");
  for (let page = 0; page < 20; page++) {
    assertEquals(live.panel.frame(60, 40).lines, panel.frame(60, 40).lines, `page ${page}`);
    for (const shown of [panel, live.panel]) shown.key("pageDown");
  }
  assertEquals(live.record.blocks.slice(0, -1).flatMap(({ pieces }) => pieces), [], "nothing of it is kept");
  const rows = live.record.comeBack(live.transcript, 60, (messages) => `${messages} earlier`);
  assert(/^\d{4} earlier$/.test(rows[1] ?? ""), "the main screen gets the last ones");
  assertEquals(rows.slice(-10), rowsOf(live, 60).slice(-10));
});

/** A conversation of numbered lines, 20 rows of it in view. */
async function linesStage(): Promise<ConversationStage> {
  const stage = await conversationStage({ full: true });
  for (let turn = 1; turn <= 30; turn++) {
    stage.feed(
      { type: "turn.start", turn },
      { type: "message.user", content: `question ${turn}`, origin: "user" },
      { type: "message.end", step: 1, model: "m", content: `answer ${turn}\n\nmore ${turn}`, durationMs: 1 },
      TURN_END,
    );
  }
  return stage;
}

Deno.test("the panel follows the end until it is scrolled, and then stays while text comes", async () => {
  const stage = await linesStage();
  const shown = () => stage.panel.frame(60, 20).lines.map((line) => line.trimEnd());
  assertEquals(shown().at(-1), "more 30");
  stage.feed({ type: "message.user", content: "the last", origin: "user" });
  assertEquals(shown().at(-1), "> the last");
  assertEquals(stage.panel.title(), "Chat");
  stage.panel.key("pageUp");
  const before = shown();
  stage.feed({ type: "turn.start", turn: 31 }, { type: "message.start", step: 1, model: "m" });
  for (let line = 0; line < 30; line++) {
    stage.feed({ type: "message.delta", channel: "text", text: `new ${line}\n\n` });
    assertEquals(shown(), before);
  }
  assert(/^Chat · \d+ new lines$/.test(stage.panel.title()), stage.panel.title());
  stage.panel.frame(25, 20);
  stage.panel.frame(140, 20);
  assertEquals(shown(), before, "after another width");
  stage.scroll();
  stage.feed({ type: "message.delta", channel: "text", text: "on the main screen\n\n" });
  stage.full();
  assertEquals(shown(), before, "after another view");
  stage.panel.key("end");
  assert(shown().some((line) => line === "new 28"));
  assertEquals(stage.panel.title(), "Chat");
  stage.panel.key("home");
  assertEquals(shown()[0], "> question 1");
  for (let key = 0; key < 1000; key++) stage.panel.key("down");
  stage.feed({ type: "message.delta", channel: "text", text: "the end\n\nof all" });
  assert(shown().some((line) => line === "the end"), "Down at the end follows again");
});

Deno.test("a text is found in the whole conversation, over the end of a row too", async () => {
  const stage = await linesStage();
  const { panel } = stage;
  const long = `${"word ".repeat(9)}first second third`;
  stage.feed({ type: "message.user", content: long, origin: "user" });
  panel.frame(60, 20);
  const marked = () => panel.frame(60, 20).lines.filter((line) => line.includes("\x1b[7m"));
  assert(panel.find("QUESTION 7", 1));
  assertEquals(marked(), ["> \x1b[7mquestion 7\x1b[27m"]);
  assertEquals(panel.copied(), "question 7");
  assert(panel.find("answer 1", 1));
  assertEquals(panel.copied(), "answer 10\n\nmore 10", "the next one after the cursor");
  for (let next = 0; next < 9; next++) assert(panel.find("answer 1", 1));
  assertEquals(panel.copied(), "answer 19\n\nmore 19");
  assert(panel.find("answer 1", 1));
  assertEquals(panel.copied(), "answer 1\n\nmore 1", "around the end");
  assert(panel.find("answer 1", -1));
  assertEquals(panel.copied(), "answer 19\n\nmore 19");
  assert(panel.find("first second third", -1));
  assertEquals(panel.copied(), long);
  assertEquals(marked().length, 2, "on both rows");
  assert(!panel.find("nothing of this", 1));
  panel.find("", 1);
  assertEquals(marked(), []);
});

Deno.test("collapsed items open where they are, and stay open in another width", async () => {
  const stage = await linesStage();
  const { panel } = stage;
  const content = Array.from({ length: 30 }, (_, line) => `output ${line}`).join("\n");
  stage.feed({
    type: "tool.end",
    callId: "1",
    name: "bash",
    outcome: "ok",
    content,
    summary: "exit 0",
    exitCode: 0,
    durationMs: 1,
  });
  panel.frame(60, 20);
  assert(panel.find("bash", -1));
  assertEquals(panel.copied(), content);
  panel.key("enter");
  assert(panel.frame(60, 20).lines.includes("  output 0"));
  assert(panel.frame(33, 20).lines.includes("  output 0"));
  panel.key("enter");
  assert(!panel.frame(60, 20).lines.includes("  output 0"));
});

Deno.test("of an open item only lines near those in view get their colors", async () => {
  const stage = await linesStage();
  let colored = 0;
  const marks: DiffMarks = {
    words: () => [],
    syntax: undefined,
    highlight(code) {
      const lines = code.split("\n");
      colored += lines.length;
      return lines;
    },
  };
  const panel = stage.another(() => marks);
  for (let tries = 0; !stage.transcript.renderer && tries < 1000; tries++) await stage.settle();
  stage.feed(
    {
      type: "tool.start",
      call: { id: "1", name: "read_file", arguments: '{"path":"a.ts"}' },
      readOnly: true,
      summary: "a.ts",
    },
    {
      type: "tool.end",
      callId: "1",
      name: "read_file",
      outcome: "ok",
      content: Array.from({ length: 5000 }, (_, line) => `${line + 1}→let line${line};`).join("\n"),
      summary: "",
      durationMs: 1,
    },
  );
  panel.frame(60, 20);
  assert(panel.find("read_file a.ts", -1));
  panel.key("enter");
  const shown = () => {
    colored = 0;
    const { lines } = panel.frame(60, 20);
    assert(colored <= 2 * (64 + 40), `${colored} lines`);
    return lines;
  };
  assert(shown().includes("  1→let line0;"));
  for (let page = 0; page < 20; page++) {
    panel.key("pageDown");
    shown();
  }
  assert(panel.find("let line4999;", 1));
  assert(shown().some((line) => withoutStyles(line) === "  5000→let line4999;"));
});

Deno.test("/view in the middle of an answer shows all of it in both views, each line once", async () => {
  const released = Promise.withResolvers<void>();
  const words = ["first", "second", "third", "fourth"].map((word) => `the ${word} paragraph`);
  const steps = words.map(() => Promise.withResolvers<void>());
  await using chat = await openChat({
    columns: 100,
    rows: 30,
    replies: [
      async function* () {
        for (const [at, text] of words.entries()) {
          yield { type: "text", text: `${text}\n\nx` };
          await steps[at]?.promise;
          yield { type: "text", text: "\n\n" };
        }
        await released.promise;
        yield { type: "done", reason: "stop" };
      },
      [{ type: "text", text: "another answer" }, { type: "done", reason: "stop" }],
    ],
  });
  const { terminal } = chat;
  const isFull = () => terminal.screen()[0]?.startsWith("─ Chat") ?? false;
  const step = async (at: number) => {
    steps[at]?.resolve();
    await chat.shows(words[at + 1] ?? "");
  };
  chat.say("go");
  await chat.shows("the first paragraph");
  await step(0);
  chat.say("/view");
  await chat.until(isFull);
  await chat.shows("the first paragraph");
  await step(1);
  assert(terminal.screen().join("\n").includes("> go"));
  chat.say("/view scroll");
  await chat.until(() => !isFull());
  await chat.shows("the third paragraph");
  await step(2);
  chat.say("/view");
  await chat.until(isFull);
  steps[3]?.resolve();
  released.resolve();
  chat.say("again");
  await chat.shows("another answer");
  chat.say("/view");
  await chat.until(() => !isFull());
  await chat.shows("another answer");
  const text = terminal.text().join("\n");
  for (const line of ["> go", ...words, "> again", "another answer"]) {
    assertEquals(text.split(line).length, 2, `${line} in\n${text}`);
  }
});
