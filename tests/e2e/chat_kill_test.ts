/** A chat killed at any moment: its session has every sent message and executed call once. */
import type { Event } from "../../src/core/mod.ts";
import { lastSession, loadEvents, projectDir } from "../../src/session/mod.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { denoDir, makeWorld, mockConfig, programFile, type World } from "../support/program.ts";
import { EMPTY, killProgram, onTerminal } from "../support/terminal_chat.ts";
import { openTerminal } from "../support/tmux.ts";
import { Random, SEED, soakSize } from "../support/seed.ts";

const POINTS = soakSize(40, 20);
/** After this time half of the points are enough; a fast machine passes all of them in less. */
const LIMIT_MS = 20_000;
/** A panel that comes automatically takes no key for this long. */
const PAUSE_MS = 350;

const random = new Random(SEED);

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let ids = 0;

/** The model answers every message with a call that leaves a mark, and its result with a call or text. */
function working({ json }: RecordedRequest): Turn {
  const last = json.messages.at(-1);
  if (last?.role === "tool" && random.below(2) === 0) return { text: "Done so far." };
  const id = `call-${++ids}`;
  const command = `echo ${id} >> marks.txt; sleep 0.0${random.below(9)}`;
  return { text: `Now ${id}. `, calls: [{ id, name: "bash", args: { command } }] };
}

onTerminal(
  `a chat killed at ${POINTS} points loses and repeats nothing`,
  async () => {
    await using server = startModelServer([], { fallback: working });
    await using world = await makeWorld(`${mockConfig(server.url)}[sandbox]\nbash = "off"\n`);
    await using terminal = await openTerminal(await programFile(), {
      cwd: world.dir,
      rows: 30,
      env: {
        REASONIX_HOME: world.home,
        HOME: world.home,
        LC_ALL: "C.UTF-8",
        REASONIX_LANG: "en",
        REASONIX_REDUCED_MOTION: "1",
        ...denoDir(),
      },
    });
    const started = performance.now();
    const kept = new Map<number, Event>();
    let killed = 0;
    let approved = 0;
    for (let round = 0; killed < (performance.now() - started < LIMIT_MS ? POINTS : POINTS / 2); round++) {
      const where = `seed ${SEED}, round ${round}`;
      await terminal.type(`reasonix ${kept.size > 0 ? "-c" : ""}; echo left-with-$?`);
      await terminal.press("Enter");
      const stage = random.below(5);
      if (stage === 0) await wait(random.below(300));
      else {
        await terminal.shows(EMPTY);
        await terminal.type(`task ${round}.`);
        await terminal.press("Enter");
        if (stage > 1) await terminal.shows("Run this command?");
        if (stage > 2) {
          await wait(PAUSE_MS);
          await terminal.press("Tab", "y", "Enter");
          approved++;
        }
        await wait(random.below(120));
      }
      await killProgram(terminal);
      killed++;
      checkFile(world, kept, where);
    }
    const took = `${killed} kills, ${approved} approvals in ${Math.round(performance.now() - started)} ms`;
    assert(killed >= POINTS / 2 && approved >= killed / 5, took);
    assertEquals(server.violations.splice(0), [], `seed ${SEED}`);
    const events = [...kept.values()];
    const prompts = events.flatMap((event) => event.type === "message.user" ? [event.content] : []);
    for (const { json } of server.requests) {
      for (const { role, content } of json.messages) {
        if (role !== "user" || !String(content).startsWith("task ")) continue;
        assertEquals(prompts.filter((prompt) => prompt === content).length, 1, `${content} (seed ${SEED})`);
      }
    }
    await checkMarks(world, events);
  },
);

/** Earlier events of the session are unchanged, and nothing in it is damaged. */
function checkFile(world: World, kept: Map<number, Event>, where: string): void {
  const path = lastSession(projectDir(world.home, world.dir))?.path;
  if (path === undefined) return;
  const events = new Map<number, Event>();
  const { notices } = loadEvents(path, (event) => events.set(event.seq, event));
  assertEquals(notices, [], where);
  for (const [seq, event] of kept) assertEquals(events.get(seq), event, where);
  for (const [seq, event] of events) kept.set(seq, event);
}

/** Each command ran at most once, after approval, and each recorded command left its mark. */
async function checkMarks(world: World, events: readonly Event[]): Promise<void> {
  const marks = (await world.read("marks.txt")).trim().split("\n");
  assertEquals(new Set(marks).size, marks.length, `a command ran twice (seed ${SEED}): ${marks}`);
  const allowed = events.flatMap((event) =>
    event.type === "approval.decision" && event.decision === "allow" ? [event.callId] : []
  );
  for (const mark of marks) assert(allowed.includes(mark), `${mark} ran without a yes (seed ${SEED})`);
  const done = events.flatMap((event) =>
    event.type === "tool.end" && event.outcome === "ok" ? [event.callId] : []
  );
  for (const call of done) assert(marks.includes(call), `${call} did not run (seed ${SEED})`);
}
