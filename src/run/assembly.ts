import { costStop, type Stop, StopReason, type TurnOutcome } from "../agent/mod.ts";
import type { LoadedConfig } from "../config/mod.ts";
import {
  type ControlledDeps,
  Controller,
  type FileReport,
  MemoryStore,
  Recorder,
  rewind,
  type RewindDeps,
  type RewindScope,
  turnTarget,
} from "../control/mod.ts";
import {
  addSpending,
  type EventSink,
  message,
  NO_SPENDING,
  ReasonixError,
  type Spending,
  totalCost,
} from "../core/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { SavedMemory } from "../tool/mod.ts";
import { defined } from "../util/json.ts";
import { lazy } from "../util/lazy.ts";
import type { Warning } from "./access/access_scope.ts";
import type { Modes } from "./access/gate.ts";
import { type ContextManager, manageContext } from "./context/context_management.ts";
import { deniesReading, mentioned, readablePath, resolveInput } from "./turn.ts";
import { modelWarnings, providerOf } from "./provider.ts";
import { openGuardedTools, openRunBase, type RunContext, runWarnings } from "./run_context.ts";
import type { BaseFeatures, LanguageServerState } from "./run_features.ts";
import type { AssemblyOptions, Features, InternalRequest, InternalResult, TurnInput } from "./run_options.ts";
import { createCheckpointer, opener, recordOpening, type RunSession } from "./session/session.ts";
import type { TurnExtensions } from "./turn.ts";

interface TurnRunDeps extends RunContext {
  readonly controller: Controller;
  readonly beforeTurn: () => Promise<void>;
  readonly window: number | undefined;
  /** The intake of content from MCP servers. */
  readonly attachments: { readonly vision: boolean; readonly directory: string };
}

/** Runs the turns of a session: one for each input of the user, and those that follow automatically. */
class TurnRunner {
  readonly #deps: TurnRunDeps;
  readonly #warnings: Warning[];
  readonly #facts: string[] = [];

  constructor(deps: TurnRunDeps) {
    this.#deps = deps;
    this.#warnings = [...runWarnings(deps), ...modelWarnings(deps.provider, deps.remote)];
  }

  /** Informs the model with the next turn. */
  addFact(fact: string): void {
    this.#facts.push(fact);
  }

