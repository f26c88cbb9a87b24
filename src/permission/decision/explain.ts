import type { PreparedCall } from "../../core/mod.ts";
import type { CommandReport } from "../command/evaluate.ts";
import type { Decision } from "../contract.ts";
import type { Verdict } from "../policy.ts";
import type { ApprovalRequest, Explanation } from "../types.ts";

interface Explained {
  readonly call: PreparedCall;
  readonly subject: string;
  readonly verdict: Verdict;
  readonly report?: CommandReport;
}

/** Puts together what was found about a call. `headless` is what happens to it when nobody can be asked. */
export function explainOutcome(
  evaluation: Explained,
  outcome: Decision | ApprovalRequest,
  headless: "allow" | "deny",
  proposal: { rule?: string; prefixRule?: string },
): Explanation {
  const { call: { tool }, subject, verdict, report } = evaluation;
  const asks = "scopes" in outcome;
  const destructive = report?.destructive ?? [];
  const asker = destructive.length > 0 ? "floor" : verdict.by === "fallback" ? "mode" : "rule";
  const rule = verdict.rule;
  return {
    tool,
    subject,
    decision: asks ? "ask" : outcome.decision,
    source: asks ? asker : outcome.source,
    reason: outcome.reason ?? verdict.reason,
    ...(rule === undefined ? {} : { rule: `${rule.list} ${rule.text}` }),
    ...(rule?.source.origin === undefined ? {} : { origin: rule.source.origin }),
    headless,
    segments: report?.segments ?? [],
    ...(report?.unparsable === undefined ? {} : { unparsable: report.unparsable }),
    destructive,
    ...(proposal.rule === undefined ? {} : { always: proposal.rule }),
    ...(proposal.prefixRule === undefined ? {} : { alwaysPrefix: proposal.prefixRule }),
  };
}
