/** The state of a session as the page shows it: rows of its durable events, and the part that is live. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Event, EventOf } from "../src/core/mod.ts";
import type { SessionFact } from "../src/frontend/session/facts.ts";
import type { Snapshot } from "../src/frontend/session/live_session.ts";
import { type LiveParts, LiveState } from "../src/frontend/session/live_state.ts";
import { LogEntries, type LogTexts } from "../src/frontend/session/log.ts";
import type { OpenQuestion } from "../src/frontend/session/questions.ts";
import { agentUpdate } from "../src/frontend/server_updates.ts";
import type { texts } from "../src/i18n/en/web.ts";
import { currentBranch } from "../src/session/state/state.ts";
import { attachments, userText } from "../src/util/user_text.ts";
import { type Block, callTitle, MarkdownBlocks, moneyFigure, timeText } from "../src/view/mod.ts";

/** Texts of rows: those of the log of a session, and of events that only the page shows. */
type StoreTexts = LogTexts & ReturnType<typeof texts>["rows"];

type Image = NonNullable<EventOf<"message.user">["images"]>[number];
type Level = "info" | "warning" | "error";
type TodoItem = EventOf<"todo.update">["items"][number];

interface Placed {
  /** Unique in its session, and the same in every load of it. */
  readonly key: string;
  readonly time: string;
}

export interface UserRow extends Placed {
  readonly kind: "user";
  /** The client's id of the message. */
  readonly id?: string;
  readonly text: string;
  readonly attached: readonly string[];
  readonly images: readonly Image[];
  /** Sent while a turn was running. */
  readonly steer: boolean;
}

export interface ReplyRow extends Placed {
  readonly kind: "reply";
  readonly text: string;
  readonly thinking: string;
  /** Tokens of the thinking as the server counted them. */
  readonly tokens?: number;
  readonly interrupted: boolean;
}

/** A call that runs or has ended, or a command that tested changes. */
export interface CallRow extends Placed {
  readonly kind: "call";
  readonly callId: string;
  readonly name: string;
  readonly title: string;
  readonly arguments: string;
  readonly notes: readonly string[];
  readonly end?: EventOf<"tool.end">;
}

export interface NoteRow extends Placed {
  readonly kind: "note";
  readonly source: "notice" | "server" | "hook" | "mark";
  readonly level: Level;
  readonly text: string;
  /** Markdown that belongs to it: a summary is collapsed, a plan is open. */
  readonly body?: string;
  readonly open?: boolean;
  /** Only in the log. */
  readonly quiet?: boolean;
}

export interface TodoRow extends Placed {
  readonly kind: "todo";
  readonly items: readonly TodoItem[];
}

/** The end of a turn, with its figures. */
export interface TurnRow extends Placed {
  readonly kind: "turn";
  readonly reason: EventOf<"turn.end">["reason"];
  readonly text: string;
}

export type Row = UserRow | ReplyRow | CallRow | NoteRow | TodoRow | TurnRow;

export interface ChangedPath {
  readonly path: string;
  readonly change: string;
  readonly added: number;
  readonly removed: number;
}

/** A text that the session has said to the person, which is no event. */
export interface Said {
  readonly key: string;
  /** The last durable event before it. */
  readonly after: number;
  readonly text: string;
  readonly form: "markdown" | "plain" | "error";
}

type LiveMessage = NonNullable<LiveParts["message"]>;

interface StreamedMessage extends Pick<LiveMessage, "model" | "thinking" | "calls"> {
  /** Blocks of its text that cannot change any more, and the one that still grows. */
  readonly blocks: readonly Block[];
  readonly open: Block | undefined;
}

export interface SessionView {
  readonly rows: readonly Row[];
  readonly said: readonly Said[];
  readonly message: StreamedMessage | undefined;
  readonly calls: ReadonlyMap<string, LiveParts["calls"][number]>;
  readonly todos: readonly TodoItem[];
  readonly files: readonly ChangedPath[];
  /** The beginning of the last turn; empty where it is not known. */
  readonly since: string;
  /** Undefined before the first snapshot. */
  readonly turnState: LiveParts["turnState"] | undefined;
  /** The request is sent again; the attempt that waits. */
  readonly retry: EventOf<"message.retry"> | undefined;
  readonly questions: readonly OpenQuestion[];
  readonly waiting: Snapshot["waiting"];
  readonly steering: Snapshot["steering"];
  readonly facts: { readonly [K in SessionFact["kind"]]?: Extract<SessionFact, { kind: K }> };
  /** The rows begin with the session. */
  readonly first: boolean;
}

