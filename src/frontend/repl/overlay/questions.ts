import type { PlanAnswer, PlanProposal } from "../../../run/mod.ts";
import type { ChangedFile } from "../../../command/mod.ts";
import { type ApprovalAnswer, clauses } from "../../../core/mod.ts";
import { exactLine, exactRows, nameUnseen, wordRows } from "./exact_text.ts";
import type { PanelOptions, PanelStyle } from "./panel.ts";
import { rowsOfLine } from "../screen/line.ts";
import type {
  AnswerEntry,
  ApprovalQuestion,
  OpenQuestion,
  QuestionInLines,
} from "../../session/questions.ts";
import type { Texts, Translator } from "../../../i18n/mod.ts";
import type { RuleRefusal } from "../../../permission/mod.ts";
import { NO_RULE } from "../../../rule/mod.ts";
import type { Question } from "../../../tool/mod.ts";
import { displayWidth } from "../../../util/display_width.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import {
  diffLines,
  type DiffMarks,
  grouped,
  lineFigures,
  loadDiffMarks,
  type Palette,
} from "../../../view/mod.ts";

/** Maximum lines of one diff; laying out more would block the chat. */
const MAX_LINES = 20_000;

/** Lets the user read the changes of files until they leave. */
export async function lookAtChanges(
  ask: <T>(options: PanelOptions<T>) => Promise<T | undefined>,
  { title, files }: OpenQuestion<"changes">["question"],
  { palette, texts }: PanelStyle,
): Promise<void> {
  const marks = await loadDiffMarks(palette);
  let at = 0;
  while (true) {
    const chosen = files.length === 1 ? 0 : await ask({
      title,
      entries: files.map((file, value) => ({ ...entryOf(file), value })),
      current: at,
      reading: true,
    });
    const file = chosen === undefined ? undefined : files[chosen];
    if (!file) return;
    at = chosen ?? 0;
    const { diff } = file;
    const { label, detail } = entryOf(file);
    const cut = { lines: MAX_LINES, more: texts.moreLines };
    await ask({
      title: `${label}\n${detail}`,
      body: (columns) =>
        diff === undefined
          ? wordRows(texts.noText, columns, palette.warning)
          : diffRows(diff, columns, { palette, marks, cut }),
    });
    if (files.length === 1) return;
  }
}

function entryOf({ path, what, added, removed, diff }: ChangedFile): { label: string; detail: string } {
  return { label: path, detail: diff === undefined ? what : `${what} ${lineFigures({ added, removed })}` };
}

interface DiffRowsOptions {
  readonly palette: Palette;
  /** Marks within the lines; without them whole lines are colored. */
  readonly marks?: DiffMarks | undefined;
  /** Maximum lines, and the text about the rest; absent: no limit. */
  readonly cut?: { readonly lines: number; readonly more: (lines: number) => string };
}

/** A unified diff as rows, with line numbers; long lines are wrapped and nothing is hidden. */
function diffRows(diff: string, columns: number, { palette, marks, cut }: DiffRowsOptions): string[] {
  return diffLines(nameUnseen(diff), {
    palette,
    marks,
    maxLines: cut?.lines ?? Infinity,
    more: cut?.more ?? (() => ""),
    fit: (line) => line,
  }).flatMap((line) => rowsOfLine(line, columns));
}

/** Characters of a question above its answers; a longer one is scrolled. */
const MAX_TITLE = 200;

/** A question of the model: its options, and always a custom answer. */
export function questionPanel(
  { question, options, multiple, written }: Question,
  { at, of }: { readonly at: number; readonly of: number },
  texts: Texts["overlay"]["ask"],
): PanelOptions<readonly string[]> {
  const chosen = options.map(({ label, description }) => ({
    label,
    value: [label],
    ...(description === undefined ? {} : { detail: description }),
  }));
  const custom = { label: written ? texts.writeIt : texts.ownWords, write: (text: string) => [text] };
  const entries = written ? [custom, ...chosen] : [...chosen, custom];
  const [first = "", ...rest] = question.split("\n");
  const isLong = first.length > MAX_TITLE;
  const body = isLong ? question : rest.join("\n");
  const title = isLong ? `${first.slice(0, MAX_TITLE)}…` : first;
  return {
    title: of > 1 ? `${title}\n${texts.of(at, of)}` : title,
    entries,
    // Enter alone gives no custom answer.
    ...(body === "" ? {} : { body, unseen: entries.indexOf(custom) }),
    ...(multiple ? { multiple: (values: readonly (readonly string[])[]) => values.flat() } : {}),
  };
}

