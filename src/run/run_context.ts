import type { Toolbox } from "../agent/mod.ts";
import { type Config, problemText } from "../config/mod.ts";
import { Recorder, type TurnCheckpoints } from "../control/mod.ts";
import { message, newNotice, type PreparedCall, textFields } from "../core/mod.ts";
import type { CallPreview, Gate, PermissionGate, SandboxAccess } from "../permission/mod.ts";
import { processFlags, type Workspace } from "../sandbox/mod.ts";
import {
  type Asker,
  loadClientFiles,
  loadProcessHost,
  LocalToolHost,
  openServices,
  type ProcessGuard,
  type SessionServices,
  type TodoStore,
  type Tool,
  type ToolContext,
  type ToolHost,
  type ToolResult,
  type ToolServices,
  type ToolSettings,
} from "../tool/mod.ts";
import { defined } from "../util/json.ts";
import { lazy } from "../util/lazy.ts";
import { openAccessScope, type Warning } from "./access/access_scope.ts";
import { buildGate, Modes, SkillRules } from "./access/gate.ts";
import { SandboxSession } from "./access/sandbox_session.ts";
import { gatherPromptInputs, type PromptInputs } from "./context/prompt_inputs.ts";
import { buildModel, type RunModel } from "./provider.ts";
import type {
  AdmitImages,
  BaseFeatures,
  LanguageServerState,
  PluginDeps,
  RunPlugins,
  ScopedDeps,
} from "./run_features.ts";
import type { AdaptedTools, AssemblyOptions, CallHost, RunTelemetry } from "./run_options.ts";
import { openSession, type RunSession } from "./session/session.ts";
import {
  buildRegistry,
  RegistryToolbox,
  type SharedContext,
  takesImages,
  withAdmission,
} from "./tools/toolbox.ts";
import type { UserCommandRunner } from "./tools/user_command.ts";
import { TurnExtensions } from "./turn.ts";

/** The base of a run: its model, its scope, its session, the inputs of its prompt and its tools' registry. */
interface RunBase extends ScopedDeps, Omit<PluginDeps, "options" | "guard"> {
  readonly options: AssemblyOptions;
  readonly model: RunModel;
  readonly workspace: Workspace;
  readonly session: RunSession;
  /** Takes secrets out of what leaves the run, except its events. */
  readonly redact: (text: string) => string;
  readonly extensions: TurnExtensions;
  readonly skillRules: SkillRules;
  readonly inputs: PromptInputs;
}

export async function openRunBase(options: AssemblyOptions, features: BaseFeatures): Promise<RunBase> {
  const { paths, loaded } = options;
  const remote = await features.remotePlugins(loaded);
  const model = await buildModel(options, remote);
  const { provider } = model;
  const { toolMode } = provider.model;
  const scope = await openAccessScope(paths, loaded, options.permissionMode, options.batch?.inContainer);
  const { workspace } = scope;
  const own = [...options.tools ?? [], ...await features.languageTools({ paths, loaded, scope })];
  const { session, redact } = await openSession(options);
  const recorder = new Recorder(session);
  const extensions = new TurnExtensions(recorder, loaded.config);
  const skillRules = new SkillRules(recorder);
  extensions.add(skillRules);
  const inputs = await gatherPromptInputs({
    paths,
    loaded,
    workspace,
    redact,
    messages: () => recorder.messages,
    trustProject: options.trustProject ?? false,
    onSkill: skillRules.activated,
    appended: options.appendSystemPrompt,
    model: provider.model,
    ownTools: own,
    steps: options.steps,
  });
  const adapted = options.adaptedTools ?? await adaptedTools(inputs);
  const registry = buildRegistry(loaded.config, { builtin: inputs.tools, own, toolMode, adapted });
  const asker = options.asker && recordingAsker(options.asker, recorder);
  const run = { options, paths, loaded, model, provider, remote, scope, workspace, session, redact };
  return { ...run, recorder, extensions, skillRules, inputs, registry, asker };
}

/** Adapts the tools that name other agents, where there are more than those of the program. */
async function adaptedTools({ agents, skillSet }: PromptInputs): Promise<AdaptedTools | undefined> {
  if (agents.agents.length === 0 && skillSet.skills.every(({ runAs }) => runAs === "inline")) {
    return undefined;
  }
  return (await import("./agents.ts")).adaptedTools({ agents, skillSet });
}

function recordingAsker(asker: Asker, recorder: Recorder): Asker {
  return {
    async ask(questions, signal) {
      const text = questions[0]?.question ?? "";
      await recorder.record({ type: "question", state: "asked", text });
      try {
        return await asker.ask(questions, signal);
      } finally {
        await recorder.record({ type: "question", state: "answered", text });
      }
    },
  };
}

