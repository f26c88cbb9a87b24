import { isWritten } from "../core/mod.ts";
import { exists } from "../path/probe.ts";
import { openGoal, projectDir } from "../session/mod.ts";
import { lazy } from "../util/lazy.ts";
import type { CommandOutcome } from "./memory/memory_compiler.ts";
import { loadMcp } from "../mcp/mod.ts";
import {
  assembleWith,
  type Assembly,
  type AssemblyOptions,
  type Features,
  type LanguageDeps,
  type LanguageSupport,
  type RunContext,
  type RunFeatures,
  type ScopedDeps,
} from "../run/mod.ts";
import type { Toolbox } from "../agent/mod.ts";
import type { ToolResult } from "../tool/mod.ts";
import type { RunLsp } from "./lsp/run_lsp.ts";

interface Extension {
  /** Reports whether this run has any use for it; cheap. */
  readonly wanted: (run: RunContext) => boolean;
  /** Loads it and adds its turn extensions; records nothing, since nothing is open yet. */
  readonly attach: (run: RunContext, features: Features) => void | Promise<void>;
}

/** Every feature that may attach a run, in the order in which it takes part in turns. */
const EXTENSIONS: readonly Extension[] = [
  {
    wanted: ({ options: { simple, parent, loaded: { config } } }) =>
      config.goal.autoresearch && !parent && !simple,
    attach: upgradePrompts,
  },
  // What another agent changes is tested with the turn that it works for.
  { wanted: ({ options: { parent } }) => !parent, attach: verifyTurns },
  {
    wanted: ({ options: { parent, loaded: { config } } }) => config.agent.memory_compiler.enabled && !parent,
    attach: compileMemory,
  },
  {
    wanted: ({ options: { permissionMode, loaded } }) =>
      permissionMode === "plan" || loaded.config.agent.auto_plan,
    attach: async (...run) => await (await import("./plan/session_plans.ts")).attachPlans(...run),
  },
  {
    wanted: ({ options: { parent, loaded } }) => loaded.config.agent.auto_todo && !parent,
    attach: async (run) => (await import("./plan/session_plans.ts")).attachTodos(run),
  },
  { wanted: ({ session }) => openGoal(session.state) !== undefined, attach: resumeGoal },
  {
    // Agents have none that plans for them.
    wanted: ({ options: { parent, loaded } }) => loaded.config.agent.planner_model !== "" && !parent,
    attach: async (...run) => await (await import("./plan/planner.ts")).attach(...run),
  },
  {
    wanted: ({ options: { steps = 1 } }) => steps > 1,
    attach: async (run) => (await import("./steps/steps.ts")).attach(run),
  },
  {
    wanted: ({ options }) => options.hooks !== undefined,
    attach: async (run) => (await import("./hooks/hook_extension.ts")).attach(run),
  },
  {
    wanted: ({ options }) => options.telemetry !== undefined,
    attach: async (run) => (await loadTelemetry()).attach(run),
  },
  { wanted: ({ options }) => isLogged(options), attach: async (run) => (await loadLog()).attach(run) },
];

/** Every feature that runs may have; each is loaded where the configuration or a call uses it. */
const FEATURES: RunFeatures = {
  async prepare(options) {
    const { hooks, telemetry } = options.loaded.config;
    const observed = telemetry.otlp === "" || options.telemetry !== undefined
      ? options
      : (await loadTelemetry()).withTelemetry(options);
    if (hooks.length === 0) return observed;
    return await (await import("./hooks/hook_extension.ts")).withHooks(observed);
  },
  of: (run, assemble) => ({
    plans: lazy(async () => new (await import("./plan/session_plans.ts")).SessionPlans(run)),
    goals: lazy(async () => new (await import("./goal/session_goal.ts")).SessionGoal(run)),
    agents: lazy(async () =>
      new (await import("./agents/subagent_manager.ts")).SubagentManager(run, assemble)
    ),
  }),
  async attach(run, features) {
    for (const { wanted, attach } of EXTENSIONS) {
      if (wanted(run)) await attach(run, features);
    }
  },
  async remotePlugins(loaded) {
    const { plugins } = loaded.config;
    if (plugins.length === 0) return undefined;
    // Opening them reports an error.
    loadPlugins().catch(() => {});
    if (!plugins.some(({ enabled, transport }) => enabled && transport === "provider")) return undefined;
    return new (await import("./mcp/remote_servers.ts")).RemotePlugins(loaded);
  },
  async plugins(deps) {
    if (deps.loaded.config.plugins.length === 0 || deps.provider.model.toolMode === "none") return undefined;
    const [{ RunPlugins }] = await loadPlugins();
    return await RunPlugins.open(deps);
  },
  async languageTools(deps) {
    const { lsp, tools: { enabled } } = deps.loaded.config;
    if (!mayRunServers(deps) || !(lsp.tools || enabled.includes("delete_symbol"))) return [];
    return await (await import("./lsp/run_lsp.ts")).languageTools(deps);
  },
  languageSupport(deps) {
    const { lsp } = deps.loaded.config;
    return (lsp.enabled || lsp.tools) && mayRunServers(deps) ? languageSupport(deps) : undefined;
  },
  images(deps) {
    const admission = lazy(async () => (await import("./images/image_intake.ts")).imageAdmission(deps));
    return async (images, model, signal) =>
      images.length === 0 ? { images, notes: [] } : await (await admission())(images, model, signal);
  },
};

const build = assembleWith(FEATURES);

/** Builds a run with the features that its options and its configuration use. */
export async function assemble(options: AssemblyOptions): Promise<Assembly> {
  try {
    return await build(options);
  } catch (error) {
    if (isLogged(options)) await (await loadLog()).logFailure("session.failed", error, options);
    throw error;
  }
}

