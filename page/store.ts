/** The state of a session as the page shows it: rows of its durable events, and the part that is live. */
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Event, EventOf } from "../src/core/mod.ts";
import type { SessionFact } from "../src/frontend/session/facts.ts";
import type { Snapshot } from "../src/frontend/session/live_session.ts";
import { type LiveParts, LiveState } from "../src/frontend/session/live_state.ts";
import type { LogTexts } from "../src/frontend/session/log.ts";
import type { OpenQuestion } from "../src/frontend/session/questions.ts";
import { type Row, type SessionFile, SessionRows } from "../src/frontend/session/rows.ts";
import { slim, type TodoRow } from "../src/frontend/session/rows.ts";
import { currentBranch } from "../src/session/state/state.ts";
import { type Block, MarkdownBlocks } from "../src/view/mod.ts";
import type { StreamData } from "./stream.ts";

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

/** The view of a session of which nothing is known. */
const EMPTY = {
  rows: [] as readonly Row[],
  said: [] as readonly Said[],
  message: undefined as StreamedMessage | undefined,
  calls: new Map() as ReadonlyMap<string, LiveParts["calls"][number]>,
  todos: [] as TodoRow["items"],
  files: [] as readonly SessionFile[],
  /** The beginning of the last turn; empty where it is not known. */
  since: "",
  /** Undefined before the first snapshot. */
  turnState: undefined as LiveParts["turnState"] | undefined,
  /** The request is sent again; the attempt that waits. */
  retry: undefined as EventOf<"message.retry"> | undefined,
  questions: [] as readonly OpenQuestion[],
  waiting: [] as Snapshot["waiting"],
  steering: [] as Snapshot["steering"],
  facts: {} as { readonly [K in SessionFact["kind"]]?: Extract<SessionFact, { kind: K }> },
  /** The rows begin with the session. */
  first: false,
};

export type SessionView = Readonly<typeof EMPTY>;

interface SessionModelOptions {
  readonly texts: () => LogTexts;
  /** Gives the durable events before one, oldest first; the newest ones without it. */
  readonly load: (before?: number) => Promise<{ readonly events: readonly Event[]; readonly first: boolean }>;
  /** Calls a function before the next frame; default: at once. */
  readonly frame?: (run: () => void) => void;
}

/** Texts that are not in the session are kept up to this number. */
const MOST_SAID = 100;

/**
 * A session in the page.
 *
 * Contract: the rows depend on the durable events alone; any windows and cuts of the stream give the same.
 */
export class SessionModel {
  /** Drafts that the session has returned to their front end. */
  readonly returned = signal<readonly unknown[]>([]);
  /** The last question that was answered, and the front end that did. */
  readonly answered = signal<Pick<EventOf<"question.state">, "id" | "by">>({ id: "" });
  readonly #options: SessionModelOptions;
  readonly #view = signal<SessionView>(EMPTY);
  readonly view: ReadonlySignal<SessionView> = this.#view;
  readonly #all = signal<readonly Row[]>([]);
  /** Calls, and notes with those that the conversation leaves out. */
  readonly log = computed(() => this.#all.value.filter((row) => row.kind === "call" || row.kind === "note"));
  readonly #live = new LiveState();
  readonly #opened = new Map<string, Signal<boolean>>();
  #events: Event[] = [];
  #rows: SessionRows;
  #stream = { blocks: new MarkdownBlocks(), done: [] as Block[] };
  /** The parts of the view that change at once, and are shown with the next frame. */
  #next: SessionView = EMPTY;
  #stale = { rows: false, scheduled: false };
  #saidCount = 0;
  #loading: Promise<void> | undefined;
  /** Another one after each reset. */
  #begun = {};

  constructor(options: SessionModelOptions) {
    this.#options = options;
    this.#rows = new SessionRows(options.texts);
  }

  /** The last durable event; 0: none. */
  get seq(): number {
    return this.#events.at(-1)?.seq ?? 0;
  }

  /** Reports whether a part of a row is open; the row may leave the page and come back. */
  opened(key: string, atFirst = false): Signal<boolean> {
    const known = this.#opened.get(key) ?? signal(atFirst);
    this.#opened.set(key, known);
    return known;
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
    this.#rebuild();
    this.#set({ first });
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
    const isRetry = event.type === "message.retry";
    if (event.type === "message.start" || (isRetry && event.discarded)) this.#begin("");
    else if (event.type === "message.delta" && event.channel === "text") this.#write(event.text);
    const isNews = event.type.startsWith("message.") || event.type === "turn.end";
    this.#set(isNews ? { retry: isRetry ? event : undefined } : {});
  }

  /** Takes the live part, and the facts that came with it. */
  snapshot({ snapshot, facts = [] }: StreamData & { readonly snapshot: Snapshot }): void {
    const { questions, waiting, steering } = snapshot;
    this.#live.restore(snapshot);
    this.#begin(snapshot.message?.text ?? "");
    const known = Object.fromEntries(facts.map((fact) => [fact.kind, fact]));
    this.#set({ questions, waiting, steering, retry: undefined, facts: known });
  }

  /** Takes another event of the stream by its name. */
  other(name: string, { text = "", form, fact, error, drafts, ...queue }: StreamData): void {
    if (name === "said") this.#say(text, form ?? "markdown");
    else if (name === "failed" && error) {
      this.#say(error.remedy === undefined ? error.message : `${error.message}: ${error.remedy}`, "error");
    } else if (name === "facts" && fact) this.#set({ facts: { ...this.#next.facts, [fact.kind]: fact } });
    else if (name === "queue") this.#set({ waiting: queue.waiting ?? [], steering: queue.steering ?? [] });
    else if (name === "returned" && drafts) this.returned.value = drafts;
  }

  /** Forgets everything; `older` begins again. */
  reset(): void {
    [this.#events, this.#next, this.#loading, this.#begun] = [[], EMPTY, undefined, {}];
    this.#live.restore({ seq: 0, turnState: "idle", calls: [] });
    this.#rebuild();
    this.#set({});
  }

  #question({ id, kind, state, question, by, called = false }: EventOf<"question.state">): void {
    if (state === "answered" && by !== undefined) this.answered.value = { id, by };
    const open = new Map(this.#next.questions.map((one) => [one.id, one]));
    if (state !== "opened" && state !== "changed") open.delete(id);
    else open.set(id, { called, ...open.get(id), id, kind, question } as OpenQuestion);
    this.#set({ questions: [...open.values()] });
  }

  #say(text: string, form: Said["form"]): void {
    const one = { key: `s${++this.#saidCount}`, after: this.seq, text, form };
    this.#set({ said: [...this.#next.said.slice(1 - MOST_SAID), one] });
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
  }

  /** Changes parts of the view; all changes of a frame are shown together. */
  #set(parts: Partial<SessionView>): void {
    this.#next = { ...this.#next, ...parts };
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
      this.#next = {
        ...this.#next,
        rows,
        todos,
        since,
        files: [...files.values()].filter(({ ends }) => ends.length > 0),
      };
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
