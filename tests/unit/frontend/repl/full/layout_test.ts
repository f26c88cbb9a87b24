/** The full-screen view on a terminal without a window: geometry, focus, keys, questions. */
import { displayWidth } from "../../../../../src/util/display_width.ts";
import { call, say } from "../../../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { type ChatStage, heldReply, openChat } from "../../../../support/chat_stage.ts";

const WRITE = [call("1", "write_file", { path: "a.txt", content: "new\n" })];
const DESTROY = [call("1", "bash", { command: "rm -rf ~/nothing-here" })];

/** The status line, which names the keys of the part that has the focus. */
function status({ terminal }: ChatStage): string {
  return terminal.screen().at(-1) ?? "";
}

function turnEnds({ events }: ChatStage): string[] {
  return events.flatMap((event) => event.type === "turn.end" ? [event.reason] : []);
}

Deno.test("panels are placed by the width: one with tabs, two, and two with the side bar", async () => {
  await using chat = await openChat({ view: "full", columns: 160, rows: 30 });
  const title = () => chat.terminal.screen()[0] ?? "";
  await chat.shows("scripted-1 · ask");
  assert(/^─ Session ─+┬─ Chat ─+┬─ Files .*─ Log ─+$/.test(title()), title());
  assertEquals(title().indexOf("┬"), 32);
  chat.terminal.press("ctrl+b");
  assert(/^─ Chat ─+┬─ Files .*─ Log ─+$/.test(title()), title());
  chat.terminal.press("ctrl+b");
  assertStringIncludes(title(), "Session");
  chat.terminal.resize(139, 30);
  assert(/^─ Chat ─+┬─ Files .*─ Log ─+$/.test(title()), title());
  chat.terminal.resize(89, 30);
  assert(/^─ Chat ─ Files ─ Log ─+$/.test(title()), title());
  chat.terminal.resize(160, 15);
  assert(/^─ Chat ─ Files ─ Log ─+$/.test(title()), title());
  chat.terminal.press("ctrl+b");
  assert(title().startsWith("─ Session ─"), title());
  chat.terminal.press("escape");
  assert(title().startsWith("─ Chat ─"), title());
});

Deno.test("tui.sidebar_width is the width of the side bar in percent", async () => {
  await using chat = await openChat({
    columns: 200,
    rows: 30,
    config: { ui: { view: "full" }, tui: { sidebar_width: 30 } },
  });
  await chat.until(() => chat.terminal.screen()[0]?.indexOf("┬") === 60);
  assert(chat.terminal.alternateShown);
});

Deno.test("Tab goes through the panels where the message is empty, and Esc leads back", async () => {
  await using chat = await openChat({ view: "full", columns: 80, replies: [heldReply("thinking")] });
  await chat.shows("scripted-1 · ask");
  const screen = () => chat.terminal.screen();
  assertStringIncludes(status(chat), "Tab panels");
  chat.terminal.press("tab", "tab");
  assertStringIncludes(status(chat), "Esc message");
  chat.terminal.press("tab", "tab");
  assertStringIncludes(status(chat), "Tab panels");
  chat.terminal.press("shift+tab");
  assertStringIncludes(status(chat), "Esc message");
  chat.terminal.press("escape");
  chat.terminal.type("/mod");
  await chat.shows("Choose the model");
  chat.terminal.press("tab");
  assert(screen().some((row) => row.startsWith("> /mod")), screen().join("\n"));
  chat.terminal.press("escape", "ctrl+c");
  chat.say("go");
  await chat.shows("thinking");
  chat.terminal.press("tab", "escape");
  assertEquals(turnEnds(chat), []);
  chat.terminal.press("escape");
  await chat.until(() => turnEnds(chat).length === 1);
  assertEquals(turnEnds(chat), ["interrupted"]);
});

Deno.test("text that no panel uses is typed into the message", async () => {
  await using chat = await openChat({ view: "full" });
  await chat.shows("scripted-1 · ask");
  chat.terminal.press("tab", "w", "h", "y");
  assert(chat.terminal.screen().some((row) => row.startsWith("> why")));
});

Deno.test("Shift+Tab changes the approval mode while the message has text, and Alt+M always", async () => {
  await using chat = await openChat({ view: "full" });
  await chat.shows("scripted-1 · ask");
  chat.terminal.type("text");
  chat.terminal.press("shift+tab");
  await chat.shows("scripted-1 · auto");
  chat.terminal.press("alt+m");
  await chat.shows("Approve everything");
});

Deno.test("the composer grows to a third of the screen", async () => {
  await using chat = await openChat({ view: "full", columns: 100, rows: 30 });
  await chat.shows("scripted-1 · ask");
  for (let line = 0; line < 20; line++) {
    chat.terminal.type(`line ${line}`);
    chat.terminal.press("shift+enter");
  }
  const screen = chat.terminal.screen();
  const rule = screen.findLastIndex((row) => /^─+┴─+$/.test(row));
  assertEquals(screen.length - rule - 2, 10);
});

