import { exists } from "../path/probe.ts";
import { openGoal, projectDir } from "../session/mod.ts";
import { lazy } from "../util/lazy.ts";
import type { CommandOutcome } from "./memory/memory_compiler.ts";
import type { AssemblyOptions, Features, RunContext } from "../run/mod.ts";
import type { Assemble } from "./agents/agent_run.ts";

/** A feature that joins a run in addition to its model and its tools. */
interface Extension {
  /** Reports whether this run has any use for it; cheap. */
  readonly wanted: (run: RunContext) => boolean;
  /** Loads it and adds its turn extensions; records nothing, since nothing is open yet. */
  readonly join: (run: RunContext, features: Features) => void | Promise<void>;
}

/** Every feature that may join a run, in the order in which it takes part in turns. */
const EXTENSIONS: readonly Extension[] = [
  {
    wanted: ({ options: { simple, parent, loaded: { config } } }) =>
      config.goal.autoresearch && !parent && !simple,
    join: upgradePrompts,
  },
  // What another agent changes is tested with the turn that it works for.
  { wanted: ({ options: { parent } }) => !parent, join: verifyTurns },
  {
    wanted: ({ options: { parent, loaded: { config } } }) => config.agent.memory_compiler.enabled && !parent,
    join: compileMemory,
  },
  {
    wanted: ({ options: { permissionMode, loaded } }) =>
      permissionMode === "plan" || loaded.config.agent.auto_plan,
    join: async (...run) => await (await import("./plan/session_plans.ts")).joinPlans(...run),
  },
  {
    wanted: ({ options: { parent, loaded } }) => loaded.config.agent.auto_todo && !parent,
    join: async (run) => (await import("./plan/session_plans.ts")).joinTodos(run),
  },
  { wanted: ({ session }) => openGoal(session.state) !== undefined, join: resumeGoal },
  {
    // Agents have none that plans for them.
    wanted: ({ options: { parent, loaded } }) => loaded.config.agent.planner_model !== "" && !parent,
    join: async (...run) => await (await import("./plan/planner.ts")).join(...run),
  },
  {
    wanted: ({ options: { steps = 1 } }) => steps > 1,
    join: async (run) => (await import("./steps/steps.ts")).join(run),
  },
  {
    wanted: ({ options }) => options.hooks !== undefined,
    join: async (run) => (await import("./hooks/hook_extension.ts")).join(run),
  },
];

/** Prepares the features that have a part in the options of a run. */
export async function prepareFeatures(options: AssemblyOptions): Promise<AssemblyOptions> {
  if (options.loaded.config.hooks.length === 0) return options;
  return await (await import("./hooks/hook_extension.ts")).withHooks(options);
}

/** Lets every feature join that the run has a use for; the others are not loaded. */
export async function attachExtensions(run: RunContext, features: Features): Promise<void> {
  for (const { wanted, join } of EXTENSIONS) {
    if (wanted(run)) await join(run, features);
  }
}

/** The features that tools and front ends call; agents work in runs of their own. */
export function featuresOf(
  run: RunContext,
  assemble: Assemble,
): Features {
  return {
    plans: lazy(async () => new (await import("./plan/session_plans.ts")).SessionPlans(run)),
    goals: lazy(async () => new (await import("./goal/session_goal.ts")).SessionGoal(run)),
    agents: lazy(async () => (await import("./agents/subagent_manager.ts")).openDesk(run, assemble)),
  };
}

/** Words without which no prompt asks for a research record; whether it does is decided with more care. */
const RESEARCH = /auto-?research|hypothes[ei]s|自动研究|假设/i;

/** Makes a goal of a prompt that asks for long research in so many words. */
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
      if (exists(file)) await (await compiler()).tell(recorder);
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
