/** A terminal resized while an answer streams: no line of the history is lost or written twice. */
import { assert, assertEquals } from "../support/assert.ts";
import { finishEvent, type Part, startModelServer, textEvent, usageEvent } from "../support/model_server.ts";
import { mockConfig } from "../support/program.ts";
import { soakSize } from "../support/seed.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";
import type { Terminal } from "../support/tmux.ts";

/**
 * Lines arrive while the size changes. What tmux then takes first is a matter of time, so this is part of
 * `deno task soak` only; otherwise the answer waits during a change, while frames are drawn all the same.
 */
const RACES = soakSize(1, 0) === 1;

/** The screen is full of these: where it is not, tmux puts the cursor elsewhere when lines wrap. */
const FULL = 40;
const lineOf = (index: number) => `Line ${String(index).padStart(3, "0")}.`;

/** An answer of lines that come one by one; its first ones come at once. */
class Lines {
  readonly #lines: readonly string[];
  readonly #ended = Promise.withResolvers<void>();
  #may = Promise.withResolvers<void>();
  #stopped = false;
  /** The number of lines that were sent. */
  #sent: number;

  constructor(lines: readonly string[], first: number) {
    this.#lines = lines;
    this.#sent = first;
    this.#may.resolve();
  }

  get sent(): readonly string[] {
    return this.#lines.slice(0, this.#sent);
  }

  *stream(ms: number): Generator<Part> {
    yield textEvent(this.sent.map((line) => `${line}\n\n`).join(""));
    for (; !this.#stopped && this.#sent < this.#lines.length; this.#sent++) {
      yield new Promise((resolve) => setTimeout(resolve, ms));
      yield this.#may.promise;
      yield textEvent(`${this.#lines[this.#sent]}\n\n`);
    }
    yield finishEvent();
    yield usageEvent();
    this.#ended.resolve();
  }

  /** Changes the size of a terminal. */
  async resize(terminal: Terminal, columns: number, rows: number): Promise<void> {
    if (RACES) return await terminal.resize(columns, rows);
    this.#may = Promise.withResolvers();
    await this.shown(terminal);
    await framesDrawn(terminal);
    await terminal.resize(columns, rows);
    await taken(terminal, columns, rows);
    await framesDrawn(terminal);
    this.#may.resolve();
    const before = this.#sent;
    await shownSoon(terminal, () => this.#sent > before + 1);
  }

  /** Ends the answer after what was sent. */
  async end(): Promise<void> {
    this.#stopped = true;
    await this.#ended.promise;
  }

  async shown(terminal: Terminal): Promise<void> {
    await shownSoon(terminal, (screen) => screen.includes(this.sent.at(-1)?.slice(0, 9) ?? ""));
  }
}

/** Waits until the system has the size that tmux has: tmux gives it late. */
async function taken(terminal: Terminal, columns: number, rows: number): Promise<void> {
  const tty = await terminal.ask("#{pane_tty}");
  const size = () => new Deno.Command("stty", { args: ["-F", tty, "size"] }).outputSync().stdout;
  await shownSoon(terminal, () => new TextDecoder().decode(size()).trim() === `${rows} ${columns}`);
}

/** Waits until nothing but frames of the spinner is on its way. */
async function framesDrawn(terminal: Terminal): Promise<void> {
  const frames = new Set<string>();
  await shownSoon(terminal, (screen) => {
    const spinner = /^([\u2800-\u28ff]) mock-1/m.exec(screen)?.[1];
    if (spinner) frames.add(spinner);
    return frames.size > 2;
  });
}

onTerminal(
  "resizes while an answer streams leave one composer and a whole history",
  async () => {
    const lines = new Lines(Array.from({ length: 1000 }, (_, index) => lineOf(index)), FULL);
    await using server = startModelServer([{ stream: lines.stream(7) }]);
    await using chat = await openChat(mockConfig(server.url));
    const { terminal } = chat;
    await terminal.shows(EMPTY);
    await chat.enter("Count.");
    await shownSoon(terminal, (screen) => /Line 0[5-9]\d/.test(screen));
    for (let round = 0; round < soakSize(50, 6); round++) {
      await lines.resize(terminal, 28 + (round * 7) % 53, 16 + (round * 5) % 20);
      // tmux reports the first of several changes at once: after a pause frames are on their way.
      if (RACES && round % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 310));
    }
    await lines.resize(terminal, 80, 30);
    await lines.end();
    await terminal.shows(EMPTY);
    await lines.shown(terminal);
    await shownSoon(terminal, (screen) => /^mock-1 · /m.test(screen));
    const history = await terminal.history();
    assertEquals(history.match(/Line \d{3}\./g), lines.sent, history);
    assertEquals(history.split("> Ask").length - 1, 1, history);
  },
);

/** Steps that come before any program has read the last size. */
const STEP_MS = 140;
const letters = (text: string) => text.replaceAll(/\s/g, "");

/** An answer, and the history of a small terminal that was resized while it streamed. */
async function resizedWhileStreaming(sizes: readonly (readonly [columns: number, rows: number])[]) {
  const lines = new Lines(
    Array.from({ length: 200 }, (_, index) => `${lineOf(index)} one two three four five six`),
    0,
  );
  await using server = startModelServer([{ stream: lines.stream(25) }]);
  await using chat = await openChat(mockConfig(server.url), { columns: 40, rows: 15 });
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("Count.");
  await shownSoon(terminal, (screen) => /Line (?:00[5-9]|0[1-9]\d|1)/.test(screen));
  for (let step = 0; step < soakSize(16, 8); step++) {
    const [columns, rows] = sizes[step % sizes.length] ?? [40, 15];
    await lines.resize(terminal, columns, rows);
    if (RACES) await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  await lines.resize(terminal, 40, 15);
  await lines.end();
  await lines.shown(terminal);
  await shownSoon(terminal, (screen) => screen.includes(EMPTY) && /^mock-1 · /m.test(screen));
  const history = await terminal.history();
  const said = history.slice(history.indexOf(lineOf(0)), history.lastIndexOf("> Ask"));
  // A terminal that becomes narrower breaks lines inside of words.
  return { history, said: letters(said), lines: lines.sent.map(letters) };
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
