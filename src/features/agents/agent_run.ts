import { type AnswerForm, StopReason, type TurnOutcome } from "../../agent/mod.ts";
import { type Config, type LoadedConfig, resolveModel } from "../../config/mod.ts";
import type { AgentDefinition } from "../../context/mod.ts";
import {
  errorMessage,
  type Event,
  type EventOf,
  type EventSink,
  isAbort,
  message,
  type NewEventOf,
  newNotice,
  type PreparedCall,
  ReasonixError,
  type Spending,
  textOf,
  totalCost,
} from "../../core/mod.ts";
import type { Approver, Gate } from "../../permission/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import {
  type Assemble,
  type Assembly,
  type AssemblyOptions,
  loadKnownAgents,
  type RunContext,
  type RunPaths,
  type TurnInput,
} from "../../run/mod.ts";
import { SessionBusyError } from "../../session/mod.ts";
import {
  type AgentReport,
  type AgentTask,
  type Asker,
  BUILTINS,
  type BuiltinTool,
  isKnownToRead,
  type Tool,
} from "../../tool/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import type { Isolation } from "./isolation.ts";

/** The model of an agent, as `default_model` names it. */
interface AgentModel {
  /** Absent: the model of the run. */
  readonly reference?: string;
  /** Why it is not the one that was wanted. */
  readonly fellBack?: string;
}

/** Words of other programs for models of one vendor, which mean no model here unless one has the name. */
const FOREIGN: ReadonlySet<string> = new Set(["inherit", "default", "sonnet", "opus", "haiku", "fable"]);

/**
 * The model that the user chose for the agent by name, else the one that its file names, else the one of all
 * agents, else that of the run. One that is not configured falls back to the next.
 */
export function agentModel(
  { config }: Pick<LoadedConfig, "config">,
  { name, model }: Pick<AgentDefinition, "name" | "model">,
): AgentModel {
  const { subagent_model, subagent_models } = config.agent;
  const byName = Object.hasOwn(subagent_models, name) ? subagent_models[name] : undefined;
  let fellBack: string | undefined;
  for (const reference of [byName, model, subagent_model]) {
    if (reference === undefined || reference === "" || reference === "inherit") continue;
    const problem = modelProblem(config, reference);
    if (problem === undefined) return { reference, ...(fellBack === undefined ? {} : { fellBack }) };
    if (!FOREIGN.has(reference)) fellBack ??= `agent ${name}: ${problem}`;
  }
  return fellBack === undefined ? {} : { fellBack };
}

function modelProblem(config: Config, reference: string): string | undefined {
  try {
    resolveModel(config, reference);
  } catch (error) {
    return errorMessage(error);
  }
}

/** Limits the number of tasks that run at the same time; the others wait in order. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Takes a slot; what it returns gives it back. Rejects when the signal aborts before there is one. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const turn = () => {
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const stop = () => {
      const at = this.#waiting.indexOf(turn);
      if (at >= 0) this.#waiting.splice(at, 1);
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    this.#waiting.push(turn);
    return promise;
  }
}

/** Characters of an answer in the event of its end. */
const MAX_SUMMARY = 400;
const MAX_PROGRESS = 160;

export interface AgentRunDeps {
  readonly id: string;
  readonly agent: string;
  readonly task: AgentTask;
  readonly child: Assembly;
  readonly input?: Pick<TurnInput, "references" | "images">;
  readonly sink?: EventSink;
  readonly record: (
    event: NewEventOf<"subagent.start" | "subagent.progress" | "subagent.end" | "question">,
  ) => void;
  /** Waits until one more agent may work; what it returns lets the next one. */
  readonly slot: (signal: AbortSignal) => Promise<() => void>;
  readonly spend: (amount: number) => void;
  readonly overspent: () => boolean;
  /** Notes for the model in addition to the answer. */
  readonly notes: readonly string[];
  /** Called when it has ended; what else the model should know. */
  readonly end?: (signal: AbortSignal) => Promise<readonly string[]>;
}

