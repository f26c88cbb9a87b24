import type { Decision } from "../contract.ts";
import type { Verdict } from "../policy.ts";
import type { ApprovalMode, GateOptions, PermissionMode } from "../types.ts";

/** What besides the rules decides whether somebody is asked. */
export interface DecisionContext {
  readonly approvalMode: ApprovalMode;
  readonly permissionMode: PermissionMode;
  readonly approvedPlan: boolean;
  readonly mode: "ask" | "allow" | "deny";
  readonly onAsk: GateOptions["onAsk"];
  readonly attended: boolean;
}

/** Shortens what is quoted in a refusal. */
export function quoteForMessage(subject: string): string {
  const line = subject.replace(/\s+/g, " ").trim();
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 117)}…` : line);
}

/** Whether approvals are given without asking, as far as no denial is at stake. */
function approvesAll(context: DecisionContext): boolean {
  return context.approvalMode === "yolo" || context.approvedPlan ||
    context.permissionMode === "danger-full-access";
}

/** Turns a verdict into a decision, or `ask` when it needs a person and there is one. */
export function resolveDecision(
  verdict: Verdict,
  subject: string,
  context: DecisionContext,
): Decision | "ask" {
  const rule = verdict.rule ? { rule: `${verdict.rule.list} ${verdict.rule.text}` } : {};
  if (verdict.outcome === "deny") return ruleDenial(verdict, subject);
  if (verdict.outcome === "allow") {
    return { decision: "allow", source: verdict.by === "rule" ? "rule" : "mode", ...rule };
  }
  switch (verdict.by) {
    case "fallback":
      return fallback(subject, context);
    case "unsure":
      return unsure(verdict, subject, context);
    case "protected":
      if (approvesAll(context)) return { decision: "allow", source: "mode" };
      return context.attended ? "ask" : {
        decision: "deny",
        source: "headless",
        reason: `blocked: ${
          quoteForMessage(subject)
        } would change ${verdict.reason}, and nobody can be asked; leave it to the user`,
      };
    case "alwaysAsk":
      return context.attended ? "ask" : unattendedAlways(verdict, subject, context);
    case "rule":
      if (approvesAll(context)) return { decision: "allow", source: "mode", ...rule };
      return context.attended ? "ask" : unattended(subject, context, rule);
  }
}

function ruleDenial(verdict: Verdict, subject: string): Decision {
  const text = verdict.rule ? `deny ${verdict.rule.text}` : verdict.reason;
  const origin = verdict.rule?.source.origin === undefined ? "" : ` (${verdict.rule.source.origin})`;
  return {
    decision: "deny",
    source: "rule",
    rule: text,
    reason: `blocked: permission rule ${text}${origin} forbids ${
      quoteForMessage(subject)
    }; do not try the same in another form`,
  };
}

function fallback(subject: string, context: DecisionContext): Decision | "ask" {
  if (context.mode === "deny") {
    return {
      decision: "deny",
      source: "mode",
      reason: `blocked: [permissions] mode = "deny" refuses ${
        quoteForMessage(subject)
      }; only what an allow rule names may run`,
    };
  }
  if (context.mode === "allow" || context.approvalMode === "auto" || approvesAll(context)) {
    return { decision: "allow", source: "mode" };
  }
  return context.attended ? "ask" : unattended(subject, context, {});
}

/**
 * A deny rule binds in every approval mode, so a call it may concern is asked about even where nothing else is; with nobody to ask
 * it is refused, unless `--on-ask` says what to do with what cannot be known.
 */
function unsure(verdict: Verdict, subject: string, context: DecisionContext): Decision | "ask" {
  const binding = verdict.rule?.list === "deny";
  if (!binding && approvesAll(context)) return { decision: "allow", source: "mode" };
  if (context.attended) return "ask";
  const rule = verdict.rule ? { rule: `${verdict.rule.list} ${verdict.rule.text}` } : {};
  if (!binding || context.onAsk !== undefined) return unattended(subject, context, rule);
  return {
    decision: "deny",
    source: "rule",
    ...rule,
    reason: `blocked: ${
      quoteForMessage(subject)
    }: ${verdict.reason}, and nobody can be asked; write the command out plainly`,
  };
}

/** What a person is asked about each time stays refused unless a rule names the tool or `--on-ask` was given. */
function unattendedAlways(verdict: Verdict, subject: string, context: DecisionContext): Decision {
  const { rule } = verdict;
  if (rule?.list === "allow" && rule.tool !== "*") {
    return { decision: "allow", source: "rule", rule: `allow ${rule.text}` };
  }
  if (context.onAsk !== undefined) return unattended(subject, context, {});
  return {
    decision: "deny",
    source: "headless",
    reason: `blocked: ${quoteForMessage(subject)} is asked about each time and nobody can be asked; ` +
      "an allow rule for the tool or --on-ask allow permits it",
  };
}

function unattended(subject: string, context: DecisionContext, rule: { rule?: string }): Decision {
  const { onAsk = "allow" } = context;
  if (onAsk === "allow") return { decision: "allow", source: "headless", ...rule };
  const why = `blocked: ${
    quoteForMessage(subject)
  } needs an approval and nobody can be asked (--on-ask ${onAsk})`;
  const base = { decision: "deny", source: "headless", ...rule } as const;
  return onAsk === "fail"
    ? { ...base, reason: why, stop: true }
    : { ...base, reason: `${why}; find another way` };
}
