import type { CommandReport } from "../command/evaluate.ts";
import type { PreparedCall } from "../../core/mod.ts";
import type { Decision } from "../contract.ts";
import type { ApprovalRequest, GateOptions, PermissionMode } from "../types.ts";
import type { Evaluation } from "./approval.ts";
import { quoteForMessage } from "./resolve.ts";

/** Whether files stay as they are in this mode. */
export function keepsFiles(mode: PermissionMode): boolean {
  return mode === "read-only" || mode === "plan";
}

/** Whether a call only reads: the tool says so, or every command of the line is a known reader. */
export function readsOnly(call: PreparedCall, report: CommandReport | undefined): boolean {
  return call.command ? report?.readOnly === true : call.readOnly;
}

/**
 * Refuses what is not on the list of commands that run without a jail where files have to stay as they are;
 * `unconfined` says why there is no jail.
 */
export function writerRefusal(
  unconfined: string | undefined,
  { call, subject, report }: Evaluation,
): Decision | undefined {
  if (unconfined === undefined || !call.command || report?.listedReaders) return undefined;
  return {
    decision: "deny",
    source: "mode",
    reason:
      `blocked: ${quoteForMessage(subject)} is not one of the commands that may run where files must not ` +
      `change, and ${unconfined}`,
  };
}

/** What the mode refuses whatever the rules allow, or undefined. */
export function modeRefusal(
  mode: PermissionMode,
  reads: boolean,
  subject: string,
): Decision | undefined {
  if (mode === "plan" && !reads) {
    return {
      decision: "deny",
      source: "plan",
      reason: `blocked: plan mode refuses ${
        quoteForMessage(subject)
      }; only tools and commands known to read run before the plan is approved`,
    };
  }
  if (mode === "read-only" && !reads) {
    return {
      decision: "deny",
      source: "mode",
      reason: `blocked: permission mode read-only refuses ${
        quoteForMessage(subject)
      }; only tools and commands known to read may run`,
    };
  }
  return undefined;
}

/**
 * In plan mode an MCP tool's own claim to be read-only is not believed until the user says so. No approval mode
 * answers this question, and without a person it stays refused.
 */
export function trustQuestion(
  callId: string,
  tool: string,
  options: Pick<GateOptions, "saveTrust">,
  attended: boolean,
): Decision | ApprovalRequest {
  if (!attended) {
    return {
      decision: "deny",
      source: "trust",
      reason: `blocked: plan mode does not trust ${tool} to be read-only, and nobody can be asked; ` +
        `list it in trusted_read_only_tools to let it run`,
    };
  }
  const scopes = options.saveTrust ? ["once", "session", "always"] as const : ["once", "session"] as const;
  const reason = `${tool} says of itself that it only reads; plan mode needs your word for it`;
  return { callId, tool, subject: tool, reason, scopes };
}
