import type { TurnOutcome } from "../../agent/mod.ts";
import type { Assembly, TurnInput } from "../../run/mod.ts";
import { type CommandHost, readCommand } from "../../command/mod.ts";
import {
  type Event,
  type EventOf,
  type EventSink,
  type ImagePart,
  message,
  type ReasonixError,
  usageError,
} from "../../core/mod.ts";
import type { SessionHost } from "./session_host.ts";
import type { SessionTexts } from "./texts.ts";
import { defined } from "../../util/json.ts";
import { after, unlessAborted } from "../../util/timer.ts";

interface ExecuteDeps {
  readonly commands: CommandHost;
  readonly session: () => Promise<Assembly>;
  readonly texts: Pick<SessionTexts, "chat">;
  readonly headed?: <T>(line: string, run: () => Promise<T>, signal?: AbortSignal) => Promise<T>;
}

/**
 * Executes a message: `/name` is a command, `!line` a shell command, `# fact` something to remember; the
 * rest is for the model, with `//` as a slash that begins a text. A leading blank makes any of them a text.
 * Returns how the turn ended, if it was one.
 */
export async function executeMessage(
  { id, text, images, references, input, pasted }: Omit<Sent, "steer">,
  { commands, session, texts, headed = (_, run) => run() }: ExecuteDeps,
  signal: AbortSignal,
): Promise<TurnOutcome | undefined> {
  if (input) return await (await session()).run(input, signal);
  const seen = defined({ id, images, references });
  switch (text[0]) {
    case "/": {
      if (text[1] === "/") return await (await session()).run({ text: text.slice(1), ...seen }, signal);
      const line = await readCommand(text, { locale: commands.locale, session });
      if (!line) break;
      await headed(text, async () => await line.command.run(commands, line.argument, signal), signal);
      return undefined;
    }
    case "!": {
      const line = text.slice(1).trim();
      if (line === "") break;
      return await (await session()).runShell(line, signal, id);
    }
    case "#": {
      const fact = factOf({ text, pasted });
      if (fact === undefined) break;
      const { name } = await (await session()).remember(fact);
      commands.say(texts.chat.remembered(fact, name));
      return undefined;
    }
  }
  return await (await session()).run({ text, ...seen }, signal);
}

const MAX_FACT = 200;

/** The fact in a typed line `# fact`. Pasted headings, `#word`, `#123` and long lines are text. */
function factOf({ text, pasted = false }: Pick<Draft, "text" | "pasted">): string | undefined {
  const fact = pasted ? undefined : /^# +(\S.*)$/u.exec(text.trimEnd())?.[1];
  return fact === undefined || fact.length > MAX_FACT ? undefined : fact;
}

/** The error of a message that a model without images would not understand. */
export function imagesAlone(model: string): ReasonixError {
  return usageError(
    message`Cannot send images alone: ${model} takes none`,
    message`add a text, choose a model that takes images, or set vision_model to one that describes them`,
  );
}

