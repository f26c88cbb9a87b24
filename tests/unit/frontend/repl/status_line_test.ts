import { ReasonixError } from "../../../../src/core/mod.ts";
import { displayWidth } from "../../../../src/util/display_width.ts";
import { say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { openChat } from "../../../support/chat_stage.ts";

/** The last non-empty row of the screen. */
const lastRow = (rows: readonly string[]) => rows.findLast((row) => row !== "") ?? "";

Deno.test("the status line shows model and mode, drops the least important, and never wraps", async () => {
  for (
    const [columns, locale, mode] of [[100, "en", "ask"], [40, "zh-CN", "询问"], [20, "en", "ask"]] as const
  ) {
    await using chat = await openChat({ replies: [say("done.")], columns, locale });
    chat.say("go");
    await chat.shows("done.");
    await chat.until(() => chat.events.some(({ type }) => type === "turn.end"));
    const model = chat.assembly().provider.model.id;
    await chat.until(() => lastRow(chat.terminal.screen()).startsWith(`${model} · ${mode}`));
    const line = lastRow(chat.terminal.screen());
    assert(displayWidth(line) <= columns, line);
    assertEquals(line.includes("work"), columns > 20, line);
  }
});

Deno.test("the status line shows a changed mode", async () => {
  await using chat = await openChat();
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· ask"));
  chat.terminal.press("shift+tab");
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· auto"));
});

Deno.test("the status line shows plan mode with the approval mode that follows", async () => {
  for (const [locale, shown] of [["en", "· plan (then auto)"], ["zh-CN", "· 计划（之后 自动）"]] as const) {
    await using chat = await openChat({ locale });
    await chat.until(() => lastRow(chat.terminal.screen()) !== "");
    chat.say("/mode auto");
    chat.say("/mode plan");
    await chat.until(() => lastRow(chat.terminal.screen()).includes(shown));
  }
});

Deno.test("the status line reports that no session is open, and later which one is", async () => {
  let broken = true;
  await using chat = await openChat({
    replies: [say("done.")],
    beforeOpen() {
      if (broken) throw new ReasonixError("Cannot open it", { exit: "config" });
    },
  });
  await chat.shows("Cannot open it");
  await chat.until(() => lastRow(chat.terminal.screen()) === "no session is open");
  broken = false;
  chat.say("go");
  await chat.shows("done.");
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· ask"));
});

Deno.test("the status line does not show a command as running while its prompt waits", async () => {
  await using chat = await openChat();
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· ask"));
  chat.say("/mode");
  await chat.shows("How should the agent work?");
  assert(lastRow(chat.terminal.screen()).includes("· ask"), chat.terminal.screen().join("\n"));
});
