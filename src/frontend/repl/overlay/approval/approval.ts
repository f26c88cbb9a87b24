import type { ApprovalAnswer } from "../../../../core/mod.ts";
import type { ApprovalRequest, CallDetails } from "../../../../permission/mod.ts";
import { type DiffMarks, grouped, lineFigures, loadDiffMarks } from "../../../../view/mod.ts";
import { oneLine } from "../../../../util/terminal_text.ts";
import { after } from "../../../../util/timer.ts";
import type { Entry } from "../choice_list.ts";
import { ChoicePanel } from "../choice_panel.ts";
import { exactLine, exactRows, wordRows } from "../exact_text.ts";
import { answersOf, type ApprovalStyle } from "./answers.ts";
import { diffRows } from "../changes.ts";
import { ScrollText } from "../scroll_text.ts";

type Change = NonNullable<CallDetails["changes"]>[number];

/** Targets of a destructive command that are listed. */
const MAX_TARGETS = 10;
/** Characters of a finding, which the call below says in full. */
const MAX_FINDING = 1000;
/** Characters of a call that are shown. Nobody reads more, and laying it out would hold up the chat. */
const MAX_SHOWN = 100_000;

/** So long, in ms, a question waits for what its call would do, so that it is shown in one piece. */
const DETAILS_MS = 400;

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
  signal: AbortSignal,
): Promise<ChoicePanel<ApprovalAnswer>> {
  const { destructive, escape } = request;
  const view = new RequestView(request, style);
  const body = new ScrollText((columns) => view.rows(columns));
  const limit = Promise.withResolvers<void>();
  const cancel = after(DETAILS_MS, limit.resolve);
  const looked = view.look(signal).then(() => {
    body.update();
    style.changed();
  });
  await Promise.race([looked, limit.promise]);
  cancel();
  const risky = destructive !== undefined || escape !== undefined || isTooLong(request);
  const entries = answersOf(request, style);
  const no = entries.findIndex((entry) => "value" in entry && !entry.value.allow);
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
  signal: AbortSignal,
  columns: number,
): Promise<ApprovalLines> {
  const view = new RequestView(request, style);
  await view.look(signal);
  const text = [titleOf(request, style), ...view.rows(columns)].join("\n");
  const named = (label: string) => exactRows(label.replaceAll("\n", "\\x0a"), Infinity, String).join("");
  const entries = answersOf(request, style).map((entry) => ({ ...entry, label: named(entry.label) }));
  return { text, entries };
}

function titleOf(
  { agent, destructive, escape, reason, why, tool }: ApprovalRequest,
  { texts: { approval }, reasons }: ApprovalStyle,
): string {
  // What the jail and the findings say is told below, in full.
  const whose = agent === undefined ? "" : `${oneLine(agent, 80)} › `;
  if (escape) return whose + approval.escape;
  if (destructive) return whose + approval.destructive;
  const question = whose + (tool === "bash" ? approval.run : approval.allow(tool));
  return reason === "" ? question : `${question}\n${reasons.asked(why, reason)}`;
}

/** Reports whether a part of the call is out of sight: then a mere Enter does not let it run. */
function isTooLong({ subject, rest = "" }: ApprovalRequest): boolean {
  return Math.max(subject.length, rest.length) > MAX_SHOWN;
}

/** What is asked about, in full. */
class RequestView {
  #details: CallDetails | "unknown" | undefined;
  #marks: DiffMarks | undefined;
  readonly #request: ApprovalRequest;
  readonly #style: ApprovalStyle;

  constructor(request: ApprovalRequest, style: ApprovalStyle) {
    this.#request = request;
    this.#style = style;
  }

  /** Finds out what the call would do. Never rejects: the question stands without it, too. */
  async look(signal: AbortSignal): Promise<void> {
    const { details } = this.#request;
    if (!details) return;
    this.#details = "unknown";
    const found = await details(signal).catch((): CallDetails => ({}));
    if (found.changes) this.#marks = await loadDiffMarks(this.#style.palette).catch(() => undefined);
    this.#details = found;
  }

  rows(columns: number): string[] {
    const { palette, texts: { approval } } = this.#style;
    const isOpen = this.#details === "unknown";
    const { changes, problem, confinement }: CallDetails = typeof this.#details === "object"
      ? this.#details
      : {};
    const { escape } = this.#request;
    const words = (text: string, colour: (text: string) => string) =>
      wordRows(text, columns, palette.warning).map(colour);
    return [
      ...this.#findings(columns),
      ...(changes ? changes.flatMap((change) => this.#change(change, columns)) : this.#subject(columns)),
      ...(isOpen ? words(approval.looking, palette.dim) : []),
      ...(problem === undefined ? [] : words(approval.wouldFail(problem), palette.warning)),
      ...(escape
        ? [
          ...words(approval.escapeWhy(escape.evidence), palette.warning),
          ...words(approval.escapeMeans, palette.warning),
        ]
        : confinement === undefined
        ? []
        : words(this.#confined(confinement), palette.dim)),
    ];
  }

  #confined({ text, confinement }: NonNullable<CallDetails["confinement"]>): string {
    return this.#style.reasons.confinement(confinement, text);
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
    return [
      ...head.map(palette.bold),
      palette.dim(`${this.#style.texts.approval.changes[change.change]} ${lineFigures(change)}`),
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