  /** Runs a turn and what follows from it; the outcome is that of the last one, with what all have taken. */
  async run(input: TurnInput, signal?: AbortSignal): Promise<TurnOutcome> {
    const { controller, extensions } = this.#deps;
    const stop = new AbortController();
    const unsubscribe = controller.onInterrupt((reason) => stop.abort(reason));
    const all = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const total = new TurnTotal(this.#deps.provider.model.price?.currency);
    try {
      for (let next: TurnInput = input;;) {
        const outcome = await this.#one(next, all);
        total.add(outcome);
        const following = await extensions.after(outcome, all);
        if (!following || all.aborted) return total.of(outcome);
        const stop = total.overspent(this.#deps.loaded.config.agent.max_cost);
        if (stop) return { ...total.of(outcome), ...stop };
        next = following;
      }
    } catch (error) {
      await extensions.failed(error);
      throw error;
    } finally {
      unsubscribe();
    }
  }

  async #one(given: TurnInput, signal: AbortSignal): Promise<TurnOutcome> {
    const { controller, recorder, modes, options: { answerForm } } = this.#deps;
    await this.#deps.beforeTurn();
    for (const warning of this.#warnings.splice(0)) {
      await recorder.record({ type: "notice", level: "warning", code: "config", ...warning });
    }
    await modes.announce();
    for (const content of this.#facts.splice(0)) {
      await recorder.record({ type: "message.user", content, origin: "context" });
    }
    // What is spent before the turn, such as for a plan, is part of it.
    this.#deps.extensions.costsBefore = recorder.state.costs;
    const input = await this.#deps.extensions.before(given, signal);
    const turn = answerForm
      ? { ...input, references: [...input.references ?? [], answerForm.request] }
      : input;
    const other = turn.model === undefined ? undefined : await providerOf(this.#deps.loaded, turn.model);
    const resolved = await this.#resolve(turn, other, signal);
    throwIfStopped(signal);
    this.#deps.skillRules.add(turn.rules ?? []);
    const submit = () => controller.submit({ type: "turn", input: resolved }, other);
    return ended(turn.readOnly ? await modes.readingOnly(submit) : await submit());
  }

  async #resolve(turn: TurnInput, other: Provider | undefined, signal: AbortSignal) {
    const { paths: { cwd }, attachments, plugins } = this.#deps;
    const provider = other ?? this.#deps.provider;
    const read = plugins?.resourceReader({ ...attachments, signal });
    const resource = (server: string, uri: string) =>
      read?.(server, uri) ?? mentioned(server, uri, this.#deps);
    const { images: { admit }, files } = this.#deps.tools;
    return await resolveInput(turn, {
      ...this.#deps,
      cwd,
      provider,
      resource,
      document: plugins && ((path, range) => plugins.servers.document(path, range, signal)),
      admit,
      files,
      signal,
    });
  }
}

function ended(outcome: TurnOutcome | undefined): TurnOutcome {
  if (!outcome) throw new TypeError("Cannot run a turn: the controller returned no outcome");
  return outcome;
}

/** Returns the reason of an abort that came from outside. */
function reasonOf(signal: AbortSignal | undefined): "interrupted" | "terminated" {
  const why: unknown = signal?.reason;
  return why === "terminated" || (why instanceof StopReason && why.reason === "terminated")
    ? "terminated"
    : "interrupted";
}

/** Throws a ReasonixError where work was stopped before it began. */
function throwIfStopped(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  const exit = reasonOf(signal) === "terminated" ? "terminated" : "interrupt";
  throw new ReasonixError(message`Stopped before the turn began`, { exit });
}

class TurnTotal {
  readonly #currency: string | undefined;
  #spending: Spending = NO_SPENDING;
  #steps = 0;
  #durationMs = 0;
  #turns = 0;

  /** The currency is that of the model's price, where it has one. */
  constructor(currency: string | undefined) {
    this.#currency = currency;
  }

  add({ steps, durationMs, usage, cost }: TurnOutcome): void {
    this.#turns++;
    this.#steps += steps;
    this.#durationMs += durationMs;
    this.#spending = addSpending(this.#spending, { usage, cost });
  }

  /** The last outcome with the figures of all. */
  of(last: TurnOutcome): TurnOutcome {
    if (this.#turns < 2) return last;
    const { cost: _cost, ...rest } = last;
    const cost = totalCost(this.#spending, this.#currency);
    const { usage } = this.#spending;
    return {
      ...rest,
      steps: this.#steps,
      durationMs: this.#durationMs,
      usage,
      ...(cost ? { cost } : {}),
    };
  }

  /** Says why no further turn begins: `limit` is one of the whole run, 0 none. */
  overspent(limit: number): Stop | undefined {
    return limit > 0 ? costStop(this.#spending, limit) : undefined;
  }
}

interface AssemblyDeps extends RunContext, Features {
  readonly controller: Controller;
  readonly beforeTurn: () => Promise<void>;
  /** Resolves when nothing that was started ahead is running any more. */
  readonly warmedUp: () => Promise<unknown>;
  readonly context: Pick<ContextManager, "close">;
  /** The dependencies of a turn, except what acts between steps. */
  readonly turn: ControlledDeps;
}

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

type Goal = NonNullable<RunSession["state"]["goal"]>;

/** Facts about a session for people, as data. */
export interface SessionFacts {
  readonly session: string;
  readonly title: string | undefined;
  readonly directory: string;
  readonly model: { readonly provider: string; readonly id: string; readonly effort: string | undefined };
  readonly modes: Readonly<Pick<Modes, "approval" | "permission" | "collaboration" | "approvedPlan">>;
  /** The goal that is pursued or can be resumed. */
  readonly goal:
    | { readonly state: Exclude<Goal["state"], "complete" | "cleared">; readonly turns: number }
    | undefined;
  readonly turns: number;
  /** Tokens of the conversation as last counted, and their percentage of the window, where it is known. */
  readonly context:
    | { readonly tokens: number; readonly window: number | undefined; readonly percent: number | undefined }
    | undefined;
  /** Spending of the whole session. */
  readonly spending: Spending;
  /** Commands run in a jail, as far as that is known before the first one. */
  readonly confined: boolean;
  readonly servers: Readonly<Record<"ready" | "failed" | "enabled" | "configured", number>>;
  /** The language servers that were needed so far. */
  readonly languageServers: readonly LanguageServerState[];
  readonly todos: RunSession["state"]["todos"];
  /** Paths of the instruction files in the prompt. */
  readonly instructions: readonly string[];
  readonly skills: number;
  /** Why events are not on disk; undefined when they all are. */
  readonly problem: string | undefined;
}

/**
 * A run that is put together: opened, given turns, closed. The same for every front end and for programs that
 * embed it.
 */
export class Assembly implements AsyncDisposable {
  readonly controller: Controller;
  /** Approval and permission mode, which a person may change between calls. */
  readonly modes: Modes;
  readonly paths: AssemblyDeps["paths"];
  readonly workspace: AssemblyDeps["workspace"];
  readonly session: RunSession;
  readonly provider: Provider;
  readonly loaded: LoadedConfig;
  readonly inputs: AssemblyDeps["inputs"];
  /** Requested reasoning effort; absent: the vendor's default. */
  readonly effort: string | undefined;
  readonly redact: AssemblyDeps["redact"];
  readonly plans: AssemblyDeps["plans"];
  readonly goals: AssemblyDeps["goals"];
  readonly #deps: AssemblyDeps;
  readonly #running = new Set<Promise<unknown>>();
  #opened: Promise<SessionStart> | undefined;
  #closed: Promise<void> | undefined;
  readonly #turns: TurnRunner;

  constructor(deps: AssemblyDeps) {
    this.#deps = deps;
    this.controller = deps.controller;
    this.modes = deps.modes;
    this.paths = deps.paths;
    this.workspace = deps.workspace;
    this.session = deps.session;
    this.provider = deps.provider;
    this.loaded = deps.loaded;
    this.inputs = deps.inputs;
    this.effort = deps.options.effort ?? deps.model.choice?.entry.effort;
    this.redact = deps.redact;
    this.plans = deps.plans;
    this.goals = deps.goals;
    const { attachments, window } = this;
    this.#turns = new TurnRunner({ ...deps, attachments, window });
    deps.controller.onInterrupt((reason) => deps.extensions.interrupted(reason));
  }

  /** Tests what turns change; absent where another run does. */
  get verification(): TurnExtensions["verification"] {
    return this.#deps.extensions.verification;
  }

  /** A slash command of the session has failed. */
  commandFailed(error: unknown): void {
    this.#deps.extensions.commandFailed(error);
  }

  /** Counts costs for `agent.max_cost` from here on, as at the beginning of a turn. */
  restartCostLimit(): void {
    this.#deps.extensions.costsBefore = this.controller.recorder.state.costs;
  }

  /** Makes a run outside of the conversation; see {@linkcode RunAgents.internal}. */
  async runInternal(request: InternalRequest): Promise<InternalResult> {
    return await this.stoppable(request.signal, async () => (await this.#deps.agents()).internal(request));
  }

  get cwd(): string {
    return this.#deps.paths.cwd;
  }

  get servers(): NonNullable<AssemblyDeps["plugins"]>["servers"] | undefined {
    return this.#deps.plugins?.servers;
  }

  /** The intake of content from MCP servers. */
  get attachments(): { readonly vision: boolean; readonly directory: string } {
    return { vision: this.#deps.tools.images.vision, directory: `${this.session.paths.dir}/outputs` };
  }

  /** Tokens that a conversation of the model can have, where declared. */
  get window(): number | undefined {
    return this.provider.model.contextWindow ?? this.#deps.model.choice?.entry.context_window;
  }

  get facts(): SessionFacts {
    const { session: { id, problem, state }, provider: { model }, modes, window, inputs, confined } = this;
    const { title, goal, turns, lastUsage, usage, costs, unpriced, todos } = state;
    const { approval, permission, collaboration, approvedPlan } = modes;
    const tokens = lastUsage && lastUsage.inputTokens + lastUsage.outputTokens;
    const states = this.servers?.status.map(({ state }) => state) ?? [];
    const count = (...wanted: readonly string[]) => states.filter((state) => wanted.includes(state)).length;
    return {
      session: id,
      title,
      directory: this.cwd,
      model: { provider: model.provider, id: model.id, effort: this.effort },
      modes: { approval, permission, collaboration, approvedPlan },
      goal: goal && goal.state !== "complete" && goal.state !== "cleared"
        ? { state: goal.state, turns: goal.turns }
        : undefined,
      turns: turns.length,
      context: tokens === undefined
        ? undefined
        : { tokens, window, percent: window ? 100 * tokens / window : undefined },
      spending: { usage, costs, unpriced },
      confined,
      servers: {
        ready: count("ready", "provider"),
        failed: count("failed", "needs-auth"),
        enabled: states.length - count("disabled"),
        configured: states.length,
      },
      languageServers: this.#deps.tools.languageServers(),
      todos,
      instructions: inputs.instructions.files.map(({ path }) => path),
      skills: inputs.skillSet.skills.length,
      problem,
    };
  }

  /** The real path of a file of the workspace that may be read without a prompt; rejects with the reason. */
  readable(path: string): Promise<string> {
    return readablePath(path, this.#deps);
  }

  /** Reports whether the settings or a rule forbid reading a path, which need not exist. */
  deniesReading(path: string): Promise<boolean> {
    return deniesReading(path, this.#deps);
  }

  /** Commands run in a jail, as far as that is known before the first one. */
  get confined(): boolean {
    const { full, expected } = this.#deps.scope;
    return !full && expected.confined;
  }

  /**
   * Writes the first events of this process, once: the start of a session, or what a crash left open, and the
   * prefix.
   */
  open(): Promise<SessionStart> {
    return this.#opened ??= this.#open();
  }

  async #open(): Promise<SessionStart> {
    const { session, recorder, paths, provider: { model }, loaded, inputs } = this.#deps;
    await this.#deps.open();
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
   * Runs a command line of the user as a turn without the model, in the same jail and under the same rules;
   * except that calls without a rule need no approval, since the user typed the line. Rejects as `run` does.
   */
  async runShell(command: string, signal?: AbortSignal, id?: string): Promise<TurnOutcome> {
    return await this.stoppable(signal, async () => {
      await this.open();
      await this.modes.announce();
      this.modes.userCommand = true;
      try {
        return ended(await this.controller.submit({ type: "shell", command, ...defined({ id }) }));
      } finally {
        this.modes.userCommand = false;
      }
    });
  }

  /** Saves a fact of the user for this project; the next turn notifies the model. */
  async remember(text: string): Promise<SavedMemory> {
    const { memory } = this.inputs.ports;
    if (!memory) throw new TypeError("Cannot remember a fact: the run has no memory");
    const saved = await (await memory()).remember({ name: text, description: text, text, scope: "project" });
    this.#turns.addFact(`<memory>\nThe user asked to remember this: ${text}\n</memory>`);
    return saved;
  }

  /**
   * Brings files, conversation or both back to the end of a turn; 0 is before the first. Throws a
   * ReasonixError (usage) when there is no such finished turn, and while one is running.
   */
  async rewind(turn: number, scope: RewindScope = "both"): Promise<FileReport> {
    return await rewind(this.rewindable, turnTarget(this.controller.recorder.state, turn, scope));
  }

  get rewindable(): RewindDeps {
    const { recorder, checkpointer } = this.#deps;
    return { recorder, checkpoints: () => checkpointer.open() };
  }

  /**
   * Runs a first turn in memory while its message is written: this loads and compiles what the turn executes,
   * and makes the HTTP client, which takes longer than everything else before the request. Nothing is
   * recorded, sent or kept, so that the real turn uses what holds then; `sink` receives the events.
   */
  async warmUp(sink: EventSink): Promise<void> {
    const { turn, session: { head }, redact } = this.#deps;
    const { provider } = turn;
    if (!provider.warmUp) return;
    const recorder = new Recorder(new MemoryStore(redact));
    recorder.subscribe(sink);
    const session = { state: recorder.state, ...(head ? { head } : {}) };
    // Servers are not waited for: what they offer is not known before.
    await recordOpening(recorder, { ...this.#deps, session, plugins: undefined });
    const stream = provider.warmUp.bind(provider);
    const controller = new Controller(recorder, { ...turn, provider: { ...provider, stream } });
    await controller.submit({ type: "turn", input: { text: "." } });
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
    await this.#deps.context.close();
    await this.#deps.extensions.close();
    await this.#deps.plugins?.close();
    await this.#deps.tools.close();
    await this.session.close();
  }

  /** Interrupts a turn that is running, waits for everything that was started, and closes. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closed) {
      await this.controller.submit({ type: "interrupt", reason: "interrupted" });
      await Promise.allSettled(this.#running);
      await this.#deps.warmedUp();
    }
    await this.close();
    await this.#deps.tools.ended();
  }
}

async function agentNames(inputs: AssemblyDeps["inputs"]): Promise<readonly string[]> {
  const { knownAgents } = await import("./agents.ts");
  return (await knownAgents(inputs)).map(({ name }) => name);
}

export type Assemble = (options: AssemblyOptions) => Promise<Assembly>;

/** The features that runs may have. */
export interface RunFeatures extends BaseFeatures {
  /** Adds what a feature has to the options of a run. */
  prepare(options: AssemblyOptions): Promise<AssemblyOptions>;
  /** Returns the features that tools and front ends call; agents work in their own runs. */
  of(run: RunContext, assemble: Assemble): Features;
  /** Attaches every feature that the run uses; the others are not loaded. */
  attach(run: RunContext, features: Features): Promise<void>;
}

/**
 * Builds runs with these features, from the bottom up: each part is made of the parts before it. Nothing is
 * recorded before the run is opened.
 */
export function assembleWith(all: RunFeatures): Assemble {
  return async function assemble(given) {
    const options = await all.prepare(given);
    const base = await openRunBase(options, all);
    const { loaded: { config }, provider, recorder, extensions } = base;
    const guarded = await openGuardedTools(base, all);
    const { gate, tools } = guarded;
    const checkpointer = createCheckpointer(base);
    const run: RunContext = { ...base, ...guarded, checkpointer, open: opener({ ...base, ...guarded }) };
    const features = all.of(run, assemble);
    await all.attach(run, features);
    const context = await manageContext(run);
    const rules = extensions.rules(config, options, provider.model.toolMode);
    const turn = { provider, gate, toolbox: tools.toolbox(features), ...rules };
    const { warmedUp, ...warmUp } = preparations(run, context);
    const controller = new Controller(recorder, {
      ...turn,
      // What an agent changes is part of what the turn changes that it works for.
      ...(options.parent ? {} : { checkpointer }),
      ...context,
      ...warmUp,
    });
    const { beforeTurn } = context;
    return new Assembly({ ...run, ...features, controller, turn, beforeTurn, warmedUp, context });
  };
}

/** Warms up what calls need: `warm` while the model thinks, `onCall` while it writes a call. */
function preparations(
  { options, gate, tools, registry, checkpointer }: RunContext,
  context: Pick<ContextManager, "warm">,
) {
  const warming: Promise<unknown>[] = [];
  const prepareEdit = lazy(() => Promise.all([gate.warm?.("Edit"), tools.openChecks()]));
  return {
    warm() {
      warming.push(context.warm());
    },
    onCall(name: string) {
      const tool = registry.get(name);
      if (!tool) return;
      const started = tools.host.prewarm(tool);
      // After the process, whose start takes longest.
      if (tool.family === "Edit") warming.push(started.then(prepareEdit).catch(() => {}));
      if (tool.family === "Bash") {
        // The command itself reports why there is no jail.
        tools.openJail().catch(() => {});
        // The parser of command lines and what it knows of programs take 5 MB: an answer in text has neither.
        warming.push((gate.warm?.("Bash") ?? Promise.resolve()).catch(() => {}));
      }
      if (!options.parent) checkpointer.prewarm(tool);
    },
    warmedUp: () => Promise.allSettled(warming),
  };
}
