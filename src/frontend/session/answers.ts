import { type ApprovalAnswer, clauses } from "../../core/mod.ts";
import type { Texts, Translator } from "../../i18n/mod.ts";
import type { RuleRefusal } from "../../permission/mod.ts";
import type { PlanAnswer, PlanProposal } from "../../run/mod.ts";
import type { Question } from "../../tool/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { grouped } from "../../view/mod.ts";
import type { AnswerEntry, ApprovalQuestion, OpenQuestion } from "./questions.ts";

/** The texts of approvals, and the check of a rule that the user writes. */
export interface ApprovalWording {
  readonly texts: { readonly approval: Texts["overlay"]["approval"] };
  readonly translator: Pick<Translator, "text">;
  /** Returns the problem with a rule that the user wrote; absent: they cannot write one. */
  readonly checkRule?: ((rule: string) => RuleRefusal | undefined) | undefined;
}

type ApprovalTexts = ApprovalWording["texts"]["approval"];
type Answer = AnswerEntry<ApprovalAnswer>;

/** Returns the answers about a call: yes, yes for this session, always…, no…, and a network. */
export function approvalAnswers(request: ApprovalQuestion, wording: ApprovalWording): Answer[] {
  const { approval } = wording.texts;
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
    ...(scopes.includes("always") ? forAlways(request, wording) : []),
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

/** Answers that allow hosts for longer; none where the hosts are unknown. */
function hostAnswers({ network, savesHosts }: ApprovalQuestion, approval: ApprovalTexts): Answer[] {
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

function forSession({ sessionRule }: ApprovalQuestion, approval: ApprovalTexts): Answer {
  const label = sessionRule === undefined
    ? approval.sessionCall
    : sessionRule === "Edit"
    ? approval.sessionEdits
    : approval.session(sessionRule);
  return { label, key: "s", value: { allow: true, scope: "session" } };
}

function sessionPrefix({ prefixRule }: ApprovalQuestion, approval: ApprovalTexts): Answer[] {
  if (prefixRule === undefined) return [];
  const value = { allow: true, scope: "session", rule: prefixRule } as const;
  return [{ label: approval.session(prefixRule), key: "s", value }];
}

function forProject({ projectRule = "", prefixRule }: ApprovalQuestion, approval: ApprovalTexts): Answer[] {
  const detail = approval.keptOutside;
  const value = { allow: true, scope: "project" } as const;
  const exact: Answer = { label: approval.project(projectRule), key: "p", value, detail };
  if (prefixRule === undefined) return [exact];
  return [exact, { label: approval.project(prefixRule), key: "k", value: { ...value, rule: prefixRule } }];
}

function forAlways(request: ApprovalQuestion, wording: ApprovalWording): Answer[] {
  const { approval } = wording.texts;
  const { rule, prefixRule, savedIn, readOnlyClaim, tool } = request;
  const saved = savedIn === undefined ? {} : { detail: approval.savedIn(savedIn) };
  const value = { allow: true, scope: "always" } as const;
  const label = rule === undefined ? readOnlyClaim && approval.alwaysTool(tool) : approval.always(rule);
  const answers: Answer[] = label ? [{ label, key: "e", value, ...saved }] : [];
  if (prefixRule !== undefined) {
    answers.push({ label: approval.always(prefixRule), key: "w", value: { ...value, rule: prefixRule } });
  }
  const { checkRule } = wording;
  if (rule === undefined || !checkRule) return answers;
  return [...answers, {
    label: approval.editRule,
    key: "o",
    initial: rule,
    write: (text) => ({ ...value, rule: text }),
    check(text) {
      const refusal = checkRule(text);
      return refusal && refusalText(text, refusal, wording);
    },
  }];
}

/** The problem with a rule, for the user who wrote it. */
export function refusalText(
  rule: string,
  refusal: RuleRefusal,
  { texts, translator }: ApprovalWording,
): string {
  const { approval } = texts;
  if (refusal.code === "unreadable") {
    return translator.text(clauses(refusal.texts));
  }
  if (refusal.code === "noMatch") return approval.ruleElsewhere(rule);
  return approval.widerRule(rule, refusal.widest);
}

/** An answer about a plan; "leave" decides nothing. */
export type PlanChoice = PlanAnswer | "leave";

type PlanTexts = Texts["overlay"]["plan"];

/** The answers about a plan, least permissive first. */
export function planEntries(texts: PlanTexts): AnswerEntry<PlanChoice>[] {
  return [
    { label: texts.asking, key: "y", value: { approve: true } },
    { label: texts.yes, key: "w", value: { approve: true, window: true } },
    { label: texts.edits, key: "e", value: { approve: true, window: true, acceptEdits: true } },
    {
      label: texts.deny,
      key: "n",
      prompt: texts.note,
      optional: true,
      write: (note) => note === "" ? "leave" : { approve: false, note },
    },
  ];
}

/** The question about a call, and the reason for it. */
export function approvalTitle(
  { agent, destructive, directory, escape, reason, tool }: ApprovalQuestion,
  { texts: { approval }, translator }: ApprovalWording,
): string {
  // Sandbox and destructive findings are shown below, in full.
  const whose = agent === undefined ? "" : `${oneLine(agent, 80)} › `;
  if (escape?.network) return whose + approval.escapeOnline;
  if (escape) return whose + (directory === undefined ? approval.escape : approval.escapeDirectory);
  if (directory !== undefined) return whose + approval.directory;
  if (destructive) return whose + approval.destructive;
  const question = whose + (tool === "bash" ? approval.run : approval.allow(tool));
  return reason === "" ? question : `${question}\n${translator.text(reason)}`;
}

/** Maximum characters of a call; laying out more would block the chat. */
export const MAX_SHOWN = 100_000;

/** Reports whether a part of the call is not shown. */
function isTooLong({ subject, rest = "" }: ApprovalQuestion): boolean {
  return Math.max(subject.length, rest.length) > MAX_SHOWN;
}

/** Enter alone must not approve the call: it cannot be taken back, or a part of it is not shown. */
export function isRisky(request: ApprovalQuestion): boolean {
  const { destructive, escape, directory } = request;
  return destructive !== undefined || escape !== undefined || directory !== undefined || isTooLong(request);
}

/** A reason why a call is destructive, or one of its targets. */
interface Finding {
  readonly text: string;
  readonly isTarget: boolean;
}

const MAX_TARGETS = 10;
/** Maximum characters of a finding; the call is shown in full. */
const MAX_FINDING = 1000;

export function findingsOf(
  { subject, destructive = [] }: ApprovalQuestion,
  { texts: { approval }, translator }: ApprovalWording,
): Finding[] {
  return destructive.flatMap(({ command, targets, reason: found }) => {
    const reason = translator.text(found);
    // Most reasons name their targets.
    const unnamed = targets.filter(({ path }) => !reason.includes(path));
    const more = unnamed.length - MAX_TARGETS;
    return [
      command.trim() === subject.trim() ? reason : `${shortened(command)}: ${reason}`,
      ...unnamed.slice(0, MAX_TARGETS).map(({ path, files, more = false }) =>
        files === undefined ? path : `${path} · ${approval.files(grouped(files), more)}`
      ),
      ...(more > 0 ? [approval.moreTargets(more)] : []),
    ].map((text, index) => ({ text: shortened(text), isTarget: index > 0 }));
  });
}

function shortened(text: string): string {
  return text.length > MAX_FINDING ? `${text.slice(0, MAX_FINDING)}…` : text;
}

/** The change of a plan before it is executed. */
export function planChange({ plan }: PlanProposal, texts: PlanTexts): AnswerEntry<PlanAnswer> {
  return {
    label: texts.change,
    key: "c",
    initial: plan,
    check: (text) => text === "" ? texts.empty : undefined,
    write: (text) => ({ approve: true, plan: text }),
  };
}

/** The options of a question of the model, and always a custom answer. */
export function optionsOf(
  { options, written }: Question,
  texts: Texts["overlay"]["ask"],
): AnswerEntry<readonly string[]>[] {
  const chosen = options.map(({ label, description }) => ({
    label,
    value: [label],
    ...(description === undefined ? {} : { detail: description }),
  }));
  const custom = { label: written ? texts.writeIt : texts.ownWords, write: (text: string) => [text] };
  return written ? [custom, ...chosen] : [...chosen, custom];
}

/** A question as title and answers, for front ends that show each kind in the same way. */
export interface QuestionForm {
  readonly title: string;
  readonly tone?: "danger" | "warning" | undefined;
  readonly entries: readonly AnswerEntry<unknown>[];
  /** The entry to begin with: Enter alone does nothing that cannot be taken back. */
  readonly current?: number | undefined;
  /** Typing filters the entries. */
  readonly filter?: boolean | undefined;
  /** Several entries are marked and sent together. */
  readonly multiple?: boolean;
  /** The person writes a text, in place of entries. */
  readonly writes?: WrittenAnswer;
}

export type WrittenAnswer = Extract<AnswerEntry<unknown>, { readonly write: unknown }> & {
  readonly secret?: true | undefined;
};

interface FormTexts {
  readonly overlay: Texts["overlay"];
  readonly chat: Pick<Texts["chat"], "busy">;
  readonly of: Translator["text"];
}

/** `at` is the number of questions of one call that are answered. */
export function formOf(
  { kind, question }: OpenQuestion,
  at: number,
  { overlay, chat, of: text }: FormTexts,
): QuestionForm {
  const yesNo = [{ label: overlay.yes, key: "y", value: true }, {
    label: overlay.no,
    key: "n",
    value: false,
  }];
  switch (kind) {
    case "approval": {
      // The rule that the person writes is checked where the question was asked.
      const checkRule = question.checksRule && (() => undefined);
      const wording = { texts: overlay, translator: { text }, checkRule };
      const entries = approvalAnswers(question, wording);
      const tone = question.destructive ? "danger" : question.escape ? "warning" : undefined;
      const current = isRisky(question) ? entries.length - 1 : 0;
      return { title: approvalTitle(question, wording), tone, entries, current };
    }
    case "ask": {
      const asked = question.questions[at];
      if (!asked) return { title: "", entries: [] };
      const all = question.questions.length;
      const title = all > 1 ? `${asked.question}\n${overlay.ask.of(at + 1, all)}` : asked.question;
      return { title, entries: optionsOf(asked, overlay.ask), multiple: asked.multiple };
    }
    case "plan": {
      const entries = planEntries(overlay.plan);
      return {
        title: overlay.plan.title,
        entries: entries.toSpliced(-1, 0, planChange(question, overlay.plan)),
      };
    }
    case "trust": {
      const { title, later, all } = overlay.trust;
      const entries = [{ label: later, key: "n", value: "ignore" }, { label: all, key: "t", value: "trust" }];
      return { title, tone: "warning", entries };
    }
    case "copy":
      return { title: chat.busy(question.pid), entries: yesNo };
    case "choose": {
      const { title, entries, current, filter } = question;
      const choices = entries.map(({ preview: _, ...entry }, value) => ({ ...entry, value }));
      return { title, entries: choices, current, filter };
    }
    case "confirm": {
      const { title, danger } = question;
      return { title, entries: yesNo, ...(danger ? { tone: "danger", current: 1 } : {}) };
    }
    case "prompt": {
      const { title, initial, secret } = question;
      return { title, entries: [], writes: { label: title, initial, secret, write: String } };
    }
    default:
      return { title: question.title, entries: [] };
  }
}
