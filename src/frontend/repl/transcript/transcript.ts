import type { TurnState } from "../../../control/mod.ts";
import { type Event, type EventOf, isMessage, PersonWaits } from "../../../core/mod.ts";
import { timeText, type TranscriptTexts } from "../chat_texts.ts";
import { Calls } from "./calls.ts";
import { type Note, noteRows, Notes, plainRows } from "./notes.ts";
import { CollapsedItems, type Folded, PrintedPieces } from "./printed.ts";
import { Reply } from "./reply.ts";
import { wrappedRows } from "../screen/line.ts";
import type { WatchedSession } from "../../server_updates.ts";
import type { SessionState } from "../../../session/mod.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { oneLine, terminalSafe } from "../../../util/terminal_text.ts";
import { after } from "../../../util/timer.ts";
import { attachments, userText } from "../../../util/user_text.ts";
import { checklistLine, grouped, loadMarkdown, MarkdownBlocks, type Palette } from "../../../view/mod.ts";

/** Rows of a message of the user that are shown again. */
const MOST = 20;

interface UserView {
  readonly columns: number;
  readonly palette: Palette;
  readonly texts: TranscriptTexts;
}

/** What the user said, with a mark before it, and what he gave with it. */
function userRows(event: EventOf<"message.user">, { columns, palette, texts }: UserView): string[] {
  const steer = event.origin === "steer";
  const room = Math.max(1, columns - 2);
  const text = terminalSafe(userText(event.content)).replaceAll("\t", "  ").trimEnd();
  const rows = wrappedRows(text, room);
  const shown = rows.length > MOST + 1 ? rows.slice(0, MOST) : rows;
  const left = rows.length - shown.length;
  const images = event.images?.length ?? 0;
  const given = [
    ...attachments(event.content).map(terminalSafe),
    ...(images > 0 ? [texts.image(images)] : []),
  ];
  const details = [
    ...(left > 0 ? [texts.moreLines(left)] : []),
    ...given.map((name) => `+ ${name}`),
    ...(steer ? [texts.steered] : []),
  ];
  return [
    ...shown.map((row, index) =>
      `${index > 0 ? "  " : palette.accent(steer ? "↪ " : "> ")}${palette.user(row)}`
    ),
    ...details.map((line) => `  ${palette.dim(fitDisplay(line, room))}`),
  ];
}

type Item = EventOf<"todo.update">["items"][number];

/** Items that are shown above the composer. */
const LIVE_ITEMS = 8;

/** The todo list: live above the composer as long as something is to be done, printed where it changed. */
class TodoList {
  readonly #palette: Palette;
  #items: readonly Item[] = [];

  constructor(palette: Palette) {
    this.#palette = palette;
  }

