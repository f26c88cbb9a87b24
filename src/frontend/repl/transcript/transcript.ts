import type { TurnState } from "../../../control/mod.ts";
import { type Event, type EventOf, isMessage, PersonWaits } from "../../../core/mod.ts";
import type { TranscriptTexts } from "../chat_texts.ts";
import { Calls } from "./calls.ts";
import {
  type CollapsedItem,
  CollapsedItems,
  type PieceKind,
  type PrintedPiece,
  PrintedPieces,
  type PrintedPiecesOptions,
} from "./printed.ts";
import { Reply } from "./reply.ts";
import { hangingRows, wrappedRows } from "../screen/line.ts";
import { isBusy } from "../../session/live_state.ts";
import { LogEntries, type Note } from "../../session/log.ts";
import type { WatchedSession } from "../../server_updates.ts";
import type { SessionState } from "../../../session/mod.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { oneLine, terminalSafe } from "../../../util/terminal_text.ts";
import { after } from "../../../util/timer.ts";
import { attachments, userText } from "../../../util/user_text.ts";
import {
  activityText,
  type Block,
  checklistLine,
  grouped,
  loadMarkdown,
  MarkdownBlocks,
  type Palette,
  timeText,
} from "../../../view/mod.ts";

const MOST = 20;

interface UserView {
  readonly columns: number;
  readonly palette: Palette;
  readonly texts: TranscriptTexts;
}

/** The rows of a user message, its attachments and images. */
function userRows(event: EventOf<"message.user">, { columns, palette, texts }: UserView): string[] {
  const steer = event.origin === "steer";
  const space = Math.max(1, columns - 2);
  const text = terminalSafe(userText(event.content)).replaceAll("\t", "  ").trimEnd();
  const rows = wrappedRows(text, space);
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
    ...details.map((line) => `  ${palette.dim(fitDisplay(line, space))}`),
  ];
}

function noteRows({ level, text }: Note, palette: Palette, columns: number): string[] {
  const [mark, color] = level === "error"
    ? ["✗", palette.bad]
    : level === "warning"
    ? ["!", palette.warning]
    : ["·", palette.dim];
  const rows = terminalSafe(text).trimEnd().split("\n")
    .flatMap((line) => hangingRows(line.trim(), Math.max(1, columns - 2)));
  return rows.map((row, index) => color(`${index > 0 ? " " : mark} ${row}`));
}

function markdownBlocks(text: string): Block[] {
  const blocks = new MarkdownBlocks();
  const whole = blocks.push(terminalSafe(text));
  const rest = blocks.end();
  return rest ? [...whole, rest] : [...whole];
}

function plainRows(text: string, columns: number): string[] {
  return terminalSafe(text).trimEnd().split("\n").flatMap((line) => hangingRows(line, columns));
}

type Item = EventOf<"todo.update">["items"][number];

const LIVE_ITEMS = 8;

/** The todo list: live above the composer while items are open, and printed when it changes. */
class TodoList {
  readonly #palette: Palette;
  #items: readonly Item[] = [];

  constructor(palette: Palette) {
    this.#palette = palette;
  }

  /** Updates the list; returns rows of new or finished items to print. */
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

  get items(): readonly Item[] {
    return this.#items;
  }

