/** Two models in the chat: the plan is on the screen, and Esc stops the one that plans. */
import { assert, assertEquals } from "../support/assert.ts";
import { planOf, startPlannerStage, TASK } from "../support/planner_stage.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

onTerminal("a plan is shown once, and Esc during planning restores the input", async () => {
  await using stage = startPlannerStage({
    main: [{ text: "It is done." }],
    planner: [
      planOf("list has --json", "Add the flag in src/list.ts, 加上标志 😀", "Test it"),
      { before: new Promise(() => {}), text: "never" },
    ],
  });
  await using chat = await openChat(stage.config(), { rows: 40 });
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter(TASK);
  const screen = await terminal.shows("It is done.");
  assert(/agent planner begins: Add a flag/.test(screen), screen);
  assertEquals(screen.match(/1\. Add the flag in src\/list\.ts, 加上标志 😀/g)?.length, 1, screen);
  assert(/> Add a flag --json[\s\S]*\+ plan of deep\/deep-1/.test(screen), screen);
  await terminal.shows(EMPTY);
  await chat.enter(`${TASK} again`);
  await stage.planner.received(2);
  await shownSoon(terminal, (text) => text.includes("Esc stops"));
  await terminal.press("Escape");
  await stage.planner.requests[1]?.gone;
  await shownSoon(terminal, (text) => !text.includes("Esc stops") && /> Add a flag[\s\S]*again/.test(text));
  assertEquals(stage.main.requests.length, 1);
});
