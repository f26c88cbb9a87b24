import { exists } from "../path/probe.ts";
import { openGoal, projectDir } from "../session/mod.ts";
import { lazy } from "../util/lazy.ts";
import type { GoalDesk, GoalDeskParts } from "./goal/goal_desk.ts";
import type { RunAgents } from "./internal.ts";
import type { JoinedRun } from "./joined_run.ts";
import type { CommandOutcome } from "./memory_compiler.ts";
import type { PlanDesk, PlanDeskParts } from "./plan/plan_desk.ts";

/** Something that joins a run beside its model and its tools. */
interface Extension {
  /** Whether this run has any use for it; cheap. */
  readonly wanted: (run: JoinedRun) => boolean;
  readonly load: () => Promise<{
    /** Adds turn parts, answers the ports of its tools; records nothing, since nothing is open yet. */
    readonly join: (run: JoinedRun) => void | Promise<void>;
  }>;
}

/** The plans of a run, which are made when somebody has to do with one; `parts` are known by then. */
export function plansWhenNeeded(parts: () => PlanDeskParts): () => Promise<PlanDesk> {
  return lazy(async () => new (await import("./plan/plan_desk.ts")).PlanDesk(parts()));
}

/** The goal of a run, likewise. */
export function goalsWhenNeeded(parts: () => GoalDeskParts): () => Promise<GoalDesk> {
  return lazy(async () => new (await import("./goal/goal_desk.ts")).GoalDesk(parts()));
}

/** Everything that may join a run, in the order in which it takes part in turns: one line per entry. */
const EXTENSIONS: readonly Extension[] = [
  { wanted: usesPlans, load: () => import("./plan/join.ts") },
  { wanted: beginsLists, load: () => import("./plan/first_todos.ts") },
  {
    wanted: ({ assembly }) => openGoal(assembly.session.state) !== undefined,
    load: () => import("./goal/join.ts"),
  },
  { wanted: namesPlanner, load: () => import("./planner/coordinator.ts") },
  { wanted: ({ options: { steps = 1 } }) => steps > 1, load: () => import("./agent_mode/join.ts") },
  { wanted: ({ options }) => options.hooks !== undefined, load: () => import("./hooks/open_hooks.ts") },
];

/** Plan mode is on, or may come by itself. */
function usesPlans({ options }: JoinedRun): boolean {
  return options.permissionMode === "plan" || options.loaded.config.agent.auto_plan;
}

/** A complex task of the user begins with a todo list. */
function beginsLists({ options: { parent, loaded } }: JoinedRun): boolean {
  return loaded.config.agent.auto_todo && parent === undefined;
}

/** Another model plans for the user's own session; agents have none that plans for them. */
function namesPlanner({ options: { parent, loaded } }: JoinedRun): boolean {
  return loaded.config.agent.planner_model !== "" && parent === undefined;
}

/** Words without which no prompt asks for a research record; whether it does is decided with more care. */
const RESEARCH = /auto-?research|hypothes[ei]s|自动研究|假设/i;

/** A prompt that asks for long research in so many words becomes a goal. */
function upgradePrompts({ assembly, options }: JoinedRun): void {
  if (!options.loaded.config.goal.autoresearch || options.parent || options.simple) return;
  assembly.turnParts.add({
    before: async (input) =>
      RESEARCH.test(input.text) ? await (await assembly.goals()).upgrade(input) : input,
  });
}

/** Tests what turns change; loaded when the first one has changed something. */
function verifyTurns(run: JoinedRun): void {
  const { assembly: { turnParts }, options } = run;
  // What another agent changes is tested with the turn that it works for.
  if (options.parent) return;
  const verification = lazy(async () => new (await import("./verify/verifier.ts")).Verifier(run));
  turnParts.verification = verification;
  if (!options.loaded.config.workflow.enabled) return;
  turnParts.add({
    async before(input) {
      if (options.trustProject) await (await verification()).begin();
      return input;
    },
    async reviewAnswer(_answer, signal) {
      return run.assembly.hasChanged ? await (await verification()).review(signal) : undefined;
    },
  });
}

/** Learns from commands that fail turn after turn; loaded when one has failed. */
function compileMemory({ assembly, options }: JoinedRun): void {
  const { paths, loaded, parent } = options;
  if (!loaded.config.agent.memory_compiler.enabled || parent) return;
  const { turnParts, controller: { recorder } } = assembly;
  const file = `${projectDir(paths.home, paths.cwd)}/failures.json`;
  const compiler = lazy(async () => new (await import("./memory_compiler.ts")).MemoryCompiler(file));
  const commands = new Map<string, string>();
  const outcomes: CommandOutcome[] = [];
  recorder.subscribe((event) => {
    if (event.type === "tool.start") commands.set(event.call.id, event.summary);
    if (event.type !== "tool.end" || event.exitCode === undefined || event.signal !== undefined) return;
    const command = commands.get(event.callId);
    if (command !== undefined) outcomes.push({ command, exitCode: event.exitCode });
  });
  turnParts.add({
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

/** Lets everything join that the run has a use for; what nobody uses is not loaded. */
export async function joinExtensions(run: JoinedRun): Promise<void> {
  upgradePrompts(run);
  verifyTurns(run);
  compileMemory(run);
  for (const { wanted, load } of EXTENSIONS) {
    if (wanted(run)) await (await load()).join(run);
  }
}

/** Other agents, for the tools of a run: loaded with the first task that is given to one. */
export function agentsOf(joined: Promise<JoinedRun>): () => Promise<RunAgents> {
  return lazy(async () => (await import("./subagents/desk.ts")).openDesk(await joined));
}
