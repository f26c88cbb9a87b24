import type { TurnOutcome } from "../../agent/mod.ts";
import type { Assembly, TurnInput } from "../../assembly/mod.ts";
import { type CommandHost, readCommand } from "../../command/mod.ts";
import type { Event, EventSink } from "../../core/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import type { Draft } from "./composer/composer.ts";
import type { SessionHost } from "./session_host.ts";
import { after, unlessAborted } from "../../util/timer.ts";

interface ExecuteDeps {
  readonly commands: CommandHost;
  readonly session: () => Promise<Assembly>;
  readonly texts: ChatTexts;
  /** Runs a command below its line. */
  readonly headed?: <T>(line: string, run: () => Promise<T>, signal?: AbortSignal) => Promise<T>;
}

/**
 * Does what a message asks for: `/name` is a command, `!line` a line of the shell, `# fact` something to
 * remember; all else is for the model, with `//` as a slash that begins a text. A blank before it makes any
 * of them a text. Returns how the turn ended, where it was one.
 */
export async function carryOut(
  { text, images, input, pasted }: Pick<Sent, "text" | "images" | "input" | "pasted">,
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

/** Characters of a fact; a longer line is a message. */
const MAX_FACT = 200;

/** The fact of a typed line `# fact`. Pasted headings, `#word`, `#123` and long lines are text. */
function factOf({ text, pasted = false }: Pick<Sent, "text" | "pasted">): string | undefined {
  const fact = pasted ? undefined : /^# +(\S.*)$/u.exec(text.trimEnd())?.[1];
  return fact === undefined || fact.length > MAX_FACT ? undefined : fact;
}

/** A draft of the user, or a text that a command sends in their place. */
interface Sent extends Draft {
  /** What goes to the model as it is; absent: the text is read first. */
  readonly input?: TurnInput;
}

interface TurnQueueOptions {
  /** Does what a draft asks for, until the signal stops it. Never rejects. */
  readonly work: (draft: Sent, signal: AbortSignal) => Promise<void>;
  /** Another draft waits, or none is worked on any more. */
  readonly changed: () => void;
}

/** What the user sent: one draft is worked on, the others wait in order. */
class TurnQueue {
  readonly #options: TurnQueueOptions;
  readonly #waiting: Sent[] = [];
  #turn: AbortController | undefined;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
  }

  get busy(): boolean {
    return this.#turn !== undefined;
  }

  /** It was asked to stop and has not yet. */
  get stopping(): boolean {
    return this.#turn?.signal.aborted === true;
  }

  get waiting(): readonly Sent[] {
    return this.#waiting;
  }

  /** Takes a draft; it is worked on at once when nothing else is. */
  add(draft: Sent): void {
    this.#waiting.push(draft);
    if (!this.#turn) void this.#run();
    else this.#options.changed();
  }

  /** Takes a draft that goes before those that wait. */
  addFirst(draft: Sent): void {
    this.#waiting.unshift(draft);
    if (!this.#turn) void this.#run();
    else this.#options.changed();
  }

  /** The last one of those that wait, which waits no longer. */
  takeBack(): Sent | undefined {
    const draft = this.#waiting.pop();
    if (draft) this.#options.changed();
    return draft;
  }

  /** All of those that wait, which wait no longer. */
  takeAll(): readonly Sent[] {
    return this.#waiting.splice(0);
  }

  /** Stops what is being worked on; what waited is the user's again. */
  stop(reason: "interrupted" | "terminated"): readonly Sent[] {
    this.#turn?.abort(reason);
    return this.takeAll();
  }

  async #run(): Promise<void> {
    for (let draft = this.#waiting.shift(); draft; draft = this.#waiting.shift()) {
      this.#turn = new AbortController();
      this.#options.changed();
      await this.#options.work(draft, this.#turn.signal);
    }
    this.#turn = undefined;
    this.#options.changed();
  }
}

/** A key is on the screen by then. */
const WARM_AFTER_MS = 10;
/** Messages that are read at once, in 1 to 3 ms. */
const READ_AHEAD = 200;

interface SubmissionsOptions {
  readonly host: SessionHost;
  readonly commands: CommandHost;
  readonly texts: ChatTexts;
  /** What came to nothing is the user's again, in this order. */
  readonly giveBack: (drafts: readonly Sent[]) => void;
  /** Takes the events of a turn of which nothing is shown. */
  readonly rehearsal: () => EventSink;
  readonly fail: (error: unknown) => void;
  readonly headed: NonNullable<ExecuteDeps["headed"]>;
  readonly changed: () => void;
}

/**
 * What the user sends, on its way into the session.
 *
 * Contract: nothing that was sent is lost: it is recorded in the session, waits, or is given back.
 */
export class Submissions {
  readonly queue: TurnQueue;
  readonly #options: SubmissionsOptions;
  readonly #steering: string[] = [];
  #warm = false;

  constructor(options: SubmissionsOptions) {
    this.#options = options;
    this.queue = new TurnQueue({
      work: (draft, signal) => this.#work(draft, signal),
      changed: options.changed,
    });
  }

  /** Said into the running turn, and not taken by it yet. */
  get steering(): readonly string[] {
    return this.#steering;
  }

  /** There is a session to send to, or will be. */
  get opening(): boolean {
    return this.#options.host.opening;
  }

  /** Takes a draft: into the running turn, or as the next one. */
  async submit(draft: Sent): Promise<void> {
    if (this.queue.busy && await this.#meanwhile(draft.text)) return;
    if (!this.queue.busy || !draft.steer || !isPlainText(draft)) return this.queue.add(draft);
    const { controller } = await this.#options.host.current();
    this.#steering.push(draft.text);
    await controller.submit({ type: "steer", text: draft.text });
    this.#options.changed();
  }

  /** A session goes on: a plan that waits in it is asked about, unless something else was said first. */
  opened({ modes }: Assembly): void {
    if (modes.planWaits && !this.queue.busy && this.queue.waiting.length === 0) {
      this.queue.add({ text: "/plan", steer: false });
    }
  }

  /** A message is being written: what it will need is made ready, once. */
  warm(): void {
    if (this.#warm) return;
    this.#warm = true;
    after(WARM_AFTER_MS, () => {
      const { host, rehearsal } = this.#options;
      // One that could not be opened is tried again with a message, whose keys its questions must not take.
      if (this.queue.busy || !host.opening) return;
      host.current().then(async (session) => {
        readAhead(session.session.state);
        await session.warmUp(rehearsal());
      }).catch(() => {});
    });
  }

  /** Sends a text in place of the user, before what waits. */
  send(text: string, rest: Omit<TurnInput, "text"> = {}): void {
    this.queue.addFirst({ text, steer: false, input: { ...rest, text } });
  }

  /** Stops what is being done; what waits is given back. */
  stop(reason: "interrupted" | "terminated" = "interrupted"): void {
    this.#options.giveBack(this.queue.stop(reason));
  }

  event(event: Event): void {
    if (event.type !== "message.user" || event.origin !== "steer") return;
    const at = this.#steering.indexOf(event.content);
    if (at >= 0) this.#steering.splice(at, 1);
  }

  /** Carries out a command that does not wait for the end of a turn; false for everything else. */
  async #meanwhile(text: string): Promise<boolean> {
    if (!/^\/[^/]/.test(text)) return false;
    const { commands, fail, headed, host } = this.#options;
    try {
      const scope = { locale: commands.locale, session: () => host.ifOpen() };
      const line = await readCommand(text, scope);
      const { whileWorking = false } = line?.command ?? {};
      const isPrompt = typeof whileWorking === "function" ? whileWorking(line?.argument ?? "") : whileWorking;
      if (!line || !isPrompt) return false;
      await headed(text, async () => await line.command.run(commands, line.argument));
    } catch (error) {
      fail(error);
    }
    return true;
  }

  async #work(draft: Sent, signal: AbortSignal): Promise<void> {
    const { commands, texts, fail, headed, giveBack } = this.#options;
    try {
      const session = () => this.#opened(signal);
      const outcome = await carryOut(draft, { commands, texts, session, headed }, signal);
      if (outcome) await this.#afterTurn(outcome.reason === "done");
    } catch (error) {
      if (!signal.aborted) fail(error);
      giveBack([draft, ...this.queue.takeAll()]);
    }
  }

  /** The session, unless the user stops before it is there. */
  #opened(signal: AbortSignal): Promise<Assembly> {
    return unlessAborted(this.#options.host.current(), signal);
  }

  /** What no step has taken is sent next, or given back when the turn did not come to its end. */
  async #afterTurn(done: boolean): Promise<void> {
    const { controller } = await this.#options.host.current();
    const left = controller.takeSteering().map((text): Sent => ({ text, steer: false }));
    this.#steering.length = 0;
    if (done) left.reverse().forEach((draft) => this.queue.addFirst(draft));
    else this.#options.giveBack([...left, ...this.queue.takeAll()]);
  }
}

/** Reads the messages of a long session bit by bit, so that keys come in between. */
function readAhead({ messageList }: Pick<Assembly["session"]["state"], "messageList">): void {
  try {
    if (messageList.readAhead(READ_AHEAD)) after(WARM_AFTER_MS, () => readAhead({ messageList }));
  } catch { /* the turn that needs them tells it */ }
}

/** Only words can be said in between: commands, lines of the shell, facts and images wait for their turn. */
function isPlainText({ text, images = [], pasted }: Sent): boolean {
  return images.length === 0 && !/^[/!]/.test(text) && factOf({ text, pasted }) === undefined;
}
