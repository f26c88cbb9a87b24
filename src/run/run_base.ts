import { message, textFields } from "../core/mod.ts";
import { type LoadedConfig, problemText } from "../config/mod.ts";
import { Recorder } from "../control/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { Workspace } from "../sandbox/mod.ts";
import type { Asker, ToolRegistry } from "../tool/mod.ts";
import { openAccessScope, type RunScope, type Warning } from "./access/access_scope.ts";
import { SkillRules } from "./access/gate.ts";
import { gatherPromptInputs, type PromptInputs } from "./context/prompt_inputs.ts";
import { buildModel, type RunModel } from "./provider.ts";
import type { BaseFeatures, RemotePlugins } from "./run_features.ts";
import type { AdaptedTools, AssemblyOptions, RunPaths } from "./run_options.ts";
import { openSession, type RunSession } from "./session/session.ts";
import { buildRegistry } from "./tools/offered_tools.ts";
import { TurnExtensions } from "./turn_extensions.ts";

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

/** Opens the base of a run. */
export async function openRunBase(options: AssemblyOptions, features: BaseFeatures): Promise<RunBase> {
  const { paths, loaded } = options;
  const remote = await features.remotePlugins(loaded);
  const model = await buildModel(options, remote);
  const { provider } = model;
  const { toolMode } = provider.model;
  const scope = await openAccessScope(paths, loaded, options.permissionMode);
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

/** Records when a person is asked and has answered. */
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

/** Returns the notices for the user before the first turn. */
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

/** Says where a run works that goes on with a session of another directory. */
function elsewhere(began: string | undefined, cwd: string): Warning[] {
  if (!began || began === cwd) return [];
  return [{
    ...textFields(
      message`The session is from ${began}, this run works in ${cwd}; --dir ${began} works there`,
    ),
  }];
}
