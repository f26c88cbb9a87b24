import type { TurnOutcome } from "../agent/mod.ts";
import type { LoadedConfig } from "../config/mod.ts";
import {
  type ControlledParts,
  type Controller,
  type FileReport,
  rewind,
  type RewindParts,
  type RewindScope,
  type TurnCheckpoints,
  turnTarget,
} from "../control/mod.ts";
import type { EventSink } from "../core/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { SavedMemory } from "../tool/mod.ts";
import { type OpeningParts, recordOpening } from "./session/opening.ts";
import type { Modes } from "./access/modes.ts";
import type { InternalRequest, InternalResult, RunAgents } from "./internal.ts";
import type { Remark } from "./access/access_scope.ts";
import type { GoalDesk } from "./goal/goal_desk.ts";
import type { PlanDesk } from "./plan/plan_desk.ts";
import type { RunSession } from "./session/session.ts";
import type { GuardedTools } from "./tools/guarded_tools.ts";
import type { TurnInput } from "./context/turn_input.ts";
import { offerLateTools } from "./tools/offered_tools.ts";
import { ended, reasonOf, throwIfStopped, TurnRunner, type TurnRunParts } from "./turns/turn_runner.ts";

/** The parts of a run, connected. */
export interface AssemblyParts extends OpeningParts, Omit<TurnRunParts, "plugins" | "tools"> {
  readonly session: RunSession;
  readonly checkpointer: Pick<TurnCheckpoints, "open" | "changed" | "meantToChange">;
  readonly scope: { readonly full: boolean; readonly forecast: { readonly confined: boolean } };
  /** Reasoning effort that the model is asked for; absent: the vendor's own. */
  readonly effort: string | undefined;
  /** Takes secrets out of what leaves the run beside its events. */
  readonly redact: (text: string) => string;
  readonly plans: () => Promise<PlanDesk>;
  readonly goals: () => Promise<GoalDesk>;
  /** Notices for the user before the first turn. */
  readonly warnings: readonly Remark[];
  /** Resolves when nothing that was started ahead is running any more. */
  readonly warmedUp: () => Promise<unknown>;
  /** What a turn needs beyond its conversation; nothing that acts between steps. */
  readonly turn: ControlledParts;
  readonly agents: () => Promise<RunAgents>;
  /** The background of the tools. */
  readonly tools: Pick<GuardedTools["tools"], "close" | "ended" | "images">;
}

/** The facts that a front end shows of a session that begins. */
export interface SessionStart {
  readonly session: string;
  readonly cwd: string;
  readonly model: string;
  readonly tools: readonly string[];
  readonly skills: readonly string[];
  readonly agents: () => Promise<readonly string[]>;
  readonly servers: NonNullable<Assembly["servers"]>["status"];
  /** The provider is sent a key. */
  readonly keyed: boolean;
}

/**
 * A run that is put together: opened, given turns, closed. The same for every front end and for programs that
 * embed it.
 */
export class Assembly implements AsyncDisposable {
  readonly controller: Controller;
  /** How far the agent may go, for a person to change between calls. */
  readonly modes: Modes;
  readonly paths: AssemblyParts["paths"];
  readonly workspace: AssemblyParts["workspace"];
  readonly session: RunSession;
  readonly provider: Provider;
  readonly loaded: LoadedConfig;
  readonly inputs: AssemblyParts["inputs"];
  readonly effort: AssemblyParts["effort"];
  readonly redact: AssemblyParts["redact"];
  /** The plans of the session. */
  readonly plans: AssemblyParts["plans"];
  /** Its goal. */
  readonly goals: AssemblyParts["goals"];
  readonly #parts: AssemblyParts;
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing: (() => Promise<void>)[] = [];
  readonly #whenOpen: (() => void)[] = [];
  #opened: Promise<SessionStart> | undefined;
  #closed: Promise<void> | undefined;
  readonly #turns: TurnRunner;

  constructor(parts: AssemblyParts) {
    this.#parts = parts;
    this.controller = parts.controller;
    this.modes = parts.modes;
    this.paths = parts.paths;
    this.workspace = parts.workspace;
    this.session = parts.session;
    this.provider = parts.provider;
    this.loaded = parts.loaded;
    this.inputs = parts.inputs;
    this.effort = parts.effort;
    this.redact = parts.redact;
    this.plans = parts.plans;
    this.goals = parts.goals;
    this.#turns = new TurnRunner({ ...parts, attachments: this.attachments }, parts.warnings);
  }

  /** What takes part in its turns. */
  get turnParts(): AssemblyParts["turnParts"] {
    return this.#parts.turnParts;
  }

  /** A call of the turn was meant to change something. */
  get hasChanged(): boolean {
    return this.#parts.checkpointer.meantToChange;
  }

  /** Paths that the turn has changed so far: from the working directory, or absolute. */
  async changedFiles(): Promise<readonly string[]> {
    return await this.#parts.checkpointer.changed();
  }

