import { Controller, type TurnCheckpoints } from "../control/mod.ts";
import { Assembly } from "./assembly.ts";
import { agentsOf, goalsWhenNeeded, joinExtensions, plansWhenNeeded } from "./extensions.ts";
import type { JoinedRun } from "./joined_run.ts";
import { createCheckpointer } from "./session/checkpoints.ts";
import { type ContextManager, manageContext } from "./context/context_management.ts";
import { layGround } from "./ground.ts";
import { modelRemarks } from "./provider.ts";
import { remarks } from "./remarks.ts";
import type { AssemblyOptions } from "./run_options.ts";
import { turnRules } from "./turns/turn_rules.ts";
import { openGuardedTools } from "./tools/guarded_tools.ts";
import { toldAsker } from "./tools/tools.ts";
import { lazy } from "../util/lazy.ts";

const loadHooks = lazy(() => import("./hooks/open_hooks.ts"));

/**
 * The composition root: builds every part of a run and connects them. Nothing is recorded before the run is
 * opened.
 */
export async function assemble(given: AssemblyOptions): Promise<Assembly> {
  const options = given.loaded.config.hooks.length > 0 ? await (await loadHooks()).withHooks(given) : given;
  const { ground, model, remote, skillRules } = await layGround(options);
  const { recorder, loaded: { config } } = ground;
  const { provider } = model;
  const joined = Promise.withResolvers<JoinedRun>();
  const plans = plansWhenNeeded(() => ({ ...parts, modes, turnParts, todos: tools.todos, options }));
  const goals = goalsWhenNeeded(() => ({
    ...parts,
    modes,
    turnParts,
    gate,
    options,
    runCommand: tools.runCommand,
    open: () => assembly.open(),
  }));
  const parts = { ...ground, plans, goals, agents: agentsOf(joined.promise) };
  const rules = { provider, remote, temporaryRules: skillRules.current };
  const { tools, gate, modes, plugins } = await openGuardedTools(options, { ...parts, ...rules });
  const { rules: limits, turnParts } = turnRules(config, options, provider.model.toolMode);
  if (tools.reviewEdits) turnParts.add({ reviewAnswer: tools.reviewEdits });
  const news = () => turnParts.takeNews();
  const context = await manageContext({ ...parts, model, modes, plugins, news, hooks: options.hooks });
  const checkpointer = createCheckpointer({ ...parts, beforeLook: tools.prepareShell });
  const { warmedUp, ...ahead } = preparations({ options, gate, context, checkpointer, tools, ...ground });
  const turn = { provider, gate, toolbox: tools.toolbox, ...limits };
  const assembly = new Assembly({
    ...parts,
    provider,
    controller: new Controller(recorder, {
      ...turn,
      // What an agent changes is part of what the turn changes that it works for.
      ...(options.parent ? {} : { checkpointer }),
      ...context,
      ...ahead,
    }),
    gate,
    modes,
    turnParts,
    checkpointer,
    window: model.choice?.entry.context_window,
    answerForm: options.answerForm,
    asker: options.asker && toldAsker(options.asker, recorder),
    effort: options.effort ?? model.choice?.entry.effort,
    allowInTurn: skillRules.add,
    beforeTurn: context.beforeTurn,
    warnings: [...remarks(parts), ...modelRemarks(provider, remote)],
    turn,
    warmedUp,
    tools,
    plugins,
  });
  const { registry, agents } = parts;
  const run: JoinedRun = { assembly, options, registry, gate, tools, agents, assemble };
  joined.resolve(run);
  await joinExtensions(run);
  return assembly;
}

interface PreparationParts extends Pick<JoinedRun, "options" | "gate" | "tools" | "registry"> {
  readonly context: Pick<ContextManager, "warm">;
  readonly checkpointer: TurnCheckpoints;
}

/** What is made ready ahead: `warm` while the model thinks, `onCall` while it writes a call. */
function preparations({ options, gate, context, checkpointer, tools, registry }: PreparationParts) {
  const warming: Promise<unknown>[] = [];
  const prepareEdit = lazy(() => Promise.all([gate.warm?.("Edit"), tools.openChecks()]));
  return {
    warm() {
      warming.push(context.warm());
    },
    onCall(name: string) {
      const tool = registry.get(name);
      if (!tool) return;
      const started = tools.host.expect(tool);
      // After the process, whose start takes longest.
      if (tool.family === "Edit") warming.push(started.then(prepareEdit).catch(() => {}));
      if (tool.family === "Bash") {
        // The command itself says what stands in its way.
        tools.prepareShell().catch(() => {});
        // The parser of command lines and what it knows of programs take 5 MB: an answer in text has neither.
        warming.push((gate.warm?.("Bash") ?? Promise.resolve()).catch(() => {}));
      }
      if (!options.parent) checkpointer.expect(tool);
    },
    warmedUp: () => Promise.allSettled(warming),
  };
}
