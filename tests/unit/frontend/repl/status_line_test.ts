import { displayWidth } from "../../../../src/util/display_width.ts";
import { say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { openChat } from "../../../support/chat_stage.ts";

/** The last row of the screen that says something. */
const lastRow = (rows: readonly string[]) => rows.findLast((row) => row !== "") ?? "";

Deno.test("the status line names model and mode, leaves out the least important, and never wraps", async () => {
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

Deno.test("the status line shows the mode that was switched to", async () => {
  await using chat = await openChat();
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· ask"));
  chat.terminal.press("shift+tab");
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· auto"));
});