/** Leaves out what no row shows, which may be most of an event. */
function slim(event: Event): Event {
  switch (event.type) {
    case "context.prefix":
      return { ...event, system: "", tools: [] };
    case "message.user":
      return event.origin === "user" || event.origin === "steer" ? event : { ...event, content: "" };
    case "message.end": {
      const { parts: _parts, ...rest } = event;
      return rest;
    }
    case "turn.end":
      return { ...event, answer: "" };
    default:
      return event;
  }
}

const OUTCOMES = { passed: "ok", failed: "error", timeout: "error", skipped: "skipped" } as const;

/** The rows of a branch of events. */
class Rows {
  readonly all: Row[] = [];
  readonly files = new Map<string, ChangedPath>();
  todos: readonly TodoItem[] = [];
  since = "";
  quiet = 0;
  readonly #texts: () => StoreTexts;
  readonly #log = new LogEntries();
  /** Indexes of the rows of calls that run. */
  readonly #calls = new Map<string, number>();
  #todoAt: number | undefined;
  #goal = "";

  constructor(texts: () => StoreTexts) {
    this.#texts = texts;
  }

  add(event: Event): void {
    const texts = this.#texts();
    // The keyboard of the chat is no hint here.
    for (const entry of this.#log.of(event, { ...texts, showAll: "" })) {
      if (entry.kind === "call") this.#end(event, entry.title, entry.end);
      else {this.#note(event, {
          ...entry.note,
          source: MARKS.has(event.type) ? "mark" : "notice",
          ...bodyOf(event),
        });}
    }
    switch (event.type) {
      case "turn.start":
        this.since = event.time;
        break;
      case "message.user":
        if (event.origin !== "user" && event.origin !== "steer") break;
        this.#add(event, {
          kind: "user",
          ...("id" in event && typeof event.id === "string" ? { id: event.id } : {}),
          text: userText(event.content).trimEnd(),
          attached: attachments(event.content),
          images: event.images ?? [],
          steer: event.origin === "steer",
        });
        break;
      case "message.end": {
        const { step, content, reasoning = "", interrupted = false, usage } = event;
        // Step 0 is a summary for the model.
        if (step === 0 || (content.trim() === "" && reasoning.trim() === "" && !interrupted)) break;
        const tokens = usage?.reasoningTokens ? { tokens: usage.reasoningTokens } : {};
        this.#add(event, { kind: "reply", text: content, thinking: reasoning, interrupted, ...tokens });
        break;
      }
      case "tool.start": {
        const { call: { id: callId, name, arguments: written } } = event;
        // The list itself is shown.
        if (name === "todo_write") break;
        this.#calls.set(callId, this.all.length);
        this.#add(event, {
          kind: "call",
          callId,
          name,
          title: callTitle(event, texts),
          arguments: written,
          notes: [],
        });
        break;
      }
      case "subagent.start":
      case "subagent.end":
        this.#change(
          event.callId,
          (row) => ({ ...row, notes: [...row.notes, agentUpdate(event, texts).text] }),
        );
        break;
      case "todo.update":
        this.#todo(event);
        break;
      case "verification": {
        const { command, outcome, exitCode, text: content = "", durationMs } = event;
        const summary = exitCode === undefined ? content.split("\n", 1)[0] ?? "" : `exit code ${exitCode}`;
        const row = { callId: "", name: "verify", title: `${texts.verifying}: ${command}`, arguments: "" };
        const { v, seq, time } = event;
        const end = { callId: "", name: "verify", outcome: OUTCOMES[outcome], content, summary, durationMs };
        const exit = exitCode === undefined ? {} : { exitCode };
        this.#add(event, {
          kind: "call",
          ...row,
          notes: [],
          end: { v, seq, time, type: "tool.end", ...end, ...exit },
        });
        break;
      }
      case "goal.change": {
        const change = `${event.goal} ${event.state}`;
        if (change === this.#goal) break;
        this.#goal = change;
        const words = event.state === "active" ? event.objective : event.note ?? event.objective;
        const level = event.state === "blocked" || event.state === "limit" ? "warning" : "info";
        this.#note(event, { level, text: texts.goal[event.state](words), source: "mark" });
        break;
      }
      case "hook": {
        const { outcome, command, text, event: name } = event;
        const quiet = outcome === "ok" && !text;
        this.#note(event, {
          level: outcome === "ok" ? "info" : "warning",
          text: texts.hook(name, command, outcome),
          source: "hook",
          ...(text ? { body: text } : {}),
          ...(quiet ? { quiet } : {}),
        });
        break;
      }
      case "mcp.server": {
        const line = this.#log.servers.of(event, texts);
        const text = texts.server(event.server, event.state);
        this.#note(event, { source: "server", ...(line ?? { level: "info", text, quiet: true }) });
        break;
      }
      case "turn.end": {
        const { reason, steps, durationMs, cost } = event;
        const money = cost && moneyFigure({ costs: { [cost.currency]: cost.amount }, unpriced: 0 });
        const text = [texts.reasons[reason], texts.steps(steps), timeText(durationMs, texts), money];
        this.#add(event, { kind: "turn", reason, text: text.filter((part) => part).join(" · ") });
        [this.#todoAt] = [undefined, this.#calls.clear()];
        break;
      }
    }
  }

  #end(event: Event, title: string, end: EventOf<"tool.end">): void {
    const { callId, name, changes = [] } = end;
    for (const { path, change, added, removed, written } of changes) {
      if (written === false || change === "unchanged") continue;
      const before = this.files.get(path) ?? { added: 0, removed: 0 };
      this.files.set(path, { path, change, added: before.added + added, removed: before.removed + removed });
    }
    if (this.#change(callId, (row) => ({ ...row, end }))) this.#calls.delete(callId);
    else if (name !== "todo_write" || end.outcome !== "ok") {
      this.#add(event, { kind: "call", callId, name, title, arguments: "", notes: [], end });
    }
  }

  /** Changes the row of a call that runs, if there is one. */
  #change(callId: string | undefined, change: (row: CallRow) => CallRow): boolean {
    const at = this.#calls.get(callId ?? "");
    const row = at === undefined ? undefined : this.all[at];
    if (at === undefined || row?.kind !== "call") return false;
    this.all[at] = change(row);
    return true;
  }

  /** A turn has one list, which changes where it is. */
  #todo(event: EventOf<"todo.update">): void {
    this.todos = event.items;
    const row = this.#todoAt === undefined ? undefined : this.all[this.#todoAt];
    if (this.#todoAt !== undefined && row?.kind === "todo") {
      this.all[this.#todoAt] = { ...row, items: event.items };
    } else if (event.items.length > 0) {
      this.#todoAt = this.all.length;
      this.#add(event, { kind: "todo", items: event.items });
    }
  }

  #note(event: Event, note: Omit<NoteRow, "kind" | keyof Placed>): void {
    if (note.quiet) this.quiet++;
    this.#add(event, { kind: "note", ...note });
  }

  #add({ seq, time }: Event, row: Unplaced): void {
    const last = this.all.at(-1)?.key ?? "";
    const [before, more = "1"] = last.split(".");
    const key = before === String(seq) ? `${seq}.${Number(more) + 1}` : String(seq);
    this.all.push({ key, time, ...row });
  }
}

