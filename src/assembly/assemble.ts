import { Controller, Recorder } from "../control/mod.ts";
import { openAccessScope } from "./access/access_scope.ts";
import { Assembly } from "./assembly.ts";
import { joinExtensions, plansWhenNeeded } from "./extensions.ts";
import { createCheckpointer } from "./session/checkpoints.ts";
import { manageContext } from "./context/context_management.ts";
import { SkillRules } from "./access/gate.ts";
import { gatherPromptInputs } from "./context/prompt_inputs.ts";
import { buildModel, modelRemarks } from "./provider.ts";
import { remarks } from "./remarks.ts";
import type { AssemblyOptions } from "./run_options.ts";
import { turnRules } from "./turns/turn_rules.ts";
import { openSession } from "./session/session.ts";
import { expectPlugins, openGuardedTools } from "./tools/guarded_tools.ts";
import { buildRegistry } from "./tools/offered_tools.ts";

/**
 * The composition root: builds every part of a run and connects them. Nothing is recorded before the run is
 * opened.
 */
export async function assemble(options: AssemblyOptions): Promise<Assembly> {
  const { paths, loaded, asker } = options;
  const { config } = loaded;
  const remote = await expectPlugins(loaded);
  const model = await buildModel(options, remote);
  const { provider, provider: { model: { toolMode } } } = model;
  const scope = await openAccessScope(paths, loaded, options.permissionMode);
  const { workspace } = scope;
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
    ownTools: options.tools,
  });
  const registry = buildRegistry(config, { builtin: inputs.tools, own: options.tools ?? [], toolMode });
  const plans = plansWhenNeeded(() => ({ ...parts, modes, turnParts, todos: tools.todos, options }));
  const run = { paths, loaded, scope, workspace, session, recorder };
  const parts = { ...run, inputs, registry, asker, plans, redact };
  const rules = { provider, remote, temporaryRules: skillRules.current };
  const { tools, gate, modes, plugins } = await openGuardedTools(options, { ...parts, ...rules });
  const context = await manageContext({ ...parts, model, plugins });
  const checkpointer = createCheckpointer({ ...parts, meanwhile: tools.openJail });
  const warming: Promise<unknown>[] = [];
  const warm = () => {
    const files = (async () => (await gate.warm?.(), await checkpointer.warm()))();
    warming.push(context.warm(), files.catch(() => {}));
  };
  const { rules: limits, turnParts } = turnRules(config, options, toolMode);
  const turn = { provider, gate, toolbox: tools.toolbox, ...limits };
  const assembly = new Assembly({
    ...parts,
    provider,
    controller: new Controller(recorder, { ...turn, checkpointer, ...context, warm }),
    gate,
    modes,
    turnParts,
    checkpointer,
    window: model.choice?.entry.context_window,
    answerForm: options.answerForm,
    effort: options.effort ?? model.choice?.entry.effort,
    allowInTurn: skillRules.add,
    beforeTurn: context.beforeTurn,
    warnings: [...remarks(parts), ...modelRemarks(provider, remote)],
    turn,
    warmedUp: () => Promise.allSettled(warming),
    tools,
    plugins,
  });
  await joinExtensions({ assembly, options, assemble });
  return assembly;
}