/** One task that an agent works on: its events, what it has spent, and its report. */
export class AgentRun {
  readonly id: string;
  readonly task: AgentTask;
  /** Resolves when it is done and everything that it started has ended; never rejects. */
  readonly ended: Promise<void>;
  readonly #deps: AgentRunDeps;
  readonly #stop = new AbortController();
  readonly #started = performance.now();
  readonly #before: Spending;
  #calls = 0;
  #asking = false;
  #outcome: TurnOutcome | undefined;
  #problem: string | undefined;
  #end: AgentReport | undefined;
  #seen = false;
  #endNotes: readonly string[] = [];

  constructor(deps: AgentRunDeps) {
    this.#deps = deps;
    this.id = deps.id;
    this.task = deps.task;
    const { usage, costs, unpriced } = deps.child.controller.recorder.state;
    this.#before = { usage, costs, unpriced };
    this.ended = this.#run();
  }

  get spending(): Spending {
    const { usage, costs, unpriced } = this.#deps.child.controller.recorder.state;
    const before = this.#before;
    const spent = (currency: string) => (costs[currency] ?? 0) - (before.costs[currency] ?? 0);
    return {
      usage: {
        inputTokens: usage.inputTokens - before.usage.inputTokens,
        cachedTokens: usage.cachedTokens - before.usage.cachedTokens,
        outputTokens: usage.outputTokens - before.usage.outputTokens,
        reasoningTokens: usage.reasoningTokens - before.usage.reasoningTokens,
        cacheWriteTokens: (usage.cacheWriteTokens ?? 0) - (before.usage.cacheWriteTokens ?? 0),
      },
      costs: Object.fromEntries(Object.keys(costs).map((currency) => [currency, spent(currency)])),
      unpriced: unpriced - before.unpriced,
    };
  }

  get report(): AgentReport {
    return this.#end ?? this.#report("running");
  }

  /** The outcome of the turn; undefined before and while it runs. */
  get outcome(): TurnOutcome | undefined {
    return this.#outcome;
  }

  get isSeen(): boolean {
    return this.#seen;
  }

  /** The report, for the one that began it. */
  seen(): AgentReport {
    this.#seen ||= this.#end !== undefined;
    return this.report;
  }

