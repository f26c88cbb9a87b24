import { type Event, type EventOf, isMessage } from "../../../core/mod.ts";
import type { SessionState } from "../../../session/mod.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { oneLine, terminalSafe } from "../../../util/terminal_text.ts";
import { after } from "../../../util/timer.ts";
import { grouped, loadMarkdown, MarkdownBlocks, type Palette } from "../../../view/mod.ts";
import { Activity } from "./activity.ts";
import { Calls } from "./calls.ts";
import { CollapsedItems, type Folded } from "./collapsed.ts";
import { PrintedPieces } from "./printed_pieces.ts";
import { type Note, noteRows, Notes, plainRows, type WatchedSession } from "./notes.ts";
import { Reply } from "./reply.ts";
import type { TranscriptTexts } from "./texts.ts";
import { TodoList } from "./todo_list.ts";
import { userRows } from "./user_rows.ts";

export interface TranscriptOptions {
  readonly palette: Palette;
  readonly texts: () => TranscriptTexts;
  /** Prints lines into the history of the terminal. */
  readonly print: (lines: readonly string[]) => void;
  /** The live part looks different now. */
  readonly changed: () => void;
  readonly columns: () => number;
  /** Something could not be shown, and was left out. */
  readonly failed: (error: unknown) => void;
  /** Nothing on the screen may move by itself. */
  readonly still?: () => boolean;
  /** The terminal shows links. */
  readonly links?: boolean;
  /** Milliseconds, monotonic; the clock of the process when absent. */
  readonly now?: () => number;
}

/** The spinner has a new frame; where nothing may move only the time goes on. */
const TICK_MS = 120;
const STILL_TICK_MS = 10_000;

/**
 * What happened, as lines: what is over is printed once and for good, the rest is the live part. Of a long
 * session it keeps only what was folded lately.
 */
export class Transcript {
  readonly #options: TranscriptOptions;
  readonly #history: PrintedPieces;
  readonly #reply: Reply;
  readonly #calls: Calls;
  readonly #todos: TodoList;
  readonly #activity = new Activity();
  readonly #notes = new Notes();
  readonly #folded = new CollapsedItems();
  /** The command line that runs, as long as nothing was printed below it. */
  #command: string | undefined;
  #ticking = false;

