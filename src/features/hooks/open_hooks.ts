import { loadHookConfig } from "../../config/mod.ts";
import { type ApprovalAnswer, ReasonixError } from "../../core/mod.ts";
import { formatHookProblem, ownArguments } from "../../hook/mod.ts";
import type { ApprovalRequest, Approver } from "../../permission/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import type { AssemblyOptions, PreparedHooks, RunContext } from "../../run/mod.ts";
import { HookExtension } from "./hook_extension.ts";
import { occasion, RunHooks } from "./run_hooks.ts";

class OpenHooks implements PreparedHooks {
  readonly hooks: RunHooks;

  constructor(hooks: RunHooks) {
    this.hooks = hooks;
  }

  get forAgent(): boolean {
    return this.hooks.agent !== undefined;
  }
}

/** Lets the hooks of a run take part in it. */
export function join(run: RunContext): void {
  const { hooks: open, approver } = run.options;
  if (!(open instanceof OpenHooks)) return;
  open.hooks.begin(run);
  run.extensions.add(new HookExtension(open.hooks, approver !== undefined));
}

/**
 * The options of a run with its hooks. Throws a ReasonixError (config) for a hook that must not fail and can
 * never run.
 */
export async function withHooks(options: AssemblyOptions): Promise<AssemblyOptions> {
  const { approver, asker, amended, loaded, paths, parent, sessionId } = options;
  // Another agent's run is made of the options of the run it belongs to.
  const hooks = options.hooks instanceof OpenHooks && parent
    ? options.hooks.hooks.forAgent({ id: sessionId ?? "", type: parent.link.agent ?? "" })
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

/** Why a person is asked where no rule speaks of the call; what is asked about otherwise is the person's. */
const OPEN: ReadonlySet<string> = new Set(["noRule", "redirects", "unclear", "unreadable", "trust"]);

/** Asks hooks before the person, and tells them that somebody is asked. */
function approverWithHooks(approver: Approver, hooks: RunHooks): Approver {
  return {
    async ask(request, signal) {
      const answer = await answerOfHooks(request, hooks, signal);
      if (answer) return answer;
      // The run that an agent works for tells that somebody is asked.
      if (hooks.agent) return await approver.ask(request, signal);
      const waiting = hooks.notify(
        "permission_prompt",
        `Your permission is needed to use ${request.tool}`,
        signal,
      );
      const given = await approver.ask(request, signal);
      await waiting;
      return given;
    },
  };
}

/** Tells hooks that the model or a server asks the user something. */
function askerWithHooks(asker: Asker, hooks: RunHooks): Asker {
  return {
    async ask(questions, signal) {
      const waiting = hooks.notify(
        "elicitation_dialog",
        questions[0]?.question ?? "You are asked something",
        signal,
      );
      const given = await asker.ask(questions, signal);
      await waiting;
      return given;
    },
  };
}

async function answerOfHooks(
  request: ApprovalRequest,
  hooks: RunHooks,
  signal: AbortSignal,
): Promise<ApprovalAnswer | undefined> {
  const call = hooks.calls.get(request.callId);
  // Calls of another agent may have the same name.
  if (call?.tool !== request.tool) return undefined;
  const { input, names } = occasion(call, hooks);
  const verdict = await hooks.fire("PermissionRequest", {
    names,
    callId: request.callId,
    signal,
    input: { ...input, message: request.reason },
  });
  if (verdict?.decision === "deny") {
    const { reason: note = "", stop } = verdict;
    return { allow: false, scope: "once", note, by: "hook", ...(stop === undefined ? {} : { stop: true }) };
  }
  if (verdict?.decision !== "allow" || !mayAnswer(request)) return undefined;
  const { updatedInput } = verdict;
  if (updatedInput) hooks.amend(request.callId, ownArguments(call, updatedInput, hooks.run.paths.cwd));
  return { allow: true, scope: "once", by: "hook" };
}

/** A hook never answers what a rule, a destructive command or a protected file asks about. */
function mayAnswer({ why, personOnly, destructive, escape }: ApprovalRequest): boolean {
  return why !== undefined && OPEN.has(why.code) && !personOnly && !destructive && !escape;
}
