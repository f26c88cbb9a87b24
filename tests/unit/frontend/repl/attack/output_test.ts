/** Output of others reaches the terminal as text and cannot imitate other elements. */
import { safeLine } from "../../../../../src/frontend/repl/screen/line.ts";
import { FullScreen } from "../../../../../src/frontend/repl/screen/full_screen.ts";
import { Screen } from "../../../../../src/frontend/repl/screen/screen.ts";
import { call, type Reply, say } from "../../../../support/agent_fixture.ts";
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
import { type ChatStage, openChat } from "../../../../support/chat_stage.ts";
import { someOf } from "../../../../support/seed.ts";
import { openStage } from "../../../../support/overlay_stage.ts";
import { VirtualTerminal } from "../../../../support/virtual_terminal.ts";

/** Each is followed by a word, so that remains are visible. */
const ATTACKS = [
  "\x1b]0;OWNED-TITLE\x07",
  "\x1b]2;OWNED-TITLE\x1b\\",
  "\x1b]52;c;T1dORUQ=\x07",
  "\x1b]8;;file:///etc/passwd\x1b\\click\x1b]8;;\x1b\\",
  "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07",
  "\x1b]1337;File=inline=1:AAAA\x07",
  "\x1b]7;file://evil/\x07\x1b]133;A\x07\x1b]9;4;1;50\x07\x1b]777;notify;a;b\x07",
  "\x1b[2J\x1b[3J\x1b[H\x1b[10A\x1b[1;1H\x1b[?1049h\x1b[?25l\x1b[?2004l\x1b[?1000h\x1bc",
  '\x1bP$q"p\x1b\\\x1bPtmux;\x1b\x1b]52;c;QQ==\x07\x1b\\\x1b_Gi=1;AAAA\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\',
  "\x1b[6n\x1b[c\x1b[>c\x1b[=c\x1b[21t\x1b[18t\x05\x1b[5n\x1b]11;?\x07\x1b]4;1;?\x07",
  "\x9b2J\x9d0;OWNED-TITLE\x9c\x90q\x9c\x8d",
  "over\rwrite\b\b\b\b\x7f\x07\x0e\x0f\x0b\x0c",
  "\u202edesrever\u202c\u2066iso\u2069\u200e\u200f\u061c",
  "zero\u200bwidth\u2060joined\ufeffbom\u00adsoft\u2028line\u2029paragraph\u206a",
  "half \x1b[31",
  "half \x1b]0;",
  "half \x1b",
];
const EVIL = ATTACKS.map((attack, index) => `${attack}w${index}`).join(" ");

