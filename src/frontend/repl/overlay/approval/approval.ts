import type { ApprovalAnswer } from "../../../../core/mod.ts";
import type { ApprovalRequest } from "../../../../permission/mod.ts";
import { type DiffMarks, grouped, lineFigures, loadDiffMarks } from "../../../../view/mod.ts";
import { displayWidth } from "../../../../util/display_width.ts";
import { oneLine } from "../../../../util/terminal_text.ts";
import type { Entry } from "../choice_list.ts";
import { ChoicePanel } from "../choice_panel.ts";
import { exactLine, exactRows, wordRows } from "../exact_text.ts";
import { answersOf, type ApprovalStyle } from "./answers.ts";
import { diffRows } from "../changes.ts";
import { ScrollText } from "../scroll_text.ts";

type Change = NonNullable<ApprovalRequest["changes"]>[number];

/** Targets of a destructive command that are listed. */
const MAX_TARGETS = 10;
/** Characters of a finding, which the call below says in full. */
const MAX_FINDING = 1000;
/** Characters of a call that are shown. Nobody reads more, and laying it out would hold up the chat. */
const MAX_SHOWN = 100_000;

/** A question where no panel can be drawn: what it says, and its answers. */
export interface QuestionInLines<T> {
  readonly text: string;
  readonly entries: readonly Entry<T>[];
}

export type ApprovalLines = QuestionInLines<ApprovalAnswer>;

/** Asks whether a call may run. */
export async function approvalPanel(
  request: ApprovalRequest,
  style: ApprovalStyle,
): Promise<ChoicePanel<ApprovalAnswer>> {
  const { destructive, escape, directory } = request;
  const view = await RequestView.open(request, style);
  const body = new ScrollText((columns) => view.rows(columns));
  const risky = destructive !== undefined || escape !== undefined || directory !== undefined ||
    isTooLong(request);
  const entries = answersOf(request, style);
  const no = entries.length - 1;
  return new ChoicePanel({
    title: titleOf(request, style),
    tone: destructive ? "danger" : escape ? "warning" : "plain",
    body,
    entries,
    leave: style.texts.hints.stop,
    // What cannot be taken back is not what a mere Enter does.
    current: risky ? no : 0,
    unseen: no,
  }, style);
}

/** The same question in lines of so many columns, and its answers, for a terminal that shows no panels. */
export async function approvalInLines(
  request: ApprovalRequest,
  style: ApprovalStyle,
  columns: number,
): Promise<ApprovalLines> {
  const view = await RequestView.open(request, style);
  const text = [titleOf(request, style), ...view.rows(columns)].join("\n");
  const named = (label: string) => exactRows(label.replaceAll("\n", "\\x0a"), Infinity, String).join("");
  const plain = (entry: Entry<ApprovalAnswer>): Entry<ApprovalAnswer> => ({
    ...entry,
    label: named(entry.label),
    ...("entries" in entry ? { entries: entry.entries.map(plain) } : {}),
  });
  return { text, entries: answersOf(request, style).map(plain) };
}

function titleOf(
  { agent, destructive, directory, escape, reason, why, tool }: ApprovalRequest,
  { texts: { approval }, reasons }: ApprovalStyle,
): string {
  // What the jail and the findings say is told below, in full.
  const whose = agent === undefined ? "" : `${oneLine(agent, 80)} › `;
  if (escape?.network) return whose + approval.escapeOnline;
  if (escape) return whose + (directory === undefined ? approval.escape : approval.escapeDirectory);
  if (directory !== undefined) return whose + approval.directory;
  if (destructive) return whose + approval.destructive;
  const question = whose + (tool === "bash" ? approval.run : approval.allow(tool));
  return reason === "" || why?.code === "noRule" ? question : `${question}\n${reasons.asked(why, reason)}`;
}

/** Reports whether a part of the call is out of sight: then a mere Enter does not let it run. */
function isTooLong({ subject, rest = "" }: ApprovalRequest): boolean {
  return Math.max(subject.length, rest.length) > MAX_SHOWN;
}

/** What is asked about, in full. */
class RequestView {
  readonly #request: ApprovalRequest;
  readonly #style: ApprovalStyle;
  readonly #marks: DiffMarks | undefined;

  private constructor(request: ApprovalRequest, style: ApprovalStyle, marks: DiffMarks | undefined) {
    this.#request = request;
    this.#style = style;
    this.#marks = marks;
  }

  static async open(request: ApprovalRequest, style: ApprovalStyle): Promise<RequestView> {
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

  /** The beginning of a text, laid out, and how much of it is left out. */
  #bounded(text: string, columns: number, rows: (text: string) => string[]): string[] {
    if (text.length <= MAX_SHOWN) return rows(text);
    const { palette, texts: { approval } } = this.#style;
    const warning = approval.leftOut(grouped(MAX_SHOWN), grouped(text.length));
    return [
      ...wordRows(warning, columns, palette.warning).map(palette.bad),
      ...rows(text.slice(0, MAX_SHOWN)),
    ];
  }

  /** Lines of the text as they are; a row that only goes on with a line looks different from a new line. */
  #subject(columns: number): string[] {
    const { palette } = this.#style;
    const { subject, rest } = this.#request;
    const [begin, goOn] = [palette.accent("│ "), palette.dim("┆ ")];
    const lines = (text: string) =>
      text.split("\n").flatMap((line) =>
        exactLine(line, columns - 2, palette.warning)
          .map((row, index) => `${index === 0 ? begin : goOn}${row}`)
      );
    const more = (text: string) => exactRows(text, columns - 2, palette.warning).map((row) => `  ${row}`);
    return [
      ...this.#bounded(subject, columns, lines),
      ...(rest === undefined ? [] : this.#bounded(rest, columns, more)),
    ];
  }

  #findings(columns: number): string[] {
    const { palette, reasons, texts: { approval } } = this.#style;
    const { subject, destructive = [] } = this.#request;
    const bad = (text: string, lead: string) =>
      wordRows(shortened(text), columns - lead.length, palette.warning)
        .map((row, index) => palette.bad(`${index === 0 ? lead : " ".repeat(lead.length)}${row}`));
    return destructive.flatMap((finding) => {
      const { command, targets } = finding;
      const reason = reasons.destructive(finding, finding.reason);
      // Most reasons name their targets already.
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