Deno.test("y, n and a answer an approval after a pause, where the message is empty", async () => {
  for (const { key, allowed } of [{ key: "y", allowed: true }, { key: "n", allowed: false }]) {
    await using chat = await openChat({
      view: "full",
      columns: 120,
      rows: 30,
      replies: [WRITE, say("Seen.")],
    });
    chat.say("write");
    await chat.shows("Allow write_file?");
    const screen = chat.terminal.screen();
    assert(
      screen.some((row) => /┌─+┐/.test(row)) && screen.some((row) => /└─+┘/.test(row)),
      screen.join("\n"),
    );
    await chat.pause();
    chat.terminal.press(key);
    await chat.shows("Seen.");
    assertEquals(await Deno.stat(`${chat.cwd}/a.txt`).then(() => true, () => false), allowed);
  }
});

Deno.test("a opens the answers that allow more, or allows the same for the session", async () => {
  await using chat = await openChat({ view: "full", columns: 120, rows: 30, replies: [WRITE, say("Seen.")] });
  chat.say("write");
  await chat.shows("Allow write_file?");
  await chat.pause();
  chat.terminal.press("a");
  await chat.shows("Seen.");
  assert(await Deno.stat(`${chat.cwd}/a.txt`).then(() => true, () => false));
});

Deno.test("a key right after the question, or one of a message, answers nothing", async () => {
  await using chat = await openChat({ view: "full", columns: 120, rows: 30, replies: [WRITE, say("Seen.")] });
  chat.say("write");
  await chat.shows("Allow write_file?");
  chat.terminal.press("y");
  assert(chat.terminal.screen().some((row) => row.includes("> y")), chat.terminal.screen().join("\n"));
  await chat.pause();
  chat.terminal.press("e", "y");
  assert(chat.terminal.screen().some((row) => row.includes("> yey")), chat.terminal.screen().join("\n"));
  assertStringIncludes(chat.terminal.screen().join("\n"), "Allow write_file?");
});

Deno.test("neither y and Enter nor Enter alone allow a destructive call, and no answer is for all", async () => {
  for (const keys of [["y"], ["y", "y"], ["a"], ["enter"], ["y", "pause", "enter", "pause", "enter"]]) {
    await using chat = await openChat({
      view: "full",
      columns: 120,
      rows: 30,
      replies: [DESTROY, say("Seen.")],
    });
    chat.say("remove");
    await chat.shows("Destructive. Run it?");
    assert(!chat.terminal.screen().some((row) => row.includes("(a)") || row.includes("(s)")));
    await chat.pause();
    for (const key of keys) {
      if (key === "pause") await chat.pause();
      else chat.terminal.press(key);
    }
    if (keys[0] !== "enter") assertStringIncludes(chat.terminal.screen().join("\n"), "Destructive. Run it?");
    chat.terminal.press("escape");
    await chat.until(() => turnEnds(chat).length === 1 || chat.terminal.text().join().includes("Seen."));
    const ran = chat.events.some((event) => event.type === "tool.end" && event.outcome === "ok");
    assertEquals(ran, false, keys.join());
  }
});

Deno.test("y allows a destructive call a second after y or an arrow has selected it", async () => {
  for (const key of ["y", "up"]) {
    await using chat = await openChat({
      ...{ view: "full", columns: 120, rows: 30, replies: [DESTROY, say("Seen.")] },
      start: { approvalMode: "yolo" },
    });
    chat.say("remove");
    await chat.shows("Destructive. Run it?");
    for (let pauses = 0; pauses < 3; pauses++) await chat.pause();
    chat.terminal.press(key);
    await chat.shows("y after a second allows it");
    for (let pauses = 0; pauses < 3; pauses++) await chat.pause();
    chat.terminal.press("y");
    await chat.until(() => chat.events.some(({ type }) => type === "approval.decision"));
    const decision = chat.events.find((event) => event.type === "approval.decision");
    assertEquals(decision?.type === "approval.decision" && decision.decision, "allow");
  }
});

Deno.test("/view changes the view in a turn; draft, queue and an open question stay", async () => {
  await using chat = await openChat({ columns: 120, rows: 30, replies: [WRITE, say("Seen.")] });
  chat.say("write");
  await chat.shows("Allow write_file?");
  chat.terminal.type("my draft");
  await chat.live.commandsOf().view?.("full");
  const scroll = chat.live.frontEnds[0]?.commands?.view;
  assert(scroll);
  await scroll("full");
  assert(chat.terminal.alternateShown);
  const screen = chat.terminal.screen().join("\n");
  assertStringIncludes(screen, "Allow write_file?");
  assertStringIncludes(screen, "> my draft");
  await scroll("scroll");
  assert(!chat.terminal.alternateShown);
  assertStringIncludes(chat.terminal.screen().join("\n"), "> my draft");
  assertEquals(turnEnds(chat), []);
  chat.terminal.press("tab");
  await chat.pause();
  chat.terminal.press("y", "enter");
  await chat.shows("Seen.");
});

