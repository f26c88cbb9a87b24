import { RegistryToolbox, type SharedContext, type Toolbox } from "../../agent/mod.ts";
import type { Config, LoadedConfig } from "../../config/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import type { PreparedCall } from "../../core/mod.ts";
import {
  type CallPreview,
  keepsFiles,
  type PermissionGate,
  type PermissionMode,
  type SandboxAccess,
} from "../../permission/mod.ts";
import {
  type Asker,
  loadNextShell,
  MemoryFileReadTracker,
  openServices,
  type ProcessGuard,
  type SessionServices,
  type TodoStore,
  type ToolRegistry,
  type ToolServices,
  type ToolSettings,
} from "../../tool/mod.ts";
import type { ParentRun } from "../run_options.ts";
import type { Workspace } from "../../sandbox/mod.ts";
import type { RunScope } from "../access/access_scope.ts";
import type { PromptInputs } from "../context/prompt_inputs.ts";
import { SandboxSession, type SessionNetwork } from "../access/sandbox_session.ts";
import { lspDesk, withEditChecks } from "../lsp/edit_checks.ts";
import type { RunPaths } from "../run_paths.ts";
import type { RunSession } from "../session/session.ts";
import type { OwnCommandRunner } from "./own_command.ts";
import { RunToolHost } from "./tool_host.ts";

export interface ToolParts {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly session: RunSession;
  readonly recorder: Recorder;
  readonly registry: ToolRegistry;
  readonly inputs: PromptInputs;
  readonly scope: RunScope;
  /** The mode of the moment. */
  readonly permissionMode: () => PermissionMode;
  /** Answers the model's questions; absent: nobody does. */
  readonly asker?: Asker | undefined;
  /** Takes the model's plans. */
  readonly plans: NonNullable<ToolServices["plans"]>;
  /** Takes what the model says of the goal. */
  readonly goals: NonNullable<ToolServices["goals"]>;
  /** Asks a person about a call; absent: nobody can be asked. */
  readonly confirm?: PermissionGate["confirm"] | undefined;
  /** Takes the network that a person opened for a call, and knows the hosts of the session. */
  readonly network: SessionNetwork;
  /** Other agents that work on parts of the task. */
  readonly agents?: ToolServices["agents"] | undefined;
  /** The run on whose behalf this one works. */
  readonly parent?: ParentRun | undefined;
  /** Says whether the model sees images. */
  readonly vision: boolean;
  /** Texts come in blocks of lines, whose last line has no end of its own. */
  readonly textInLines: boolean;
}

export interface RunTools {
  readonly toolbox: RegistryToolbox;
  /** The same, whose edits say which errors they brought. */
  readonly checked: Toolbox;
  /** Sees to it that no process outlives the run. */
  readonly guard: ProcessGuard | undefined;
  /** The session's list of things to do. */
  readonly todos: TodoStore;
  /** Runs calls where they may run. */
  readonly host: Pick<RunToolHost, "execute" | "expect">;
  /** Tells where the last command left off. */
  readonly shellFolder: () => string | undefined;
  /** Chooses the command jail ahead of the first command. */
  readonly openJail: SandboxSession["open"];
  /** Has a shell wait for the command that the model is about to name. */
  prepareShell(): Promise<void>;
  /** Has at hand what `checked` needs for the first edit. */
  openChecks(): Promise<unknown>;
  /** Returns the errors of edits that no result has named; absent: nothing checks edits. */
  reviewEdits?(answer: string, signal: AbortSignal): Promise<string | undefined>;
  /** Finds out what a call would do, and changes nothing. */
  preview(call: PreparedCall, signal: AbortSignal): Promise<CallPreview>;
  /** The parts of the sandbox that a person can open. */
  readonly sandbox: SandboxAccess;
  /** Runs a command line of the user's own beside the conversation. */
  readonly runCommand: OwnCommandRunner;
  /** Ends what runs in the background. */
  close(): Promise<void>;
  /** Resolves when helper processes have ended, some time after `close`. */
  ended(): Promise<void>;
}