type Unplaced = Row extends infer R ? R extends Row ? Omit<R, keyof Placed> : never : never;

/** Kinds whose notes divide the conversation. */
const MARKS: ReadonlySet<Event["type"]> = new Set(["compaction", "rewind", "plan.change", "checkpoint"]);

function bodyOf(event: Event): Pick<NoteRow, "body" | "open"> {
  if (event.type === "plan.change" && event.plan !== undefined) return { body: event.plan, open: true };
  if (event.type !== "compaction" || event.action === "prune" || event.digest === "") return {};
  return { body: event.digest.replace(/^<\/?compaction-summary>\n?/gm, "").trim() };
}

/** The durable events before one, oldest first; the newest ones without it. */
type LoadEvents = (
  before?: number,
) => Promise<{ readonly events: readonly Event[]; readonly first: boolean }>;

interface SessionModelOptions {
  readonly texts: () => StoreTexts;
  readonly load: LoadEvents;
  /** Calls a function before the next frame; default: at once. */
  readonly frame?: (run: () => void) => void;
}

const EMPTY: SessionView = {
  rows: [],
  said: [],
  message: undefined,
  calls: new Map(),
  todos: [],
  files: [],
  since: "",
  turnState: undefined,
  retry: undefined,
  questions: [],
  waiting: [],
  steering: [],
  facts: {},
  first: false,
};

