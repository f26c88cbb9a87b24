import {
  type AgentDeps,
  type Conversation,
  runShellTurn,
  runTurn,
  StopReason,
  type TurnOutcome,
} from "../agent/mod.ts";
import type { CompactionReport } from "../context/mod.ts";
import type { EventBodies } from "../core/event_schema.ts";
import {
  type Event,
  type EventSink,
  type Message,
  type NewEvent,
  PersonWaits,
  type Prefix,
  ReasonixError,
  type Submission,
  type ToolSchema,
  type UserInput,
} from "../core/mod.ts";
import type { Provider } from "../provider/mod.ts";
import { type SessionState, titleOf } from "../session/mod.ts";

export type TurnState = EventBodies["turn.state"]["to"];

const RESTING = ["idle", "done", "failed", "stopped"] as const;

/** Follows the events of a session and knows what it is doing. Nothing else decides about that. */
export class TurnStates {
  #shown: TurnState = "idle";
  /** The activity, apart from waiting for a person. */
  #work: TurnState = "idle";
  #inTurn = false;
  readonly #approvals = new Set<string>();
  #questions = 0;

  get state(): TurnState {
    return this.#shown;
  }

  take(event: Event): EventBodies["turn.state"] | undefined {
    this.#apply(event);
    return this.#change();
  }

