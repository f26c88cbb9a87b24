import type { PlanProposal } from "../../../run/mod.ts";
import type { ChangedFile } from "../../../command/mod.ts";
import type { ApprovalAnswer } from "../../../core/mod.ts";
import { exactLine, exactRows, wordRows } from "./exact_text.ts";
import type { PanelOptions, PanelStyle } from "./panel.ts";
import { rowsOfLine } from "../screen/line.ts";
import {
  approvalAnswers,
  approvalTitle,
  type ApprovalWording,
  findingsOf,
  isRisky,
  MAX_SHOWN,
  optionsOf,
  planChange,
  type PlanChoice,
  planEntries,
} from "../../session/answers.ts";
import type {
  AnswerEntry,
  ApprovalQuestion,
  OpenQuestion,
  QuestionInLines,
} from "../../session/questions.ts";
import type { Texts, Translator } from "../../../i18n/mod.ts";
import type { Question } from "../../../tool/mod.ts";
import { displayWidth } from "../../../util/display_width.ts";
import { nameUnseen } from "../../../util/exact_text.ts";
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
  asked: Question,
  { at, of }: { readonly at: number; readonly of: number },
  texts: Texts["overlay"]["ask"],
): PanelOptions<readonly string[]> {
  const { question, multiple } = asked;
  const entries = optionsOf(asked, texts);
  const [first = "", ...rest] = question.split("\n");
  const isLong = first.length > MAX_TITLE;
  const body = isLong ? question : rest.join("\n");
  const title = isLong ? `${first.slice(0, MAX_TITLE)}…` : first;
  return {
    title: of > 1 ? `${title}\n${texts.of(at, of)}` : title,
    entries,
    // Enter alone gives no custom answer.
    ...(body === "" ? {} : { body, unseen: entries.findIndex((entry) => "write" in entry) }),
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

/** The question in a panel, where a plan can be changed, and a long one read again. */
export function planPanel(
  proposal: PlanProposal,
  texts: PlanTexts,
  isRead: boolean,
): PanelOptions<PlanChoice | "look"> {
  const answers = planEntries(texts);
  const entries: AnswerEntry<PlanChoice | "look">[] = [
    ...answers.slice(0, 3),
    planChange(proposal, texts),
    ...(isLongPlan(proposal) ? [{ label: texts.look, key: "v", value: "look" } as const] : []),
    ...answers.slice(3),
  ];
  const look = entries.findIndex((entry) => "value" in entry && entry.value === "look");
  return { title: planTitle(texts), entries, current: isRead ? 0 : look };
}

export interface ApprovalStyle extends PanelStyle, ApprovalWording {
  readonly texts: PanelStyle["texts"];
  readonly translator: Translator;
}

type Change = NonNullable<ApprovalQuestion["changes"]>[number];

export async function approvalPanel(
  request: ApprovalQuestion,
  style: ApprovalStyle,
): Promise<PanelOptions<ApprovalAnswer>> {
  const { destructive, escape } = request;
  const view = await RequestView.open(request, style);
  const entries = approvalAnswers(request, style);
  const no = entries.length - 1;
  return {
    title: approvalTitle(request, style),
    tone: destructive ? "danger" : escape ? "warning" : "plain",
    body: (columns) => view.rows(columns),
    entries,
    leave: style.texts.hints.stop,
    // Enter alone does nothing irreversible, and never something destructive.
    current: isRisky(request) ? no : 0,
    ...(destructive ? { confirmed: "y" } : {}),
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
  const text = [approvalTitle(request, style), ...view.rows(columns)].join("\n");
  const named = (label: string) => exactRows(label.replaceAll("\n", "\\x0a"), Infinity, String).join("");
  const plain = (entry: AnswerEntry<ApprovalAnswer>): AnswerEntry<ApprovalAnswer> => ({
    ...entry,
    label: named(entry.label),
    ...("entries" in entry ? { entries: entry.entries.map(plain) } : {}),
  });
  return { text, entries: approvalAnswers(request, style).map(plain) };
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
    const { palette } = this.#style;
    return findingsOf(this.#request, this.#style).flatMap(({ text, isTarget }) => {
      const lead = isTarget ? "  • " : "! ";
      return wordRows(text, columns - lead.length, palette.warning)
        .map((row, index) => palette.bad(`${index === 0 ? lead : " ".repeat(lead.length)}${row}`));
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