/** Texts that are not in the session are kept up to this number. */
const MOST_SAID = 100;

/** The data of an event of the stream that is no event of the session. */
interface StreamData {
  readonly snapshot: Snapshot;
  readonly facts: readonly SessionFact[];
  readonly fact: SessionFact;
  readonly text: string;
  readonly form: "plain";
  readonly error: { readonly message: string; readonly remedy?: string };
  readonly drafts: readonly unknown[];
  readonly waiting: Snapshot["waiting"];
  readonly steering: Snapshot["steering"];
}

/**
 * A session in the page.
 *
 * Contract: the rows depend on the durable events alone; any windows and cuts of the stream give the same.
 */
export class SessionModel {
  /** Calls, and notes with those that the conversation leaves out. */
  readonly log: ReadonlySignal<readonly (CallRow | NoteRow)[]>;
  /** Drafts that the session has returned to their front end. */
  readonly returned = signal<readonly unknown[]>([]);
  /** The last question that was answered, and the front end that did. */
  readonly answered = signal<Pick<EventOf<"question.state">, "id" | "by">>({ id: "" });
  readonly #options: SessionModelOptions;
  readonly #view = signal(EMPTY);
  readonly #all = signal<readonly Row[]>([]);
  readonly #live = new LiveState();
  #events: Event[] = [];
  #rows: Rows;
  #stream = { blocks: new MarkdownBlocks(), done: [] as Block[] };
  /** The parts of the view that change at once, and are shown with the next frame. */
  #next: SessionView = EMPTY;
  #stale = { rows: false, scheduled: false };
  #loading: Promise<void> | undefined;