  /** Makes a run beside the conversation; see {@linkcode RunAgents.internal}. */
  async runInternal(request: InternalRequest): Promise<InternalResult> {
    return await this.stoppable(request.signal, async () => (await this.#parts.agents()).internal(request));
  }

  /** Does something when the session is open, once its first events are written. */
  whenOpen(work: () => void): void {
    this.#whenOpen.push(work);
  }

  /** Does a piece of work before the run is closed. */
  onClose(work: () => Promise<void>): void {
    this.#closing.push(work);
  }

  /** The directory that the run works in. */
  get cwd(): string {
    return this.#parts.paths.cwd;
  }

  /** The MCP servers of the run; undefined where none is configured. */
  get servers(): NonNullable<AssemblyParts["plugins"]>["servers"] | undefined {
    return this.#parts.plugins?.servers;
  }

  /** How servers give what goes into a message. */
  get attachments(): { readonly vision: boolean; readonly directory: string } {
    return { vision: this.#parts.tools.images.vision, directory: `${this.session.paths.dir}/outputs` };
  }

  /** Tokens that a conversation of the model can have, where declared. */
  get window(): number | undefined {
    return this.provider.model.contextWindow ?? this.#parts.window;
  }

  /** Commands run in a jail, as far as that is known before the first one. */
  get confined(): boolean {
    const { full, forecast } = this.#parts.scope;
    return !full && forecast.confined;
  }

  /**
   * Writes the first events of this process, once: the head of a session, or what a crash left open, and the
   * prefix.
   */
  open(): Promise<SessionStart> {
    return this.#opened ??= this.#open();
  }

  async #open(): Promise<SessionStart> {
    const { session, controller: { recorder }, paths, provider: { model }, loaded, inputs } = this.#parts;
    offerLateTools({ ...this.#parts, recorder, collaboration: this.modes.collaboration });
    await recordOpening(recorder, this.#parts);
    await this.modes.open();
    for (const work of this.#whenOpen) work();
    const { skills } = inputs.skillSet;
    const tools = recorder.prefix.tools.map((tool) => tool.name);
    const entry = loaded.config.providers.find(({ name }) => name === model.provider);
    return {
      session: session.id,
      cwd: paths.cwd,
      model: model.id,
      tools,
      skills: tools.includes("skill") ? skills.map(({ name }) => name) : [],
      agents: async () => tools.includes("task") ? await agentNames(inputs) : [],
      servers: this.servers?.status ?? [],
      keyed: (entry?.api_key_env ?? "") !== "",
    };
  }

  /**
   * Runs one turn, opening the session before the first. Rejects only for misuse and when the signal stopped
   * it before it began; see {@linkcode TurnOutcome} for how it ended. An abort with the reason "terminated"
   * ends the turn as that.
   */
  async run(input: string | TurnInput, signal?: AbortSignal): Promise<TurnOutcome> {
    return await this.stoppable(signal, async () => {
      await this.open();
      return await this.#turns.run(typeof input === "string" ? { text: input } : input, signal);
    });
  }

  /**
   * Runs a command line of the user's own as a turn without the model, in the same jail and under the same
   * rules; only what no rule names is not asked about, since the user typed it. Rejects as `run` does.
   */
  async runShell(command: string, signal?: AbortSignal): Promise<TurnOutcome> {
    return await this.stoppable(signal, async () => {
      await this.open();
      await this.modes.tell();
      this.modes.ownCommand = true;
      try {
        return ended(await this.controller.submit({ type: "shell", command }));
      } finally {
        this.modes.ownCommand = false;
      }
    });
  }

  /** Saves a fact of the user's own for this project; the model is told of it with the next turn. */
  async remember(text: string): Promise<SavedMemory> {
    const { memory } = this.inputs.ports;
    if (!memory) throw new TypeError("Cannot remember a fact: the run has no memory");
    const saved = await (await memory()).remember({ name: text, description: text, text, scope: "project" });
    this.#turns.tell(`<memory>\nThe user asked to remember this: ${text}\n</memory>`);
    return saved;
  }

  /**
   * Brings files, conversation or both back to the end of a turn; 0 is before the first. Throws a
   * ReasonixError (usage) when there is no such finished turn, and while one is running.
   */
  async rewind(turn: number, scope: RewindScope = "both"): Promise<FileReport> {
    return await rewind(this.rewindable, turnTarget(this.controller.recorder.state, turn, scope));
  }

  /** The session as what previews and rewinds work on. */
  get rewindable(): RewindParts {
    const { controller: { recorder }, checkpointer } = this.#parts;
    return { recorder, checkpoints: () => checkpointer.open() };
  }

  /**
   * Makes ready what the first turn needs, while its message is being written. Nothing is recorded, sent or
   * kept of it, so that what changes until then counts; `sink` is shown the events.
   */
  async warmUp(sink: EventSink): Promise<void> {
    const { rehearse } = await import("./session/rehearsal.ts");
    await rehearse({ ...this.#parts, opening: this.#parts, sink });
  }

  /** Does a piece of work that an abort interrupts through the controller. */
  async stoppable<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    throwIfStopped(signal);
    const stop = () => void this.controller.submit({ type: "interrupt", reason: reasonOf(signal) });
    signal?.addEventListener("abort", stop, { once: true });
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      signal?.removeEventListener("abort", stop);
    }
  }

  /**
   * Ends what runs in the background and closes the session. What was started ahead may still be on its way.
   */
  close(): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    await Promise.all(this.#closing.map((work) => work()));
    await this.#parts.plugins?.close();
    await this.#parts.tools.close();
    await this.session.close();
  }

  /** Interrupts a turn that is running, waits for everything that was started, and closes. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closed) {
      await this.controller.submit({ type: "interrupt", reason: "interrupted" });
      await Promise.allSettled(this.#running);
      await this.#parts.warmedUp();
    }
    await this.close();
    await this.#parts.tools.ended();
  }
}

async function agentNames(inputs: AssemblyParts["inputs"]): Promise<readonly string[]> {
  const { knownAgents } = await import("./subagents/known_agents.ts");
  return (await knownAgents(inputs)).map(({ name }) => name);
}
