import { allCommands, type CommandHost, type OpenRequest } from "../../command/mod.ts";
import { type Event, EVENT_VERSION, message, type NewEvent, ReasonixError } from "../../core/mod.ts";
import { loadTexts } from "../../i18n/mod.ts";
import type { Assembly } from "../../run/mod.ts";
import { defined } from "../../util/json.ts";
import { atMost } from "../../util/timer.ts";
import { type LiveParts, LiveState } from "./live_state.ts";
import { type Person, personOf, questionsOfCommands } from "./person.ts";
import { type OpenQuestion, type QuestionEvent, Questions } from "./questions.ts";
import { SessionHost } from "./session_host.ts";
import { Submissions, type Submitter } from "./submissions.ts";
import type { SessionTexts } from "./texts.ts";

export interface Snapshot extends LiveParts {
  readonly questions: readonly OpenQuestion[];
  /** Messages that wait for their turn. */
  readonly waiting: readonly { readonly id?: string; readonly text: string }[];
  /** Steering messages that the running turn has not taken yet. */
  readonly steering: readonly string[];
}

/** Returns the open part of a session as live events, for a front end that joins and shows events alone. */
export function openEvents({ turnState, message: open, calls }: LiveParts): readonly Event[] {
  const begun: NewEvent[] = [{ type: "turn.state", from: "idle", to: turnState }];
  if (open) {
    const { step, model } = open;
    begun.push(
      { type: "message.start", step, model },
      { type: "message.delta", channel: "reasoning", text: open.thinking },
      { type: "message.delta", channel: "text", text: open.text },
      ...open.calls.map((call) => ({ type: "tool.call" as const, step, ...call })),
    );
  }
  for (const { callId, name, title, said, arguments: written, tail } of calls) {
    const call = { id: callId, name, arguments: written };
    begun.push(
      { type: "tool.start", call, readOnly: false, summary: "", title, ...defined({ said }) },
      { type: "tool.delta", callId, text: tail },
    );
  }
  const time = new Date().toISOString();
  return begun.map((event) => ({ v: EVENT_VERSION, seq: 0, time, ...event }));
}

/**
 * A front end of a session: it shows what happens, and sends the messages and answers of its user.
 *
 * Contract: nothing waits for it. One that cannot take an event drops it; later it shows the durable events
 * after its last one (`history`), a snapshot, and events from there on. What it throws disturbs neither the
 * turn nor the other front ends.
 */
export interface FrontEnd extends Submitter {
  /** The name by which others hear of its answers: "terminal", "editor". */
  readonly name: string;
  event(event: Event | QuestionEvent): void;
  /** Called with each session that is opened, before its first event. */
  opened?(assembly: Assembly): void;
  /** Called when the session is stopped, with the end of closing it. */
  ended?(end: Promise<void>): void;
  /** Called when the waiting messages have changed. */
  queued?(): void;
  said?(text: string, form?: "plain"): void;
  settingSaved?(key: string, value: unknown): void;
  /** Lends its terminal to a program that asks the user itself. */
  lend?<T>(run: () => Promise<T>): Promise<T>;
  /** Its user is asked the questions of the setup wizard where no front end lends a terminal. */
  readonly setsUp?: true;
  /** The part of its commands that no other front end has. */
  readonly commands?: Partial<
    Pick<CommandHost, "showsEvents" | "oneSession" | "draft" | "control" | "keys" | "quit" | "view" | "web">
  >;
}

const REPORTS: ReadonlySet<Event["type"]> = new Set(["notice", "error", "job.change", "subagent.end"]);

/** Maximum wait, in ms, for a command that runs when its session is closed. */
const COMMAND_MS = 5000;

export type OpenFor = (request: OpenRequest, person: Person) => Promise<Assembly>;

export type SetUp = (person: Pick<Person, "lend" | "questions" | "say">) => Promise<boolean>;

export interface LiveSessionOptions {
  /** Opens a session; the user of the front ends answers its questions. */
  readonly open: OpenFor;
  readonly texts: SessionTexts;
  /** Asks the person for a provider and saves it; false: the person gave up. */
  readonly setUp?: SetUp;
  /** Called when the session is closed, with the end of that. */
  readonly closed?: (end: Promise<void>) => void;
}