  constructor(options: SessionModelOptions) {
    this.#options = options;
    this.#rows = new Rows(options.texts);
    this.log = computed(() => this.#all.value.filter((row) => row.kind === "call" || row.kind === "note"));
  }

  get view(): ReadonlySignal<SessionView> {
    return this.#view;
  }

  /** The last durable event; 0: none. */
  get seq(): number {
    return this.#events.at(-1)?.seq ?? 0;
  }

  /** Loads the newest events, or those before the first ones, until rows have come. */
  older(): Promise<void> {
    return this.#loading ??= this.#older().finally(() => this.#loading = undefined);
  }

  async #older(): Promise<void> {
    const { length } = this.#rows.all;
    // Of a window that a rewind has left there is no row.
    while (!this.#next.first && this.#rows.all.length === length) {
      const [oldest] = this.#events;
      const { events, first } = await this.#options.load(oldest?.seq);
      // A reset has begun from nothing.
      if (this.#events[0] === oldest) this.prepend(events, first || events.length === 0);
    }
  }

  /** Takes the events before those that are known. */
  prepend(events: readonly Event[], first: boolean): void {
    const before = this.#events[0]?.seq ?? Infinity;
    this.#events = [...events.filter(({ seq }) => seq < before).map(slim), ...this.#events];
    this.#next = { ...this.#next, first };
    this.#rebuild();
  }

  event(event: Event): void {
    if (event.type === "question.state") return this.#question(event);
    if (event.seq > 0) {
      if (event.seq <= this.seq) return;
      const kept = slim(event);
      this.#events.push(kept);
      if (kept.type === "rewind" && kept.scope !== "code") this.#rebuild();
      else this.#rows.add(kept);
      this.#stale.rows = true;
    }
    this.#live.event(event);
    if (event.type === "message.start" || (event.type === "message.retry" && event.discarded)) {
      this.#begin("");
    } else if (event.type === "message.delta" && event.channel === "text") this.#write(event.text);
    if (event.type.startsWith("message.") || event.type === "turn.end") {
      this.#next = { ...this.#next, retry: event.type === "message.retry" ? event : undefined };
    }
    this.#changed();
  }

  /** Takes the live part, and the facts that came with it. */
  snapshot({ snapshot, facts = [] }: Pick<StreamData, "snapshot"> & Partial<StreamData>): void {
    const { questions, waiting, steering } = snapshot;
    this.#live.restore(snapshot);
    this.#begin(snapshot.message?.text ?? "");
    this.#next = { ...this.#next, questions, waiting, steering, retry: undefined };
    for (const fact of facts) this.other("facts", { fact });
    this.#changed();
  }

  /** Takes another event of the stream by its name. */
  other(name: string, data: Partial<StreamData>): void {
    const { text = "", form = "markdown", fact, error, drafts, waiting = [], steering = [] } = data;
    if (name === "said") this.#say(text, form);
    else if (name === "failed" && error) {
      this.#say(error.remedy === undefined ? error.message : `${error.message}: ${error.remedy}`, "error");
    } else if (name === "facts" && fact) {
      this.#next = { ...this.#next, facts: { ...this.#next.facts, [fact.kind]: fact } };
    } else if (name === "queue") this.#next = { ...this.#next, waiting, steering };
    else if (name === "returned" && drafts) this.returned.value = drafts;
    this.#changed();
  }

  /** Forgets everything; `older` begins again. */
  reset(): void {
    [this.#events, this.#next] = [[], EMPTY];
    this.#live.restore({ seq: 0, turnState: "idle", calls: [] });
    this.#rebuild();
  }

  #question({ id, kind, state, question, by }: EventOf<"question.state">): void {
    if (state === "answered" && by !== undefined) this.answered.value = { id, by };
    const { questions } = this.#next;
    const at = questions.findIndex((one) => one.id === id);
    const opened = { called: false, ...questions[at], id, kind, question } as OpenQuestion;
    const rest = questions.filter((one) => one.id !== id);
    const isOpen = state === "opened" || state === "changed";
    this.#next = {
      ...this.#next,
      questions: !isOpen ? rest : at < 0 ? [...rest, opened] : questions.with(at, opened),
    };
    this.#changed();
  }

  #say(text: string, form: Said["form"]): void {
    const { said } = this.#next;
    const number = Number(said.at(-1)?.key.slice(1) ?? 0) + 1;
    const one = { key: `s${number}`, after: this.seq, text, form };
    this.#next = { ...this.#next, said: [...said.slice(1 - MOST_SAID), one] };
  }

  #begin(text: string): void {
    this.#stream = { blocks: new MarkdownBlocks(), done: [] };
    this.#write(text);
  }

  #write(text: string): void {
    this.#stream.done.push(...this.#stream.blocks.push(text));
  }

  #rebuild(): void {
    this.#rows = new Rows(this.#options.texts);
    for (const event of currentBranch(this.#events)) this.#rows.add(event);
    this.#stale.rows = true;
    this.#changed();
  }

  #changed(): void {
    if (this.#stale.scheduled) return;
    this.#stale.scheduled = true;
    const run = () => {
      this.#stale.scheduled = false;
      this.#publish();
    };
    this.#options.frame ? this.#options.frame(run) : run();
  }

  #publish(): void {
    if (this.#stale.rows) {
      this.#stale.rows = false;
      const { all, quiet, todos, files, since } = this.#rows;
      const rows = quiet === 0 ? [...all] : all.filter((row) => row.kind !== "note" || !row.quiet);
      this.#next = { ...this.#next, rows, todos, since, files: [...files.values()] };
      this.#all.value = [...all];
    }
    const { turnState, message, calls, seq } = this.#live.snapshot();
    const { blocks, done } = this.#stream;
    this.#view.value = this.#next = {
      ...this.#next,
      // Step 0 is a summary for the model.
      message: message && message.step > 0 ? { ...message, blocks: [...done], open: blocks.open } : undefined,
      calls: new Map(calls.map((call) => [call.callId, call])),
      turnState: seq > 0 ? turnState : undefined,
    };
  }
}