  get #names() {
    const { id, agent, task: { callId, background } } = this.#deps;
    return { id, agent, ...(callId === undefined ? {} : { callId }), ...(background ? { background } : {}) };
  }

  stop(reason: unknown): void {
    this.#stop.abort(reason);
  }

  async #run(): Promise<void> {
    const { child, slot } = this.#deps;
    let release: (() => void) | undefined;
    try {
      release = await slot(this.#stop.signal);
      await this.#work();
    } catch (error) {
      this.#problem = problemOf(error);
    }
    await child[Symbol.asyncDispose]().catch((error) => this.#problem ??= errorMessage(error));
    this.#endNotes = await this.#deps.end?.(this.#stop.signal) ?? [];
    this.#end = this.#report(this.#state());
    if (release) this.#recordEnd(this.#end);
    release?.();
  }

  async #work(): Promise<void> {
    const { child, task } = this.#deps;
    const { session, provider: { model } } = child;
    this.#deps.record({
      type: "subagent.start",
      ...this.#names,
      session: session.id,
      model: `${model.provider}/${model.id}`,
      prompt: task.prompt,
      ...(task.description === undefined ? {} : { description: task.description }),
      ...(task.resume === undefined ? {} : { resumed: true }),
    });
    const unsubscribe = child.controller.subscribe((event) => {
      this.#watch(event);
      return this.#deps.sink?.(event);
    });
    try {
      this.#outcome = await child.run(
        // Nothing in what another agent writes is a reference.
        { ...this.#deps.input, text: task.prompt, literal: true },
        this.#stop.signal,
      );
    } finally {
      unsubscribe();
    }
  }

  #watch(event: Event): void {
    if (event.type === "turn.state") this.#asks(event.to);
    else if (event.type === "tool.start") {
      this.#calls += 1;
      this.#progress(event.title ?? event.call.name);
    } else if (event.type === "subagent.progress") {
      this.#progress(`${event.agent}: ${event.text}`);
    } else if (event.type === "message.start" && this.#deps.overspent()) {
      this.stop(new StopReason("limit", "The cost limit of the turn is reached"));
    } else if ((event.type === "message.end" || event.type === "subagent.end") && event.cost) {
      this.#deps.spend(event.cost.amount);
    }
  }

  /** Stops the clock of the waiting call while a person answers the agent. */
  #asks(state: EventOf<"turn.state">["to"]): void {
    const { record, task: { callId, background } } = this.#deps;
    const asking = state === "awaiting_approval" || state === "awaiting_answer";
    if (callId === undefined || background || asking === this.#asking) return;
    this.#asking = asking;
    record({ type: "question", state: asking ? "asked" : "answered", text: "", callId });
  }

  #progress(what: string): void {
    const { record } = this.#deps;
    const text = oneLine(what, MAX_PROGRESS);
    record({ type: "subagent.progress", ...this.#names, text, calls: this.#calls });
  }

  #recordEnd({ state, problem, answer, steps, durationMs }: AgentReport): void {
    const { child, record } = this.#deps;
    const { provider: { model } } = child;
    const spending = this.spending;
    const cost = totalCost(spending, model.price?.currency);
    record({
      type: "subagent.end",
      ...this.#names,
      outcome: state === "running" ? "error" : state,
      summary: oneLine(problem ?? answer, MAX_SUMMARY),
      model: `${model.provider}/${model.id}`,
      calls: this.#calls,
      steps,
      usage: spending.usage,
      ...(cost ? { cost } : {}),
      durationMs,
    });
  }

  #state(): "ok" | "error" | "aborted" {
    if (this.#outcome?.reason === "done") return "ok";
    const { signal } = this.#stop;
    return signal.aborted && !(signal.reason instanceof StopReason && signal.reason.reason === "limit")
      ? "aborted"
      : "error";
  }

  #report(state: AgentReport["state"]): AgentReport {
    const { agent, child, notes } = this.#deps;
    const outcome = this.#outcome;
    const { signal } = this.#stop;
    const problem = signal.aborted
      ? problemOf(signal.reason)
      : outcome && outcome.reason !== "done"
      ? outcome.detail ?? outcome.reason
      : this.#problem;
    const cost = totalCost(this.spending, child.provider.model.price?.currency);
    const turn = child.controller.recorder.state.turns.at(-1);
    return {
      id: this.id,
      agent,
      state,
      answer: outcome?.answer ?? turn?.answer ?? "",
      ...(state !== "ok" && problem !== undefined ? { problem } : {}),
      steps: outcome?.steps ?? this.#calls,
      ...(cost ? { cost } : {}),
      durationMs: outcome?.durationMs ?? Math.round(performance.now() - this.#started),
      notes: [...notes, ...this.#endNotes],
    };
  }
}

function problemOf(error: unknown): string {
  if (isAbort(error)) return error instanceof StopReason ? textOf(error.detail) : "stopped";
  if (error instanceof ReasonixError && error.remedy) return `${error.message}; ${error.remedy}`;
  return errorMessage(error);
}

export interface ChildTask {
  readonly id: string;
  readonly agent: AgentDefinition;
  readonly readOnly: boolean;
  /** Replaces the text that an agent works for another one. */
  readonly system?: string;
  readonly nonInteractive?: boolean;
  /** Its model, whatever is configured for agents. */
  readonly model?: string;
  /** Tools in addition to those of the run; one with the name of a built-in tool replaces it. */
  readonly tools?: readonly Tool[];
  readonly answerForm?: AnswerForm;
  /** Commands reach no network. */
  readonly offline?: boolean;
  /** Directory of its session; default: that of the run's agents. */
  readonly directory?: string;
  /** Talks to the model in place of the configured provider. */
  readonly provider?: Provider;
  readonly file?: string;
  readonly isolated?: boolean;
  /** Works somewhere else than the run. */
  readonly paths?: RunPaths;
  /** Agents ask one after the other. */
  readonly questions: Slots;
  /** Warnings that the user has had. */
  readonly warned?: Set<string>;
  /** Money that is left for it. */
  readonly maxCost?: number;
}

/** Tools that control the run itself: an agent has no plan and no goal. */
const OWN_TOOLS: ReadonlySet<string> = new Set([
  "exit_plan_mode",
  "complete_step",
  "update_goal",
  "submit",
]);
const TASK_TOOLS: ReadonlySet<string> = new Set(["task", "read_only_task", "task_output", "task_stop"]);