/** A front end, as its messages know it. */
export interface Submitter {
  /** Takes back messages that were not executed, in this order. */
  returned?(drafts: readonly Draft[]): void;
  failed?(error: unknown): void;
  /** Executes a command of this front end, whose line it may show. */
  headed?<T>(line: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** A message of the user, before it is sent; a front end may keep more with it. */
export interface Draft {
  /** The identifier of its client. */
  readonly id?: string;
  /** The message: pastes in full, references for image files. */
  readonly text: string;
  /** Steers the running turn instead of following it. */
  readonly steer: boolean;
  readonly images?: readonly ImagePart[];
  /** Blocks that go before the text. */
  readonly references?: readonly string[];
  /** Its start was pasted, so a `/`, `!` or `#` there is text. */
  readonly pasted?: boolean | undefined;
  /**
   * Called with how it ended, and that once. Such a draft is not returned to the composer: it is executed
   * unless it is stopped.
   */
  readonly ended?: (end: DraftEnd) => void;
  /** Absent: the front end that attached first. */
  readonly by?: Submitter;
}

/** The end of a draft: that of its turn, or an error; neither of a command that sent nothing to the model. */
export interface DraftEnd {
  readonly outcome?: TurnOutcome | undefined;
  readonly error?: unknown;
  /** The user stopped it. */
  readonly stopped?: true;
  /** The end of the last reply of its turn. */
  readonly finish?: EventOf<"message.end">["finish"] | undefined;
}

/** A draft of the user, or a text that a command sends. */
type Sent = Draft & {
  /** The session ends with it: what waits then returns to its front end. */
  readonly last?: boolean;
  /** Sent to the model as it is; absent: the text is interpreted first. */
  readonly input?: TurnInput;
};

/** By then the effect of the key has been drawn. */
const WARM_AFTER_MS = 10;
/** Messages that are read at once; takes 1 to 3 ms. */
const READ_AHEAD = 200;

interface SubmissionsOptions {
  readonly host: SessionHost;
  readonly texts: Pick<SessionTexts, "chat">;
  /** The front ends, in the order in which they attached. */
  readonly frontEnds: () => readonly Submitter[];
  readonly commands: (by: Submitter | undefined) => CommandHost;
  readonly changed: () => void;
}

/**
 * Sends drafts of the user to the session, one after the other.
 *
 * Contract: nothing is lost: a draft is recorded in the session, waits, or is returned to its front end.
 */
export class Submissions {
  readonly #options: SubmissionsOptions;
  /** Sent drafts that wait, in order. */
  readonly #waiting: Sent[] = [];
  /** Stops the draft that is being executed. */
  #turn: AbortController | undefined;
  /** The draft that is being executed, or was last. */
  #draft: Sent | undefined;
  readonly #between: (() => Promise<void>)[] = [];
  /** A draft whose command sent a text: it ends with that. */
  #continued: Sent | undefined;
  readonly #steering: Sent[] = [];
  /** The identifiers of drafts that were submitted once. */
  readonly #taken = new Set<string>();
  /** The execution of drafts, and of commands during a turn. */
  readonly #executing = new Set<Promise<unknown>>();
  #finish: DraftEnd["finish"];
  #warm = false;

  constructor(options: SubmissionsOptions) {
    this.#options = options;
  }

  get busy(): boolean {
    return this.#turn !== undefined;
  }

  /** The running draft was asked to stop and has not yet. */
  get stopping(): boolean {
    return this.#turn?.signal.aborted === true;
  }

  get waiting(): readonly Sent[] {
    return this.#waiting;
  }

  /** Steering messages that the running turn has not taken yet. */
  get steering(): readonly string[] {
    return this.#steering.map(({ text }) => text);
  }

  /** Adds a draft after the waiting ones, or before them; it runs at once when no other does. */
  add(draft: Sent, first = false): void {
    if (first) this.#waiting.unshift(draft);
    else this.#waiting.push(draft);
    if (!this.busy) this.#start();
    else this.#options.changed();
  }

  /** Executes a draft when its turn comes and resolves with its end; an abort stops it. */
  async finish(draft: Sent, signal: AbortSignal): Promise<DraftEnd> {
    const { promise, resolve } = Promise.withResolvers<DraftEnd>();
    const cancel = () =>
      this.cancel({ ended: resolve }, signal.reason === "terminated" ? "terminated" : "interrupted");
    signal.addEventListener("abort", cancel, { once: true });
    this.add({ ...draft, ended: resolve });
    return await promise.finally(() => signal.removeEventListener("abort", cancel));
  }

  /**
   * Submits a draft unless one with its identifier was submitted before, by an earlier process too. Returns
   * whether it was. Rejects when the session cannot be opened.
   */
  async submitOnce(draft: Sent & Required<Pick<Draft, "id">>): Promise<boolean> {
    const { session: { state } } = await this.#options.host.current();
    if (this.#taken.has(draft.id) || state.messageIds.has(draft.id)) return false;
    this.#taken.add(draft.id);
    this.submit(draft).catch(this.#of(draft).fail);
    return true;
  }

  /** Removes the last waiting draft of a front end, or the one with an identifier. */
  takeBack(by: Submitter | string): Sent | undefined {
    const at = this.#waiting.findLastIndex((draft) => by === (typeof by === "string" ? draft.id : draft.by));
    const [draft] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (draft) this.#options.changed();
    return draft;
  }

  /** Does a piece of work while no draft is executed, before the waiting ones. Rejects as the work does. */
  between(work: () => Promise<void>): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#between.push(() => work().then(done.resolve, done.reject));
    if (!this.busy) this.#start();
    return done.promise;
  }

  /** Resolves when nothing is executed; a stop does not end each command at once. */
  async ended(): Promise<void> {
    while (this.#executing.size > 0) await Promise.allSettled(this.#executing);
  }

  #start(): void {
    void this.#execution(this.#run());
  }

  #execution<T>(execution: Promise<T>): Promise<T> {
    this.#executing.add(execution);
    return execution.finally(() => this.#executing.delete(execution));
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#turn = new AbortController();
      for (let work = this.#between.shift(); work; work = this.#between.shift()) await work();
      const draft = this.#draft = this.#waiting.shift();
      if (!draft) break;
      this.#options.changed();
      await this.#execute(draft, this.#turn.signal);
    }
    this.#turn = undefined;
    this.#options.changed();
  }

  /** Sends a draft into the running turn, or as the next one. */
  async submit(draft: Sent): Promise<void> {
    if (this.busy && await this.#execution(this.#meanwhile(draft))) return;
    if (!this.busy || !draft.steer || !isPlainText(draft)) return this.add(draft);
    const { controller } = await this.#options.host.current();
    this.#steering.push(draft);
    await controller.submit({ type: "steer", text: draft.text, ...defined({ id: draft.id }) });
    this.#options.changed();
  }

  /** Asks about the pending plan of a resumed session, unless a message was sent first. */
  opened({ modes }: Assembly): void {
    if (modes.planWaits && !this.busy && this.waiting.length === 0) {
      this.add({ text: "/plan", steer: false });
    }
  }

  /** Warms up the session for the message that is being typed; once. `sink` gets the events of that. */
  warm(sink: () => EventSink): void {
    if (this.#warm) return;
    this.#warm = true;
    after(WARM_AFTER_MS, () => {
      const { host } = this.#options;
      // A session that could not be opened is opened with a message: its questions must not take typed keys.
      if (this.busy || !host.opening) return;
      host.current().then(async (session) => {
        readAhead(session.session.state);
        await session.warmUp(sink());
      }).catch(() => {});
    });
  }

  /** Sends a text of a command before the waiting ones, with what the line of the command had attached. */
  send(text: string, rest: Omit<TurnInput, "text"> = {}, by?: Submitter): void {
    const line: Partial<Draft> = this.busy && this.#draft?.by === by ? this.#draft ?? {} : {};
    const { id, ended, images = [], references = [] } = line;
    if (ended) this.#continued = this.#draft;
    const attached = {
      images: [...images, ...rest.images ?? []],
      references: [...references, ...rest.references ?? []],
    };
    const input = { ...defined({ id }), ...rest, ...attached, text };
    this.add({ text, steer: false, input, ...defined({ ended, by }) }, true);
  }

  /** Stops the running draft; returns the waiting ones of the front end that stops it, or of all. */
  stop(reason: "interrupted" | "terminated" = "interrupted", by?: Submitter): void {
    this.#turn?.abort(reason);
    this.returnWaiting(by);
  }

  /** Stops the running draft in the name of the front end that it came from. */
  stopOwn(): void {
    this.stop("interrupted", this.#draft?.by ?? this.#options.frontEnds()[0]);
  }

  /** Returns the waiting drafts of a front end, or of all. */
  returnWaiting(by?: Submitter): void {
    const its = this.#takeWaiting(by, () => true);
    this.#return(its.filter(({ ended }) => !ended));
    for (const { ended } of its) ended?.({ stopped: true });
    if (its.length > 0) this.#options.changed();
  }

  /** Stops one draft with its `ended`: it is removed if it waits. */
  cancel({ ended }: Pick<Draft, "ended">, reason: "interrupted" | "terminated" = "interrupted"): void {
    const at = this.#waiting.findIndex((draft) => draft.ended === ended);
    if (at < 0 && this.busy && this.#draft?.ended === ended) this.#turn?.abort(reason);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    ended?.({ stopped: true });
    this.#options.changed();
  }

  event(event: Event): void {
    if (event.type === "message.end") this.#finish = event.finish;
    if (event.type !== "message.user" || event.origin !== "steer") return;
    const { id: sent, content } = event;
    const at = this.#steering.findIndex(({ id, text }) =>
      sent === undefined ? text === content : id === sent
    );
    if (at >= 0) this.#steering.splice(at, 1);
  }

  /** Runs a command that does not wait for the end of a turn; false for everything else. */
  async #meanwhile(draft: Sent): Promise<boolean> {
    const { text, ended } = draft;
    if (!/^\/[^/]/.test(text)) return false;
    const { commands, fail, headed } = this.#of(draft);
    const { host } = this.#options;
    try {
      const scope = { locale: commands.locale, session: () => host.ifOpen() };
      const line = await readCommand(text, scope);
      const { whileWorking = false } = line?.command ?? {};
      const isPrompt = typeof whileWorking === "function" ? whileWorking(line?.argument ?? "") : whileWorking;
      if (!line || !isPrompt) return false;
      await headed(text, async () => await line.command.run(commands, line.argument));
      ended?.({});
    } catch (error) {
      if (ended) ended({ error });
      else fail(error);
    }
    return true;
  }

  async #execute(draft: Sent, signal: AbortSignal): Promise<void> {
    const { commands, fail, headed } = this.#of(draft);
    const { texts } = this.#options;
    const { ended } = draft;
    const stopped = () => signal.aborted ? { stopped: true } as const : {};
    try {
      // The session, unless the user stops before it is open.
      const session = () => unlessAborted(this.#options.host.current(), signal);
      const outcome = await executeMessage(draft, { commands, texts, session, headed }, signal);
      if (outcome) await this.#afterTurn(outcome.reason === "done" && !draft.last, draft, signal);
      if (draft.last) this.returnWaiting();
      if (this.#continued !== draft) ended?.({ outcome, finish: this.#finish, ...stopped() });
    } catch (error) {
      if (!signal.aborted && !ended) fail(error);
      this.#giveBack(ended ? [] : [draft], draft, signal);
      ended?.({ error, ...stopped() });
    }
  }

  /**
   * Returns drafts, and after a failure the waiting ones of the front end of the failed draft, except those
   * that are executed all the same. A stop has returned the ones of its front end.
   */
  #giveBack(drafts: readonly Sent[], { by }: Sent, signal: AbortSignal): void {
    const [first] = this.#options.frontEnds();
    const waiting = signal.aborted ? [] : this.#takeWaiting(by ?? first, ({ ended }) => !ended);
    this.#return([...drafts, ...waiting]);
  }

  /** Removes waiting drafts of a front end, or of all. */
  #takeWaiting(by: Submitter | undefined, isMeant: (draft: Sent) => boolean): readonly Sent[] {
    const [first] = this.#options.frontEnds();
    const isTaken = (draft: Sent) => (by === undefined || (draft.by ?? first) === by) && isMeant(draft);
    const taken = this.#waiting.filter(isTaken);
    const left = this.#waiting.filter((draft) => !taken.includes(draft));
    this.#waiting.splice(0, Infinity, ...left);
    return taken;
  }

  #return(drafts: readonly Sent[]): void {
    const [first] = this.#options.frontEnds();
    for (const [by, its] of Map.groupBy(drafts, ({ by = first }) => by)) by?.returned?.(its);
  }

  /** The part of its front end in the execution of a draft. */
  #of({ by = this.#options.frontEnds()[0] }: Sent) {
    const headed: NonNullable<ExecuteDeps["headed"]> = (line, run, signal) =>
      by?.headed ? by.headed(line, run, signal) : run();
    return { commands: this.#options.commands(by), headed, fail: (error: unknown) => by?.failed?.(error) };
  }

  /** Sends unused steering messages next, or returns them when the turn did not complete. */
  async #afterTurn(done: boolean, draft: Sent, signal: AbortSignal): Promise<void> {
    const { controller } = await this.#options.host.current();
    const sent = this.#steering.splice(0);
    const left = controller.takeSteering()
      .map(({ text, id }): Sent => ({
        ...sent.find((each) => each.text === text && each.id === id),
        text,
        steer: false,
      }));
    if (done) left.reverse().forEach((each) => this.add(each, true));
    else this.#giveBack(left, draft, signal);
  }
}

/** Reads the messages of a long session in small parts, so that keys are handled in between. */
function readAhead({ messageList }: Pick<Assembly["session"]["state"], "messageList">): void {
  try {
    if (messageList.readAhead(READ_AHEAD)) after(WARM_AFTER_MS, () => readAhead({ messageList }));
  } catch { /* the turn that needs them reports it */ }
}

/** Only plain text can steer: commands, shell lines, facts and images wait for their turn. */
function isPlainText({ text, images = [], pasted }: Draft): boolean {
  return images.length === 0 && !/^[/!]/.test(text) && factOf({ text, pasted }) === undefined;
}
