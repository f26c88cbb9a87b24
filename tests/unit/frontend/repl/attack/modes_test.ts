/** Answers to prompts by approval mode, with a real session and a real panel. */
import { call, say } from "../../../../support/agent_fixture.ts";
import {
  asked,
  bash,
  calls,
  decline,
  ended,
  filesOf,
  openApprovalChat,
  panel,
  results,
} from "../../../../support/approval_chat.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import type { ChatStage } from "../../../../support/chat_stage.ts";
import { jailed } from "../../../sandbox/jail/jail_support.ts";

const MODES = ["ask", "auto", "yolo"] as const;
type Mode = (typeof MODES)[number];

type Outcome = "runs" | "asks" | "refused";

interface Row {
  readonly name: string;
  readonly tool: string;
  readonly args: object;
  readonly outcome: Readonly<Record<Mode, Outcome>>;
}

const same = (outcome: Outcome) => ({ ask: outcome, auto: outcome, yolo: outcome });
const row = (name: string, command: string, outcome: Row["outcome"]): Row => (
  { name, tool: "bash", args: { command }, outcome }
);
const wide = { ask: "asks", auto: "runs", yolo: "runs" } as const;
const ruled = { ask: "asks", auto: "asks", yolo: "runs" } as const;

/** The table of docs/permissions.md, and the prompts that no mode changes. */
const TABLE: readonly Row[] = [
  { name: "a read", tool: "ls", args: { path: "." }, outcome: same("runs") },
  row("a command that reads", "cat notes.txt", same("runs")),
  row("a command that no rule names", "touch made", wide),
  { name: "a write that no rule names", tool: "write_file", args: { path: "a", content: "" }, outcome: wide },
  row("a command of an ask rule", "touch asked", ruled),
  row("a command of a deny rule", "touch denied", same("refused")),
  row("what may hide a denied command", 'eval "$(cat notes.txt)"', same("asks")),
  row("a destructive command", "rm -rf ~/everything", same("asks")),
  row("a destructive command behind a harmless one", "ls && git push --force", same("asks")),
  row("a protected file", "echo x > .git/hooks/pre-commit", ruled),
  {
    // That directory holds the Reasonix home, which no answer can open.
    name: "a write outside",
    tool: "write_file",
    args: { path: "../outside.txt", content: "x" },
    outcome: same("refused"),
  },
  row("a connection", "curl -s http://127.0.0.1:1/", wide),
  {
    name: "a saved memory",
    tool: "remember",
    args: { name: "n", description: "d", text: "t" },
    outcome: same("asks"),
  },
];

const config = {
  sandbox: { bash: "off" as const },
  permissions: { deny: ["Bash(touch denied)"], ask: ["Bash(touch asked)"] },
};

/** The outcome of the only call; an approval is denied. */
async function outcomeOf(chat: ChatStage): Promise<Outcome> {
  chat.say("go");
  await chat.until(() => asked(chat) + ended(chat) > 0);
  if (asked(chat) > 0) {
    await panel(chat, 1);
    await decline(chat);
  }
  await chat.until(() => ended(chat) === 1);
  const [end] = chat.events.filter((event) => event.type === "tool.end");
  if (asked(chat) > 0) {
    assertEquals(end?.outcome, "blocked");
    return "asks";
  }
  const isOutside = end?.outcome === "error" && /outside/.test(end.content);
  return end?.outcome === "blocked" || isOutside ? "refused" : "runs";
}

for (const mode of MODES) {
  Deno.test(`mode ${mode} requires approval for exactly the calls of the table`, async () => {
    for (const { name, tool, args, outcome } of TABLE) {
      await using chat = await openApprovalChat([calls(call("1", tool, args)), say("done")], {
        config,
        start: { approvalMode: mode },
      });
      await Deno.writeTextFile(`${chat.cwd}/notes.txt`, "touch denied");
      await Deno.mkdir(`${chat.cwd}/.git/hooks`, { recursive: true });
      assertEquals(await outcomeOf(chat), outcome[mode], name);
    }
  });
}

Deno.test({
  ...jailed("no mode approves a command without the jail"),
  fn: async () => {
    const command = "echo run >> runs; echo 'touch: /opt/x: Read-only file system' >&2; exit 1";
    for (const mode of MODES) {
      await using chat = await openApprovalChat([calls(bash("1", command)), say("done")], {
        config: { permissions: { allow: ["Bash"] } },
        start: { approvalMode: mode },
      });
      chat.say("go");
      await panel(chat, 1);
      const shown = chat.terminal.screen().join("\n");
      assertStringIncludes(shown, "Run it again, without the sandbox?");
      assertEquals(
        /always|session/i.test(shown.slice(shown.indexOf("────"), shown.lastIndexOf("enter"))),
        false,
        shown,
      );
      // "No" is where Enter is.
      chat.terminal.press("enter");
      await chat.until(() => ended(chat) === 1);
      assertEquals([asked(chat), await Deno.readTextFile(`${chat.cwd}/runs`)], [1, "run\n"], mode);
    }
  },
});

Deno.test("a mode change during a prompt applies to the next prompt", async () => {
  await using chat = await openApprovalChat([
    calls(bash("1", "touch first")),
    calls(bash("2", "touch second")),
    say("done"),
  ]);
  chat.say("go");
  await panel(chat, 1);
  await chat.assembly().modes.setApproval("yolo");
  // Neither of them reaches what is behind the panel.
  chat.terminal.press("shift+tab");
  chat.terminal.paste("/mode yolo\r");
  await chat.pause();
  assertEquals([results(chat), filesOf(chat)], [[], []]);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
  assertEquals([asked(chat), results(chat), filesOf(chat)], [1, ["blocked", "ok"], ["second"]]);
  assertEquals(chat.assembly().modes.approval, "yolo");
});

Deno.test("the model is notified of a mode once, and not of a mode that ended before its turn", async () => {
  await using chat = await openApprovalChat([say("1"), say("2"), say("3"), say("4")]);
  const notes = () =>
    chat.provider.requests.at(-1)?.filter(({ role, content }) =>
      role === "user" && content.startsWith("<mode>")
    )
      .length;
  const turn = async (number: number) => {
    chat.say("go on");
    await chat.until(() => ended(chat) === number);
    return notes();
  };
  const switches = async (...modes: string[]) => {
    for (const mode of modes) {
      const before = chat.assembly().modes.permission;
      chat.say(`/mode ${mode}`);
      await chat.until(() => chat.assembly().modes.permission !== before);
    }
  };
  assertEquals(await turn(1), 0);
  await switches("plan", "write");
  assertEquals(await turn(2), 0);
  await switches("plan");
  assertEquals([await turn(3), await turn(4)], [1, 1]);
});

// Shell lines that the user types: the same rules, the same record, and output as plain text.

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