/** The options that agents inherit; the others are about the user's session. */
const INHERITED = [
  "approvalMode",
  "onAsk",
  "trustProject",
  "ignoreUntrusted",
  "gate",
  "batch",
  "hooks",
  "telemetry",
] as const;

function inherited(options: AssemblyOptions): Pick<AssemblyOptions, typeof INHERITED[number]> {
  return Object.fromEntries(
    INHERITED.flatMap((name) => options[name] === undefined ? [] : [[name, options[name]]]),
  );
}

/** Options of the run that an agent works in: the walls and rules of the one it works for, and no more. */
async function childOptions(run: RunContext, task: ChildTask): Promise<AssemblyOptions> {
  const { options, session, recorder, inputs, gate, tools } = run;
  const { agent, id, readOnly } = task;
  const depth = (options.parent?.depth ?? 0) + 1;
  const reference = task.model ?? agentModel(options.loaded, agent).reference;
  const offered = offeredTools(run, task, depth);
  const { adaptedTools, inForeground } = await loadKnownAgents();
  const adapted = adaptedTools(inputs);
  const { effort, permissionMode } = options;
  const appended = options.parent ? options.parent.appended : options.appendSystemPrompt;
  const own = options.gate && readOnly ? { gate: readingOnly(options.gate) } : {};
  return {
    ...inherited(options),
    // Its answer is what its own agents have found out, too.
    waitForAgents: true,
    ...(task.nonInteractive
      ? { onAsk: options.onAsk ?? "deny" as const }
      : askedBy(agent.name, id, { ...options, turns: task.questions })),
    ...own,
    ...(reference === undefined && effort !== undefined ? { effort } : {}),
    ...modelOf(run, task, reference),
    ...(task.answerForm ? { answerForm: task.answerForm } : {}),
    paths: task.paths ?? options.paths,
    // The editor shows no separate working tree.
    ...(task.paths || !options.files ? {} : { files: options.files }),
    loaded: childLoaded(options.loaded, task, { reference, offered }),
    sessionId: id,
    inMemory: false,
    tools: offered.own,
    adaptedTools: {
      ...adapted,
      ...(readOnly ? { bash: inForeground } : {}),
      ...Object.fromEntries((task.tools ?? []).map((tool) => [tool.name, () => asBuiltin(tool)])),
    },
    appendSystemPrompt: [appended, task.system ?? addendum(task)].filter((text) => text)
      .join("\n\n"),
    ...(readOnly ? { permissionMode: "read-only" } : bounds(permissionMode)),
    parent: {
      link: { session: session.id, seq: recorder.state.lastSeq, agent: agent.name },
      directory: task.directory ?? agentsDirectory(run),
      ...(task.file === undefined ? {} : { file: task.file }),
      depth,
      appended,
      gate,
      guard: tools.guard,
      repositories: tools.repositories,
      ...(task.paths ? {} : { host: tools.host }),
    },
  };
}

/** Plan mode binds by the gate of the run; that of an agent has no plan to wait for. */
function bounds(mode: AssemblyOptions["permissionMode"]): Pick<AssemblyOptions, "permissionMode"> {
  return mode === undefined || mode === "plan" ? {} : { permissionMode: mode };
}

export function agentsDirectory({ session }: Pick<RunContext, "session">): string {
  return `${session.paths.dir}/agents`;
}

/** A program's own model, and one that plays a recording, is the same for all; others keep a state. */
function modelOf(
  { options, provider: runs, loaded: { config } }: RunContext,
  { provider, model }: ChildTask,
  reference: string | undefined,
): Pick<AssemblyOptions, "provider"> {
  const own = provider ?? (model === undefined ? options.provider : undefined);
  if (own) return { provider: own };
  const plays = config.providers.some(({ name, kind }) => name === runs.model.provider && kind === "replay");
  return plays && reference === undefined ? { provider: runs } : {};
}

function isLanguageTool(name: string): boolean {
  return name.startsWith("lsp_") || name === "delete_symbol";
}

function asBuiltin(tool: Tool): BuiltinTool {
  return { ...tool, optional: false, late: false, warm: () => Promise.resolve() };
}

