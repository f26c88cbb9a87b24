import { loadHookConfig } from "../../config/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import { formatHookProblem, missingCommands } from "../../hook/mod.ts";
import type { JoinedRun } from "../joined_run.ts";
import type { AssemblyOptions } from "../run_options.ts";
import { approverWithHooks, askerWithHooks } from "./asking.ts";
import { callHooks } from "./call_hooks.ts";
import { compactionHooks } from "./compaction_hooks.ts";
import type { HookPort } from "./hook_port.ts";
import { RunHooks } from "./run_hooks.ts";
import { TurnHooks } from "./turn_hooks.ts";

class OpenHooks implements HookPort {
  readonly run: RunHooks;
  readonly callHooks: HookPort["callHooks"];
  readonly compaction: HookPort["compaction"];

  constructor(run: RunHooks) {
    this.run = run;
    this.callHooks = callHooks(run);
    this.compaction = compactionHooks(run);
  }
}

/**
 * The options of a run with its hooks. Throws a ReasonixError (config) for a hook that must not fail and can
 * never run.
 */
export async function withHooks(options: AssemblyOptions): Promise<AssemblyOptions> {
  const { approver, asker, amended, loaded, paths, parent, sessionId } = options;
  // Another agent's run is made of the options of the run it belongs to.
  const hooks = options.hooks instanceof OpenHooks && parent
    ? options.hooks.run.forAgent({ id: sessionId ?? "", type: parent.link.agent ?? "" })
    : new RunHooks({ configured: (await loadHookConfig()).configuredHooks(loaded, paths), paths });
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
    hooks: new OpenHooks(hooks),
    ...(approver ? { approver: approverWithHooks(approver, hooks) } : {}),
    ...(asker && !hooks.agent ? { asker: askerWithHooks(asker, hooks) } : {}),
    amended: (callId) => hooks.takeAmended(callId) ?? amended?.(callId),
  };
}

/** Lets the hooks of a run take part in it. */
export function join({ assembly, tools, options }: JoinedRun): void {
  if (!(options.hooks instanceof OpenHooks)) return;
  const { run: hooks } = options.hooks;
  hooks.begin({ assembly, tools });
  const turns = new TurnHooks(hooks, options.approver !== undefined);
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
