import { Recorder, type TurnCheckpoints } from "../control/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { Asker, ToolRegistry, ToolServices } from "../tool/mod.ts";
import type { LoadedConfig } from "../config/mod.ts";
import type { Workspace } from "../sandbox/mod.ts";
import { openAccessScope, type RunScope } from "./access/access_scope.ts";
import { SkillRules } from "./access/gate.ts";
import type { Assembly } from "./assembly.ts";
import { gatherPromptInputs, type PromptInputs } from "./context/prompt_inputs.ts";
import type { RunAgents } from "./internal.ts";
import { languageTools } from "./lsp/edit_checks.ts";
import type { GoalDesk } from "./goal/goal_desk.ts";
import type { PlanDesk } from "./plan/plan_desk.ts";
import type { RemotePlugins } from "./plugins/remote_plugins.ts";
import { buildModel, type RunModel } from "./provider.ts";
import type { AdaptedTools, AssemblyOptions } from "./run_options.ts";
import type { RunPaths } from "./run_paths.ts";
import { openSession, type RunSession } from "./session/session.ts";
import { expectPlugins, type GuardedTools } from "./tools/guarded_tools.ts";
import { buildRegistry } from "./tools/offered_tools.ts";
import { toldAsker } from "./tools/tools.ts";
import { TurnExtensions } from "./turns/turn_extensions.ts";

/** The base of a run: its model, its scope, its session, the inputs of its prompt and its tools' registry. */
export interface RunBase {
  readonly options: AssemblyOptions;
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly model: RunModel;
  /** The session's model. */
  readonly provider: Provider;
  /** Servers that the provider speaks to. */
  readonly remote: RemotePlugins | undefined;
  readonly scope: RunScope;
  readonly workspace: Workspace;
  readonly session: RunSession;
  /** Takes secrets out of what leaves the run, except its events. */
  readonly redact: (text: string) => string;
  readonly recorder: Recorder;
  readonly extensions: TurnExtensions;
  readonly skillRules: SkillRules;
  readonly inputs: PromptInputs;
  readonly registry: ToolRegistry;
  /** Absent: no prompt. */
  readonly asker: Asker | undefined;
}

/** A run as features see it: everything below the turns. */
export interface RunContext extends RunBase, GuardedTools {
  readonly checkpointer: TurnCheckpoints;
  /** Writes the first events of this process, once. */
  readonly open: () => Promise<void>;
  /** Assembles another run, for agents that work on a part of the task. */
  readonly assemble: (options: AssemblyOptions) => Promise<Assembly>;
}

/** The features that tools and front ends call; each is loaded by its first call. */
export interface Features extends Required<Pick<ToolServices, "plans" | "goals" | "agents">> {
  readonly plans: () => Promise<PlanDesk>;
  readonly goals: () => Promise<GoalDesk>;
  readonly agents: () => Promise<RunAgents>;
}

/** Opens the base of a run. */
export async function openRunBase(options: AssemblyOptions): Promise<RunBase> {
  const { paths, loaded } = options;
  const remote = await expectPlugins(loaded);
  const model = await buildModel(options, remote);
  const { provider } = model;
  const { toolMode } = provider.model;
  const scope = await openAccessScope(paths, loaded, options.permissionMode);
  const { workspace } = scope;
  const own = [...options.tools ?? [], ...await languageTools({ paths, loaded, scope })];
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
  const asker = options.asker && toldAsker(options.asker, recorder);
  const run = { options, paths, loaded, model, provider, remote, scope, workspace, session, redact };
  return { ...run, recorder, extensions, skillRules, inputs, registry, asker };
}

/** Adapts the tools that name other agents, where there are more than those of the program. */
async function adaptedTools({ agents, skillSet }: PromptInputs): Promise<AdaptedTools | undefined> {
  if (agents.agents.length === 0 && skillSet.skills.every(({ runAs }) => runAs === "inline")) {
    return undefined;
  }
  return (await import("./subagents/adapted_tools.ts")).adaptedTools({ agents, skillSet });
}
