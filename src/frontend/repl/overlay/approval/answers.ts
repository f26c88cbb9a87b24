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

/** Returns the answers about a call: yes, yes for this session, always…, no…, and a network. */
export function answersOf(request: ApprovalRequest, style: ApprovalStyle): Answer[] {
  const { approval } = style.texts;
  const { scopes, escape, network, directory } = request;
  const once = escape
    ? approval.unconfined
    : directory !== undefined
    ? approval.directoryYes
    : network
    ? approval.offline
    : approval.once;
  const yes: Answer[] = escape?.enforced
    ? []
    : [{ label: once, key: "y", value: { allow: true, scope: "once" } }];
  const opened: Answer[] = escape && directory !== undefined
    ? [{ label: approval.directorySession(directory), key: "d", value: { allow: true, scope: "session" } }]
    : [];
  const online: Answer[] = network
    ? [{
      label: approval.online(network.hosts.join(", ")),
      key: "w",
      value: { allow: true, scope: "once", network: "once" },
    }]
    : [];
  const lasting = [
    ...hostAnswers(request, approval),
    ...(scopes.includes("session") ? sessionPrefix(request, approval) : []),
    ...(scopes.includes("project") ? forProject(request, approval) : []),
    ...(scopes.includes("always") ? forAlways(request, style) : []),
  ];
  return [
    ...(escape ? [...online, ...opened, ...yes] : [...yes, ...online]),
    ...(scopes.includes("session") && !escape ? [forSession(request, approval)] : []),
    ...(lasting.length > 0 ? [{ label: approval.lasting, key: "a", entries: lasting }] : []),
    {
      label: approval.deny,
      key: "n",
      prompt: approval.note,
      optional: true,
      write: (note) => ({ allow: false, scope: "once", ...(note === "" ? {} : { note }) }),
    },
  ];
}

/** Hosts that stay open; never where they are not known. */
function hostAnswers({ network, savesHosts }: ApprovalRequest, approval: ApprovalTexts): Answer[] {
  const hosts = network?.hosts.join(", ") ?? "";
  if (hosts === "") return [];
  const allow = { allow: true, scope: "once" } as const;
  const session: Answer = {
    label: approval.sessionHosts(hosts),
    key: "r",
    value: { ...allow, network: "session" },
  };
  if (!savesHosts) return [session];
  return [session, {
    label: approval.projectHosts(hosts),
    key: "h",
    value: { ...allow, network: "project" },
    detail: approval.keptOutside,
  }];
}

function forSession({ sessionRule }: ApprovalRequest, approval: ApprovalTexts): Answer {
  const label = sessionRule === undefined
    ? approval.sessionCall
    : sessionRule === "Edit"
    ? approval.sessionEdits
    : approval.session(sessionRule);
  return { label, key: "s", value: { allow: true, scope: "session" } };
}

function sessionPrefix({ prefixRule }: ApprovalRequest, approval: ApprovalTexts): Answer[] {
  if (prefixRule === undefined) return [];
  const value = { allow: true, scope: "session", rule: prefixRule } as const;
  return [{ label: approval.session(prefixRule), key: "s", value }];
}

function forProject({ projectRule = "", prefixRule }: ApprovalRequest, approval: ApprovalTexts): Answer[] {
  const detail = approval.keptOutside;
  const value = { allow: true, scope: "project" } as const;
  const exact: Answer = { label: approval.project(projectRule), key: "p", value, detail };
  if (prefixRule === undefined) return [exact];
  return [exact, { label: approval.project(prefixRule), key: "k", value: { ...value, rule: prefixRule } }];
}

function forAlways(request: ApprovalRequest, style: ApprovalStyle): Answer[] {
  const { approval } = style.texts;
  const { rule, prefixRule, savedIn, why, tool, checkRule } = request;
  const saved = savedIn === undefined ? {} : { detail: approval.savedIn(savedIn) };
  const value = { allow: true, scope: "always" } as const;
  const label = rule === undefined
    ? why?.code === "trust" && approval.alwaysTool(tool)
    : approval.always(rule);
  const answers: Answer[] = label ? [{ label, key: "e", value, ...saved }] : [];
  if (prefixRule !== undefined) {
    answers.push({ label: approval.always(prefixRule), key: "w", value: { ...value, rule: prefixRule } });
  }
  if (rule === undefined || !checkRule) return answers;
  return [...answers, {
    label: approval.editRule,
    key: "o",
    initial: rule,
    write: (text) => ({ ...value, rule: text }),
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