  /** Takes the list as it is now; the items that are new or finished, as rows for the history. */
  update(items: readonly Item[]): ((columns: number) => string[]) | undefined {
    const known = new Map(this.#items.map(({ content, status }) => [content, status]));
    const fresh = items.some(({ content }) => !known.has(content));
    const changed = fresh
      ? items
      : items.filter(({ content, status }) => status === "completed" && known.get(content) !== "completed");
    this.#items = items;
    if (changed.length === 0) return undefined;
    return (columns) => changed.flatMap((item) => wrappedRows(this.#line(item), columns, "    "));
  }

  clear(): void {
    this.#items = [];
  }

  live(columns: number, rows: number, texts: TranscriptTexts): string[] {
    const done = this.#items.filter(({ status }) => status === "completed").length;
    if (done === this.#items.length || rows < 2) return [];
    const most = Math.min(LIVE_ITEMS, rows - 1);
    // What is being done stays in view: finished items are left out first.
    const open = this.#items.filter(({ status }) => status !== "completed");
    const shown = this.#items.length <= most ? this.#items : open.slice(0, most - 1);
    const more = this.#items.length - shown.length;
    return [
      this.#palette.bold(texts.todo(done, this.#items.length)),
      ...shown.map((item) => this.#line(item)),
      ...(more > 0 ? [this.#palette.dim(texts.moreTodos(more))] : []),
    ].slice(0, rows).map((line) => fitDisplay(line, columns));
  }

  #line(item: Item): string {
    const line = oneLine(checklistLine(item), 500);
    if (item.status === "completed") return this.#palette.dim(line);
    return item.status === "in_progress" ? this.#palette.accent(line) : line;
  }
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 120;
/** The number of tokens is shown anew this often: with each token it would cost more than the answer. */
const COUNT_MS = 500;

type Waiting = TurnState | "thinking" | "writing" | "retry";

/** What is being waited for, since when, and how much has come. */
class Activity {
  #what: Waiting | undefined;
  #model = "";
  #since = 0;
  /** Output of the replies of this turn that are over, as the server has counted. */
  #counted = 0;
  #characters = 0;
  /** The number of tokens that is shown, and since when. */
  #shown = { tokens: 0, at: 0 };
  #attempt = { number: 0, most: 0 };
  /** The times in which a person was asked, which nothing took. */
  readonly waits = new PersonWaits();

  get busy(): boolean {
    return this.#what !== undefined;
  }

  /** Takes an event; the time is in milliseconds. */
  event(event: Event, now: number): void {
    this.waits.take(event, now);
    switch (event.type) {
      case "turn.state":
        this.#enter(event.to, now);
        break;
      case "message.start":
        this.#model = oneLine(event.model, 40);
        break;
      case "message.delta":
        if (this.#what !== "compacting") this.#what = event.channel === "text" ? "writing" : "thinking";
        this.#characters += event.text.length;
        if (now - this.#shown.at >= COUNT_MS) this.#count(now);
        break;
      case "message.retry":
        this.#what = "retry";
        this.#attempt = { number: event.attempt, most: event.maxAttempts };
        break;
      case "message.end":
        this.#counted += event.usage?.outputTokens ?? Math.round(this.#characters / 4);
        this.#characters = 0;
        this.#count(now);
        break;
    }
  }

  stop(): void {
    this.#what = undefined;
  }

  /** One of the frames of the spinner; a still sign where nothing may move. */
  spinner(now: number, still: boolean): string {
    return still ? "•" : FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length] ?? "•";
  }

  /** The line about it. */
  line(view: ActivityView): string {
    const { texts, palette, now, columns } = view;
    const { tokens } = this.#shown;
    const parts = [
      timeText(now - this.#since - this.waits.since(this.#since, now), texts),
      ...(tokens > 0 ? [texts.aboutTokens(grouped(tokens))] : []),
      texts.escToStop,
    ];
    const head = `${palette.accent(this.spinner(now, view.still))} ${this.#said(texts)}`;
    return fitDisplay(`${head}${palette.dim(` · ${parts.join(" · ")}`)}`, columns);
  }

  #enter(state: TurnState, now: number): void {
    const rests = state === "idle" || state === "done" || state === "failed" || state === "stopped";
    if (!rests && !this.busy) {
      [this.#since, this.#counted, this.#characters] = [now, 0, 0];
      this.#count(now);
    }
    this.#what = rests ? undefined : state;
  }

  #count(now: number): void {
    this.#shown = { tokens: this.#counted + Math.round(this.#characters / 4), at: now };
  }

  #said(texts: TranscriptTexts): string {
    const model = this.#model || texts.theModel;
    switch (this.#what) {
      case "thinking":
        return texts.thinking(model);
      case "writing":
        return texts.writing(model);
      case "retry":
        return texts.waitingToTry(this.#attempt.number, this.#attempt.most);
      case "compacting":
        return texts.compacting;
      case "running_tools":
        return texts.working;
      case "verifying":
        return texts.verifying;
      case "awaiting_approval":
      case "awaiting_answer":
        return texts.waitingForYou;
      default:
        return texts.waitingFor(model);
    }
  }
}

interface ActivityView {
  readonly texts: TranscriptTexts;
  readonly palette: Palette;
  readonly now: number;
  readonly columns: number;
  /** Nothing may move by itself. */
  readonly still: boolean;
}

interface TranscriptOptions {
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