  /** Nothing is continuing any more, whatever has been left open; returns the change to that. */
  settle(): EventBodies["turn.state"] | undefined {
    this.#approvals.clear();
    this.#questions = 0;
    if (!RESTING.some((state) => state === this.#work)) this.#work = "idle";
    this.#inTurn = false;
    return this.#change();
  }

  #change(): EventBodies["turn.state"] | undefined {
    const to = this.#approvals.size > 0
      ? "awaiting_approval"
      : this.#questions > 0
      ? "awaiting_answer"
      : this.#work;
    if (to === this.#shown) return undefined;
    const from = this.#shown;
    this.#shown = to;
    return { from, to };
  }

  #apply(event: Event): void {
    switch (event.type) {
      case "turn.start":
        this.#inTurn = true;
        this.#work = "preparing";
        break;
      case "message.start":
        this.#work = event.step === 0 ? "compacting" : "generating";
        break;
      case "tool.start":
        this.#work = "running_tools";
        break;
      case "verification.start":
        this.#work = "verifying";
        break;
      case "message.end":
      case "compaction":
        // A reply of the turn itself changes nothing: its calls or its end will.
        if (this.#work === "compacting") this.#work = this.#inTurn ? "preparing" : "idle";
        break;
      case "approval.request":
        this.#approvals.add(event.callId);
        break;
      case "approval.decision":
      case "tool.end":
        this.#approvals.delete(event.callId);
        break;
      case "plan.change":
        if (event.state === "proposed") this.#approvals.add("plan");
        else this.#approvals.delete("plan");
        break;
      case "question":
        this.#questions = Math.max(0, this.#questions + (event.state === "asked" ? 1 : -1));
        break;
      case "turn.end":
        this.#end(event.reason);
        break;
    }
  }

  #end(reason: EventBodies["turn.end"]["reason"]): void {
    // What a killed program left open is closed before the first turn of the next one.
    if (RESTING.some((state) => state === this.#work)) return;
    const stopped = reason === "interrupted" || reason === "terminated";
    this.#work = reason === "done" ? "done" : stopped ? "stopped" : "failed";
    this.#inTurn = false;
    this.#approvals.clear();
    this.#questions = 0;
  }
}

/** Gives an event its envelope, keeps it, and takes it into the state: a session file, or memory. */
export interface EventStore {
  readonly state: SessionState;
  append(event: NewEvent): Event;
  /** Notices of the store itself that are not recorded yet. */
  takeNotices?(): readonly NewEvent[];
  sync(): void | Promise<void>;
  close(): void;
}

/** Makes an event that follows from another one, or nothing. */
export type EventSource = (event: Event) => NewEvent | undefined | Promise<NewEvent | undefined>;

/**
 * The one way into a session: an event is kept first, then taken into the state, then shown to every sink.
 *
 * Contract: a sink records nothing; what follows from an event comes from a source given to `follow`.
 */
export class Recorder implements Conversation {
  readonly #store: EventStore;
  readonly #sinks = new Set<EventSink>();
  readonly #sources: EventSource[] = [];
  readonly #states = new TurnStates();
  readonly #waits = new PersonWaits();
  readonly #now: () => number;

  /** `now`: milliseconds, monotonic; the clock of the process when absent. */
  constructor(store: EventStore, now: () => number = () => performance.now()) {
    this.#store = store;
    this.#now = now;
  }

  get state(): SessionState {
    return this.#store.state;
  }

  get prefix(): Prefix {
    if (!this.state.prefix) throw new TypeError("Cannot run a turn: the conversation has no prefix yet");
    return this.state.prefix;
  }

  get messages(): readonly Message[] {
    return this.state.messages;
  }

  get nextTurn(): number {
    return (this.state.turns.at(-1)?.turn ?? 0) + 1;
  }

  /** Adds a reader; the returned function removes it. */
  subscribe(sink: EventSink): () => void {
    this.#sinks.add(sink);
    return () => this.#sinks.delete(sink);
  }

  /** Records what the source makes of an event once that event was shown to every sink. */
  follow(source: EventSource): void {
    this.#sources.push(source);
  }

  record(event: NewEvent): void | Promise<void> {
    const kept = this.#store.append(event);
    this.#waits.take(kept, this.#now());
    let behind: Promise<unknown> | undefined;
    for (const sink of this.#sinks) {
      const wait = sink(kept);
      if (wait) behind = behind ? Promise.all([behind, wait]) : wait;
    }
    for (const source of this.#sources) {
      const next = source(kept);
      if (next) behind = this.#recordAfter(behind, next);
    }
    const change = this.#states.take(kept);
    if (change) {
      const stateEvent = { type: "turn.state", ...change } as const;
      behind = behind ? this.#recordAfter(behind, stateEvent) : this.record(stateEvent) ?? undefined;
    }
    if (behind) return behind.then(() => {});
  }

  waitedForPerson(since: number, callId?: string): number {
    return this.#waits.since(since, this.#now(), callId);
  }

  /** Says that nothing is continuing any more, where something that was begun has not ended. */
  async settle(): Promise<void> {
    const change = this.#states.settle();
    if (change) await this.record({ type: "turn.state", ...change });
  }

  async #recordAfter(
    behind: Promise<unknown> | undefined,
    next: NewEvent | Promise<NewEvent | undefined>,
  ): Promise<void> {
    await behind;
    const event = await next;
    if (event) await this.record(event);
  }

  async sync(): Promise<void> {
    await this.#store.sync();
    for (const notice of this.#store.takeNotices?.() ?? []) await this.record(notice);
  }
}

/** The head that this process would send of a new conversation. */
export interface WantedPrefix {
  readonly system: string;
  readonly tools: readonly ToolSchema[];
  readonly model: string;
  /** Name of the provider's entry that has the model. */
  readonly provider?: string | undefined;
  /** The form of tool calls; "official" and absent: native to the wire. */
  readonly toolMode?: string | undefined;
  /**
   * Tagged blocks of what changes over time; each is sent as a message when it differs from the last one of
   * its tag.
   */
  readonly context?: readonly string[];
}

/**
 * Opens or continues with a conversation. A session that is continued keeps the prefix it was started with,
 * byte for byte, unless the model or the tool set is another one; what changed in the standing instructions
 * follows as a message. Returns the reason of the new prefix, where there is one.
 */
export async function openConversation(
  recorder: Recorder,
  wanted: WantedPrefix,
): Promise<string | undefined> {
  const { prefix } = recorder.state;
  const reset = resetReason(recorder.state, wanted);
  if (reset) {
    const { context: _context, ...head } = wanted;
    await recordPrefix(recorder, { ...reset, ...head });
  } else if (prefix && prefix.system !== wanted.system) {
    const text =
      `<instructions>\nThe standing instructions have changed since this conversation began. These apply now:\n\n` +
      `${wanted.system}</instructions>`;
    await appendIfChanged(recorder, text);
  }
  for (const block of wanted.context ?? []) await appendIfChanged(recorder, block);
  return reset?.reason;
}

/** Declares that the model is offered other tools from now on; nothing where they are the same. */
export async function changeTools(recorder: Recorder, tools: readonly ToolSchema[]): Promise<void> {
  const { prefix, model, provider, toolMode } = recorder.state;
  if (!prefix || model === undefined) return;
  const head = { system: prefix.system, tools, model, provider, toolMode };
  const reset = resetReason(recorder.state, head);
  if (reset) await recordPrefix(recorder, { ...reset, ...head });
}

interface Reset {
  readonly reason: string;
  /** For people: "a → b" of models, "+x −y" of tools. */
  readonly detail?: string;
}

export async function recordPrefix(
  recorder: Recorder,
  { tools, provider, toolMode = "official", ...prefix }: Reset & Omit<WantedPrefix, "context">,
): Promise<void> {
  await recorder.record({
    type: "context.prefix",
    ...prefix,
    ...(provider === undefined ? {} : { provider }),
    ...(toolMode === "official" ? {} : { toolMode }),
    tools: tools.map((tool) => ({ ...tool, parameters: { ...tool.parameters } })),
  });
}

function resetReason(
  { prefix, model, provider, toolMode = "official" }: Pick<
    SessionState,
    "prefix" | "model" | "provider" | "toolMode"
  >,
  wanted: WantedPrefix,
): Reset | undefined {
  if (!prefix) return { reason: "start" };
  const tools = JSON.stringify(prefix.tools) === JSON.stringify(wanted.tools)
    ? []
    : [toolChange(prefix.tools, wanted.tools)];
  // The same model at another provider has another cache, and cannot read what the first one signed.
  const moved = provider !== undefined && wanted.provider !== undefined && provider !== wanted.provider;
  if (moved || model !== wanted.model) {
    const [from, to] = moved
      ? [`${provider}/${model}`, `${wanted.provider}/${wanted.model}`]
      : [model ?? "unknown", wanted.model];
    return { reason: "model", detail: [`${from} → ${to}`, ...tools].join("; ") };
  }
  // Tools that are taught as text are in the system prompt, and earlier calls in the text of replies.
  const wantedMode = wanted.toolMode ?? "official";
  if (toolMode !== wantedMode) {
    return { reason: "tool_mode", detail: [`${toolMode} → ${wantedMode}`, ...tools].join("; ") };
  }
  return tools[0] === undefined ? undefined : { reason: "tools", detail: tools[0] };
}

/** Tools of one server that are named one by one, and other tools. */
const MOST_NAMED = 2;
const MOST_OTHERS = 4;

function toolChange(before: readonly ToolSchema[], after: readonly ToolSchema[]): string {
  const missing = (list: readonly ToolSchema[], from: readonly ToolSchema[]) =>
    list.map(({ name }) => name).filter((name) => !from.some((tool) => tool.name === name));
  const added = counted(missing(after, before), "+");
  const removed = counted(missing(before, after), "−");
  return [...added, ...removed].join(" ") || "other descriptions or another order";
}

/** Names with a sign; of many of one MCP server, or of many others, only their number. */
function counted(names: readonly string[], sign: string): string[] {
  const groups = Map.groupBy(names, (name) => /^mcp__.+?(?=__)/.exec(name)?.[0] ?? "");
  return [...groups].flatMap(([group, own]) => {
    if (own.length <= (group === "" ? MOST_OTHERS : MOST_NAMED)) return own.map((name) => sign + name);
    return [`${sign}${own.length}${group === "" ? "" : ` of ${group.slice("mcp__".length)}`}`];
  });
}

/** Sends a tagged context message unless the latest one with the same tag says the same. */
export async function appendIfChanged(recorder: Recorder, text: string): Promise<void> {
  const tag = text.slice(0, text.indexOf(">") + 1);
  const isTagged = (message: Message) => message.role === "user" && message.content.startsWith(tag);
  const latest = recorder.messages.findLast(isTagged);
  if (latest?.content === text) return;
  await recorder.record({ type: "message.user", content: text, origin: "context" });
}

/** The parts of an agent without those that the controller adds itself. */
export interface ControlledDeps extends Omit<AgentDeps, "conversation" | "takeSteering"> {
  /** Compacts the conversation on request; absent where nothing can. */
  readonly compact?: (hint: string | undefined, signal: AbortSignal) => Promise<CompactionReport>;
}

/** Drives one conversation: submissions in, events out. */
export class Controller {
  readonly recorder: Recorder;
  readonly #deps: AgentDeps;
  readonly #compact: ControlledDeps["compact"];
  readonly #steering: Pick<UserInput, "text" | "id">[] = [];
  readonly #interrupted = new Set<(reason: StopReason) => void>();
  #turn: AbortController | undefined;

  constructor(recorder: Recorder, { compact, ...deps }: ControlledDeps) {
    this.recorder = recorder;
    this.#compact = compact;
    this.#deps = { ...deps, conversation: recorder, takeSteering: () => this.takeSteering() };
  }

  /** Adds a reader of events; the returned function removes it. */
  subscribe(sink: EventSink): () => void {
    return this.recorder.subscribe(sink);
  }

  /** Takes back what was said to steer a turn and no step of it has taken. */
  takeSteering(): readonly Pick<UserInput, "text" | "id">[] {
    return this.#steering.splice(0);
  }

  /**
   * Takes a submission; a turn resolves when it has ended.
   *
   * @param provider answers this turn in place of the conversation's own
   */
  async submit(submission: Submission, provider?: Provider): Promise<TurnOutcome | undefined> {
    switch (submission.type) {
      case "turn":
        return await this.#run(submission.input, provider);
      case "shell":
        return await this.#alone((signal) => runShellTurn(this.#deps, submission, signal));
      case "steer":
        this.#steering.push(submission);
        return;
      case "interrupt": {
        const { reason } = submission;
        const why = new StopReason(reason, reason === "terminated" ? "Terminated" : "Interrupted");
        this.#turn?.abort(why);
        for (const listener of this.#interrupted) listener(why);
      }
    }
  }

  /** Hears of interrupts, also between two turns; the returned function ends that. */
  onInterrupt(listener: (reason: StopReason) => void): () => void {
    this.#interrupted.add(listener);
    return () => this.#interrupted.delete(listener);
  }

  /**
   * A session is known by the first line of its first prompt, which references and piped input may stand
   * before.
   */
  async #title({ text, references = [] }: UserInput): Promise<void> {
    const { turns, title } = this.recorder.state;
    const first = titleOf(text);
    if (references.length === 0 || turns.length > 0 || title !== undefined || first === "") return;
    await this.recorder.record({ type: "session.rename", title: first });
  }

  /**
   * Compacts the conversation between two turns, keeping in particular what the hint names. Throws
   * ReasonixError (interrupt, terminated) when it was stopped.
   */
  async compact(hint?: string): Promise<CompactionReport> {
    const report = await this.#alone(async (signal) => {
      const made = await this.#compact?.(hint, signal);
      if (!signal.aborted) return made;
      const terminated = signal.reason instanceof StopReason && signal.reason.reason === "terminated";
      throw new ReasonixError("Stopped before anything was compacted", {
        exit: terminated ? "terminated" : "interrupt",
      });
    });
    await this.recorder.sync();
    return report ?? { method: "none", tokensBefore: 0, tokensAfter: 0 };
  }

  #run(input: UserInput, provider = this.#deps.provider): Promise<TurnOutcome> {
    return this.#alone(async (signal) => {
      await this.#title(input);
      return await runTurn({ ...this.#deps, provider }, input, signal);
    });
  }

  /** One thing at a time happens to a conversation, and an interrupt ends it. */
  async #alone<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#turn) {
      throw new TypeError("Cannot start a turn while another one is running; steer or interrupt it");
    }
    const turn = new AbortController();
    this.#turn = turn;
    try {
      return await work(turn.signal);
    } finally {
      this.#turn = undefined;
      await this.recorder.settle();
    }
  }
}
