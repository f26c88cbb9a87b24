/** A terminal resized while an answer streams: no line of the history is lost or written twice. */
import { assert, assertEquals } from "../support/assert.ts";
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
      // tmux reports the first of several changes at once: after a pause frames are on their way.
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

/** Steps that come before any program has read the last size. */
const STEP_MS = 140;
const letters = (text: string) => text.replaceAll(/\s/g, "");

/** An answer, and the history of a small terminal that was resized while it streamed. */
async function resizedWhileStreaming(sizes: readonly (readonly [columns: number, rows: number])[]) {
  const lines = Array.from({ length: 200 }, (_, index) => `${lineOf(index)} one two three four five six`);
  const ended = Promise.withResolvers<void>();
  let streamed = 0;
  let stop = false;
  function* stream(): Generator<Part> {
    for (; !stop && streamed < lines.length; streamed++) {
      yield new Promise((resolve) => setTimeout(resolve, 25));
      yield textEvent(`${lines[streamed]}\n\n`);
    }
    yield finishEvent();
    yield usageEvent();
    ended.resolve();
  }
  await using server = startModelServer([{ stream: stream() }]);
  await using chat = await openChat(mockConfig(server.url), { columns: 40, rows: 15 });
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("Count.");
  await shownSoon(terminal, (screen) => /Line (?:00[5-9]|0[1-9]\d|1)/.test(screen));
  for (let step = 0; step < 16; step++) {
    const [columns, rows] = sizes[step % sizes.length] ?? [40, 15];
    await terminal.resize(columns, rows);
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  await terminal.resize(40, 15);
  stop = true;
  await ended.promise;
  await shownSoon(terminal, (screen) => screen.includes(lineOf(streamed - 1)) && screen.includes(EMPTY));
  await shownSoon(terminal, (screen) => /^mock-1 · /m.test(screen));
  const history = await terminal.history();
  const said = history.slice(history.indexOf(lineOf(0)), history.lastIndexOf("> Ask"));
  // A terminal that becomes narrower breaks lines inside of words.
  return { history, said: letters(said), lines: lines.slice(0, streamed).map(letters) };
}

onTerminal(
  "a small terminal that is resized while an answer streams keeps all of it, once",
  async () => {
    const { history, said, lines } = await resizedWhileStreaming([[70, 20], [30, 14], [40, 24], [55, 10]]);
    assertEquals(said, lines.join(""), history);
  },
);

onTerminal(
  "a terminal of eight rows that is resized while an answer streams keeps each line and no frame",
  async () => {
    const { history, said, lines } = await resizedWhileStreaming([[70, 20], [30, 10], [40, 24], [55, 8]]);
    let at = 0;
    for (const line of [...lines, ""]) {
      const next = line === "" ? said.length : said.indexOf(line, at);
      assert(next >= 0, `${line} is missing:\n${history}`);
      // Lines of a frame that tmux cut and that scrolled off the small screen at once stay in the history.
      assert(
        /^(?:Line\d{3}\.[a-z]*)*$/.test(said.slice(at, next)),
        `A frame is left above ${line}:\n${history}`,
      );
      at = next + line.length;
    }
    assertEquals(history.split("> Ask").length - 1, 1, history);
  },
);