const CONTROL_OR_HIDDEN =
  // deno-lint-ignore no-control-regex
  /[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/u;
/** Sequences of the screen itself: moves inside of the live region, colors, marks of a frame, safe links. */
const OWN =
  // deno-lint-ignore no-control-regex
  /\x1b\[\d*[ABCDGKLM]|\x1b\[[0-9;:]*m|\x1b\[J|\x1b\[0J|\x1b\[\?(?:25|2026|2004|1004)[hl]|\x1b\[[<>=]\d*u|\x1b\]8;[^;\x07\x1b]*;(?:(?:https?|mailto):[^\x00-\x20\x7f-\x9f]*)?(?:\x07|\x1b\\)/g;

/** Those of the full screen: moves to a cell, the alternate screen, its wheel (saved and restored). */
const FULL =
  // deno-lint-ignore no-control-regex
  /\x1b\[\d*(?:;\d+)?H|\x1b\[\?(?:1049|1007)[hlsr]/g;

/** Fails if the output has anything except text and sequences of the screen itself. */
function checkWrites(terminal: VirtualTerminal): void {
  checkText(terminal.writes.join(""));
  assertEquals(terminal.count("T1dORUQ"), 0, "what was meant for the clipboard is shown");
  assertEquals(terminal.destructive(), []);
}

function checkFullWrites(terminal: VirtualTerminal): void {
  checkText(terminal.writes.join("").replace(FULL, ""));
}

function checkText(written: string): void {
  const rest = written.replace(OWN, "");
  const bad = CONTROL_OR_HIDDEN.exec(rest);
  assert(
    bad === null,
    `${JSON.stringify(rest.slice((bad?.index ?? 0) - 40, (bad?.index ?? 0) + 40))} was written`,
  );
}

const done = (reason: "stop" | "tool_calls" = "stop") => ({ type: "done", reason }) as const;
const turnEnds = ({ events }: ChatStage) => events.filter(({ type }) => type === "turn.end").length;

Deno.test("a screen line contains only text, colors and harmless links", () => {
  const terminal = new VirtualTerminal();
  const screen = new Screen(terminal, { frame: () => ({ lines: ["live", EVIL, ...ATTACKS] }) });
  screen.open();
  screen.print([
    EVIL,
    ...ATTACKS.map((attack, index) => `${attack}w${index}`),
    "\x1b[31mred\x1b[0m \x1b]8;;https://example.com\x1b\\good\x1b]8;;\x1b\\",
  ]);
  screen.draw();
  checkWrites(terminal);
  assert(terminal.count("\x1b]8;;https://example.com") > 0, "a safe link is gone");
  assert(terminal.count("\x1b[31mred") > 0, "a colour is gone");
  for (const index of ATTACKS.keys()) {
    // The last ones take the word for the rest of their sequence.
    if (index < ATTACKS.length - 3) {
      assert(terminal.text().join("").includes(`w${index}`), `word ${index} is gone`);
    }
  }
});

Deno.test("a line of the full screen contains only text, colors and harmless links", async () => {
  const terminal = new VirtualTerminal();
  const lines = [EVIL, ...ATTACKS.map((attack, index) => `${attack}w${index}`)];
  const screen = new FullScreen(terminal, { frame: () => ({ lines }) }, {
    mouse: false,
    goodbye: () => lines,
  });
  screen.open();
  for (let at = 1; at < lines.length; at++) {
    lines.push(...lines.splice(0, 1));
    screen.draw();
  }
  await screen.close(lines);
  checkFullWrites(terminal);
  assertEquals(terminal.count("T1dORUQ"), 0, "what was meant for the clipboard is shown");
  for (const index of ATTACKS.keys()) {
    if (index < ATTACKS.length - 3) assert(terminal.count(`w${index}`) > 0, `word ${index} is gone`);
  }
});

Deno.test("joiners and variation selectors are kept for emoji and scripts", () => {
  for (
    const text of [
      "👨‍👩‍👧 ❤️ क्‍ष 한국어",
      "می\u200cخواهم",
      "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    ]
  ) {
    assertEquals(safeLine(text, 80), text);
  }
});

Deno.test("of ten million characters in one line only the beginning is read", () => {
  for (const unit of ["x", "界", "\x1b[31m", "👩‍👩‍👧", "\x1b]0;", "\u202e"]) {
    const line = unit.repeat(10_000_000 / unit.length);
    let most = 0;
    const watched = {
      length: line.length,
      slice(start: number, end: number) {
        most = Math.max(most, end);
        return line.slice(start, end);
      },
    };
    // Any other method of a text is not there.
    assertEquals(safeLine(watched as unknown as string, 80), safeLine(line, 80));
    assert(most > 0 && most < 20_000, `${JSON.stringify(unit)}: ${most} characters`);
  }
});

const evilReplies = (): Reply[] => [
  [
    { type: "reasoning", text: `thinking ${EVIL}` },
    { type: "text", text: `# head ${EVIL}\n\n- item ${EVIL}\n\n\`${EVIL}\`\n\n` },
    { type: "text", text: `\`\`\`sh\n${EVIL}\n\`\`\`\n\n| a | b |\n|---|---|\n| ${EVIL} | x |\n\n` },
    {
      type: "text",
      text: "[label](javascript:alert%281%29) [f](file:///etc/passwd) <https://example.com/\x1b]0;x\x07>",
    },
    call("1", "bash", { command: `printf '%b' ${JSON.stringify(EVIL)}`, description: EVIL }),
    call("2", "read_file", { path: `no${EVIL}thing` }),
    call("3", `tool${EVIL}`, { a: EVIL }),
    call("4", "bash", { command: "cat evil.txt; printf '\\033]0;OWNED\\007\\033[2J\\r\\b'; ls" }),
    call("5", "write_file", { path: "out.txt", content: `a\n${EVIL}\n` }),
    call("6", "grep", { pattern: "w1" }),
    call("7", "ls", { path: "." }),
    done("tool_calls"),
  ],
  say(`last ${EVIL}`),
];

Deno.test("text, thinking, calls, output, names and notices of others are displayed as plain text", async () => {
  await using chat = await openChat({
    replies: evilReplies(),
    start: { approvalMode: "yolo" },
    config: { sandbox: { bash: "off" } },
  });
  await Deno.writeTextFile(`${chat.cwd}/evil.txt`, EVIL);
  await Deno.writeTextFile(`${chat.cwd}/a\x1b]0;OWNED\x07\u202eb.txt`, "w1");
  chat.say("go");
  await chat.until(() => turnEnds(chat) === 1);
  chat.terminal.press("ctrl+o");
  chat.terminal.paste(EVIL);
  chat.terminal.press("ctrl+c");
  chat.terminal.type("see @");
  await chat.shows("evil.txt");
  checkWrites(chat.terminal);
});

Deno.test("every panel of the full-screen view displays texts of others as plain text", async () => {
  await using chat = await openChat({
    ...{ replies: evilReplies(), view: "full", columns: 160, rows: 45 },
    start: { approvalMode: "yolo" },
    config: { sandbox: { bash: "off" } },
  });
  const { terminal } = chat;
  await Deno.writeTextFile(`${chat.cwd}/evil.txt`, EVIL);
  await Deno.writeTextFile(`${chat.cwd}/a\x1b]0;OWNED\x07\u202eb.txt`, "w1");
  chat.say("go");
  await chat.until(() => turnEnds(chat) === 1);
  // Chat, files and log: entries in their list, and in full.
  const opened = { chat: 0, files: 0, log: 0 };
  for (const panel of ["chat", "files", "log"] as const) {
    terminal.press("tab");
    // In the chat each row may belong to an entry.
    const keys = panel === "chat" ? ["up", "enter"] : ["up", "enter", "pageDown", "enter"];
    for (let entry = 0; entry < (panel === "chat" ? 40 : 8); entry++) {
      for (const key of keys) {
        const before = terminal.text().join("\n");
        terminal.press(key);
        await chat.pause();
        if (key === "enter" && terminal.text().join("\n") !== before) opened[panel]++;
      }
    }
  }
  assert(opened.chat > 4 && opened.files > 0 && opened.log > 8, JSON.stringify(opened));
  terminal.press("ctrl+p");
  terminal.type("evil");
  await chat.pause();
  // The arguments of a call are in the log as JSON, whose escapes are text.
  checkFullWrites(terminal);
});

Deno.test("an answer and output of millions of characters in one line do not block the chat", async () => {
  await using chat = await openChat({
    replies: [
      [call("1", "bash", { command: "head -c 10000000 /dev/zero | tr '\\0' x" }), done("tool_calls")],
      [{ type: "text", text: "界".repeat(1_000_000) }, done()],
    ],
    start: { approvalMode: "yolo" },
    config: { sandbox: { bash: "off" } },
  });
  chat.say("go");
  await chat.until(() => turnEnds(chat) === 1);
  chat.terminal.type("alive");
  await chat.shows("alive");
  checkWrites(chat.terminal);
});

// Files that the chat reads and writes: it overwrites none and reads none hidden from the model.

const exists = (path: string) => Deno.lstat(path).then(() => true, () => false);

Deno.test("an export overwrites nothing and follows no link", async () => {
  await using chat = await openApprovalChat([say("an answer")], { onDisk: true });
  chat.say("a question");
  await chat.until(() => ended(chat) === 1);
  const outside = `${chat.home}/made-by-link`;
  await Deno.symlink(outside, `${chat.cwd}/link.md`);
  await Deno.writeTextFile(`${chat.cwd}/mine.md`, "mine");
  await Deno.mkdir(`${chat.cwd}/directory.md`);
  for (const command of ["export", "bug"]) {
    for (const name of ["link.md", "mine.md", "directory.md"]) {
      chat.say(`/${command} ${name}`);
      await chat.shows(`Cannot write ${chat.cwd.slice(0, 20)}`);
      chat.terminal.press("ctrl+c");
      chat.terminal.press("ctrl+l");
      await chat.until(() => !chat.terminal.screen().some((row) => row.includes("Cannot write")));
    }
  }
  assertEquals(await exists(outside), false);
  assertEquals(await Deno.readTextFile(`${chat.cwd}/mine.md`), "mine");
  assertEquals(filesOf(chat), ["directory.md", "link.md", "mine.md"]);
});

Deno.test("files and images that rules deny are not attached under any name", async () => {
  await using chat = await openApprovalChat([say("1"), say("2")], {
    config: { sandbox: { bash: "off" }, permissions: { deny: ["Read(secret*)"], ask: ["Read(asked.txt)"] } },
  });
  const png = Uint8Array.fromBase64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  );
  await Deno.writeTextFile(`${chat.cwd}/secret.txt`, "for no reader");
  await Deno.writeTextFile(`${chat.cwd}/asked.txt`, "for who may");
  await Deno.writeFile(`${chat.cwd}/secret.png`, png);
  await Deno.symlink("secret.txt", `${chat.cwd}/harmless.txt`);
  await Deno.symlink("secret.png", `${chat.cwd}/harmless.png`);
  chat.terminal.paste(`${chat.cwd}/harmless.png`);
  chat.terminal.type("see @secret.txt @./secret.txt @harmless.txt @asked.txt now");
  chat.terminal.press("escape", "enter");
  await panel(chat, 1);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
  const sent = JSON.stringify(chat.provider.requests[0]);
  for (const text of ["for no reader", "for who may", "iVBORw0KGgo"]) assert(!sent.includes(text), text);
  assertEquals(asked(chat), 1);
});

Deno.test("typed text is stored in private files", async () => {
  await using chat = await openApprovalChat([say("1")], { onDisk: true });
  chat.say("typed words");
  await chat.until(() => ended(chat) === 1);
  chat.terminal.press("ctrl+d");
  await chat.left;
  const open: string[] = [];
  const visit = (directory: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(directory)) {
      const path = `${directory}/${name}`;
      if (isDirectory) visit(path);
      const { mode } = Deno.statSync(path);
      const isPrivate = isDirectory || ((mode ?? 0) & 0o077) === 0;
      if (!isPrivate) open.push(path);
      if (directory === chat.home && isDirectory && ((mode ?? 0) & 0o077) !== 0) open.push(path);
    }
  };
  visit(chat.home);
  assertEquals(open, []);
  assert(await exists(`${chat.home}/projects`));
});

// A full disk: clear messages, and nothing is lost while the chat is open.

Deno.test("a session is kept during a full disk, not closed by mistake, and saved later", async () => {
  const home = Promise.withResolvers<string>();
  await using chat = await openApprovalChat([say("one"), say("two")], {
    onDisk: true,
    // Nothing can be made below a file.
    beforeOpen: async () => await Deno.writeTextFile(`${await home.promise}/projects`, ""),
  });
  home.resolve(chat.home);
  const clear = () => chat.terminal.press("ctrl+c");
  chat.say("first words");
  await chat.until(() => ended(chat) === 1);
  await chat.shows("The session continues in memory");
  for (const line of ["/export export.md", "/fork"]) {
    chat.say(line);
    await chat.until(() =>
      chat.terminal.text().join("\n").split("is not on the disk").length > (line === "/fork" ? 2 : 1)
    );
    clear();
  }
  chat.say("/new");
  await chat.shows("Leave this session and lose it?");
  // Enter alone never selects an irreversible action.
  await chat.pause();
  chat.terminal.press("enter");
  await chat.until(() => !chat.terminal.screen().some((row) => row.includes("lose it?")));
  clear();
  chat.say("# fact");
  await chat.shows("Cannot save");
  clear();
  assertEquals(chat.opened.length, 1);
  await Deno.remove(`${chat.home}/projects`);
  chat.say("second words");
  await chat.until(() => ended(chat) === 2);
  await chat.shows("is on disk again; nothing is missing");
  chat.say("/export export.md");
  await chat.shows("The session is in");
  const text = await Deno.readTextFile(`${chat.cwd}/export.md`);
  for (const words of ["first words", "one", "second words", "two"]) assertStringIncludes(text, words);
});

// The displayed call is the one that runs: no part of it is hidden or too long.

const named = (text: string) =>
  [...text].map((character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}}`).join(
    "",
  );

Deno.test("invisible characters of a command are displayed by name", async () => {
  const hidden = [
    "\u034f", // joins nothing
    "\u2800", // a blank of braille
    "\ufe0f", // a selector behind a letter
    "\u2065",
    "\ufff0",
    "\ue000",
    "\u{e0061}",
    "\u{1d159}",
    "\u3164",
    "\u200d",
  ];
  const command = `touch ${
    hidden.map((each) => `x${each}`).join("")
  }y # 👩\u{e0061}\u{e0062} ❤\u200d\u200d z\u0301`;
  await using chat = await open([calls(bash("1", command)), say("done")]);
  chat.say("go");
  await panel(chat, 1);
  const expected = `touch ${hidden.map((each) => `x${named(each)}`).join("")}y # 👩${
    named("\u{e0061}\u{e0062}")
  } ❤${named("\u200d\u200d")} z\u0301`;
  assertEquals(shownCommand(chat), expected);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
});

Deno.test("carriage returns, tabs and lone surrogates are displayed as such", async () => {
  const command = "touch a\r\ntouch\tb # \ud800 end";
  await using chat = await open([calls(bash("1", command)), say("done")]);
  chat.say("go");
  await panel(chat, 1);
  assertEquals(shownCommand(chat), "touch a\\x0d\ntouch→   b # \\u{d800} end");
  chat.terminal.press("tab", "y", "enter");
  await chat.until(() => ended(chat) === 1);
  assertEquals(filesOf(chat), ["a\r", "b"]);
});

Deno.test("emoji and joined scripts are displayed unchanged", async () => {
  const text = "👩‍👩‍👧 ❤️ 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 👍🏽 1️⃣ 👁️‍🗨️ 한국어 हिन्दी 中文";
  await using chat = await open([calls(bash("1", `touch "${text}"`)), say("done")]);
  chat.say("go");
  await panel(chat, 1);
  assertEquals(shownCommand(chat), `touch "${text}"`);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
});

Deno.test("lines of a command or its rule cannot imitate answers of the panel", async () => {
  const subject = "touch 'x\n  1. No (n)\n› 4. No (n)'";
  const { terminal, dialogs, shown, choose } = openStage();
  const scopes = ["once", "session", "always"] as const;
  const request = { callId: "1", tool: "bash", subject, reason: "", scopes, rule: `bash=${subject}` };
  const answer = dialogs.approve(request, new AbortController().signal);
  await shown();
  const answers = terminal.screen().filter((row) => /^[› ]\s*\d\. /.test(row));
  assertEquals(answers.map((row) => row.slice(0, 8)), [
    "› 1. Yes",
    "  2. Yes",
    "  3. Alw",
    "  4. No…",
  ]);
  choose("a");
  assert(terminal.screen().join("\n").includes("bash=touch 'x\\x0a  1. No"));
  assertEquals(terminal.screen().filter((row) => /^[› ]\s*\d\. /.test(row)).length, 1);
  terminal.press("escape");
  choose("4");
  terminal.press("x", "enter");
  assertEquals((await answer)?.allow, false);
});

Deno.test("a call of ten megabytes blocks nothing, and Enter does not approve hidden text", async () => {
  for (const unit of someOf(["\u202e", "界", "x y\n"], 2)) {
    const long = unit.repeat(10_000_000 / unit.length);
    for (const command of someOf([`touch made #${long}`, `rm -rf ~/${long.replaceAll("\n", "")}`], 1)) {
      await using chat = await open([calls(bash("1", command)), say("done")]);
      chat.say("go");
      await panel(chat, 1);
      await chat.shows("The rest was not");
      const screen = chat.terminal.screen().join("\n");
      assert(!screen.includes("always"), screen);
      chat.terminal.press("enter");
      await chat.until(() => ended(chat) === 1);
      assertEquals(results(chat), ["blocked"]);
      assertEquals(filesOf(chat), []);
    }
  }
});

Deno.test("the prompt for an edit of ten megabytes is shown immediately, as far as possible", async () => {
  const content = "\u202e".repeat(5_000_000) + "\n" + "x\n".repeat(1_000_000);
  await using chat = await open([
    calls(call("1", "write_file", { path: `a\x1b[2J\u202eb.txt`, content })),
    say("done"),
  ]);
  chat.say("go");
  await panel(chat, 1);
  await chat.shows("Allow write_file?");
  assert(chat.terminal.screen().join("\n").includes("a\\x1b[2J\\u{202e}b.txt"));
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
  assertEquals([asked(chat), results(chat)], [1, ["blocked"]]);
});
