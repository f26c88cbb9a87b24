import type { Decision } from "./gate.ts";
import type { Verdict } from "./policy.ts";
import type { GateOptions, PermissionMode, Posture } from "./ports.ts";

/** What besides the rules decides whether somebody is asked. */
export interface Stance {
  readonly posture: Posture;
  readonly permissionMode: PermissionMode;
  readonly approvedPlan: boolean;
  readonly mode: "ask" | "allow" | "deny";
  readonly onAsk: GateOptions["onAsk"];
  readonly attended: boolean;
}

/** Shortens what is quoted in a refusal. */
export function cite(subject: string): string {
  const line = subject.replace(/\s+/g, " ").trim();
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 117)}…` : line);
}

/** Whether approvals are given without asking, as far as no denial is at stake. */
function approvesAll(stance: Stance): boolean {
  return stance.posture === "yolo" || stance.approvedPlan || stance.permissionMode === "danger-full-access";
}

/** Turns a verdict into a decision, or `ask` when it needs a person and there is one. */
export function settleVerdict(verdict: Verdict, subject: string, stance: Stance): Decision | "ask" {
  const rule = verdict.rule ? { rule: `${verdict.rule.list} ${verdict.rule.text}` } : {};
  if (verdict.outcome === "deny") return ruleDenial(verdict, subject);
  if (verdict.outcome === "allow") {
    return { decision: "allow", source: verdict.by === "rule" ? "rule" : "mode", ...rule };
  }
  switch (verdict.by) {
    case "fallback":
      return fallback(subject, stance);
    case "unsure":
      return unsure(verdict, subject, stance);
    case "protected":
      if (approvesAll(stance)) return { decision: "allow", source: "mode" };
      return stance.attended ? "ask" : {
        decision: "deny",
        source: "headless",
        reason: `blocked: ${
          cite(subject)
        } would change ${verdict.reason}, and nobody can be asked; leave it to the user`,
      };
    case "alwaysAsk":
      return stance.attended ? "ask" : unattendedAlways(verdict, subject, stance);
    case "rule":
      if (approvesAll(stance)) return { decision: "allow", source: "mode", ...rule };
      return stance.attended ? "ask" : unattended(subject, stance, rule);
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
      cite(subject)
    }; do not try the same in another form`,
  };
}

function fallback(subject: string, stance: Stance): Decision | "ask" {
  if (stance.mode === "deny") {
    return {
      decision: "deny",
      source: "mode",
      reason: `blocked: [permissions] mode = "deny" refuses ${
        cite(subject)
      }; only what an allow rule names may run`,
    };
  }
  if (stance.mode === "allow" || stance.posture === "auto" || approvesAll(stance)) {
    return { decision: "allow", source: "mode" };
  }
  return stance.attended ? "ask" : unattended(subject, stance, {});
}

/** A deny rule binds in every posture, so a call it may concern is asked about even where nothing else is. */
function unsure(verdict: Verdict, subject: string, stance: Stance): Decision | "ask" {
  const binding = verdict.rule?.list === "deny";
  if (!binding && approvesAll(stance)) return { decision: "allow", source: "mode" };
  if (stance.attended) return "ask";
  const rule = verdict.rule ? { rule: `${verdict.rule.list} ${verdict.rule.text}` } : {};
  if (!binding) return unattended(subject, stance, rule);
  return {
    decision: "deny",
    source: "rule",
    ...rule,
    reason: `blocked: ${
      cite(subject)
    }: ${verdict.reason}, and nobody can be asked; write the command out plainly`,
  };
}

/** What a person is asked about each time stays refused unless a rule names the tool or `--on-ask` was given. */
function unattendedAlways(verdict: Verdict, subject: string, stance: Stance): Decision {
  const { rule } = verdict;
  if (rule?.list === "allow" && rule.tool !== "*") {
    return { decision: "allow", source: "rule", rule: `allow ${rule.text}` };
  }
  if (stance.onAsk !== undefined) return unattended(subject, stance, {});
  return {
    decision: "deny",
    source: "headless",
    reason: `blocked: ${cite(subject)} is asked about each time and nobody can be asked; ` +
      "an allow rule for the tool or --on-ask allow permits it",
  };
}

function unattended(subject: string, stance: Stance, rule: { rule?: string }): Decision {
  const { onAsk = "allow" } = stance;
  if (onAsk === "allow") return { decision: "allow", source: "headless", ...rule };
  const why = `blocked: ${cite(subject)} needs an approval and nobody can be asked (--on-ask ${onAsk})`;
  const base = { decision: "deny", source: "headless", ...rule } as const;
  return onAsk === "fail"
    ? { ...base, reason: why, stop: true }
    : { ...base, reason: `${why}; find another way` };
}
