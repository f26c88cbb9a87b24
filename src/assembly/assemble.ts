import { Controller } from "../control/mod.ts";
import { lazy } from "../util/lazy.ts";
import {
  Assembly,
  type AssemblyOptions,
  type ContextManager,
  createCheckpointer,
  manageContext,
  opener,
  openGuardedTools,
  openRunBase,
  type RunContext,
} from "../run/mod.ts";
import { attachExtensions, BASE_FEATURES, featuresOf, prepareFeatures } from "../features/mod.ts";

/**
 * The composition root: builds a run from the bottom up; each part is made of the parts before it. Nothing is
 * recorded before the run is opened.
 */
export async function assemble(given: AssemblyOptions): Promise<Assembly> {
  const options = await prepareFeatures(given);
  const base = await openRunBase(options, BASE_FEATURES);
  const { loaded: { config }, provider, recorder, extensions } = base;
  const guarded = await openGuardedTools(base, BASE_FEATURES);
  const { gate, tools } = guarded;
  const checkpointer = createCheckpointer(base);
  const open = opener({ ...base, ...guarded });
  const run: RunContext = { ...base, ...guarded, checkpointer, open };
  const features = featuresOf(run, assemble);
  await attachExtensions(run, features);
  const context = await manageContext(run);
  const rules = extensions.rules(config, options, provider.model.toolMode);
  const turn = { provider, gate, toolbox: tools.toolbox(features), ...rules };
  const { warmedUp, ...warmUp } = preparations(run, context);
  const controller = new Controller(recorder, {
    ...turn,
    // What an agent changes is part of what the turn changes that it works for.
    ...(options.parent ? {} : { checkpointer }),
    ...context,
    ...warmUp,
  });
  const { beforeTurn } = context;
  return new Assembly({ ...run, ...features, controller, turn, beforeTurn, warmedUp });
}

/** Warms up what calls need: `warm` while the model thinks, `onCall` while it writes a call. */
function preparations(
  { options, gate, tools, registry, checkpointer }: RunContext,
  context: Pick<ContextManager, "warm">,
) {
  const warming: Promise<unknown>[] = [];
  const prepareEdit = lazy(() => Promise.all([gate.warm?.("Edit"), tools.openChecks()]));
  return {
    warm() {
      warming.push(context.warm());
    },
    onCall(name: string) {
      const tool = registry.get(name);
      if (!tool) return;
      const started = tools.host.prewarm(tool);
      // After the process, whose start takes longest.
      if (tool.family === "Edit") warming.push(started.then(prepareEdit).catch(() => {}));
      if (tool.family === "Bash") {
        // The command itself reports why there is no jail.
        tools.openJail().catch(() => {});
        // The parser of command lines and what it knows of programs take 5 MB: an answer in text has neither.
        warming.push((gate.warm?.("Bash") ?? Promise.resolve()).catch(() => {}));
      }
      if (!options.parent) checkpointer.prewarm(tool);
    },
    warmedUp: () => Promise.allSettled(warming),
  };
}
