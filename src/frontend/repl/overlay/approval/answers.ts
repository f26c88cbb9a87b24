import type { ApprovalAnswer } from "../../../../core/mod.ts";
import type { Texts } from "../../../../i18n/mod.ts";
import type { ApprovalRequest, RuleRefusal } from "../../../../permission/mod.ts";
import type { Entry } from "../choice_list.ts";
import type { PanelStyle } from "../choice_panel.ts";

/** What the panel is drawn with. */
export interface ApprovalStyle extends PanelStyle {
  readonly reasons: Texts["reasons"];
}

type ApprovalTexts = ApprovalStyle["texts"]["approval"];
type Answer = Entry<ApprovalAnswer>;

/** The answers that a question about a call leaves open. */
export function answersOf(request: ApprovalRequest, style: ApprovalStyle): Answer[] {
  const { approval } = style.texts;
  const { scopes, escape } = request;
  return [
    { label: escape ? approval.unconfined : approval.once, key: "y", value: { allow: true, scope: "once" } },
    ...(scopes.includes("session") ? forSession(request, approval) : []),
    ...(scopes.includes("project") ? forProject(request, approval) : []),
    ...(scopes.includes("always") ? forAlways(request, style) : []),
    { label: approval.deny, key: "n", value: { allow: false, scope: "once" } },
    { label: approval.note, key: "t", write: (note) => ({ allow: false, scope: "once", note }) },
  ];
}

function forSession({ sessionRule, prefixRule }: ApprovalRequest, approval: ApprovalTexts): Answer[] {
  const label = sessionRule === undefined
    ? approval.sessionCall
    : sessionRule === "Edit"
    ? approval.sessionEdits
    : approval.session(sessionRule);
  const whole: Answer = { label, key: "s", value: { allow: true, scope: "session" } };
  if (prefixRule === undefined) return [whole];
  const value = { allow: true, scope: "session", rule: prefixRule } as const;
  return [whole, { label: approval.session(prefixRule), key: "p", value }];
}

function forProject(
  { projectRule = "", prefixRule }: ApprovalRequest,
  approval: ApprovalTexts,
): Answer[] {
  const exact: Answer = {
    label: approval.project(projectRule),
    key: "h",
    value: { allow: true, scope: "project" },
    detail: approval.keptOutside,
  };
  if (prefixRule === undefined) return [exact];
  const value = { allow: true, scope: "project", rule: prefixRule } as const;
  return [exact, { label: approval.project(prefixRule), key: "k", value }];
}

function forAlways(request: ApprovalRequest, style: ApprovalStyle): Answer[] {
  const { approval } = style.texts;
  const { rule, prefixRule, savedIn, why, tool, checkRule } = request;
  const saved = savedIn === undefined ? {} : { detail: approval.savedIn(savedIn) };
  const label = rule === undefined
    ? why?.code === "trust" && approval.alwaysTool(tool)
    : approval.always(rule);
  const answers: Answer[] = [];
  if (label) answers.push({ label, key: "a", value: { allow: true, scope: "always" }, ...saved });
  if (prefixRule !== undefined) {
    const value = { allow: true, scope: "always", rule: prefixRule } as const;
    answers.push({ label: approval.always(prefixRule), key: "w", value });
  }
  if (rule === undefined || !checkRule) return answers;
  return [...answers, {
    label: approval.editRule,
    key: "e",
    initial: rule,
    write: (text) => ({ allow: true, scope: "always", rule: text }),
    check(text) {
      const refusal = checkRule(text);
      return refusal && refusalText(text, refusal, style);
    },
  }];
}

function refusalText(rule: string, refusal: RuleRefusal, { texts, reasons }: ApprovalStyle): string {
  const { approval } = texts;
  if (refusal.code === "unreadable") {
    return reasons.said(refusal.said, approval.unreadableRule(refusal.message, refusal.remedy));
  }
  if (refusal.code === "noMatch") return approval.ruleElsewhere(rule);
  return approval.widerRule(rule, refusal.widest);
}
