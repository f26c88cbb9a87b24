import type { TurnOutcome } from "../../agent/mod.ts";
import type { Assembly, TurnInput } from "../../run/mod.ts";
import { type CommandHost, readCommand } from "../../command/mod.ts";
import type { Event, EventSink, ImagePart } from "../../core/mod.ts";
import type { SessionHost } from "./session_host.ts";
import type { SessionTexts } from "./texts.ts";
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
  { text, images, input, pasted }: Omit<Draft, "steer">,
  { commands, session, texts, headed = (_, run) => run() }: ExecuteDeps,
  signal: AbortSignal,
): Promise<TurnOutcome | undefined> {
  if (input) return await (await session()).run(input, signal);
  const seen = images?.length ? { images } : {};
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
      return await (await session()).runShell(line, signal);
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

/** A front end, as its messages know it. */
export interface Submitter {
  /** Takes back messages that were not executed, in this order. */
  returned?(drafts: readonly Draft[]): void;
  failed?(error: unknown): void;
  /** Runs a command of this front end, whose line it may show. */
  headed?<T>(line: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Called when the waiting messages have changed. */
  queued?(): void;
}

/** A message of the user, before it is sent; a front end may keep more with it. */
export interface Draft {
  /** The message: pastes in full, references for image files. */
  readonly text: string;
  /** Steers the running turn instead of following it. */
  readonly steer: boolean;
  readonly images?: readonly ImagePart[];
  /** Its start was pasted, so a `/`, `!` or `#` there is text. */
  readonly pasted?: boolean | undefined;
  /** Sent to the model as it is; absent: the text is interpreted first. */
  readonly input?: TurnInput;
  /** Absent: the front end that attached first. */
  readonly by?: Submitter;
  /** Gets the end of the turn, undefined without one; the front end hears of no failure and no return. */
  readonly ended?: Pick<PromiseWithResolvers<TurnOutcome | undefined>, "resolve" | "reject">;
}

/** By then the effect of the key has been drawn. */
const WARM_AFTER_MS = 10;
/** Messages that are read at once; takes 1 to 3 ms. */
const READ_AHEAD = 200;

interface SubmissionsOptions {
  readonly host: SessionHost;
  readonly texts: Pick<SessionTexts, "chat">;
  /** The commands of a message. */
  readonly commands: (by: Submitter | undefined) => CommandHost;
  /** The front ends, the first one first. */
  readonly frontEnds: () => readonly Submitter[];
}

/**
 * Sends messages of the user to the session, one after the other.
 *
 * Contract: nothing is lost: a draft is recorded in the session, waits, or is returned to its front end.
 */
export class Submissions {
  readonly #options: SubmissionsOptions;
  /** Sent drafts that wait, in order. */
  readonly #waiting: Draft[] = [];
  /** Stops the draft that is being executed. */
  #turn: AbortController | undefined;
  readonly #steering: Draft[] = [];
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

  get waiting(): readonly Draft[] {
    return this.#waiting;
  }

  /** Steering messages that the running turn has not taken yet. */
  get steering(): readonly string[] {
    return this.#steering.map(({ text }) => text);
  }

  /** Adds a draft after the waiting ones, or before them; it runs at once when no other does. */
  add(draft: Draft, first = false): void {
    if (first) this.#waiting.unshift(draft);
    else this.#waiting.push(draft);
    if (!this.busy) void this.#run();
    else this.#changed();
  }

  /** Removes the last waiting draft that is wanted. */
  takeBack(wanted: (draft: Draft) => boolean): Draft | undefined {
    const at = this.#waiting.findLastIndex(wanted);
    if (at < 0) return undefined;
    const [draft] = this.#waiting.splice(at, 1);
    this.#changed();
    return draft;
  }

  async #run(): Promise<void> {
    for (let draft = this.#waiting.shift(); draft; draft = this.#waiting.shift()) {
      this.#turn = new AbortController();
      this.#changed();
      await this.#execute(draft, this.#turn.signal);
    }
    this.#turn = undefined;
    this.#changed();
  }

  /** Sends a draft into the running turn, or as the next one. */
  async submit(draft: Draft): Promise<void> {
    if (this.busy && await this.#meanwhile(draft)) return;
    if (!this.busy || !draft.steer || !isPlainText(draft)) return this.add(draft);
    const { controller } = await this.#options.host.current();
    this.#steering.push(draft);
    await controller.submit({ type: "steer", text: draft.text });
    this.#changed();
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

  /** Stops the running draft; returns the waiting ones. */
  stop(reason: "interrupted" | "terminated" = "interrupted"): void {
    this.#turn?.abort(reason);
    this.#giveBack(this.#waiting.splice(0));
  }

  event(event: Event): void {
    if (event.type !== "message.user" || event.origin !== "steer") return;
    const at = this.#steering.findIndex(({ text }) => text === event.content);
    if (at >= 0) this.#steering.splice(at, 1);
  }

  /** Runs a command that does not wait for the end of a turn; false for everything else. */
  async #meanwhile(draft: Draft): Promise<boolean> {
    const { text, ended } = draft;
    if (!/^\/[^/]/.test(text)) return false;
    const { commands, headed, fail } = this.#of(draft);
    const { host } = this.#options;
    try {
      const scope = { locale: commands.locale, session: () => host.ifOpen() };
      const line = await readCommand(text, scope);
      const { whileWorking = false } = line?.command ?? {};
      const isPrompt = typeof whileWorking === "function" ? whileWorking(line?.argument ?? "") : whileWorking;
      if (!line || !isPrompt) return false;
      await headed(text, async () => await line.command.run(commands, line.argument));
      ended?.resolve(undefined);
    } catch (error) {
      fail(error);
    }
    return true;
  }

  async #execute(draft: Draft, signal: AbortSignal): Promise<void> {
    const { commands, headed, fail } = this.#of(draft);
    const { texts } = this.#options;
    try {
      const session = () => this.#opened(signal);
      const outcome = await executeMessage(draft, { commands, texts, session, headed }, signal);
      if (outcome) await this.#afterTurn(outcome.reason === "done");
      draft.ended?.resolve(outcome);
    } catch (error) {
      if (!signal.aborted) fail(error);
      this.#giveBack([draft, ...this.#waiting.splice(0)]);
    }
  }

  #of(draft: Draft): Required<Pick<ExecuteDeps, "commands" | "headed">> & { fail: (error: unknown) => void } {
    const by = draft.by ?? this.#options.frontEnds()[0];
    return {
      commands: this.#options.commands(by),
      headed: (line, run, signal) => by?.headed?.(line, run, signal) ?? run(),
      fail: (error) => draft.ended ? draft.ended.reject(error) : by?.failed?.(error),
    };
  }

  #giveBack(drafts: readonly Draft[]): void {
    for (const { ended } of drafts) ended?.resolve(undefined);
    const [first] = this.#options.frontEnds();
    const own = Map.groupBy(drafts.filter(({ ended }) => !ended), ({ by = first }) => by);
    for (const [by, its] of own) by?.returned?.(its);
    this.#changed();
  }

  #changed(): void {
    for (const frontEnd of this.#options.frontEnds()) frontEnd.queued?.();
  }

  /** The session, unless the user stops before it is open. */
  #opened(signal: AbortSignal): Promise<Assembly> {
    return unlessAborted(this.#options.host.current(), signal);
  }

  /** Sends unused steering messages next, or returns them when the turn did not complete. */
  async #afterTurn(done: boolean): Promise<void> {
    const { controller } = await this.#options.host.current();
    const sent = this.#steering.splice(0);
    const left = controller.takeSteering().map((text): Draft => ({
      ...sent.find((draft) => draft.text === text),
      text,
      steer: false,
    }));
    if (done) left.reverse().forEach((draft) => this.add(draft, true));
    else this.#giveBack([...left, ...this.#waiting.splice(0)]);
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
