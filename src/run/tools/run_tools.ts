import { RegistryToolbox, type SharedContext, type Toolbox } from "../../agent/mod.ts";
import type { Config } from "../../config/mod.ts";
import type { TurnCheckpoints } from "../../control/mod.ts";
import { type PreparedCall, textFields } from "../../core/mod.ts";
import type { CallPreview, Gate, PermissionGate, SandboxAccess } from "../../permission/mod.ts";
import type { ModelInfo } from "../../provider/mod.ts";
import { processFlags, type Workspace } from "../../sandbox/mod.ts";
import {
  loadProcessHost,
  LocalToolHost,
  MemoryFileReadTracker,
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
} from "../../tool/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { buildGate, Modes } from "../access/gate.ts";
import { SandboxSession } from "../access/sandbox_session.ts";
import { takesImages } from "../context/turn_input.ts";
import type { RunBase } from "../run_base.ts";
import type { AdmitImages, BaseFeatures, RunPlugins } from "../run_features.ts";
import type { CallHost } from "../run_options.ts";
import type { UserCommandRunner } from "./user_command.ts";

interface ToolHostSources {
  readonly workspace: Workspace;
  /** Directory for full outputs. */
  readonly outputDir: string;
  readonly guard: ProcessGuard | undefined;
  readonly tell: (text: string) => void;
}

/**
 * The place where the tools of a run execute. Tools that change files run in a process of their own, which
 * may write to the workspace and do nothing else: no network, no programs, no environment. It is started when
 * a reply begins to call one of them, and ends when none was called for a while. Tools that only read stay
 * here, where a call takes half the time; searches have killable processes of their own, commands the jail.
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
    const { ProcessToolHost, selfCommand, TOOL_ROLE } = await loadProcessHost();
    const { workspace, outputDir, guard, tell } = this.#sources;
    return new ProcessToolHost({
      command: selfCommand({
        role: TOOL_ROLE,
        module: import.meta.url,
        sourceEntry: new URL("./worker_entry.ts", import.meta.url),
        flags: processFlags({
          writable: [...workspace.roots, outputDir],
          keep: [`${workspace.options.home}/config.toml`],
          forbidRead: workspace.forbidden,
        }),
      }),
      data: { ...workspace.options, roots: workspace.roots },
      onProblem: tell,
      ...(guard ? { guard } : {}),
    });
  }
}

interface ToolDeps extends RunBase {
  /** The gate can ask a person. */
  readonly attended: boolean;
  /** The model sees images. */
  readonly vision: boolean;
  /** Texts come in blocks of lines, whose last line has no end of its own. */
  readonly textInLines: boolean;
}

interface RunTools {
  /** The tools as the model calls them; `ports` serve those about plans, goals and agents. */
  readonly toolbox: (ports: Pick<ToolServices, "plans" | "goals" | "agents">) => Toolbox;
  /** Sees to it that no process outlives the run. */
  readonly guard: ProcessGuard | undefined;
  /** The session's list of things to do. */
  readonly todos: TodoStore;
  /** Runs calls where they may run. */
  readonly host: CallHost;
  /** Tells where the last command left off. */
  readonly shellFolder: () => string | undefined;
  /** Connects the gate that the jail asks, once it is built. */
  readonly judgedBy: SandboxSession["judgedBy"];
  /** Chooses the command jail ahead of the first command. */
  readonly openJail: SandboxSession["open"];
  /** Loads what checks the first edit. */
  openChecks(): Promise<unknown>;
  /** Finds out what a call would do, and changes nothing. */
  preview(call: PreparedCall, signal: AbortSignal): Promise<CallPreview>;
  /** The parts of the sandbox that a person can open. */
  readonly sandbox: SandboxAccess;
  /** Runs a command line of the user's own beside the conversation. */
  readonly runCommand: UserCommandRunner;
  /** Ends what runs in the background. */
  close(): Promise<void>;
  /** Resolves when helper processes have ended, some time after `close`. */
  ended(): Promise<void>;
}

/** Loads what runs command lines of the user. */
export const loadUserCommand = lazy(() => import("./user_command.ts"));

/** The tools of a run with what they work in: jail, services, and the files seen so far. */
function buildTools(deps: ToolDeps, features: BaseFeatures): RunTools {
  const { paths, loaded, scope, session, recorder, registry } = deps;
  const { workspace } = scope;
  const services = buildServices(deps);
  const outputDir = `${session.paths.dir}/outputs`;
  const jail = new SandboxSession({
    paths,
    loaded,
    workspace,
    unconfined: scope.full,
    forecast: scope.forecast,
    permissionMode: deps.options.permissionMode,
    sessionDir: session.paths.dir,
    outputDir,
    notify: (text, more) =>
      void recorder.record({ type: "notice", level: "info", code: "sandbox", ...textFields(text), ...more }),
    attended: deps.attended,
    describes: deps.attended && deps.options.parent === undefined,
  });
  deps.extensions.add({ onEvent: jail.denialNotice });
  const host = new RunToolHost({
    workspace,
    outputDir,
    guard: services.shell?.guard,
    tell: (text) => void recorder.record({ type: "notice", level: "warning", code: "tools", text }),
  });
  const { guard } = services.shell ?? {};
  const lsp = features.languageSupport({ paths, loaded, scope, recorder, guard, openJail: jail.open });
  if (lsp) deps.extensions.add(lsp);
  const context: SharedContext = {
    cwd: paths.cwd,
    paths: workspace,
    seen: new MemoryFileReadTracker(),
    outputDir,
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
    host: deps.options.parent?.host ?? host,
    judgedBy: jail.judgedBy,
    openJail: jail.open,
    openChecks: async () => await lsp?.warm(),
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
    shellFolder: () => services.shell?.cwd,
    ended: () => services.ended(),
    async close() {
      await host.close();
      await services[Symbol.asyncDispose]();
      await jail.close();
    },
  };
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
    await jail.describeOnce().catch(() => {});
    const failed = await toolbox.check(call, signal);
    return failed ? { failure: { content: failed.content, summary: failed.summary } } : {};
  }
  if (call.family !== "Edit") return {};
  const { changes, isError, refused, content, summary } = await toolbox.preview(call, signal);
  if (!isError) return changes ? { changes } : {};
  const outside = refused ? workspace.couldOpen(call.writes ?? []) : undefined;
  return { failure: { content, summary }, ...(outside === undefined ? {} : { outside }) };
}

/** Services of the tools whose changes are events of the session. */
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
  /** Looks at the images of a message. */
  readonly admit: AdmitImages;
  /** The model takes images, or somebody describes them. */
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
  const tools = buildTools({ ...deps, vision, textInLines, attended }, features);
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

/** Tools whose images are looked at before the model gets them, which may be another one by then. */
export function withAdmission(
  toolbox: Toolbox,
  admit: AdmitImages,
  provider: { readonly model: ModelInfo },
): Toolbox {
  return {
    prepare: (call, signal) => toolbox.prepare(call, signal),
    async execute(call, signal, progress) {
      const result = await toolbox.execute(call, signal, progress);
      if (!result.images?.length) return result;
      const { images, notes } = await admit(result.images, provider.model, signal);
      const { images: _given, ...rest } = result;
      const content = [result.content, ...notes].filter((text) => text !== "").join("\n");
      return { ...rest, content, ...(images.length > 0 ? { images } : {}) };
    },
  };
}

/** A run as features see it: everything below the turns. */
export interface RunContext extends RunBase, GuardedTools {
  readonly checkpointer: TurnCheckpoints;
  /** Writes the first events of this process, once. */
  readonly open: () => Promise<void>;
}