function isLogged({ loaded: { config: { log } } }: Pick<AssemblyOptions, "loaded">): boolean {
  return log.level !== "off";
}

export const loadTelemetry = lazy(() => import("./telemetry/telemetry.ts"));

/** The program's own log. */
export const loadLog = lazy(() => import("./log/program_log.ts"));

const loadPlugins = lazy(() => Promise.all([import("./mcp/run_servers.ts"), loadMcp()]));

/** Without a jail no language server is started, unless the user gave the run full access. */
function mayRunServers({ scope: { full, expected } }: ScopedDeps): boolean {
  return full || expected.confined;
}

/** Longest wait of an answer for the checks of the turn's edits. */
const ANSWER_MS = 5000;

/** The language servers of a run; none is opened before the first edit. */
function languageSupport(deps: LanguageDeps): LanguageSupport {
  let opened: Promise<RunLsp> | undefined;
  let running: RunLsp | undefined;
  const open = lazy(() =>
    opened = import("./lsp/run_lsp.ts").then(async ({ RunLsp }) => running = await RunLsp.open(deps))
  );
  return {
    services: { names: async () => (await open()).names },
    toolbox: (toolbox) => withEditChecks(toolbox, open),
    // The errors of edits that no result has named.
    reviewAnswer: async (_answer, signal) =>
      opened && await opened.then(({ checks }) => checks.rest(ANSWER_MS, signal)).catch(() => undefined),
    states: () => running?.servers.states ?? [],
    warm: open,
    close: async () => await (await opened)?.close(),
  };
}

/** Adds the new errors to the results of edits, as far as a language server finds them in time. */
function withEditChecks(toolbox: Toolbox, open: () => Promise<RunLsp>): Toolbox {
  let running: RunLsp | undefined;
  return {
    async prepare(call, signal) {
      const prepared = await toolbox.prepare(call, signal);
      if (typeof prepared === "string") return prepared;
      if (prepared.tool !== "lsp_rename" && prepared.tool !== "delete_symbol") return prepared;
      const completed = await (await open()).symbolEdit(prepared, signal);
      if ("problem" in completed) return completed.problem;
      const whole = { ...prepared.args, patch: completed.patch };
      const again = await toolbox.prepare({ ...call, arguments: JSON.stringify(whole) }, signal);
      return typeof again === "string" ? again : { ...again, call };
    },
    async execute(call, signal, progress) {
      const isEdit = call.family === "Edit" && call.writes !== undefined;
      if (!isEdit) return withText(await toolbox.execute(call, signal, progress), running?.checks.late());
      running ??= await open();
      await running.before(call.writes ?? []);
      const result = await toolbox.execute(call, signal, progress);
      const written = (result.changes ?? []).filter(isWritten);
      const late = running.checks.late(written.map(({ path }) => path));
      return withText(withText(result, late), await running.after(written, signal));
    },
  };
}

function withText(result: ToolResult, text: string | undefined): ToolResult {
  return text === undefined ? result : { ...result, content: `${result.content}\n\n${text}` };
}

/** Words without which no prompt asks for a research record; whether it does is decided with more care. */
const RESEARCH = /auto-?research|hypothes[ei]s|自动研究|假设/i;

/** Makes a goal of a prompt that explicitly asks for long research. */
function upgradePrompts({ extensions }: RunContext, { goals }: Features): void {
  extensions.add({
    before: async (input) => RESEARCH.test(input.text) ? await (await goals()).upgrade(input) : input,
  });
}

/** Resumes the goal that the session was left with. */
async function resumeGoal({ options, modes }: RunContext, { goals }: Features): Promise<void> {
  await goals();
  // A copy of the mode that the goal was left in; plan mode, asked for, ends the goal.
  if (options.permissionMode !== "plan" && modes.collaboration === "normal") {
    await modes.setCollaboration("goal");
  }
}

/** Tests what turns change; loaded when the first one has changed something. */
function verifyTurns(run: RunContext): void {
  const { extensions, checkpointer, options: { trustProject, loaded: { config } } } = run;
  const verification = lazy(async () => new (await import("./verify/verifier.ts")).Verifier(run));
  extensions.verification = verification;
  if (!config.workflow.enabled) return;
  extensions.add({
    async before(input) {
      if (trustProject) await (await verification()).begin();
      return input;
    },
    async reviewAnswer(_answer, signal) {
      return checkpointer.meantToChange ? await (await verification()).review(signal) : undefined;
    },
  });
}

/** Learns from commands that fail turn after turn; loaded when one has failed. */
function compileMemory({ paths, recorder, extensions }: RunContext): void {
  const file = `${projectDir(paths.home, paths.cwd)}/failures.json`;
  const compiler = lazy(async () => new (await import("./memory/memory_compiler.ts")).MemoryCompiler(file));
  const commands = new Map<string, string>();
  const outcomes: CommandOutcome[] = [];
  extensions.add({
    onEvent(event) {
      if (event.type === "tool.start") commands.set(event.call.id, event.summary);
      if (event.type !== "tool.end" || event.exitCode === undefined || event.signal !== undefined) {
        return undefined;
      }
      const command = commands.get(event.callId);
      if (command !== undefined) outcomes.push({ command, exitCode: event.exitCode });
      return undefined;
    },
    async before(input) {
      if (exists(file)) await (await compiler()).notify(recorder);
      return input;
    },
    async after() {
      commands.clear();
      const made = outcomes.splice(0);
      if (made.some(({ exitCode }) => exitCode !== 0) || (made.length > 0 && exists(file))) {
        await (await compiler()).learn(made);
      }
      return undefined;
    },
  });
}
