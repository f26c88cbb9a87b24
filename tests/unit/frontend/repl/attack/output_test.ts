/** Output of others reaches the terminal as text and cannot imitate other elements. */
import { call, type Reply, say } from "../../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { type ChatStage, openChat } from "../../../../support/chat_stage.ts";
import { VirtualTerminal } from "../../../../support/virtual_terminal.ts";
import { Screen } from "../../../../../src/frontend/repl/screen/screen.ts";
import { safeLine } from "../../../../../src/frontend/repl/screen/line.ts";

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

/** Fails if the output has anything except text and sequences of the screen itself. */
function checkWrites(terminal: VirtualTerminal): void {
  const rest = terminal.writes.join("").replace(OWN, "");
  const bad = CONTROL_OR_HIDDEN.exec(rest);
  assert(
    bad === null,
    `${JSON.stringify(rest.slice((bad?.index ?? 0) - 40, (bad?.index ?? 0) + 40))} was written`,
  );
  assert(!rest.includes("T1dORUQ"), "what was meant for the clipboard is shown");
  assertEquals(terminal.destructive(), []);
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

Deno.test("ten million characters in one line are truncated to the width immediately", () => {
  for (const unit of ["x", "界", "\x1b[31m", "👩‍👩‍👧", "\x1b]0;", "\u202e"]) {
    const line = unit.repeat(10_000_000 / unit.length);
    const begin = performance.now();
    safeLine(line, 80);
    const took = performance.now() - begin;
    assert(took < 2000, `${JSON.stringify(unit)}: ${took} ms`);
  }
});

Deno.test("text, thinking, calls, output, names and notices of others are displayed as plain text", async () => {
  const replies: Reply[] = [
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
  await using chat = await openChat({
    replies,
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
