/** A terminal whose size changes while an answer comes: nothing of the history is lost or written twice. */
import { assertEquals } from "../support/assert.ts";
import { finishEvent, type Part, startModelServer, textEvent, usageEvent } from "../support/model_server.ts";
import { mockConfig } from "../support/program.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

/** The screen is full of these: where it is not, tmux puts the cursor elsewhere when lines wrap. */
const FULL = 40;
const lineOf = (index: number) => `Line ${String(index).padStart(3, "0")}.`;

onTerminal(
  "fifty resizes at once while an answer streams leave one composer and a whole history",
  async () => {
    const ended = Promise.withResolvers<void>();
    const lines = Array.from({ length: 1000 }, (_, index) => lineOf(index));
    let streamed = FULL;
    let stop = false;
    function* stream(): Generator<Part> {
      yield textEvent(lines.slice(0, FULL).map((line) => `${line}\n\n`).join(""));
      for (; !stop && streamed < lines.length; streamed++) {
        yield new Promise((resolve) => setTimeout(resolve, 7));
        yield textEvent(`${lines[streamed]}\n\n`);
      }
      yield finishEvent();
      yield usageEvent();
      ended.resolve();
    }
    await using server = startModelServer([{ stream: stream() }]);
    await using chat = await openChat(mockConfig(server.url));
    const { terminal } = chat;
    await terminal.shows(EMPTY);
    await chat.enter("Count.");
    await shownSoon(terminal, (screen) => /Line 0[5-9]\d/.test(screen));
    for (let round = 0; round < 50; round++) {
      await terminal.resize(28 + (round * 7) % 53, 16 + (round * 5) % 20);
      // tmux tells the first of several changes at once: after a pause frames are on their way.
      if (round % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 310));
    }
    await terminal.resize(80, 30);
    stop = true;
    await ended.promise;
    await terminal.shows(EMPTY);
    await shownSoon(terminal, (screen) => screen.includes(lineOf(streamed - 1)));
    await shownSoon(terminal, (screen) => /^mock-1 · /m.test(screen));
    const history = await terminal.history();
    assertEquals(history.match(/Line \d{3}\./g), lines.slice(0, streamed), history);
    assertEquals(history.split("> Ask").length - 1, 1, history);
  },
);
