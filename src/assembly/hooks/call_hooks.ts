import type { CallHooks, CallOpinion } from "../../agent/mod.ts";
import type { PreparedCall } from "../../core/mod.ts";
import {
  hookNote,
  hookToolInput,
  hookToolName,
  hookToolNames,
  type HookVerdict,
  ownArguments,
} from "../../hook/mod.ts";
import type { ToolResult } from "../../tool/mod.ts";
import type { RunHooks } from "./run_hooks.ts";

/** The calls of a run as its hooks see them, whatever the tool and whoever brought it. */
export function callHooks(hooks: RunHooks): CallHooks {
  return {
    async before(call, signal) {
      const { id } = call.call;
      if (hooks.wants("PermissionRequest")) hooks.calls.set(id, call);
      const verdict = await hooks.fire("PreToolUse", { ...occasion(call, hooks), signal });
      return verdict && await opinionOf(hooks, call, verdict);
    },
    async after(call, result, signal) {
      const { id } = call.call;
      hooks.calls.delete(id);
      if (signal.aborted) return undefined;
      const event = result.isError ? "PostToolUseFailure" : "PostToolUse";
      const { input, ...rest } = occasion(call, hooks);
      const verdict = await hooks.fire(event, {
        ...rest,
        signal,
        input: {
          ...input,
          ...(result.isError ? { error: result.content } : {}),
          tool_response: responseOf(call, result),
        },
      });
      if (!verdict) return undefined;
      const { decision, reason = "", contexts, stop } = verdict;
      const said = [...(decision === "deny" ? [reason] : []), ...contexts];
      return {
        notes: said.map((text) => hookNote(event, text)),
        ...(stop === undefined ? {} : { stop: `Stopped by a hook: ${stop}` }),
      };
    },
  };
}

/** What hooks are told of a call, and by which names they may have meant it. */
export function occasion(call: PreparedCall, { assembly: { cwd } }: RunHooks) {
  return {
    names: hookToolNames(call),
    callId: call.call.id,
    input: {
      tool_name: hookToolName(call.tool),
      tool_input: hookToolInput(call, cwd),
      tool_use_id: call.call.id,
    },
  };
}

async function opinionOf(hooks: RunHooks, call: PreparedCall, verdict: HookVerdict): Promise<CallOpinion> {
  const { decision, reason = "", stop, updatedInput, contexts } = verdict;
  const notes = contexts.map((text) => hookNote("PreToolUse", text));
  if (stop !== undefined) {
    return { notes, stop: `Stopped by a hook: ${stop}`, ...await refuse(hooks, call, stop) };
  }
  if (decision === "deny") {
    return { notes, ...await refuse(hooks, call, `a hook refuses this call: ${reason}`) };
  }
  if (decision === "defer") {
    const why = `a hook leaves this call to the user: ${reason}`;
    return {
      notes,
      ...await refuse(hooks, call, `${why}; it was not executed`),
      stop: `Stopped, since ${why}`,
    };
  }
  return {
    notes,
    ...(updatedInput ? { arguments: ownArguments(call, updatedInput, hooks.assembly.cwd) } : {}),
    ...(decision === undefined ? {} : { word: { word: decision, reason: askReason(reason) } }),
  };
}

async function refuse(hooks: RunHooks, call: PreparedCall, reason: string): Promise<{ deny: string }> {
  const { id } = call.call;
  hooks.calls.delete(id);
  await hooks.record({ type: "approval.decision", callId: id, decision: "deny", source: "hook", reason });
  return { deny: reason };
}

function askReason(reason: string): string {
  return reason === "" ? "a hook asks about it" : `a hook asks about it: ${reason}`;
}

/** Characters of a result that hooks get. */
const MAX_RESPONSE = 1 << 20;

/** The result in our words, and in those that hooks for commands and files expect. */
function responseOf({ family, writes = [] }: PreparedCall, result: ToolResult): Record<string, unknown> {
  const content = result.content.slice(0, MAX_RESPONSE).toWellFormed();
  const { exitCode } = result;
  return {
    content,
    is_error: result.isError === true,
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(family === "Bash" ? { stdout: content, stderr: "", interrupted: false } : {}),
    ...(family === "Edit"
      ? { filePath: result.changes?.[0]?.path ?? writes[0], success: !result.isError }
      : {}),
  };
}
