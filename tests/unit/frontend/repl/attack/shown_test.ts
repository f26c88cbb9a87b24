/** The displayed call is the one that runs: no part of it is hidden or too long. */
import { call, say } from "../../../../support/agent_fixture.ts";
import {
  asked,
  bash,
  calls,
  decline,
  ended,
  filesOf,
  openApprovalChat as open,
  panel,
  results,
  shownCommand,
} from "../../../../support/approval_chat.ts";
import { openStage } from "../../../../support/overlay_stage.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";

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
  for (const unit of ["\u202e", "界", "x y\n"]) {
    const long = unit.repeat(10_000_000 / unit.length);
    for (const command of [`touch made #${long}`, `rm -rf ~/${long.replaceAll("\n", "")}`]) {
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