export function runWarnings({ paths, loaded, scope, session, registry, inputs }: RunBase): Warning[] {
  return [
    ...loaded.warnings.map((warning) => textFields(problemText(warning))),
    ...scope.notices,
    ...registry.unknown.map((name): Warning => ({
      ...textFields(message`Unknown tool "${name}" in [tools] was passed over`),
    })),
    ...registry.unknownParameters.map(({ alias, parameter }): Warning => ({
      ...textFields(message`Unknown parameter "${parameter}" of [tools.alias] ${alias} was passed over`),
    })),
    ...loaded.config.agent.plan_mode_allowed_tools.filter((name) => !name.startsWith("mcp__"))
      .map((name): Warning => ({
        ...textFields(
          message`[agent] plan_mode_allowed_tools names "${name}", which has no effect: only MCP tools can be named, as mcp__server__tool`,
        ),
      })),
    ...inputs.instructions.notices.map(({ path, problem }): Warning => ({ text: `${path} ${problem}` })),
    ...elsewhere(session.state.cwd, paths.cwd),
  ];
}

function elsewhere(began: string | undefined, cwd: string): Warning[] {
  if (!began || began === cwd) return [];
  return [{
    ...textFields(
      message`The session is from ${began}, this run works in ${cwd}; --dir ${began} works there`,
    ),
  }];
}

interface ToolHostSources {
  readonly workspace: Workspace;
  /** Neither tools nor commands may write here, except to `outputDir`. */
  readonly sessionDir: string;
  readonly outputDir: string;
  readonly guard: ProcessGuard | undefined;
  readonly notify: (text: string) => void;
}

/**
 * The place where the tools of a run execute. Tools that change files run in a separate process, which
 * may write to the workspace and do nothing else: no network, no programs, no environment. It is started when
 * a reply begins to call one of them, and ends when none was called for a while. Tools that only read stay
 * here, where a call takes half the time; searches have their own killable processes, commands the jail.
 */
class RunToolHost implements CallHost {
  readonly #sources: ToolHostSources;
  readonly #local = new LocalToolHost();
  #opened = false;
  #closed = false;
  #writers = lazy(() => this.#open());

  constructor(sources: ToolHostSources) {
    this.#sources = sources;
  }

  readonly execute = async (call: PreparedCall, tool: Tool, context: ToolContext): Promise<ToolResult> => {
    const host = call.runsIn === "worker" ? await this.#writers() : this.#local;
    return await host.execute(tool, call.args, context);
  };

