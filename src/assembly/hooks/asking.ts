import type { ApprovalAnswer } from "../../core/mod.ts";
import { ownArguments } from "../../hook/mod.ts";
import type { ApprovalRequest, Approver } from "../../permission/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import { occasion } from "./call_hooks.ts";
import type { RunHooks } from "./run_hooks.ts";

/** Why a person is asked where no rule speaks of the call; what is asked about otherwise is the person's. */
const OPEN: ReadonlySet<string> = new Set(["noRule", "redirects", "unclear", "unreadable", "trust"]);

/** Asks hooks before the person, and tells them that somebody is asked. */
export function approverWithHooks(approver: Approver, hooks: RunHooks): Approver {
  return {
    async ask(request, signal) {
      const answer = await answerOfHooks(request, hooks, signal);
      if (answer) return answer;
      // The run that an agent works for tells that somebody is asked.
      if (hooks.agent) return await approver.ask(request, signal);
      const waiting = notify(
        hooks,
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
export function askerWithHooks(asker: Asker, hooks: RunHooks): Asker {
  return {
    async ask(questions, signal) {
      const waiting = notify(
        hooks,
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

/** Runs the hooks that tell the user of something. */
export async function notify(
  hooks: RunHooks,
  kind: string,
  message: string,
  signal?: AbortSignal,
): Promise<void> {
  await hooks.fire("Notification", {
    names: [kind],
    input: { notification_type: kind, message, title: "Reasonix" },
    ...(signal ? { signal } : {}),
  });
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
  if (updatedInput) hooks.amend(request.callId, ownArguments(call, updatedInput, hooks.assembly.cwd));
  return { allow: true, scope: "once", by: "hook" };
}

/** A hook never answers what a rule, a destructive command or a protected file asks about. */
function mayAnswer({ why, personOnly, destructive, escape }: ApprovalRequest): boolean {
  return why !== undefined && OPEN.has(why.code) && !personOnly && !destructive && !escape;
}
