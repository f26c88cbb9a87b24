import type { Config, LoadedConfig } from "../../config/mod.ts";
import type { AgentDefinition } from "../../context/mod.ts";
import { errorMessage, type PreparedCall, ReasonixError } from "../../core/mod.ts";
import type { Approver, Gate } from "../../permission/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import {
  type Assembly,
  type AssemblyOptions,
  loadAgentTools,
  type RunContext,
  type RunPaths,
} from "../../run/mod.ts";
import { SessionBusyError } from "../../session/mod.ts";
import { type Asker, BUILTINS, isKnownToRead, type Tool } from "../../tool/mod.ts";
import type { AgentRunDeps } from "./agent_run.ts";
import { agentModel } from "./child_model.ts";
import type { Isolation } from "./isolation.ts";
import type { Slots } from "./slots.ts";

/** One task, with the agent that works on it. */
export interface ChildTask {
  readonly id: string;
  readonly agent: AgentDefinition;
  readonly readOnly: boolean;
  /** In place of what tells an agent that it works for another one. */
  readonly system?: string;
  /** Nobody is asked anything. */
  readonly unattended?: boolean;
  /** Its model, whatever is configured for agents. */
  readonly model?: string;
  /** Tools of its own beside those of the run. */
  readonly tools?: readonly Tool[];
  /** Directory of its session; default: that of the run's agents. */
  readonly directory?: string;
  /** Talks to the model in place of the configured provider. */
  readonly provider?: Provider;
  /** File of the session that goes on. */
  readonly file?: string;
  /** Works in a git work tree of its own. */
  readonly isolated?: boolean;
  /** Works somewhere else than the run. */
  readonly paths?: RunPaths;
  /** Agents ask one after the other. */
  readonly questions: Slots;
  /** Money that is left for it. */
  readonly maxCost?: number;
}

/** Tools with which the run itself goes on: an agent has no plan and no goal. */
const OWN_TOOLS: ReadonlySet<string> = new Set([
  "exit_plan_mode",
  "complete_step",
  "update_goal",
  "submit",
]);
const TASK_TOOLS: ReadonlySet<string> = new Set(["task", "read_only_task", "task_output", "task_stop"]);

/** What holds for an agent as it does for the run; the rest is about the user's own session. */
const INHERITED = ["approvalMode", "onAsk", "trustProject", "ignoreUntrusted", "gate", "hooks"] as const;

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
  const { adaptedTools, inForeground } = await loadAgentTools();
  const adapted = adaptedTools(inputs);
  const { effort, permissionMode } = options;
  const appended = options.parent ? options.parent.appended : options.appendSystemPrompt;
  const own = options.gate && readOnly ? { gate: readingOnly(options.gate) } : {};
  return {
    ...inherited(options),
    // Its answer is what its own agents have found out, too.
    waitForAgents: true,
    ...(task.unattended
      ? { onAsk: options.onAsk ?? "deny" as const }
      : askedBy(agent.name, id, { ...options, turns: task.questions })),
    ...own,
    ...(reference === undefined && effort !== undefined ? { effort } : {}),
    ...modelOf(run, task, reference),
    paths: task.paths ?? options.paths,
    loaded: childLoaded(options.loaded, task, { reference, offered }),
    sessionId: id,
    inMemory: false,
    tools: [...offered.own, ...task.tools ?? []],
    adaptedTools: readOnly ? { ...adapted, bash: inForeground } : adapted,
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
      ...(task.paths ? {} : { host: tools.host }),
    },
  };
}

/** Plan mode binds by the gate of the run; that of an agent has no plan to wait for. */
function bounds(mode: AssemblyOptions["permissionMode"]): Pick<AssemblyOptions, "permissionMode"> {
  return mode === undefined || mode === "plan" ? {} : { permissionMode: mode };
}

/** Directory of the sessions of a run's agents. */
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

interface Offered {
  /** Names of built-in tools. */
  readonly builtin: readonly string[];
  readonly own: readonly Tool[];
}

/** The tools of the run as far as the agent may have them. */
function offeredTools({ registry, options }: RunContext, task: ChildTask, depth: number): Offered {
  const { agent, readOnly } = task;
  const deep = depth >= options.loaded.config.agents.max_depth;
  const builtins = new Set(BUILTINS.map(({ name }) => name));
  const wanted = (name: string) =>
    (agent.tools?.some((entry) => names(entry, name)) ?? true) &&
    !agent.withoutTools?.some((entry) => names(entry, name)) && !(deep && TASK_TOOLS.has(name));
  const all = registry.tools().filter((tool) => !OWN_TOOLS.has(tool.name) && wanted(tool.name));
  return {
    builtin: all.filter(({ name }) => builtins.has(name))
      .filter((tool) => !readOnly || tool.readOnly || tool.name === "bash").map(({ name }) => name),
    own: all.filter((tool) => !builtins.has(tool.name) && (!readOnly || isKnownToRead(tool))),
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
  { agent, maxCost }: ChildTask,
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
    permissions: {
      ...permissions,
      ask: [...permissions.ask, ...agent.ask ?? []],
      deny: [...permissions.deny, ...agent.deny ?? []],
    },
    // The servers of the run serve its agents, too.
    plugins: [],
  };
}

/** The part of the system prompt that tells an agent what it is. */
function addendum({ agent, readOnly, paths }: ChildTask): string {
  const lines = [
    `You are the agent "${agent.name}". Another agent gave you the task and reads nothing but your last message: ` +
    "work on the task by yourself to its end, then answer with what was asked for, complete and without " +
    "greetings.",
    ...(readOnly ? ["You change nothing: only tools and commands that read run."] : []),
    ...(paths
      ? ["You work in a copy of the repository: your changes are brought back when you are done."]
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
        : { decision: "deny", source: "mode", reason: "blocked: this agent only reads" },
  };
}

/** Assembles the run of an agent. */
export type Assemble = (options: AssemblyOptions) => Promise<Assembly>;

/** A run for an agent that can begin. */
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
    if (fellBack !== undefined) {
      await recorder.record({ type: "notice", level: "warning", code: "agents", text: fellBack });
    }
    return {
      child,
      notes: fellBack === undefined ? [] : [fellBack],
      ...(isolation ? { end: isolation.end } : {}),
      ...(skill === undefined ? {} : { input: { references: [skill] } }),
    };
  } catch (error) {
    await isolation?.end(AbortSignal.abort());
    return problemOf(error);
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

function problemOf(error: unknown): string {
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