Deno.test("a click chooses a panel where ui.mouse is set, and the status line names the way back", async () => {
  await using chat = await openChat({
    columns: 120,
    rows: 30,
    config: { ui: { view: "full", mouse: true } },
  });
  await chat.shows("ui.mouse");
  assertStringIncludes(status(chat), "Tab panels");
  chat.terminal.feed("\x1b[<0;100;10M");
  assertStringIncludes(status(chat), "Esc message");
  chat.terminal.feed("\x1b[<0;100;29M");
  assertStringIncludes(status(chat), "Tab panels");
});

Deno.test("? lists all keys; Ctrl+F searches in a panel and Esc ends the search", async () => {
  await using chat = await openChat({ view: "full", columns: 120, rows: 50 });
  await chat.shows("scripted-1 · ask");
  chat.terminal.type("?");
  await chat.shows("Keys of the full-screen view");
  await chat.shows("Ctrl+B");
  chat.terminal.press("escape");
  await chat.until(() => !chat.terminal.screen().join("\n").includes("Keys of the full-screen view"));
  chat.terminal.press("ctrl+f");
  chat.terminal.type("no such text");
  assertStringIncludes(chat.terminal.screen().join("\n"), "/no such text");
  chat.terminal.press("enter");
  assertStringIncludes(chat.terminal.screen().join("\n"), "/no such text · not found");
  chat.terminal.press("escape");
  assert(!chat.terminal.screen().join("\n").includes("/no such text"));
  assertStringIncludes(status(chat), "Esc message");
});

Deno.test("the texts of the view change with the language", async () => {
  await using chat = await openChat({ view: "full", columns: 120, rows: 30, locale: "zh-CN" });
  await chat.shows("Tab 面板");
  await chat.shows("─ 对话 ─");
});

Deno.test("--repl is stronger than ui.view, and a changed setting changes the view at once", async () => {
  await using chat = await openChat({ view: "scroll", config: { ui: { view: "full" } }, onDisk: true });
  await chat.shows("scripted-1 · ask");
  assert(!chat.terminal.alternateShown);
  chat.say("/settings ui.view full");
  await chat.until(() => chat.terminal.alternateShown);
  chat.say("/settings ui.view scroll");
  await chat.until(() => !chat.terminal.alternateShown);
});

Deno.test("a wheel, which sends several arrows, leaves the draft and its history alone", async () => {
  await using chat = await openChat({ view: "full", replies: [say("Heard.")] });
  chat.say("earlier");
  await chat.shows("Heard.");
  chat.terminal.type("draft");
  const { caret } = chat.terminal;
  chat.terminal.feed("\x1b[A\x1b[A\x1b[A");
  assert(chat.terminal.screen().some((row) => row.startsWith("> draft")), chat.terminal.screen().join("\n"));
  assertEquals(chat.terminal.caret, caret);
});

Deno.test("a hidden part of a wide character next to an overlay is a blank", async () => {
  const long = "世".repeat(400);
  await using chat = await openChat({ view: "full", columns: 120, rows: 30, replies: [say(long)] });
  chat.say("say it");
  await chat.until(() => turnEnds(chat).length === 1);
  chat.terminal.type("?");
  await chat.shows("Keys of the full-screen view");
  const rows = chat.terminal.screen().filter((row) => row.includes("世") && row.includes("│"));
  assert(rows.length > 0);
  for (const row of rows) assertEquals(displayWidth(row.slice(0, row.indexOf("│"))), 2, row);
});

Deno.test("a message that is sent is followed, and /view keeps panel and position", async () => {
  const lines = Array.from({ length: 60 }, (_, at) => `line ${at}`).join("\n\n");
  await using chat = await openChat({
    view: "full",
    columns: 80,
    rows: 20,
    replies: [say(lines), say("Seen.")],
  });
  const { terminal } = chat;
  const shows = (text: string) => terminal.screen().some((row) => row.startsWith(text));
  chat.say("go");
  await chat.until(() => turnEnds(chat).length === 1 && shows("line 59"));
  terminal.press("home");
  assert(!shows("line 59") && shows("line 1"));
  chat.say("/view");
  await chat.until(() => !terminal.alternateShown);
  chat.say("/view");
  await chat.until(() => terminal.alternateShown && shows("line 1"));
  assert(!shows("line 59"));
  chat.say("again");
  await chat.until(() => shows("Seen."));
});
