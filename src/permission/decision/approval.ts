import type { ApprovalAnswer, PreparedCall } from "../../core/mod.ts";
import type { CommandReport } from "../command/evaluate.ts";
import type { Decision, DecisionSource } from "../contract.ts";
import type { Verdict } from "../policy.ts";
import type { ApprovalRequest, DecisionEvent, GateOptions } from "../types.ts";
import { quoteForMessage } from "./resolve.ts";

/** Everything known about one call before anybody is asked. */
export interface Evaluation {
  readonly call: PreparedCall;
  readonly subject: string;
  readonly verdict: Verdict;
  readonly report?: CommandReport;
  /** Folder a command runs in. */
  readonly folder?: string;
}

/** What identifies a call that was approved for the session as it is. */
export function exactKey({ call, subject, folder = "" }: Evaluation): string {
  const { tool, args, command, reads, writes = [] } = call;
  const what = command || reads.length + writes.length > 0 ? subject : JSON.stringify(args);
  return [tool, folder, what].join("\0");
}

/** Asks once, each time, about a destructive command; without a person it refuses. */
export function destructiveQuestion(evaluation: Evaluation, attended: boolean): Decision | ApprovalRequest {
  const { call: { call, tool }, subject, report } = evaluation;
  const destructive = report?.destructive ?? [];
  const reason = destructive.map((finding) => finding.reason).join("; ");
  if (attended) return { callId: call.id, tool, subject, reason, scopes: ["once"], destructive };
  return {
    decision: "deny",
    source: "floor",
    reason: `blocked: the destructive-command check refuses ${
      quoteForMessage(subject)
    } because nobody can confirm it: ${reason}`,
  };
}

export function plainQuestion(
  evaluation: Evaluation,
  proposal: { rule?: string; prefixRule?: string },
): ApprovalRequest {
  const { call: { call, tool }, subject, verdict } = evaluation;
  const wide = proposal.rule === undefined
    ? ["once", "session"] as const
    : ["once", "session", "always"] as const;
  return {
    callId: call.id,
    tool,
    subject,
    reason: verdict.by === "protected" ? `would change ${verdict.reason}` : verdict.reason,
    scopes: verdict.by === "alwaysAsk" ? ["once"] : wide,
    ...(verdict.by === "alwaysAsk" ? {} : proposal),
  };
}

type Desk = Pick<GateOptions, "approver" | "record">;

/** Puts a question to the person and records question and answer. `granted` runs before an allowance is recorded. */
export async function askPerson(
  desk: Desk,
  request: ApprovalRequest,
  signal: AbortSignal,
  granted: (answer: ApprovalAnswer) => Promise<void>,
): Promise<Decision> {
  if (!desk.approver) throw new Error("Cannot ask without an approver");
  const { callId, tool, subject, reason, rule } = request;
  const event: DecisionEvent = { type: "approval.request", callId, tool, subject, reason };
  await desk.record(rule === undefined ? event : { ...event, rule });
  signal.throwIfAborted();
  const answer = await desk.approver.ask(request, signal);
  if (answer.allow) await granted(answer);
  const note = answer.note ? `: ${answer.note}` : "";
  const decision: Decision = answer.allow ? { decision: "allow", source: "user" } : {
    decision: "deny",
    source: "user",
    reason: `blocked: the user declined ${quoteForMessage(subject)}${note}`,
  };
  await recordDecision(desk, callId, decision);
  return decision;
}

export function recordDecision(desk: Desk, callId: string, decision: Decision): void | Promise<void> {
  const { stop: _, ...fields } = decision;
  return desk.record({ type: "approval.decision", callId, ...fields });
}

/** A question beyond the call itself, such as running it without the jail. Nobody but a person answers it. */
export async function confirmOnce(
  desk: Desk,
  question: { callId: string; tool: string; subject: string; reason: string; source: DecisionSource },
  signal: AbortSignal,
): Promise<Decision> {
  const { source, ...request } = question;
  if (desk.approver) {
    return await askPerson(desk, { ...request, scopes: ["once"] }, signal, () => Promise.resolve());
  }
  const reason = `blocked: ${quoteForMessage(request.subject)} ${request.reason}, and nobody can be asked`;
  const decision: Decision = { decision: "deny", source, reason };
  await recordDecision(desk, request.callId, decision);
  return decision;
}
