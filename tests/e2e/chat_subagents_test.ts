/** Agents in the chat: the screen shows their activity, and their prompts reach the person. */
import { startAgentServer } from "../support/agents_stage.ts";
import { lastSession, loadEvents, projectDir } from "../../src/session/mod.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { gone, processesWith } from "../support/processes.ts";
import { mockConfig } from "../support/program.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

const task = (prompt: string) => ({ name: "task", args: { agent: "general", prompt, description: prompt } });

/** Time until the person answers. */
const THINKS_MS = 1500;

onTerminal(
  "prompts of two agents appear one by one with names, and do not count as time of the calls",
  async () => {
    await using server = startAgentServer({
      main: [{ calls: [task("job-one"), task("job-two")] }, { text: "Both are done." }],
      "job-one": [
        { calls: [{ name: "write_file", args: { path: "one.txt", content: "1\n" } }] },
        { text: "wrote one" },
      ],
      "job-two": [
        { calls: [{ name: "bash", args: { command: "mkdir two" } }] },
        { text: "made two" },
      ],
    });
    await using chat = await openChat(mockConfig(server.url), { rows: 40 });
    const { terminal, world } = chat;
    await terminal.shows(EMPTY);
    await chat.enter("give it to two");
    for (let answered = 0; answered < 2; answered++) {
      const screen = await shownSoon(terminal, (text) => /general › (?:Allow|Run)/.test(text));
      assert(!/general › Allow[\s\S]*general › Run/.test(screen), screen);
      const kind = screen.includes("general › Run") ? "general › Run" : "general › Allow";
      await new Promise((resolve) => setTimeout(resolve, THINKS_MS));
      await chat.answer("y");
      await shownSoon(terminal, (text) => !text.includes(kind));
    }
    const screen = await terminal.shows("Both are done.");
    assert(/general: job-one · general · 1 step · /.test(screen.replace(/\s+/g, " ")), screen);
    assert(await Deno.readTextFile(`${world.dir}/one.txt`) === "1\n");
    assert((await Deno.stat(`${world.dir}/two`)).isDirectory);
    const begun = new Map<string, number>();
    const left: number[] = [];
    loadEvents(lastSession(projectDir(world.home, world.dir))?.path ?? "", (event) => {
      if (event.type === "tool.start") begun.set(event.call.id, Date.parse(event.time));
      if (event.type !== "tool.end") return;
      left.push(Date.parse(event.time) - (begun.get(event.callId) ?? 0) - event.durationMs);
    });
    assertEquals(left.length, 2);
    assert(left.every((ms) => ms >= THINKS_MS), `of the waits only ${left.join(" and ")} ms are left out`);
  },
);

const SLEEP = "sleep 600";

onTerminal("the chat shows the activity of an agent, and Esc stops it", async () => {
  await using server = startAgentServer({
    main: [{ calls: [task("job-one")] }, { text: "Never." }],
    "job-one": [
      { calls: [{ name: "grep", args: { pattern: "needle" } }] },
      { calls: [{ name: "bash", args: { command: SLEEP } }] },
      { text: "never" },
    ],
  });
  const rules = '[permissions]\nallow = ["Bash(sleep:*)"]';
  await using chat = await openChat(mockConfig(server.url, rules));
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("give it away");
  const screen = await shownSoon(terminal, (text) => text.includes(`2 calls › $ ${SLEEP}`));
  assert(/general: job-one/.test(screen), screen);
  const sleeping = async () =>
    (await processesWith(chat.world.dir)).filter(({ command }) => command.startsWith(SLEEP));
  const end = performance.now() + 60_000;
  while ((await sleeping()).length === 0) assert(performance.now() < end, "the command does not begin");
  const pressed = Date.now();
  await terminal.press("Escape");
  await shownSoon(terminal, (text) => !/Esc stops|stopping/.test(text) && /^> /m.test(text));
  assertEquals(await gone(sleeping), [], "the command has ended");
  const path = lastSession(projectDir(chat.world.home, chat.world.dir))?.path ?? "";
  const ends: number[] = [];
  loadEvents(path, (event) => {
    if (event.type === "turn.end") ends.push(Date.parse(event.time));
  });
  // The limit is 200 ms; the rest is for a busy machine.
  const took = (ends[0] ?? Infinity) - pressed;
  assert(took <= 1_000, `${took} ms from Esc to the end of the turn`);
});