type TrustAnswer = "trust" | "ignore" | "look";

/** The question about repository content; each line gets a bullet. */
export function trustPanel(
  lines: readonly string[],
  { title, later, all, details }: Texts["overlay"]["trust"],
  palette: Palette,
): PanelOptions<TrustAnswer> {
  return {
    title,
    tone: "warning",
    body: (columns) =>
      lines.join("\n").split("\n").flatMap((line) =>
        wordRows(line, columns - 2, palette.warning).map((row, index) => `${index === 0 ? "• " : "  "}${row}`)
      ),
    entries: [
      { label: later, key: "n", value: "ignore" },
      { label: all, key: "t", value: "trust" },
      { label: details, key: "d", value: "look" },
    ],
  };
}

/** An answer about a plan; "leave" decides nothing. */
type PlanChoice = PlanAnswer | "leave";

type PlanTexts = Texts["overlay"]["plan"];

/** The question about a plan; its text is in the transcript. */
export function planTitle({ title, isAbove }: PlanTexts): string {
  return `${title}\n${isAbove}`;
}

/** A longer plan has probably scrolled off the screen. */
const SHORT_PLAN = { lines: 15, characters: 1500 };

/** Reports whether the user may not have seen all of a plan. */
export function isLongPlan({ plan }: PlanProposal): boolean {
  return plan.length > SHORT_PLAN.characters || plan.split("\n").length > SHORT_PLAN.lines;
}

/** Its answers for a line-based terminal, least permissive first. */
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

/** The question in a panel, where a plan can be changed, and a long one read again. */
export function planPanel(
  proposal: PlanProposal,
  texts: PlanTexts,
  isRead: boolean,
): PanelOptions<PlanChoice | "look"> {
  const answers = planEntries(texts);
  const entries: AnswerEntry<PlanChoice | "look">[] = [
    ...answers.slice(0, 3),
    {
      label: texts.change,
      key: "c",
      initial: proposal.plan,
      check: (text) => text === "" ? texts.empty : undefined,
      write: (text) => ({ approve: true, plan: text }),
    },
    ...(isLongPlan(proposal) ? [{ label: texts.look, key: "v", value: "look" } as const] : []),
    ...answers.slice(3),
  ];
  const look = entries.findIndex((entry) => "value" in entry && entry.value === "look");
  return { title: planTitle(texts), entries, current: isRead ? 0 : look };
}

export interface ApprovalStyle extends PanelStyle {
  readonly translator: Translator;
  /** Returns the problem with a rule that the user wrote; absent: they cannot write one. */
  readonly checkRule?: ((rule: string) => RuleRefusal | undefined) | undefined;
}

type ApprovalTexts = ApprovalStyle["texts"]["approval"];
type Answer = AnswerEntry<ApprovalAnswer>;

