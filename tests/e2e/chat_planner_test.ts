/** Two models in the chat: the plan is on the screen, and Esc stops the one that plans. */
import { assert } from "../support/assert.ts";
import { planOf, startPlannerStage, TASK } from "../support/planner_stage.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

onTerminal("look", async () => {
  await using stage = startPlannerStage({
    main: [{ text: "It is done." }, { text: "Second." }],
    planner: [
      { calls: [{ name: "grep", args: { pattern: "list" } }] },
      {
        ...planOf("list has --json", "Add the flag in src/list.ts, 加上标志 😀", "Test it"),
        before: new Promise((r) => setTimeout(r, 3000)),
      },
      { before: new Promise(() => {}), text: "never" },
    ],
  });
  await using chat = await openChat(stage.config());
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter(TASK);
  await stage.planner.received(2);
  await new Promise((r) => setTimeout(r, 1000));
  console.log(await terminal.screen());
  await terminal.shows("It is done.");
  console.log(await terminal.screen());
  await chat.enter(TASK + " again and");
  await stage.planner.received(3);
  await new Promise((r) => setTimeout(r, 500));
  console.log(await terminal.screen());
  await terminal.press("Escape");
  await new Promise((r) => setTimeout(r, 1000));
  console.log(await terminal.screen());
  await chat.enter("/cost");
  await new Promise((r) => setTimeout(r, 1500));
  console.log(await terminal.screen());
});
