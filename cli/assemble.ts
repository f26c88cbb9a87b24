import type { Config, LoadedConfig } from "../src/config/mod.ts";
import { type ControlledParts, Controller, Recorder } from "../src/control/mod.ts";
import type { Provider } from "../src/provider/mod.ts";
import type { Workspace } from "../src/sandbox/mod.ts";
import type { SessionLog } from "../src/session/mod.ts";
import { beginSession, environmentOf, noticesOf } from "./begin_session.ts";
import { keepChanges } from "./keep_changes.ts";
import { gatherKnowledge, type Knowledge } from "./knowledge.ts";
import { keepRoom } from "./make_room.ts";
import { openSession } from "./open_session.ts";
import { buildGate, buildProvider, buildReach, buildRegistry, limitsOf } from "./parts.ts";
import type { Place } from "./place.ts";
import type { RunFlags } from "./run_flags.ts";
import { SkillRules } from "./skill_rules.ts";
import { buildTools } from "./run_tools.ts";

/** Everything a run is made of. */
export interface Assembly {
  readonly controller: Controller;
  readonly loaded: LoadedConfig;
  readonly log: SessionLog;
  readonly provider: Provider;
  readonly workspace: Workspace;
  readonly knowledge: Knowledge;
  /** Things the user should know before the turn. */
  readonly notices: readonly string[];
  /** Writes the first events of this process: the head of a session, or what a crash left open. */
  open(): Promise<void>;
  /** Ends what runs in the background and closes the log. */
  close(): Promise<void>;
}

/** The composition root: builds every part and connects them. */
export async function assemble(place: Place, flags: RunFlags, loaded: LoadedConfig): Promise<Assembly> {
  const { config } = loaded;
  const provider = await buildProvider(place, flags, loaded);
  const reach = buildReach(place, config, flags.permissionMode);
  const { workspace } = reach;
  const { log, redact } = await openSession(place, flags, loaded);
  const recorder = new Recorder(log);
  const skillRules = new SkillRules(recorder);
  const knowledge = await gatherKnowledge({
    place,
    loaded,
    workspace,
    redact,
    messages: () => recorder.messages,
    trustProject: flags.trustProject ?? false,
    onSkill: skillRules.activated,
  });
  const registry = buildRegistry(config, knowledge.tools);
  const parts = { place, loaded, workspace, log, recorder, knowledge, provider };
  const tools = buildTools({ ...parts, registry, unconfined: reach.full, vision: provider.model.vision });
  const gate = buildGate({ place, flags, loaded, reach, recorder, tools });
  skillRules.serve(gate);
  const room = await keepRoom(parts);
  const changes = keepChanges({ place, log, recorder, workspace, registry, meanwhile: tools.openJail });
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
    notices: noticesOf(reach, registry, knowledge),
    open: () =>
      beginSession(log, recorder, {
        system: knowledge.system,
        tools: registry.schemas(),
        model: provider.model.id,
        context: [
          environmentOf(place, workspace, config.tools.writes),
          ...(knowledge.memory === undefined ? [] : [knowledge.memory]),
        ],
      }),
    async close() {
      await tools.close();
      log.close();
    },
  };
}

function turnRules(config: Config): Pick<ControlledParts, "limits" | "maxCallsPerStep" | "submit"> {
  const { max_calls_per_step, submit } = config.agent;
  return {
    limits: limitsOf(config),
    submit,
    ...(max_calls_per_step > 0 ? { maxCallsPerStep: max_calls_per_step } : {}),
  };
}