/** Returns the answers about a call: yes, yes for this session, always…, no…, and a network. */
function answersOf(request: ApprovalQuestion, style: ApprovalStyle): Answer[] {
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

function forAlways(request: ApprovalQuestion, style: ApprovalStyle): Answer[] {
  const { approval } = style.texts;
  const { rule, prefixRule, savedIn, readOnlyClaim, tool } = request;
  const saved = savedIn === undefined ? {} : { detail: approval.savedIn(savedIn) };
  const value = { allow: true, scope: "always" } as const;
  const label = rule === undefined ? readOnlyClaim && approval.alwaysTool(tool) : approval.always(rule);
  const answers: Answer[] = label ? [{ label, key: "e", value, ...saved }] : [];
  if (prefixRule !== undefined) {
    answers.push({ label: approval.always(prefixRule), key: "w", value: { ...value, rule: prefixRule } });
  }
  const { checkRule } = style;
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

function refusalText(rule: string, refusal: RuleRefusal, { texts, translator }: ApprovalStyle): string {
  const { approval } = texts;
  if (refusal.code === "unreadable") {
    return translator.text(clauses(refusal.texts));
  }
  if (refusal.code === "noMatch") return approval.ruleElsewhere(rule);
  return approval.widerRule(rule, refusal.widest);
}

type Change = NonNullable<ApprovalQuestion["changes"]>[number];

const MAX_TARGETS = 10;
/** Maximum characters of a finding; the call is shown in full. */
const MAX_FINDING = 1000;
/** Maximum characters of a call; laying out more would block the chat. */
const MAX_SHOWN = 100_000;

export async function approvalPanel(
  request: ApprovalQuestion,
  style: ApprovalStyle,
): Promise<PanelOptions<ApprovalAnswer>> {
  const { destructive, escape, directory } = request;
  const view = await RequestView.open(request, style);
  const risky = destructive !== undefined || escape !== undefined || directory !== undefined ||
    isTooLong(request);
  const entries = answersOf(request, style);
  const no = entries.length - 1;
  return {
    title: titleOf(request, style),
    tone: destructive ? "danger" : escape ? "warning" : "plain",
    body: (columns) => view.rows(columns),
    entries,
    leave: style.texts.hints.stop,
    // Enter alone does nothing irreversible.
    current: risky ? no : 0,
    unseen: no,
  };
}

/** Formats the same question as lines of at most `columns` cells. */
export async function approvalInLines(
  request: ApprovalQuestion,
  style: ApprovalStyle,
  columns: number,
): Promise<QuestionInLines<ApprovalAnswer>> {
  const view = await RequestView.open(request, style);
  const text = [titleOf(request, style), ...view.rows(columns)].join("\n");
  const named = (label: string) => exactRows(label.replaceAll("\n", "\\x0a"), Infinity, String).join("");
  const plain = (entry: AnswerEntry<ApprovalAnswer>): AnswerEntry<ApprovalAnswer> => ({
    ...entry,
    label: named(entry.label),
    ...("entries" in entry ? { entries: entry.entries.map(plain) } : {}),
  });
  return { text, entries: answersOf(request, style).map(plain) };
}

function titleOf(
  { agent, destructive, directory, escape, reason, tool }: ApprovalQuestion,
  { texts: { approval }, translator }: ApprovalStyle,
): string {
  // Sandbox and destructive findings are shown below, in full.
  const whose = agent === undefined ? "" : `${oneLine(agent, 80)} › `;
  if (escape?.network) return whose + approval.escapeOnline;
  if (escape) return whose + (directory === undefined ? approval.escape : approval.escapeDirectory);
  if (directory !== undefined) return whose + approval.directory;
  if (destructive) return whose + approval.destructive;
  const question = whose + (tool === "bash" ? approval.run : approval.allow(tool));
  return reason === "" || reason === NO_RULE ? question : `${question}\n${translator.text(reason)}`;
}

/** Reports whether a part of the call is not shown: then Enter alone does not approve it. */
function isTooLong({ subject, rest = "" }: ApprovalQuestion): boolean {
  return Math.max(subject.length, rest.length) > MAX_SHOWN;
}

class RequestView {
  readonly #request: ApprovalQuestion;
  readonly #style: ApprovalStyle;
  readonly #marks: DiffMarks | undefined;

  private constructor(request: ApprovalQuestion, style: ApprovalStyle, marks: DiffMarks | undefined) {
    this.#request = request;
    this.#style = style;
    this.#marks = marks;
  }

  static async open(request: ApprovalQuestion, style: ApprovalStyle): Promise<RequestView> {
    const marks = request.changes ? await loadDiffMarks(style.palette).catch(() => undefined) : undefined;
    return new RequestView(request, style, marks);
  }

  rows(columns: number): string[] {
    const { palette, texts: { approval } } = this.#style;
    const { changes, escape } = this.#request;
    const words = (text: string) => wordRows(text, columns, palette.warning).map(palette.warning);
    return [
      ...this.#findings(columns),
      ...(changes ? changes.flatMap((change) => this.#change(change, columns)) : this.#subject(columns)),
      ...(escape ? words(approval.escapeWhy(escape.evidence)) : []),
      ...(escape && !escape.network && !escape.enforced ? words(approval.escapeMeans) : []),
    ];
  }

  /** The start of a text, and a warning about the rest. */
  #bounded(text: string, columns: number, rows: (text: string) => string[]): string[] {
    if (text.length <= MAX_SHOWN) return rows(text);
    const { palette, texts: { approval } } = this.#style;
    const warning = approval.leftOut(grouped(MAX_SHOWN), grouped(text.length));
    return [
      ...wordRows(warning, columns, palette.warning).map(palette.bad),
      ...rows(text.slice(0, MAX_SHOWN)),
    ];
  }

  /** Lines of the text; the margin distinguishes wrapped rows from new lines. */
  #subject(columns: number): string[] {
    const { palette } = this.#style;
    const { subject, rest } = this.#request;
    const [begin, continued] = [palette.accent("│ "), palette.dim("┆ ")];
    const lines = (text: string) =>
      text.split("\n").flatMap((line) =>
        exactLine(line, columns - 2, palette.warning)
          .map((row, index) => `${index === 0 ? begin : continued}${row}`)
      );
    const more = (text: string) => exactRows(text, columns - 2, palette.warning).map((row) => `  ${row}`);
    return [
      ...this.#bounded(subject, columns, lines),
      ...(rest === undefined ? [] : this.#bounded(rest, columns, more)),
    ];
  }

  #findings(columns: number): string[] {
    const { palette, translator, texts: { approval } } = this.#style;
    const { subject, destructive = [] } = this.#request;
    const bad = (text: string, lead: string) =>
      wordRows(shortened(text), columns - lead.length, palette.warning)
        .map((row, index) => palette.bad(`${index === 0 ? lead : " ".repeat(lead.length)}${row}`));
    return destructive.flatMap(({ command, targets, reason: found }) => {
      const reason = translator.text(found);
      // Most reasons name their targets.
      const unnamed = targets.filter(({ path }) => !reason.includes(path));
      const more = unnamed.length - MAX_TARGETS;
      return [
        ...bad(command.trim() === subject.trim() ? reason : `${shortened(command)}: ${reason}`, "! "),
        ...unnamed.slice(0, MAX_TARGETS).flatMap(({ path, files, more }) =>
          bad(
            files === undefined ? path : `${path} · ${approval.files(grouped(files), more ?? false)}`,
            "  • ",
          )
        ),
        ...(more > 0 ? bad(approval.moreTargets(more), "  • ") : []),
      ];
    });
  }

  #change(change: Change, columns: number): string[] {
    const { palette } = this.#style;
    const from = change.from === undefined ? "" : `${change.from} → `;
    const head = exactRows(`${from}${change.path}`, columns, palette.warning);
    const figures = `${this.#style.texts.approval.changes[change.change]} ${lineFigures(change)}`;
    const last = head.at(-1) ?? "";
    const fits = displayWidth(last) + 2 + displayWidth(figures) <= columns;
    return [
      ...head.slice(0, -1).map(palette.bold),
      palette.bold(last) + (fits ? palette.dim(`  ${figures}`) : ""),
      ...(fits ? [] : [palette.dim(figures)]),
      ...this.#bounded(
        change.diff ?? "",
        columns,
        (diff) => diffRows(diff, columns, { palette, marks: this.#marks }),
      ),
    ];
  }
}

function shortened(text: string): string {
  return text.length > MAX_FINDING ? `${text.slice(0, MAX_FINDING)}…` : text;
}