  live(columns: number, rows: number, texts: TranscriptTexts): string[] {
    const done = this.#items.filter(({ status }) => status === "completed").length;
    if (done === this.#items.length || rows < 2) return [];
    const most = Math.min(LIVE_ITEMS, rows - 1);
    // Open items stay in view: finished ones are left out first.
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
/** Interval of updates of the token count: updating it with each token would be too expensive. */
const COUNT_MS = 500;

type Waiting = TurnState | "thinking" | "writing" | "retry";

/** The current activity: what is awaited, since when, and the tokens so far. */
class Activity {
  #what: Waiting | undefined;
  #model = "";
  #since = 0;
  /** Output tokens of the completed replies of this turn. */
  #counted = 0;
  #characters = 0;
  /** The token count shown, and its time. */
  #shown = { tokens: 0, at: 0 };
  #attempt = { number: 0, most: 0 };
  /** Times in which the user was asked, which do not count. */
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

  /** A frame of the spinner; a static sign without animation. */
  spinner(now: number, still: boolean): string {
    return still ? "•" : FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length] ?? "•";
  }

  line(view: ActivityView): string {
    const { texts, palette, now, columns } = view;
    const { tokens } = this.#shown;
    const parts = [
      timeText(now - this.#since - this.waits.since(this.#since, now), texts),
      ...(tokens > 0 ? [texts.aboutTokens(grouped(tokens))] : []),
      texts.escToStop,
    ];
    const head = `${palette.accent(this.spinner(now, view.still))} ${this.#description(texts)}`;
    return fitDisplay(`${head}${palette.dim(` · ${parts.join(" · ")}`)}`, columns);
  }

  #enter(state: TurnState, now: number): void {
    if (isBusy(state) && !this.busy) {
      [this.#since, this.#counted, this.#characters] = [now, 0, 0];
      this.#count(now);
    }
    this.#what = isBusy(state) ? state : undefined;
  }

  #count(now: number): void {
    this.#shown = { tokens: this.#counted + Math.round(this.#characters / 4), at: now };
  }

  #description(texts: TranscriptTexts): string {
    if (this.#what === "retry") return texts.waitingToTry(this.#attempt.number, this.#attempt.most);
    return activityText(this.#what, this.#model || texts.theModel, texts);
  }
}

interface ActivityView {
  readonly texts: TranscriptTexts;
  readonly palette: Palette;
  readonly now: number;
  readonly columns: number;
  readonly still: boolean;
}

interface TranscriptOptions extends Omit<PrintedPiecesOptions, "load"> {
  readonly texts: () => TranscriptTexts;
  readonly still?: () => boolean;
  readonly links?: boolean;
  /** Monotonic clock in milliseconds; default: that of the process. */
  readonly now?: () => number;
}

/** The state before an event that its display depends on. */
export interface TranscriptContext {
  readonly todos: readonly Item[];
  /** Absent where no turn runs. */
  readonly log?: LogEntries | undefined;
  /** The kind of the piece before it. */
  readonly last?: PieceKind | undefined;
  /** Titles of thoughts as they were printed, by the number of their reply. */
  readonly titles?: ReadonlyMap<number, string>;
}

/** Interval of frames of the spinner; without animation only the time is updated. */
const TICK_MS = 120;
const STILL_TICK_MS = 10_000;

/**
 * The conversation as lines: completed pieces are printed once, the rest is the live part. Of a long
 * session it keeps only the latest collapsed items.
 */
export class Transcript {
  readonly #options: TranscriptOptions;
  readonly #history: PrintedPieces;
  readonly #reply: Reply;
  readonly #calls: Calls;
  readonly #todos: TodoList;
  readonly #activity = new Activity();
  #log = new LogEntries();
  readonly #collapsed: CollapsedItems;
  /** The running command line, until something is printed below it. */
  #command: string | undefined;
  #ticking = false;
  /** Number of the last stored event that was shown. */
  #seq = 0;
  #titles: TranscriptContext["titles"];
  /** Shows stored events again. */
  #shadow: Transcript | undefined;
  #replayed: PrintedPiece[] = [];

  constructor(options: TranscriptOptions) {
    const { palette, texts, links, collect } = options;
    this.#options = options;
    this.#collapsed = new CollapsedItems(collect ? 1 : undefined);
    this.#history = new PrintedPieces({
      ...options,
      load: () => loadMarkdown({ palette, ...(links === undefined ? {} : { links }) }),
    });
    const deps = {
      palette,
      texts,
      history: this.#history,
      collapsed: this.#collapsed,
      now: () => this.#now(),
    };
    this.#reply = new Reply(deps);
    this.#calls = new Calls(deps);
    this.#todos = new TodoList(palette);
  }

  /** An activity is shown in the live part. */
  get busy(): boolean {
    return this.#activity.busy;
  }

  /** The renderer of Markdown, once it is loaded. */
  get renderer(): PrintedPieces["renderer"] {
    return this.#history.renderer;
  }

  /** The kind of the last piece. */
  get last(): PieceKind | undefined {
    return this.#history.last;
  }

  /** The context of the next event. */
  get context(): TranscriptContext {
    return { todos: this.#todos.items, log: this.#log.copy(), last: this.last };
  }

  get collapsed(): readonly CollapsedItem[] {
    return this.#collapsed.entries;
  }

  event(event: Event): void {
    this.#activity.event(event, this.#now());
    this.#show(event);
    if (this.#activity.busy) this.#tick();
    this.#options.changed();
  }

  /** The pieces of stored events, in the context of the first one; nothing is live. */
  replayed(events: readonly Event[], context: TranscriptContext, isLive: boolean): readonly PrintedPiece[] {
    this.#shadow ??= new Transcript({
      ...this.#options,
      print() {},
      collect: (piece) => this.#replayed.push(piece),
      eager: () => true,
      loaded: () => this.renderer,
      still: () => true,
    });
    this.#replayed = [];
    this.#shadow.#replay(events, context, isLive);
    return this.#replayed;
  }

  #replay(events: readonly Event[], { todos, log, titles }: TranscriptContext, isLive: boolean): void {
    this.#log = log?.copy() ?? new LogEntries();
    this.#todos.update(todos);
    this.#titles = titles;
    this.#seq = (events[0]?.seq ?? 1) - 1;
    for (const event of events) this.#show(event, isLive);
    this.#calls.clear();
  }

