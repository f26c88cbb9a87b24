import { configuredHooks } from "../../config/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import { formatHookProblem, missingCommands } from "../../hook/mod.ts";
import type { JoinedRun } from "../joined_run.ts";
import type { AssemblyOptions } from "../run_options.ts";
import { approverWithHooks, askerWithHooks } from "./asking.ts";
import { RunHooks } from "./run_hooks.ts";
import { TurnHooks } from "./turn_hooks.ts";

/**
 * The options of a run with its hooks. Throws a ReasonixError (config) for a hook that must not fail and can
 * never run.
 */
export function withHooks(options: AssemblyOptions): AssemblyOptions {
  const { approver, asker, amended, loaded, paths, parent, sessionId } = options;
  // Another agent's run is made of the options of the run it belongs to.
  const hooks = options.hooks && parent
    ? options.hooks.forAgent({ id: sessionId ?? "", type: parent.link.agent ?? "" })
    : new RunHooks({ configured: configuredHooks(loaded, paths), paths });
  const broken = hooks.problems.find(({ source }) => source.failure === "closed");
  if (broken) {
    throw new ReasonixError(formatHookProblem(broken), {
      exit: "config",
      ...(broken.source.place ? { place: broken.source.place } : {}),
      remedy: 'correct the hook: with failure = "closed" nothing may run without it',
    });
  }
  return {
    ...options,
    hooks,
    ...(approver ? { approver: approverWithHooks(approver, hooks) } : {}),
    ...(asker && !hooks.agent ? { asker: askerWithHooks(asker, hooks) } : {}),
    amended: (callId) => hooks.takeAmended(callId) ?? amended?.(callId),
  };
}

/** Lets the hooks of a run take part in it. */
export function join({ assembly, tools, options: { hooks, approver } }: JoinedRun): void {
  if (!hooks) return;
  hooks.begin({ assembly, tools });
  const turns = new TurnHooks(hooks, approver !== undefined);
  assembly.turnParts.add(turns);
  const { controller: { recorder }, paths: { cwd, env } } = assembly;
  assembly.whenOpen(() => {
    for (
      const text of [
        ...hooks.problems.map(formatHookProblem),
        ...missingCommands(hooks.ready, { cwd, env }),
      ]
    ) {
      void recorder.record({ type: "notice", level: "warning", code: "hook", text });
    }
    turns.start();
  });
  assembly.onClose(() => turns.end());
}