  constructor(options: TranscriptOptions) {
    const { palette, texts, print, changed, columns, failed, links } = options;
    this.#options = options;
    this.#history = new PrintedPieces({
      palette,
      print,
      changed,
      columns,
      failed,
      load: () => loadMarkdown({ palette, ...(links === undefined ? {} : { links }) }),
    });
    const parts = { palette, texts, history: this.#history, folded: this.#folded, now: () => this.#now() };
    this.#reply = new Reply(parts);
    this.#calls = new Calls(parts);
    this.#todos = new TodoList(palette);
  }

  /** Something is being waited for, which the live part says. */
  get busy(): boolean {
    return this.#activity.busy;
  }

  /** What was folded lately, newest last. */
  get folded(): readonly Folded[] {
    return this.#folded.entries;
  }

  /** Takes an event; a reader of the session. */
  event(event: Event): void {
    this.#activity.event(event, this.#now());
    this.#show(event);
    if (this.#activity.busy) this.#tick();
    this.#options.changed();
  }

  /** Takes events of a rehearsal, of which nothing is shown: what the first message executes is compiled. */
  rehearsal(): (event: Event) => void {
    const shadow = new Transcript({ ...this.#options, print() {}, changed() {} });
    // A reply would load what renders it.
    return (event) => {
      if (event.type === "message.user" || !event.type.startsWith("message.")) shadow.event(event);
    };
  }

  /** Prints the line of a command above what it prints, if it prints something before `run` ends. */
  async headed<T>(line: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.#command = line;
    try {
      return await run();
    } catch (error) {
      if (!signal?.aborted) this.#head();
      throw error;
    } finally {
      this.#command = undefined;
    }
  }

  #head(): void {
    const { palette } = this.#options;
    const line = this.#command;
    if (line === undefined) return;
    this.#command = undefined;
    const text = oneLine(line, 500);
    this.#history.lines("command", (columns) => [palette.dim(fitDisplay(`> ${text}`, columns))]);
  }

  /** A report for the user: Markdown, or lines with columns, which are kept. */
  say(text: string, form?: "plain"): void {
    this.#head();
    if (form) return this.#history.lines("text", (columns) => plainRows(text, columns));
    const blocks = new MarkdownBlocks();
    for (const block of blocks.push(terminalSafe(text))) this.#history.block(block);
    const rest = blocks.end();
    if (rest) this.#history.block(rest);
  }

  /** The first line of the chat. */
  head(row: (columns: number) => string): void {
    this.#history.lines("note", (columns) => [row(columns)]);
  }

  /** Tells what happens to the MCP servers of a session from now on. */
  watch(session: WatchedSession): void {
    this.#notes.servers.watch(session, this.#options.texts, (note) => {
      if (note) this.#note(note);
      this.#options.changed();
    });
  }

  /** Something went wrong. */
  fail(text: string): void {
    this.#note({ level: "error", text });
  }

  /** The session that was opened: the end of it, when it is not new. */
  resume(state: SessionState): void {
    this.#calls.clear();
    this.#todos.clear();
    this.#activity.stop();
    const { events, earlier } = pastOf(state);
    if (earlier > 0) this.#note({ level: "info", text: this.#options.texts().earlier(grouped(earlier)) });
    for (const event of events) {
      if (event.type !== "checkpoint" && event.type !== "todo.update") this.#show(event, false);
    }
    this.#calls.clear();
    this.#todos.update(state.todos);
    this.#options.changed();
  }

  /** What is going on, in at most so many rows. */
  live(columns: number, rows: number): string[] {
    const { palette, texts, still } = this.#options;
    const now = this.#now();
    const isStill = still?.() ?? false;
    const last = this.#activity.busy && rows > 0
      ? [this.#activity.line({ texts: texts(), palette, now, columns, still: isStill })]
      : [];
    const todos = last.length === 0
      ? []
      : this.#todos.live(columns, Math.min(10, Math.floor((rows - last.length) / 3)), texts());
    let room = rows - last.length - todos.length;
    const spinner = this.#activity.spinner(now, isStill);
    const calls = this.#calls.any
      ? this.#calls.live(columns, Math.max(0, room), { now, spinner, waits: this.#activity.waits })
      : [];
    room -= calls.length;
    const waiting = this.#history.waiting(columns);
    const reply = this.#reply.live(columns, Math.max(0, room - waiting.length));
    const above = [...waiting, ...reply].slice(-Math.max(0, room));
    const parts = [room > 0 ? above : [], calls, todos, last].filter((part) => part.length > 0);
    // The first part brings its own blank line where it is a reply.
    const first = above.length > 0 || !this.#history.begun ? 1 : 0;
    const roomy = parts.flat().length + parts.length - first <= rows;
    return parts.flatMap((part, index) => index >= first && roomy ? ["", ...part] : part);
  }

  #show(event: Event, isLive = true): void {
    const { palette, texts } = this.#options;
    if (event.type === "message.retry") this.#reply.breakOff();
    for (const note of this.#notes.of(event, texts())) this.#note(note);
    switch (event.type) {
      case "message.user":
        if (event.origin !== "user" && event.origin !== "steer") break;
        this.#history.lines("user", (columns) => userRows(event, { columns, palette, texts: texts() }));
        break;
      case "message.start":
        this.#reply.begin(event);
        break;
      case "message.delta":
        this.#reply.delta(event);
        break;
      case "message.end":
        this.#reply.end(event);
        break;
      case "tool.start":
        this.#calls.start(event, this.#now());
        break;
      case "approval.decision":
        this.#calls.decided(event);
        break;
      case "tool.delta":
        this.#calls.output(event);
        break;
      case "subagent.progress":
        if (!event.background) this.#calls.progress(event);
        break;
      case "tool.end":
        this.#calls.end(event, isLive);
        break;
      case "todo.update": {
        const rows = this.#todos.update(event.items);
        if (rows) this.#history.lines("note", rows);
        break;
      }
      case "plan.change":
        if (event.plan !== undefined) this.say(event.plan);
        break;
      case "compaction":
        this.#foldSummary(event);
        break;
      case "turn.end":
        this.#calls.clear();
        break;
    }
  }

  #foldSummary({ action, digest, tokensBefore, tokensAfter }: EventOf<"compaction">): void {
    if (action === "prune") return;
    const title = this.#options.texts().compacted(grouped(tokensBefore), grouped(tokensAfter));
    const text = terminalSafe(digest.replace(/^<\/?compaction-summary>\n?/gm, "").trim());
    this.#folded.add({ kind: "summary", title, text });
  }

  #note(note: Note): void {
    const { palette } = this.#options;
    this.#head();
    this.#history.lines("note", (columns) => noteRows(note, palette, columns));
  }

  #now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  #tick(): void {
    if (this.#ticking) return;
    this.#ticking = true;
    after(this.#options.still?.() ? STILL_TICK_MS : TICK_MS, () => {
      this.#ticking = false;
      this.#options.changed();
      if (this.#activity.busy) this.#tick();
    });
  }
}

/** Turns of an earlier run that are shown when a session goes on. */
const TURNS = 3;
/** Events of them that are shown at most. */
const EVENTS = 90;

/** The end of a session, to be shown again. */
interface Past {
  readonly events: readonly Event[];
  /** Messages before it. */
  readonly earlier: number;
}

/** The last turns of a session that was opened. Costs nothing that grows with the session. */
function pastOf(state: SessionState): Past {
  const events = state.events.recent(state.head, { turns: TURNS, events: EVENTS });
  const shown = events.filter((event) =>
    event.type === "message.end"
      ? isMessage(event)
      : event.type === "message.user" || event.type === "tool.end"
  );
  return { events, earlier: Math.max(0, state.messageList.length - shown.length) };
}
