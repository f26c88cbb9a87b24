import type { LoadedConfig } from "../config/mod.ts";
import { Controller, Recorder } from "../control/mod.ts";
import { openAccessScope } from "./access_scope.ts";
import type { Assembly } from "./assembly.ts";
import { createCheckpointer } from "./checkpoints.ts";
import { manageContext } from "./context_management.ts";
import { attachmentReader, buildGate } from "./gate.ts";
import { gatherPromptInputs } from "./prompt_inputs.ts";
import { buildProvider } from "./provider.ts";
import type { RunOptions } from "./run_options.ts";
import type { RunPaths } from "./run_paths.ts";
import { beginSession, noticesOf, openSession, wantedPrefix } from "./session.ts";
import { SkillRules } from "./skill_rules.ts";
import { buildRegistry, buildTools } from "./tools.ts";
import { turnRules } from "./turn_limits.ts";

/** The composition root: builds every part and connects them. */
export async function assemble(
  paths: RunPaths,
  options: RunOptions,
  loaded: LoadedConfig,
): Promise<Assembly> {
  const { config } = loaded;
  const provider = await buildProvider(paths, options, loaded);
  const reach = await openAccessScope(paths, config, options.permissionMode);
  const { workspace } = reach;
  const { log, redact } = await openSession(paths, options, loaded);
  const recorder = new Recorder(log);
  const skillRules = new SkillRules(recorder);
  const knowledge = await gatherPromptInputs({
    paths,
    loaded,
    workspace,
    redact,
    messages: () => recorder.messages,
    trustProject: options.trustProject ?? false,
    onSkill: skillRules.activated,
  });
  const registry = buildRegistry(config, knowledge.tools);
  const parts = { paths, loaded, workspace, log, recorder, knowledge, provider };
  const permissionMode = () => gate.permissionMode;
  const tools = buildTools({ ...parts, registry, reach, permissionMode, vision: provider.model.vision });
  const gate = buildGate({ paths, options, loaded, reach, recorder, tools });
  skillRules.serve(gate);
  const room = await manageContext({ ...parts, registry });
  const changes = createCheckpointer({ ...parts, registry, meanwhile: tools.openJail });
  const controller = new Controller(recorder, {
    provider,
    gate,
    toolbox: tools.toolbox,
    checkpointer: changes,
    ...turnRules(config),
    ...room,
    warm() {
      room.warm();
      gate.warm().then(() => changes.warm()).catch(() => {});
    },
  });
  return {
    controller,
    loaded,
    log,
    provider,
    workspace,
    knowledge,
    attachment: attachmentReader(gate, workspace),
    redact,
    notices: noticesOf(reach, registry, knowledge),
    open: () =>
      beginSession(log, recorder, wantedPrefix({ paths, config, workspace, knowledge, registry, provider })),
    async close() {
      await tools.close();
      log.close();
    },
  };
}