interface Offered {
  readonly builtin: readonly string[];
  readonly own: readonly Tool[];
}

function offeredTools({ registry, options }: RunContext, task: ChildTask, depth: number): Offered {
  const { agent, readOnly, tools: added = [] } = task;
  const deep = depth >= options.loaded.config.agents.max_depth;
  const builtins = new Set(BUILTINS.map(({ name }) => name));
  const wanted = (name: string) =>
    (agent.tools?.some((entry) => names(entry, name)) ?? true) &&
    !agent.withoutTools?.some((entry) => names(entry, name)) && !(deep && TASK_TOOLS.has(name));
  const all = registry.tools().filter((tool) => !OWN_TOOLS.has(tool.name) && wanted(tool.name));
  return {
    builtin: [
      ...all.filter(({ name }) => builtins.has(name))
        .filter((tool) => !readOnly || tool.readOnly || tool.name === "bash"),
      ...added,
    ].map(({ name }) => name),
    own: [
      ...all.filter((tool) => !builtins.has(tool.name) && (!readOnly || isKnownToRead(tool))),
      ...added.filter(({ name }) => !builtins.has(name)),
    ],
  };
}

/** Reports whether an entry of an agent's tools names a tool: by its name, or all of an MCP server. */
function names(entry: string, tool: string): boolean {
  return entry === tool || (entry.startsWith("mcp__") && tool.startsWith(`${entry.replace(/__\*?$/, "")}__`));
}

/** The settings of the run for an agent: elsewhere its workspace is the directory it works in. */
function childLoaded(
  loaded: LoadedConfig,
  task: ChildTask,
  chosen: { readonly reference: string | undefined; readonly offered: Offered },
): LoadedConfig {
  const config = childConfig(loaded, task, chosen);
  if (!task.paths) return { ...loaded, config };
  return { ...loaded, config: { ...config, sandbox: { ...config.sandbox, workspace_root: "" } } };
}

function childConfig(
  { config }: LoadedConfig,
  { agent, maxCost, offline }: ChildTask,
  { reference, offered }: { readonly reference: string | undefined; readonly offered: Offered },
): Config {
  const { agent: settings, permissions } = config;
  return {
    ...config,
    ...(reference === undefined ? {} : { default_model: reference }),
    agent: {
      ...settings,
      auto_plan: false,
      ...(agent.maxSteps === undefined ? {} : { max_steps: agent.maxSteps }),
      ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
      ...(agent.topP === undefined ? {} : { top_p: agent.topP }),
      ...(maxCost === undefined ? {} : { max_cost: maxCost }),
    },
    tools: {
      ...config.tools,
      enabled: [
        "*",
        ...BUILTINS.filter((tool) => tool.optional && offered.builtin.includes(tool.name)).map(({ name }) =>
          name
        ),
      ],
      disabled: BUILTINS.map(({ name }) => name).filter((name) => !offered.builtin.includes(name)),
    },
    // A run makes these tools from its settings, whatever tools its agent is offered.
    lsp: { ...config.lsp, tools: config.lsp.tools && (agent.tools?.some(isLanguageTool) ?? true) },
    ...(offline ? { sandbox: { ...config.sandbox, network: false, network_hosts: [] } } : {}),
    permissions: {
      ...permissions,
      ask: [...permissions.ask, ...agent.ask ?? []],
      deny: [...permissions.deny, ...agent.deny ?? []],
    },
    // The servers of the run serve its agents, too.
    plugins: [],
  };
}

function addendum({ agent, readOnly, paths }: ChildTask): string {
  const lines = [
    `You are the agent "${agent.name}". Another agent gave you the task and reads nothing but your last message: ` +
    "complete the task without help, then answer with the requested result, complete and without greetings.",
    ...(readOnly ? ["You change nothing: only tools and commands that read run."] : []),
    ...(paths
      ? ["You work in a copy of the repository: your changes are merged back when you are done."]
      : []),
    ...(agent.prompt === "" ? [] : [agent.prompt]),
  ];
  return `# Your part\n\n${lines.join("\n\n")}`;
}

