import { formatProblem, sayProblem } from "../config/mod.ts";
import { Controller, Recorder } from "../control/mod.ts";
import type { ToolRegistry } from "../tool/mod.ts";
import { openAccessScope, type Remark, type RunScope } from "./access/access_scope.ts";
import { Assembly } from "./assembly.ts";
import { createCheckpointer } from "./session/checkpoints.ts";
import { manageContext } from "./context/context_management.ts";
import { SkillRules } from "./access/gate.ts";
import { gatherPromptInputs, type PromptInputs } from "./context/prompt_inputs.ts";
import { buildModel, modelRemarks } from "./provider.ts";
import type { AssemblyOptions } from "./run_options.ts";
import { turnRules } from "./turn_rules.ts";
import { openSession, type RunSession } from "./session/session.ts";
import { expectPlugins, openGuardedTools } from "./tools/guarded_tools.ts";
import { buildRegistry } from "./tools/tools.ts";

/**
 * The composition root: builds every part of a run and connects them. Nothing is recorded before the run is
 * opened.
 */
export async function assemble(options: AssemblyOptions): Promise<Assembly> {
  const { paths, loaded, asker } = options;
  const { config } = loaded;
  const remote = await expectPlugins(loaded);
  const model = await buildModel(options, remote);
  const { provider } = model;
  const { toolMode } = provider.model;
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
  });
  const registry = buildRegistry(config, { builtin: inputs.tools, own: options.tools ?? [], toolMode });
  const parts = { paths, loaded, scope, workspace, session, recorder, inputs, registry, asker };
  const rules = { provider, remote, temporaryRules: skillRules.current };
  const { tools, gate, plugins } = await openGuardedTools(options, { ...parts, ...rules });
  const context = await manageContext({ ...parts, model, plugins });
  const checkpointer = createCheckpointer({ ...parts, meanwhile: tools.openJail });
  const warming: Promise<unknown>[] = [];
  const turn = { provider, gate, toolbox: tools.toolbox, ...turnRules(config, options, toolMode) };
  const controller = new Controller(recorder, {
    ...turn,
    checkpointer,
    ...context,
    warm() {
      const files = (async () => (await gate.warm?.(), await checkpointer.warm()))();
      warming.push(context.warm(), files.catch(() => {}));
    },
  });
  return new Assembly({
    ...parts,
    provider,
    controller,
    gate,
    checkpointer,
    window: model.choice?.entry.context_window,
    answerForm: options.answerForm,
    effort: options.effort ?? model.choice?.entry.effort,
    allowInTurn: skillRules.add,
    beforeTurn: context.beforeTurn,
    redact,
    warnings: [...remarks(parts), ...modelRemarks(provider, remote)],
    turn,
    warmedUp: () => Promise.allSettled(warming),
    tools,
    plugins,
  });
}

interface Remarkable {
  readonly paths: AssemblyOptions["paths"];
  readonly loaded: AssemblyOptions["loaded"];
  readonly scope: RunScope;
  readonly session: RunSession;
  readonly registry: ToolRegistry;
  readonly inputs: PromptInputs;
}

function remarks({ paths, loaded, scope, session, registry, inputs }: Remarkable): Remark[] {
  const texts = [
    ...inputs.instructions.notices.map(({ path, problem }) => `${path} ${problem}`),
    ...inputs.skillSet.warnings.map(({ path, text }) => `${path}: ${text}`),
  ].map((text) => ({ text }));
  return [
    ...loaded.warnings.map((warning) => ({ text: formatProblem(warning), said: sayProblem(warning) })),
    ...scope.notices,
    ...registry.unknown.map((name): Remark => ({
      text: `Unknown tool "${name}" in [tools] was passed over`,
      said: [["unknownTool", name]],
    })),
    ...texts,
    ...elsewhere(session.state.cwd, paths.cwd),
  ];
}

/** Says where a run works that goes on with a session of another directory. */
function elsewhere(began: string | undefined, cwd: string): Remark[] {
  if (!began || began === cwd) return [];
  return [{
    text: `The session is from ${began}, this run works in ${cwd}; --dir ${began} works there`,
    said: [["elsewhere", began, cwd]],
  }];
}