/** An open session with its questions and its messages, shared by the front ends that attach to it. */
export class LiveSession {
  readonly questions = new Questions();
  readonly host: SessionHost;
  readonly submissions: Submissions;
  readonly #texts: SessionTexts;
  readonly #closed: (end: Promise<void>) => void;
  readonly #setUp: SetUp | undefined;
  #end: Promise<void> | undefined;
  /** Replaced as a whole: what attaches during an event does not get that event. */
  #frontEnds: readonly FrontEnd[] = [];
  /** Texts about the opening of the session, for the first front end that attaches. */
  readonly #unsaid: string[] = [];
  #assembly: Assembly | undefined;
  #live = new LiveState();
  /** Commands and agents that run in the background. */
  readonly #jobs = new Set<string>();

  constructor({ open, texts, setUp, closed = () => {} }: LiveSessionOptions) {
    [this.#texts, this.#setUp, this.#closed] = [texts, setUp, closed];
    this.host = new SessionHost(
      (request) => open(request, this.#person()),
      (event, assembly) => this.#event(event, assembly),
      (assembly) => this.#opened(assembly),
    );
    this.submissions = new Submissions({
      host: this.host,
      texts,
      commands: (by) => this.commandsOf(this.#frontEnds.find((frontEnd) => frontEnd === by)),
      frontEnds: () => this.#frontEnds,
      changed: () => this.#each((frontEnd) => frontEnd.queued?.()),
    });
    this.questions.subscribe((event) => this.#each((frontEnd) => frontEnd.event(event)));
  }

  /** The user, who is at any of the front ends. */
  #person(): Person {
    const lender = this.#frontEnds.find((each): each is FrontEnd & Required<Pick<FrontEnd, "lend">> =>
      each.lend !== undefined
    );
    const asksSetup = !lender && this.#frontEnds.some(({ setsUp }) => setsUp);
    return personOf(this.questions, {
      stop: () => this.submissions.stopOwn(),
      say: (text) => {
        if (this.#frontEnds.length === 0) this.#unsaid.push(text);
        this.#each((frontEnd) => frontEnd.said?.(text));
      },
      speak: (locale) => this.#texts.use(locale),
      ...(lender ? { lend: (run) => lender.lend(run) } : {}),
      ...(asksSetup ? { questions: questionsOfCommands(this.questions) } : {}),
    });
  }

  /** The session that is open. */
  get assembly(): Assembly | undefined {
    return this.#assembly;
  }

  /** The identifier of the open session. */
  get id(): string | undefined {
    return this.#assembly?.session.id;
  }

  get frontEnds(): readonly FrontEnd[] {
    return this.#frontEnds;
  }

  /** It is open, nothing of it runs, and nothing waits for the user. */
  get isIdle(): boolean {
    const isUsed = this.submissions.busy || this.questions.open.length > 0 || this.#jobs.size > 0;
    return this.#assembly !== undefined && !isUsed;
  }

  /** The returned function detaches it. */
  attach(frontEnd: FrontEnd): () => void {
    this.#frontEnds = [...this.#frontEnds, frontEnd];
    for (const text of this.#unsaid.splice(0)) this.#give(frontEnd, () => frontEnd.said?.(text));
    return () => void (this.#frontEnds = this.#frontEnds.filter((each) => each !== frontEnd));
  }

  snapshot(): Snapshot {
    const { waiting, steering } = this.submissions;
    return {
      ...this.#live.snapshot(),
      questions: this.questions.open,
      waiting: waiting.map(({ id, text }) => ({ text, ...defined({ id }) })),
      steering,
    };
  }

  /** The durable events after one, up to the one of a snapshot that is taken at the same time. */
  history(after: number): readonly Event[] {
    const events = this.#assembly?.session.eventsAfter(after) ?? [];
    return events.filter(({ seq }) => seq <= this.#live.seq);
  }

  /** The commands for the messages of a front end, or for none in particular. */
  commandsOf(by?: FrontEnd): CommandHost {
    const [host, texts] = [this.host, this.#texts];
    const { oneSession = false } = by?.commands ?? {};
    return {
      ...questionsOfCommands(this.questions),
      get locale() {
        return texts.locale;
      },
      get opening() {
        return host.opening;
      },
      session: () => host.current(),
      commands: () => allCommands({ locale: texts.locale, session: () => host.ifOpen(), oneSession }),
      say: (text, form) => by?.said ? by.said(text, form) : this.#each((each) => each.said?.(text, form)),
      settingSaved: async (key, value) => {
        await texts.change(key, value);
        this.#each((frontEnd) => frontEnd.settingSaved?.(key, value));
      },
      send: (text, rest) => this.submissions.send(text, rest, by),
      reopen: async (request) => {
        await this.#beforeLeaving(request);
        await host.replace(request);
      },
      quit() {},
      ...(by?.lend ? { terminal: (run) => by.lend?.(run) ?? run() } : {}),
      ...this.#setUpAt(by),
      ...by?.commands,
    };
  }

  /** The setup at a front end, which lends its terminal or shows questions. */
  #setUpAt(by: FrontEnd | undefined): Pick<CommandHost, "setUp"> {
    const setUp = this.#setUp;
    if (!setUp || !by?.lend && !by?.setsUp) return {};
    const questions = questionsOfCommands(this.questions);
    const lend = by.lend && { lend: <T>(run: () => Promise<T>) => by.lend?.(run) ?? run() };
    return { setUp: () => setUp({ ...lend, questions, say: (text) => by.said?.(text) }) };
  }

  /** Closes the session, unless a front end is attached. */
  async close(): Promise<void> {
    if (this.#frontEnds.length === 0) await this.end();
  }

  /** Stops what runs, withdraws open questions and closes the session. */
  end(): Promise<void> {
    if (this.#end) return this.#end;
    const frontEnds = this.#frontEnds;
    this.#frontEnds = [];
    this.submissions.stop("terminated");
    this.questions.withdraw();
    const end = this.#end = this.#close();
    this.#closed(end);
    for (const frontEnd of frontEnds) this.#give(frontEnd, () => frontEnd.ended?.(end));
    return end;
  }

  /** A command writes what its user asked for, before the session is closed. */
  async #close(): Promise<void> {
    await atMost(COMMAND_MS, this.submissions.ended());
    await this.host.close();
  }

  /** Asks before a session is left that could not be saved. */
  async #beforeLeaving({ resume }: OpenRequest): Promise<void> {
    if (!this.host.opening) return;
    const { session } = await this.host.current().catch(() => ({ session: undefined }));
    if (session?.problem === undefined) return;
    const texts = await loadTexts("session_commands", this.#texts.locale);
    const [title = "", text = ""] = texts.reallyLose(session.problem).split("\n");
    const leaves = resume !== session.id &&
      await this.questions.ask("confirm", { title, text, danger: true }, { called: true });
    if (!leaves) throw new ReasonixError(texts.notSaved(session.problem), { remedy: texts.saveFirst });
  }

  #opened(assembly: Assembly): void {
    this.#assembly = assembly;
    this.#live = new LiveState(assembly.session.state.lastSeq);
    this.#jobs.clear();
    this.#each((frontEnd) => frontEnd.opened?.(assembly));
    this.submissions.opened(assembly);
  }

  #event(event: Event, assembly: Assembly): void {
    if (assembly !== this.#assembly) return this.#leftEvent(event);
    this.submissions.event(event);
    this.#live.event(event);
    if (event.type === "job.change") this.#job(event.job, event.status === "started");
    if (event.type === "subagent.start" && event.background) this.#job(event.id, true);
    if (event.type === "subagent.end") this.#job(event.id, false);
    this.#each((frontEnd) => frontEnd.event(event));
  }

  #job(id: string, runs: boolean): void {
    if (runs) this.#jobs.add(id);
    else this.#jobs.delete(id);
  }

  /** An event of a session that was left, while it is closed: a report, and no event of the next one. */
  #leftEvent(event: Event): void {
    if (REPORTS.has(event.type)) this.#each((frontEnd) => frontEnd.event({ ...event, seq: 0 }));
  }

  #each(give: (frontEnd: FrontEnd) => void): void {
    for (const frontEnd of this.#frontEnds) this.#give(frontEnd, () => give(frontEnd));
  }

  #give(frontEnd: FrontEnd, give: () => void): void {
    try {
      give();
    } catch (error) {
      try {
        frontEnd.failed?.(error);
      } catch { /* it cannot even say so */ }
    }
  }
}

/** Thrown in place of a question: the session is open in this process. */
class OpenHere extends ReasonixError {
  readonly session: LiveSession;

  constructor(session: LiveSession) {
    super(message`Cannot open session ${session.id ?? ""} twice: it is open in this program`, {
      remedy: message`continue there, or in a copy`,
    });
    this.session = session;
  }
}

type Begun = (live: LiveSession, request?: OpenRequest) => void;

/** The sessions that are open in this process: a front end that opens one of them attaches to it. */
export class LiveSessions {
  readonly #options: LiveSessionOptions;
  readonly #sessions = new Set<LiveSession>();
  /** The ones that are being opened and wait for no other. */
  readonly #opening = new Set<Promise<unknown>>();
  /** The ones that are being closed: their files are not free yet. */
  readonly #closing = new Set<Promise<void>>();
  readonly #watchers = new Set<Begun>();

  constructor(options: LiveSessionOptions) {
    this.#options = options;
  }

  get all(): readonly LiveSession[] {
    return [...this.#sessions];
  }

  /**
   * Calls `begun` with the sessions that there are, and with each later one before it is opened by a request.
   * The returned function ends that.
   */
  watch(begun: Begun): () => void {
    this.#watchers.add(begun);
    for (const live of this.#sessions) begun(live);
    return () => void this.#watchers.delete(begun);
  }

  get(id: string): LiveSession | undefined {
    return this.all.find((session) => session.id === id);
  }

  /**
   * Opens a session, or returns the one that has it open. `attach` is called before it is opened: a front end
   * answers the questions of that.
   */
  async open(request: OpenRequest, attach: (live: LiveSession) => void = () => {}): Promise<LiveSession> {
    await Promise.allSettled(this.#closing);
    const known = request.resume === undefined || request.copy ? undefined : this.get(request.resume);
    if (known) {
      attach(known);
      return known;
    }
    const done = Promise.withResolvers<void>();
    this.#opening.add(done.promise);
    const live = this.#add((asked, person) =>
      this.#options.open(asked, this.#personHere(person, done.promise))
    );
    attach(live);
    for (const begun of this.#watchers) begun(live, request);
    try {
      await live.host.current(request);
      return live;
    } catch (error) {
      await live.end();
      if (!(error instanceof OpenHere)) throw error;
      attach(error.session);
      return error.session;
    } finally {
      this.#opening.delete(done.promise);
      done.resolve();
    }
  }

  /**
   * Adds a session that its front end opens later, or another one in its place. One that is open here and
   * idle is closed for that.
   */
  begin(): LiveSession {
    const live: LiveSession = this.#add(async (asked, person) => {
      const other = asked.copy ? undefined : this.get(asked.resume ?? "");
      if (other !== live && other?.isIdle) await other.end();
      return await this.#options.open(asked, person);
    });
    return live;
  }

  #add(open: OpenFor): LiveSession {
    const live: LiveSession = new LiveSession({
      ...this.#options,
      open,
      closed: (end) => this.#closed(live, end),
    });
    this.#sessions.add(live);
    return live;
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((live) => live.end()));
    await Promise.all(this.#closing);
  }

  #closed(live: LiveSession, end: Promise<void>): void {
    this.#sessions.delete(live);
    const closing = end.catch(() => {}).then(() => void this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** A session is only copied where another process has it. */
  #personHere(person: Person, opening: Promise<void>): Person {
    const { copy } = person;
    return {
      ...person,
      ...(copy
        ? {
          copy: async (busy) => {
            // Another one of this process may have its lock and not be ready.
            this.#opening.delete(opening);
            if (busy.here) await Promise.allSettled(this.#opening);
            const open = this.get(busy.session);
            if (open) throw new OpenHere(open);
            return await copy(busy);
          },
        }
        : {}),
    };
  }
}
