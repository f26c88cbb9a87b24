import { Recorder } from "../control/mod.ts";
import { openAccessScope } from "./access/access_scope.ts";
import { SkillRules } from "./access/gate.ts";
import { languageTools } from "./lsp/edit_checks.ts";
import { gatherPromptInputs, type PromptInputs } from "./context/prompt_inputs.ts";
import { buildModel } from "./provider.ts";
import type { AdaptedTools, AssemblyOptions } from "./run_options.ts";
import { openSession } from "./session/session.ts";
import { expectPlugins } from "./tools/guarded_tools.ts";
import { buildRegistry } from "./tools/offered_tools.ts";

/** What a run stands on: its model, its reach, its session, what the model is told and which tools it has. */
export async function layGround(options: AssemblyOptions) {
  const { paths, loaded, parent } = options;
  const remote = await expectPlugins(loaded);
  const model = await buildModel(options, remote);
  const { provider } = model;
  const { toolMode } = provider.model;
  const scope = await openAccessScope(paths, loaded, options.permissionMode);
  const { workspace } = scope;
  const own = [...options.tools ?? [], ...await languageTools({ paths, loaded, scope })];
  const { session, redact } = await openSession(options);
  const recorder = new Recorder(session);
  const skillRules = new SkillRules(recorder);
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
  const run = { paths, loaded, scope, workspace, session, recorder };
  const ground = { ...run, inputs, registry, parent, redact };
  return { ground, model, remote, skillRules };
}

/** How the tools are offered that speak of other agents, where there are more than those of the program. */
async function adaptedTools({ agents, skillSet }: PromptInputs): Promise<AdaptedTools | undefined> {
  if (agents.agents.length === 0 && skillSet.skills.every(({ runAs }) => runAs === "inline")) {
    return undefined;
  }
  return (await import("./subagents/adapted_tools.ts")).adaptedTools({ agents, skillSet });
}