  /**
   * Starts the process that a call of this tool needs, while the arguments arrive. Resolves when it was
   * started, at the latest.
   */
  readonly prewarm = async (tool: Pick<Tool, "runsIn">): Promise<void> => {
    if (tool.runsIn !== "worker" || this.#closed) return;
    // Whoever runs the call hears of an error.
    await this.#writers().then((host) => host.warm()).catch(() => {});
  };

  /** The workspace has another root: the next call gets a process that may write there. */
  async restart(): Promise<void> {
    const writers = this.#writers;
    this.#writers = lazy(() => this.#open());
    if (this.#opened) await (await writers())[Symbol.asyncDispose]();
    this.#opened = false;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#opened) await (await this.#writers())[Symbol.asyncDispose]();
  }

  async #open(): Promise<ToolHost> {
    this.#opened = true;
    const { ProcessToolHost, selfCommand } = await loadProcessHost();
    const { workspace, sessionDir, outputDir, guard, notify } = this.#sources;
    let file: string | undefined;
    const newFile = () => file = `${sessionDir}/worker-${crypto.randomUUID()}.json`;
    const permissions = {
      writable: [...workspace.roots, outputDir],
      keep: [`${workspace.options.home}/config.toml`],
      forbidRead: workspace.forbidden,
    };
    return new ProcessToolHost({
      command: selfCommand({
        role: "tools",
        module: import.meta.url,
        sourceEntry: new URL("./tools/worker_entry.ts", import.meta.url),
        flags: processFlags(permissions, newFile),
      }),
      data: { ...workspace.options, roots: workspace.roots },
      file,
      onProblem: notify,
      ...(guard ? { guard } : {}),
    });
  }
}

interface ToolDeps extends RunBase {
  readonly attended: boolean;
  readonly vision: boolean;
  /** Texts come in blocks of lines without a final line feed. */
  readonly textInLines: boolean;
  readonly files: ToolContext["files"];
}

interface RunTools {
  /** The tools as the model calls them; `ports` serve those about plans, goals and agents. */
  readonly toolbox: (ports: Pick<ToolServices, "plans" | "goals" | "agents">) => Toolbox;
  /** Sees to it that no process outlives the run. */
  readonly guard: ProcessGuard | undefined;
  readonly todos: TodoStore;
  readonly host: CallHost;
  /** Files of the editor that is the client. */
  readonly files: ToolContext["files"];
  /** Reports where the last command left off. */
  readonly shellDirectory: () => string | undefined;
  readonly repositories: SandboxSession["repositories"];
  /** Connects the gate that the jail asks, once it is built. */
  readonly judgedBy: SandboxSession["judgedBy"];
  /** Chooses the command jail ahead of the first command. */
  readonly openJail: SandboxSession["open"];
  /** Loads what checks the first edit. */
  openChecks(): Promise<unknown>;
  /** The language servers that were needed so far. */
  languageServers(): readonly LanguageServerState[];
  /** Finds out what a call would do, and changes nothing. */
  preview(call: PreparedCall, signal: AbortSignal): Promise<CallPreview>;
  readonly trace: ((callId?: string) => Readonly<Record<string, string>>) | undefined;
  /** The parts of the sandbox that a person can open. */
  readonly sandbox: SandboxAccess;
  /** Runs a command line of the user outside of the conversation. */
  readonly runCommand: UserCommandRunner;
  close(): Promise<void>;
  /** Resolves when helper processes have ended, some time after `close`. */
  ended(): Promise<void>;
}

export const loadUserCommand = lazy(() => import("./tools/user_command.ts"));

/** The tools of a run with what they work in: jail, services, and the files seen so far. */
function buildTools(deps: ToolDeps, features: BaseFeatures): RunTools {
  const { paths, loaded, scope, session, recorder, registry, options: { telemetry } } = deps;
  const { workspace } = scope;
  const services = buildServices(deps);
  const outputDir = `${session.paths.dir}/outputs`;
  const trace = telemetry && ((callId?: string) => traceVariables(telemetry, session.id, callId));
  const jail = new SandboxSession({
    trace,
    paths,
    loaded,
    workspace,
    unconfined: scope.full,
    expectedJail: scope.expected,
    permissionMode: deps.options.permissionMode,
    sessionDir: session.paths.dir,
    outputDir,
    env: deps.options.batch?.env,
    inContainer: deps.options.batch?.inContainer,
    notify: (text, more) =>
      void recorder.record({ type: "notice", level: "info", code: "sandbox", ...textFields(text), ...more }),
    attended: deps.attended,
    describes: deps.attended && deps.options.parent === undefined,
    ...(deps.options.parent ? { repositories: deps.options.parent.repositories } : {}),
  });
  deps.extensions.add({ onEvent: jail.denialNotice });
  const host = new RunToolHost({
    workspace,
    sessionDir: session.paths.dir,
    outputDir,
    guard: services.shell?.guard,
    notify: (text) => void recorder.record(newNotice("warning", "tools", text)),
  });
  const { guard } = services.shell ?? {};
  const lsp = features.languageSupport({ paths, loaded, scope, recorder, guard, openJail: jail.open });
  if (lsp) deps.extensions.add(lsp);
  const context: SharedContext = {
    cwd: paths.cwd,
    paths: workspace,
    seen: new Map(),
    outputDir,
    files: deps.files,
    trace,
    settings: toolSettings(loaded.config, deps),
    services: { ...services, ...lsp?.services },
  };
  const { execute } = deps.options.parent?.host ?? host;
  const calls = { registry, jail: jail.current, execute };
  const toolbox = new RegistryToolbox({ ...calls, context });
  return {
    toolbox(ports) {
      const services = { ...context.services, ...ports };
      const plain = new RegistryToolbox({ ...calls, context: { ...context, services } });
      return lsp?.toolbox(plain) ?? plain;
    },
    guard: services.shell?.guard,
    todos: services.todos,
    files: deps.files,
    host: deps.options.parent?.host ?? host,
    repositories: jail.repositories,
    judgedBy: jail.judgedBy,
    openJail: jail.open,
    trace,
    openChecks: async () => await lsp?.warm(),
    languageServers: () => lsp?.states() ?? [],
    preview: (call, signal) => previewOf(call, signal, { jail, toolbox, workspace }),
    sandbox: {
      missing: jail.missing,
      async openDirectory(directory) {
        workspace.addRoot(directory);
        await host.restart();
      },
    },
    runCommand: async (command, signal) =>
      await (await loadUserCommand()).runUserCommand(command, signal, { context, jail }),
    shellDirectory: () => services.shell?.cwd,
    ended: () => services.ended(),
    async close() {
      await host.close();
      await services[Symbol.asyncDispose]();
      await jail.close();
    },
  };
}

function traceVariables(
  telemetry: RunTelemetry,
  session: string,
  callId: string | undefined,
): Record<string, string> {
  const parent = telemetry.traceparent(session, callId);
  return parent === undefined ? {} : defined({ TRACEPARENT: parent, TRACESTATE: telemetry.tracestate });
}

interface PreviewDeps {
  readonly jail: SandboxSession;
  readonly toolbox: RegistryToolbox;
  readonly workspace: Workspace;
}

async function previewOf(
  call: PreparedCall,
  signal: AbortSignal,
  { jail, toolbox, workspace }: PreviewDeps,
): Promise<CallPreview> {
  if (call.command) {
    // Whoever runs the command hears of an error.
    const confinement = await jail.describe().catch(() => undefined);
    const failed = await toolbox.check(call, signal);
    return failed
      ? { failure: { content: failed.content, summary: failed.summary } }
      : defined({ confinement });
  }
  if (call.family !== "Edit") return {};
  const { changes, isError, refused, content, summary } = await toolbox.preview(call, signal);
  if (!isError) return changes ? { changes } : {};
  const outside = refused ? workspace.couldOpen(call.writes ?? []) : undefined;
  return { failure: { content, summary }, ...(outside === undefined ? {} : { outside }) };
}

function buildServices(
  { session, recorder, inputs, asker, options: { parent } }: ToolDeps,
): SessionServices {
  return openServices({
    knowledge: inputs.ports,
    ...(parent?.guard ? { guard: parent.guard } : {}),
    todos: session.state.todos,
    onTodos: (items) => void recorder.record({ type: "todo.update", items: [...items] }),
    onJob: (change) => void recorder.record({ type: "job.change", ...change }),
    ...(asker ? { asker } : {}),
  });
}

function toolSettings(
  config: Config,
  { vision, textInLines }: Pick<ToolDeps, "vision" | "textInLines">,
): ToolSettings {
  const { bash_timeout_seconds, min_free_disk_mb, shell, ensure_trailing_newline, writes } = config.tools;
  return {
    bashTimeoutSeconds: bash_timeout_seconds,
    minFreeDiskMb: min_free_disk_mb,
    shell: { prefer: shell.prefer, ...(shell.path === undefined ? {} : { path: shell.path }) },
    ensureTrailingNewline: ensure_trailing_newline || textInLines,
    writes,
    vision,
  };
}

interface ImageSources {
  readonly admit: AdmitImages;
  /** The model reads images, or `vision_model` describes them. */
  readonly vision: boolean;
}

/** The tools of a run, the gate that judges their calls, and the plugins that bring further ones. */
interface GuardedTools {
  readonly tools: RunTools & { readonly images: ImageSources };
  readonly gate: Gate & Partial<PermissionGate>;
  readonly modes: Modes;
  readonly plugins: RunPlugins | undefined;
}

/** Builds the tools, then the gate that judges their calls, which their jail asks. */
export async function openGuardedTools(deps: RunBase, features: BaseFeatures): Promise<GuardedTools> {
  const { options, scope, recorder, skillRules } = deps;
  const attended = options.approver !== undefined && !options.gate;
  const { model } = deps.provider;
  const textInLines = model.toolMode === "pseudo";
  const vision = takesImages(model, deps.loaded);
  const files = options.files && (await loadClientFiles()).guardedFiles(options.files, scope.workspace);
  const tools = buildTools({ ...deps, vision, textInLines, attended, files }, features);
  const plugins = await features.plugins({ ...deps, guard: tools.guard });
  const gate: GuardedTools["gate"] = options.gate ??
    buildGate({ options, scope, recorder, tools, plugins, temporaryRules: skillRules.current });
  tools.judgedBy(gate);
  await deps.remote?.connect(gate, deps.registry);
  const images = { vision, admit: features.images(deps) };
  const toolbox: RunTools["toolbox"] = (ports) =>
    withAdmission(tools.toolbox(ports), images.admit, deps.provider);
  return { tools: { ...tools, toolbox, images }, gate, modes: new Modes(gate, recorder), plugins };
}

/** A run as features see it: everything below the turns. */
export interface RunContext extends RunBase, GuardedTools {
  readonly checkpointer: TurnCheckpoints;
  /** Writes the first events of this process, once. */
  readonly open: () => Promise<void>;
}