/** The tools of a run with what they work in: jail, services, and the files seen so far. */
export function buildTools(parts: ToolParts): RunTools {
  const { paths, loaded, scope, session, recorder, registry } = parts;
  const { workspace } = scope;
  const services = buildServices(parts);
  const outputDir = `${session.paths.dir}/outputs`;
  const jail = new SandboxSession({
    paths,
    loaded,
    workspace,
    unconfined: scope.full,
    forecast: scope.forecast,
    filesStay: () => keepsFiles(parts.permissionMode()),
    sessionDir: session.paths.dir,
    outputDir,
    tell: (text, more) =>
      void recorder.record({ type: "notice", level: "info", code: "sandbox", text, ...more }),
    ...(parts.confirm ? { confirm: parts.confirm } : {}),
    network: parts.network,
    describes: parts.confirm !== undefined && parts.parent === undefined,
  });
  recorder.follow(jail.denialNotice);
  const host = new RunToolHost({
    workspace,
    outputDir,
    guard: services.shell?.guard,
    tell: (text) => void recorder.record({ type: "notice", level: "warning", code: "tools", text }),
  });
  const { guard } = services.shell ?? {};
  const lsp = lspDesk({ paths, loaded, scope, recorder, guard, openJail: jail.open });
  const context: SharedContext = {
    cwd: paths.cwd,
    paths: workspace,
    seen: new MemoryFileReadTracker(),
    outputDir,
    settings: toolSettings(loaded.config, parts),
    services: { ...services, ...lsp.services },
  };
  const { execute } = parts.parent?.host ?? host;
  let ahead: Promise<void> | undefined;
  const toolbox = new RegistryToolbox({ registry, jail: jail.current, execute, context });
  return {
    toolbox,
    checked: withEditChecks(toolbox, lsp.open),
    guard: services.shell?.guard,
    todos: services.todos,
    host: parts.parent?.host ?? host,
    openJail: jail.open,
    prepareShell: () => ahead ??= shellAhead(context, jail).finally(() => ahead = undefined),
    openChecks: async () => await lsp.open?.(),
    ...(lsp.review ? { reviewEdits: lsp.review } : {}),
    preview: (call, signal) => previewOf(call, signal, { jail, toolbox, workspace }),
    sandbox: {
      missing: jail.missing,
      async openDirectory(directory) {
        workspace.addRoot(directory);
        await host.restart();
      },
    },
    runCommand: async (command, signal) =>
      await (await import("./own_command.ts")).runOwnCommand(command, signal, { context, jail }),
    shellFolder: () => services.shell?.cwd,
    ended: () => services.ended(),
    async close() {
      await lsp.close();
      await host.close();
      await services[Symbol.asyncDispose]();
      await jail.close();
    },
  };
}

/** Has a shell wait, unless one does. */
async function shellAhead(context: SharedContext, jail: SandboxSession): Promise<void> {
  const { spare } = context.services?.shell ?? {};
  if (!spare || spare.waits) return;
  const [{ prepareShell }, next] = await Promise.all([loadNextShell(), jail.next()]);
  if (!spare.waits) prepareShell({ ...context, jail: next });
}

interface PreviewParts {
  readonly jail: SandboxSession;
  readonly toolbox: RegistryToolbox;
  readonly workspace: Workspace;
}

async function previewOf(
  call: PreparedCall,
  signal: AbortSignal,
  { jail, toolbox, workspace }: PreviewParts,
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
  { session, recorder, inputs, asker, plans, goals, agents, parent }: ToolParts,
): SessionServices {
  return openServices({
    knowledge: { ...inputs.ports, plans, goals, ...(agents ? { agents } : {}) },
    ...(parent?.guard ? { guard: parent.guard } : {}),
    todos: session.state.todos,
    onTodos: (items) => void recorder.record({ type: "todo.update", items: [...items] }),
    onJob: (change) => void recorder.record({ type: "job.change", ...change }),
    ...(asker ? { asker } : {}),
  });
}

function toolSettings(
  config: Config,
  { vision, textInLines }: Pick<ToolParts, "vision" | "textInLines">,
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

/** Tells the readers of events while a person is asked. */
export function toldAsker(asker: Asker, recorder: Recorder): Asker {
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