/** Something of an embedding program's own judges calls, as far as they only read. */
function readingOnly(gate: Gate): Gate {
  return {
    check: (call: PreparedCall, signal) =>
      call.readOnly
        ? gate.check(call, signal)
        : { decision: "deny", source: "mode", reason: message`this agent only reads` },
  };
}

type OpenedChild = Pick<AgentRunDeps, "child" | "notes" | "input" | "end">;

/** Puts together the run in which an agent works on a task; a string says, for the model, why not. */
export async function openChild(
  run: RunContext,
  assemble: Assemble,
  task: ChildTask,
): Promise<OpenedChild | string> {
  const { recorder, options } = run;
  let isolation: Isolation | undefined;
  try {
    if (task.isolated) isolation = await (await import("./isolation.ts")).isolate(run, task.agent, task.id);
    const elsewhere = isolation ? { paths: isolation.paths } : {};
    const child = await assemble(await childOptions(run, { ...task, ...elsewhere }));
    const skill = await instructionsOf(task, child);
    const { fellBack } = task.model === undefined ? agentModel(options.loaded, task.agent) : {};
    if (fellBack !== undefined && !task.warned?.has(fellBack)) {
      task.warned?.add(fellBack);
      await recorder.record(newNotice("warning", "agents", fellBack));
    }
    return {
      child,
      notes: fellBack === undefined ? [] : [fellBack],
      ...(isolation ? { end: isolation.end } : {}),
      ...(skill === undefined ? {} : { input: { references: [skill] } }),
    };
  } catch (error) {
    await isolation?.end(AbortSignal.abort());
    return openProblem(error);
  }
}

/**
 * The instructions of the skill that an agent follows; what it allows counts for the agent. Throws a
 * ReasonixError when they cannot be read.
 */
async function instructionsOf({ agent: { skill } }: ChildTask, child: Assembly): Promise<string | undefined> {
  if (skill === undefined) return undefined;
  const activated = await child.inputs.skills?.activate(skill) ?? `There is no skill "${skill}"`;
  if (typeof activated !== "string") return activated.content;
  await child[Symbol.asyncDispose]();
  throw new ReasonixError(activated);
}

function openProblem(error: unknown): string {
  if (error instanceof SessionBusyError) return `Another program is working on this task: ${error.message}`;
  if (error instanceof ReasonixError) {
    return `Cannot begin: ${error.message}${error.remedy ? `; ${error.remedy}` : ""}`;
  }
  return `Cannot begin: ${errorMessage(error)}`;
}

interface Asking extends Asked {
  /** Agents that work side by side ask one after the other. */
  readonly turns: Slots;
}

type Asked = Pick<AssemblyOptions, "approver" | "asker" | "amended">;

/**
 * The person as an agent asks them: every question goes through the run that it works for, one at a time, and
 * says whose it is. Calls of agents may have the same identifiers, so that theirs begin with the agent's own.
 */
function askedBy(agent: string, id: string, { approver, asker, amended, turns }: Asking): Asked {
  const own = (callId: string) => `${id}/${callId}`;
  return {
    ...(approver ? { approver: inTurn(labelled(approver, agent, own), turns) } : {}),
    ...(asker ? { asker: inTurn(labelledAsker(asker, agent), turns) } : {}),
    ...(amended ? { amended: (callId) => amended(own(callId)) } : {}),
  };
}

function inTurn<Q, A>(
  { ask }: { ask(question: Q, signal: AbortSignal): Promise<A> },
  turns: Slots,
): { ask(question: Q, signal: AbortSignal): Promise<A> } {
  return {
    async ask(question, signal) {
      const release = await turns.take(signal);
      try {
        return await ask(question, signal);
      } finally {
        release();
      }
    },
  };
}

function labelled(approver: Approver, agent: string, own: (callId: string) => string): Approver {
  return {
    ask: (request, signal) =>
      approver.ask({
        ...request,
        callId: own(request.callId),
        agent: request.agent === undefined ? agent : `${agent} › ${request.agent}`,
      }, signal),
  };
}

function labelledAsker(asker: Asker, agent: string): Asker {
  return {
    ask: (questions, signal) =>
      asker.ask(questions.map((each) => ({ ...each, question: `[${agent}] ${each.question}` })), signal),
  };
}
