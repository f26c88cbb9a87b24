/** The state of a session as the page shows it: rows of its durable events, and the part that is live. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Event, EventOf } from "../src/core/mod.ts";
import type { SessionFact } from "../src/frontend/session/facts.ts";
import type { Snapshot } from "../src/frontend/session/live_session.ts";
import { type LiveParts, LiveState } from "../src/frontend/session/live_state.ts";
import type { OpenQuestion } from "../src/frontend/session/questions.ts";
import {
  type CallRow,
  type ChangedPath,
  type NoteRow,
  type Row,
  type RowTexts,
  SessionRows,
  slim,
  type TodoRow,
} from "../src/frontend/session/rows.ts";
import { currentBranch } from "../src/session/state/state.ts";
import { type Block, MarkdownBlocks } from "../src/view/mod.ts";

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
  readonly todos: TodoRow["items"];
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

/** The durable events before one, oldest first; the newest ones without it. */
type LoadEvents = (
  before?: number,
) => Promise<{ readonly events: readonly Event[]; readonly first: boolean }>;

interface SessionModelOptions {
  readonly texts: () => RowTexts;
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
export interface StreamData {
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
  #rows: SessionRows;
  #stream = { blocks: new MarkdownBlocks(), done: [] as Block[] };
  /** The parts of the view that change at once, and are shown with the next frame. */
  #next: SessionView = EMPTY;
  #stale = { rows: false, scheduled: false };
  #loading: Promise<void> | undefined;
  /** Another one after each reset. */
  #begun = {};

  constructor(options: SessionModelOptions) {
    this.#options = options;
    this.#rows = new SessionRows(options.texts);
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
    const loading = this.#loading ??= this.#older(this.#begun).finally(() => {
      if (this.#loading === loading) this.#loading = undefined;
    });
    return loading;
  }

  async #older(begun: object): Promise<void> {
    const { length } = this.#rows.all;
    // Of a window that a rewind has left there is no row.
    while (!this.#next.first && this.#rows.all.length === length) {
      const { events, first } = await this.#options.load(this.#events[0]?.seq);
      // A reset has begun from nothing.
      if (begun !== this.#begun) return;
      this.prepend(events, first || events.length === 0);
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
    this.#next = { ...this.#next, questions, waiting, steering, retry: undefined, facts: {} };
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
    [this.#events, this.#next, this.#loading, this.#begun] = [[], EMPTY, undefined, {}];
    this.#live.restore({ seq: 0, turnState: "idle", calls: [] });
    this.#rebuild();
  }

  #question({ id, kind, state, question, by, called = false }: EventOf<"question.state">): void {
    if (state === "answered" && by !== undefined) this.answered.value = { id, by };
    const { questions } = this.#next;
    const at = questions.findIndex((one) => one.id === id);
    const opened = { called, ...questions[at], id, kind, question } as OpenQuestion;
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
    this.#rows = new SessionRows(this.#options.texts);
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