  /** Prints pieces that wait for their renderer. */
  flush(): void {
    this.#history.flush(true);
  }

  /** A sink for events of a warm-up, which are not shown: it compiles the code of the first message. */
  warmUpSink(): (event: Event) => void {
    const shadow = new Transcript({ ...this.#options, print() {}, changed() {} });
    // A reply would load the renderer.
    return (event) => {
      if (event.type === "message.user" || !event.type.startsWith("message.")) shadow.event(event);
    };
  }

  /** Prints the line of a command above its output, if it has any before `run` ends. */
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
    const { source } = this.#history;
    // The line is no part of the event that it is printed with.
    this.#history.source = { after: source.after };
    this.#history.lines("command", (columns) => [palette.dim(fitDisplay(`> ${text}`, columns))]);
    this.#history.source = source;
  }

  /** Prints a report: Markdown, or plain lines with columns. */
  say(text: string, form?: "plain"): void {
    this.#head();
    if (form) return this.#history.lines("text", (columns) => plainRows(text, columns));
    for (const block of markdownBlocks(text)) this.#history.block(block);
  }

  /** The rows of a report that is not printed. */
  laidOut(text: string, columns: number): string[] {
    return this.#history.laidOut(markdownBlocks(text), columns);
  }

  /** Prints rows as they are. */
  rows(rows: (columns: number) => string[]): void {
    this.#head();
    this.#history.lines("note", rows);
  }

  /** Shows updates of the MCP servers of a session. */
  watch(session: WatchedSession): void {
    this.#log.servers.watch(session, this.#options.texts, (note) => {
      if (note) this.#note(note);
      this.#options.changed();
    });
  }

  fail(text: string): void {
    this.#note({ level: "error", text });
  }

  /** Shows the end of a resumed session. */
  resume(state: SessionState): void {
    this.#calls.clear();
    this.#todos.clear();
    this.#activity.stop();
    const { events, earlier } = pastOf(state);
    const { source } = this.#history;
    if (events[0]) this.#history.source = { ...source, event: events[0] };
    if (earlier > 0) this.#note({ level: "info", text: this.#options.texts().earlier(grouped(earlier)) });
    for (const event of events) {
      if (event.type !== "checkpoint" && event.type !== "todo.update") this.#show(event, false);
    }
    this.#calls.clear();
    this.#todos.update(state.todos);
    this.#history.source = { after: this.#seq = state.lastSeq };
    this.#options.changed();
  }

  /** The live part in at most `rows` rows. */
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
    let space = rows - last.length - todos.length;
    const spinner = this.#activity.spinner(now, isStill);
    const calls = this.#calls.any
      ? this.#calls.live(columns, Math.max(0, space), { now, spinner, waits: this.#activity.waits })
      : [];
    space -= calls.length;
    const waiting = this.#history.waiting(columns);
    const reply = this.#reply.live(columns, Math.max(0, space - waiting.length));
    const above = [...waiting, ...reply].slice(-Math.max(0, space));
    const parts = [space > 0 ? above : [], calls, todos, last].filter((part) => part.length > 0);
    // A reply as the first part has its own blank line.
    const first = above.length > 0 || this.#history.last === undefined ? 1 : 0;
    const roomy = parts.flat().length + parts.length - first <= rows;
    return parts.flatMap((part, index) => index >= first && roomy ? ["", ...part] : part);
  }

  #show(event: Event, isLive = true): void {
    this.#history.source = { event, after: this.#seq };
    try {
      this.#print(event, isLive);
    } finally {
      if (event.seq > 0) this.#seq = event.seq;
      this.#history.source = { after: this.#seq };
    }
  }

  #print(event: Event, isLive: boolean): void {
    const { palette, texts } = this.#options;
    if (event.type === "message.retry") this.#reply.breakOff();
    const item = event.type === "compaction" ? this.#collapseSummary(event) : undefined;
    for (const entry of this.#log.of(event, texts())) {
      if (entry.kind === "note") this.#note(entry.note, item);
      else this.#calls.end(entry, isLive);
    }
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
        this.#reply.end(event, this.#titles?.get(event.seq));
        break;
      case "tool.start":
        this.#calls.start(event, this.#now());
        break;
      case "tool.delta":
        this.#calls.output(event);
        break;
      case "subagent.progress":
        if (!event.background) this.#calls.progress(event);
        break;
      case "todo.update": {
        const rows = this.#todos.update(event.items);
        if (rows) this.#history.lines("note", rows);
        break;
      }
      case "plan.change":
        if (event.plan !== undefined) this.say(event.plan);
        break;
      case "turn.end":
        this.#calls.clear();
        break;
    }
  }

  #collapseSummary(event: EventOf<"compaction">): CollapsedItem | undefined {
    const { action, digest, tokensBefore, tokensAfter } = event;
    if (action === "prune") return undefined;
    const title = this.#options.texts().compacted(grouped(tokensBefore), grouped(tokensAfter));
    const text = terminalSafe(digest.replace(/^<\/?compaction-summary>\n?/gm, "").trim());
    return this.#collapsed.add({ kind: "summary", title, text });
  }

  #note(note: Note, item?: CollapsedItem): void {
    const { palette } = this.#options;
    this.#head();
    this.#history.lines("note", (columns) => noteRows(note, palette, columns), { item });
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

const TURNS = 3;
const EVENTS = 90;

/** The last turns of a session; the cost does not grow with the session. */
function pastOf(state: SessionState): { readonly events: readonly Event[]; readonly earlier: number } {
  const events = state.events.recent(state.head, { turns: TURNS, events: EVENTS });
  const shown = events.filter(isShownMessage);
  return { events, earlier: Math.max(0, state.messageList.length - shown.length) };
}

/** Reports whether an event is one of the messages that a note about earlier ones counts. */
export function isShownMessage(event: Event): boolean {
  return event.type === "message.end"
    ? isMessage(event)
    : event.type === "message.user" || event.type === "tool.end";
}
