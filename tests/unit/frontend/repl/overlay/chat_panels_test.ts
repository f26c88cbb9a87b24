/** Panels in the chat itself: a real gate, real tools, a scripted model. */
import { ExpandPanel } from "../../../../../src/frontend/repl/overlay/expand.ts";
import { loadTexts } from "../../../../../src/i18n/mod.ts";
import { exists } from "../../../../../src/path/probe.ts";
import type { ApprovalRequest } from "../../../../../src/permission/mod.ts";
import { displayWidth } from "../../../../../src/util/display_width.ts";
import { palette } from "../../../../../src/view/mod.ts";
import { call, type Reply, say } from "../../../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { type ChatStage, openChat } from "../../../../support/chat_stage.ts";
import { type AskedDialogs, openStage } from "../../../../support/overlay_stage.ts";
import { randomFrom, SEED, soakSize } from "../../../../support/seed.ts";

/** The placeholder of an empty composer. */
const COMPOSER = "Ask for something";
const DONE = { type: "done", reason: "tool_calls" } as const;
const WRITE = { path: "notes.txt", content: "first\n第二行\n" };

function screen({ terminal }: ChatStage): string {
  return terminal.screen().join("\n").trimEnd();
}

/** Chooses the row of a letter or digit in a panel that the user did not open. */
async function answer(chat: ChatStage, key: string): Promise<void> {
  await chat.pause();
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
  await chat.pause();
  chat.terminal.press("enter");
  await chat.shows("until this session ends");
  await chat.pause();
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

// The view of collapsed items: expanding, collapsing and searching.

const FOLDED = [
  { kind: "output", title: "$ deno test", text: "running 3 tests\nok 你好，世界\nfailed: Timeout" },
  { kind: "thought", title: "thought", text: "Perhaps the timeout is too short." },
  {
    kind: "diff",
    title: "edit a.ts",
    text: "@@ -1,2 +1,2 @@\n const a = 1;\n-const timeout = 5;\n+const timeout = 50;",
  },
] as const;

async function opened(
  collapsed: ConstructorParameters<typeof ExpandPanel>[0]["collapsed"] = FOLDED,
  colors = false,
) {
  const [run, turns] = await Promise.all([
    loadTexts("run", "en"),
    loadTexts("turn_view", "en"),
  ]);
  const panel = new ExpandPanel({
    palette: palette(colors),
    texts: { ...run, ...turns },
    collapsed,
  });
  return {
    panel,
    press: (...keys: string[]) => {
      for (const key of keys) {
        panel.input({ kind: "key", key, ...([...key].length === 1 ? { text: key } : {}) });
      }
    },
    type: (text: string) => [...text].forEach((char) => panel.input({ kind: "key", key: char, text: char })),
    rows: (columns = 80, rows = 20) => {
      const { lines } = panel.frame(columns, rows);
      assert(lines.length <= rows, `${lines.length} rows`);
      // deno-lint-ignore no-control-regex
      const plain = lines.map((line) => line.replace(/\x1b\[[0-9;]*m/g, ""));
      for (const line of plain) assert(displayWidth(line) <= columns, line);
      return plain;
    },
  };
}

Deno.test("entries start collapsed with the newest selected, and Enter toggles one", async () => {
  const { press, rows } = await opened();
  assertEquals(rows().slice(2, 5), [
    "  ▸ $ deno test  output · 3 lines",
    "  ▸ thought  thought · 1 line",
    "› ▸ edit a.ts  changes · 3 lines",
  ]);
  press("enter");
  assertEquals(rows().slice(4, 8), [
    "› ▾ edit a.ts  changes · 3 lines",
    "    1   const a = 1;",
    "    2 - const timeout = 5;",
    "    2 + const timeout = 50;",
  ]);
  press("down", "down", "enter");
  assertEquals(rows()[4], "› ▸ edit a.ts  changes · 3 lines");
});

Deno.test("e expands all entries, and collapses them when all are expanded", async () => {
  const { press, rows } = await opened();
  press("e");
  assertEquals(rows().filter((row) => row.includes("▾")).length, 3);
  press("e");
  assertEquals(rows().filter((row) => row.includes("▸")).length, 3);
});

Deno.test("a search expands matches, wraps with n and N, and ignores case", async () => {
  const { press, type, rows } = await opened();
  press("/");
  type("timeout");
  assert(rows().includes("/timeout"));
  press("enter");
  const current = () => rows().find((row) => row.startsWith("› "));
  assertEquals(current(), "›   2 - const timeout = 5;");
  press("n");
  assertEquals(current(), "›   2 + const timeout = 50;");
  press("n");
  assertEquals(current(), "›   failed: Timeout");
  assert(rows().some((row) => row.startsWith("match 1/4")));
  press("n");
  assertEquals(current(), "›   Perhaps the timeout is too short.");
  press("N", "N");
  assertEquals(current(), "›   2 + const timeout = 50;");
});

Deno.test("Chinese is found, matches are reversed, and surrounding colors are kept", async () => {
  const { panel, press, type, rows } = await opened(FOLDED, true);
  press("/");
  type("世界");
  press("enter");
  const { lines } = panel.frame(80, 20);
  assert(lines.some((line) => line.includes("你好，\x1b[7m世界\x1b[27m")), JSON.stringify(lines));
  press("/");
  type("const timeout = 50");
  press("enter");
  const marked = panel.frame(80, 20).lines.find((line) => line.includes("\x1b[7m"));
  // deno-lint-ignore no-control-regex
  assert(/\x1b\[3\d.*\x1b\[7mconst timeout = 50\x1b\[27m/.test(marked ?? ""), JSON.stringify(marked));
  assert(rows().length > 0);
});

Deno.test("a match across rows of a narrow window is found and marked on both rows", async () => {
  const { panel, press, type } = await opened([{
    kind: "output",
    title: "out",
    text: `${"界".repeat(17)}目标词尾`,
  }]);
  press("/");
  type("目标词");
  press("enter");
  const marked = panel.frame(40, 10).lines.filter((line) => line.includes("\x1b[7m"));
  assertEquals(marked.length, 2);
  assertEquals(marked.every((line) => line.includes("\x1b[27m") || line.endsWith("\x1b[0m")), true);
});

Deno.test("a search without matches reports it, Esc leaves the search and then the view", async () => {
  const { panel, press, type, rows } = await opened();
  press("/");
  type("nowhere");
  press("enter");
  assert(rows().some((row) => row.startsWith('"nowhere" is not found')));
  press("/");
  type("half");
  press("escape");
  assert(!rows().some((row) => row.startsWith("/")));
  press("q");
  assertEquals(await panel.answer, undefined);
});

Deno.test("the view keeps its current line visible in any window, also with 100,000 lines", async () => {
  const text = Array.from({ length: 100_000 }, (_, index) => `line ${index} ${"字".repeat(index % 60)}`).join(
    "\n",
  );
  const { press, rows, type } = await opened([{ kind: "output", title: "long", text }]);
  press("enter", "end");
  for (const [columns, height] of [[20, 5], [40, 20], [300, 100]] as const) {
    assert(rows(columns, height).some((row) => row.startsWith("› ")), `${columns}x${height}`);
  }
  press("pageUp", "pageUp", "home", "pageDown");
  assert(rows(40, 20).some((row) => row.startsWith("› ")));
  press("/");
  type("line 77777 ");
  press("enter");
  assert(rows(40, 20).some((row) => row.startsWith("›   line 77777")), rows(40, 20).join("\n"));
});

Deno.test("the view reports when nothing is collapsed", async () => {
  const { rows, press } = await opened([]);
  press("enter", "e", "n", "down", "/", "x", "enter");
  assert(rows().includes("Nothing was folded yet."));
});

// Typed text answers no prompt, at any time and with any pauses.

const TEXTS = soakSize(10_000, 300);
const COMMAND: ApprovalRequest = {
  callId: "1",
  tool: "bash",
  subject: "npm run build",
  reason: "no rule applies",
  scopes: ["once", "session", "project", "always"],
  rule: "Bash(npm run build)",
  projectRule: "Bash(npm run build)",
  prefixRule: "Bash(npm run:*)",
  savedIn: "/h/config.toml",
  checkRule: () => undefined,
};
const EDIT: ApprovalRequest = {
  ...COMMAND,
  tool: "edit_file",
  subject: "add.js",
  sessionRule: "Edit",
  changes: [{
    path: "add.js",
    change: "updated",
    added: 40,
    removed: 0,
    diff: "@@ -0,0 +1,40 @@\n+x".repeat(40),
  }],
};
const PUSH: ApprovalRequest = {
  ...COMMAND,
  subject: "git push --force",
  destructive: [{ command: "git push --force", reason: "it rewrites", targets: [] }],
};
const OPTIONS = [{ label: "Allow once" }, { label: "Allow for this session" }, { label: "Decline" }];

const WORDS = (
  "also yes you so she how please no the echo wait and 2 12 3 things a I y s test bash -m push 请 先 看 日志 " +
  "type next every skip pay key why keep have always new again edit"
).split(" ");

type Ask = (dialogs: AskedDialogs, signal: AbortSignal) => Promise<unknown>;
const ask = (multiple: boolean, written = false): Ask => (dialogs, signal) =>
  dialogs.ask([{ question: "Which?", options: OPTIONS, multiple, written }], signal);

/** Each kind of prompt in the chat. */
const QUESTIONS: Readonly<Record<string, Ask>> = {
  command: (dialogs, signal) => dialogs.approve(COMMAND, signal),
  edit: (dialogs, signal) => dialogs.approve(EDIT, signal),
  network: (dialogs, signal) =>
    dialogs.approve({ ...COMMAND, network: { hosts: ["registry.example.org"] } }, signal),
  directory: (dialogs, signal) => dialogs.approve({ ...EDIT, directory: "/h/notes" }, signal),
  destructive: (dialogs, signal) => dialogs.approve(PUSH, signal),
  unconfined: (dialogs, signal) => dialogs.approve({ ...COMMAND, escape: { evidence: "denied" } }, signal),
  plan: (dialogs, signal) => dialogs.plan({ plan: "1. Write tests" }, signal),
  trust: (dialogs) => dialogs.trust(["a hook would run"], "all of it"),
  options: ask(false),
  several: ask(true),
  written: ask(false, true),
  confirmed: (dialogs) => dialogs.copy({ session: "s", pid: undefined }),
  called: (dialogs) => dialogs.confirm("Lose it?", { danger: true }),
  listed: (dialogs) =>
    dialogs.choose("Bring back what?", [
      { label: "Both", key: "b", value: 1 },
      { label: "Files", key: "f", value: 2 },
      { label: "Conversation", key: "c", value: 3 },
    ]),
  filtered: (dialogs) =>
    dialogs.choose("Which session?", WORDS.map((label) => ({ label, value: label })), { filter: true }),
  prompted: (dialogs) => dialogs.prompt("Which rule?", "Bash(npm:*)"),
};

/** Panels that the user opened accept text after a second without input. */
const TAKE_TEXT = ["filtered", "prompted"];

Deno.test(`${TEXTS} texts at human typing speed answer nothing and are all kept (seed ${SEED})`, async () => {
  const random = randomFrom(1);
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1));
  const message = () =>
    Array.from({ length: between(1, 4) }, () => WORDS[between(0, WORDS.length - 1)] ?? "").join(" ");
  /** The keys of a text, with some typing errors that are corrected. */
  const keysOf = (text: string) =>
    [...text].flatMap((character) => random() < 0.03 ? ["x", "\x7f", character] : [character]);
  const stage = openStage({ columns: 40, rows: 12 });
  const { dialogs, terminal, composer, sent, pass } = stage;
  const kinds = Object.entries(QUESTIONS);
  for (let round = 0; round < TEXTS; round++) {
    const [kind, question] = kinds[round % kinds.length] ?? ["", undefined];
    const messages = Array.from({ length: between(1, 2) }, message);
    const isSent = random() < 0.5;
    const keys = messages.flatMap((text, index) => [
      ...keysOf(text),
      // Now and then a key bounces.
      ...(index < messages.length - 1 || isSent ? random() < 0.05 ? ["\r", "\r"] : ["\r"] : []),
    ]);
    // Before the first key, among the others, or after a while.
    const opens = between(0, keys.length - 1);
    const abort = new AbortController();
    let answered: unknown;
    let asking: Promise<unknown> = Promise.resolve();
    let top: unknown;
    for (const [at, key] of keys.entries()) {
      const longest = TAKE_TEXT.includes(kind) && composer.empty ? 900 : 2000;
      const written = keys.slice(keys.lastIndexOf("\r", at - 1) + 1, at).join("").replaceAll(/.\x7f/g, "");
      // A lone letter and an Enter 300 ms later are an answer.
      if (key === "\r" && written.length <= 1) pass(between(80, 299));
      else pass(random() < 0.1 ? between(400, longest) : between(80, 400));
      if (at === opens) {
        asking = question?.(dialogs, abort.signal).then((answer) => answered = answer, () => {}) ?? asking;
        // A panel that is loaded comes without a timer.
        for (let turn = 0; !dialogs.overlays.top; turn++) {
          await new Promise<void>((resolve) => turn % 100 === 99 ? setTimeout(resolve, 0) : resolve());
        }
        top = dialogs.overlays.top;
        if (key !== "\r") pass(between(0, longest));
      }
      terminal.type(key);
    }
    const where = `seed ${SEED}, round ${round}: ${kind}, ${JSON.stringify(keys.join(""))} at ${opens}`;
    assert(dialogs.overlays.top === top, `typing answered: ${where}`);
    const kept = [...sent.splice(0), ...(composer.empty ? [] : [composer.text])];
    // A single letter may have selected a row.
    const longer = (texts: readonly string[]) => texts.filter((text) => text.length > 1);
    assertEquals(longer(kept), longer(messages), where);
    dialogs.overlays.cancel();
    abort.abort();
    await asking;
    assertEquals(answered === undefined || answered === "ignore" || answered === false, true, where);
    composer.text = "";
    pass(5000);
  }
});
