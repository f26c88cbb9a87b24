import type { PlanAnswer, PlanProposal } from "../../../assembly/mod.ts";
import type { ChangedFile, Choice, ChooseOptions, ConfirmOptions } from "../../../command/mod.ts";
import type { ApprovalAnswer } from "../../../core/mod.ts";
import { loadTexts, type Locale } from "../../../i18n/mod.ts";
import type { ApprovalRequest } from "../../../permission/mod.ts";
import type { Question } from "../../../tool/mod.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { loadMarkdown, type Palette } from "../../../view/mod.ts";
import type { PanelStyle } from "./choice_panel.ts";
import { OverlayQueue, type OverlayQueueOptions } from "./overlay.ts";
import type { ScrollText } from "./scroll_text.ts";

export interface DialogsOptions extends OverlayQueueOptions {
  readonly palette: () => Palette;
  readonly locale: () => Locale;
}

/** The questions that the chat can put to its user. Panels are loaded when the first of them is shown. */
export class Dialogs {
  readonly overlays: OverlayQueue;
  readonly #options: DialogsOptions;

  constructor(options: DialogsOptions) {
    this.#options = options;
    this.overlays = new OverlayQueue(options);
  }

  /** Asks whether a call may run; undefined when the user left without an answer, and for an abort. */
  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer | undefined> {
    const { approvalPanel } = await import("./approval/approval.ts");
    const style = { ...await this.#style(), reasons: await loadTexts("reasons", this.#options.locale()) };
    const panel = await approvalPanel(request, style);
    return await this.overlays.show(panel, signal);
  }

  /** Answers by question; undefined when the user left one without. Rejects when the signal aborts. */
  async ask(
    questions: readonly Question[],
    signal: AbortSignal,
  ): Promise<readonly (readonly string[])[] | undefined> {
    const { questionPanel } = await import("./question.ts");
    const style = await this.#style();
    const answers: (readonly string[])[] = [];
    for (const [index, question] of questions.entries()) {
      const panel = questionPanel(question, { at: index + 1, of: questions.length }, style);
      const answer = await this.overlays.show(panel, signal);
      signal.throwIfAborted();
      if (!answer) return undefined;
      answers.push(answer);
    }
    return answers;
  }

  /** Asks about a plan, which stands in the transcript; undefined when the user left it where it is. */
  async plan(proposal: PlanProposal, signal: AbortSignal): Promise<PlanAnswer | undefined> {
    const [{ ChoicePanel }, { isLongPlan, planPanelEntries, planTitle }] = await Promise.all([
      import("./choice_panel.ts"),
      import("./plan_question.ts"),
    ]);
    const style = await this.#style();
    const { plan } = style.texts;
    const entries = planPanelEntries(proposal, plan);
    const look = entries.findIndex((entry) => "value" in entry && entry.value === "look");
    for (let isRead = !isLongPlan(proposal);; isRead = true) {
      const panel = new ChoicePanel({ title: planTitle(plan), entries, current: isRead ? 0 : look }, style);
      const answer = await this.overlays.show(panel, signal);
      signal.throwIfAborted();
      if (answer !== "look") return answer === "leave" ? undefined : answer;
      const renderer = await loadMarkdown({ palette: style.palette });
      const text = terminalSafe(proposal.plan);
      await renderer.prepare(text);
      await this.rows(plan.readTitle, (columns) => renderer.render(text, columns), signal);
    }
  }

  /** Asks whether what a project brings may be used; each line says one thing, `details` all of it. */
  async trust(lines: readonly string[], details: string): Promise<"trust" | "ignore"> {
    const { ChoicePanel } = await import("./choice_panel.ts");
    const style = await this.#style();
    const { trust } = style.texts;
    const body = await this.#text(lines.join("\n"), "• ");
    while (true) {
      const panel = new ChoicePanel<"trust" | "ignore" | "look">({
        title: trust.title,
        tone: "warning",
        body,
        entries: [
          { label: trust.later, key: "n", value: "ignore" },
          { label: trust.all, key: "t", value: "trust" },
          { label: trust.details, key: "d", value: "look" },
        ],
      }, style);
      const answer = await this.overlays.show(panel);
      if (answer !== "look") return answer ?? "ignore";
      await this.show(trust.detailsTitle, details);
    }
  }

  async choose<T>(
    title: string,
    entries: readonly Choice<T>[],
    options: ChooseOptions<T> = {},
  ): Promise<T | undefined> {
    const { ChoicePanel } = await import("./choice_panel.ts");
    const panel = new ChoicePanel({ title, entries, ...options }, await this.#style());
    return await this.overlays.show(panel, undefined, true);
  }

  /** Asks for a yes; with `called` as an answer to what the user has just done. */
  async confirm(
    question: string,
    { text, danger }: ConfirmOptions = {},
    called = true,
  ): Promise<boolean> {
    const { ChoicePanel } = await import("./choice_panel.ts");
    const style = await this.#style();
    const panel = new ChoicePanel({
      title: question,
      tone: danger ? "danger" : "plain",
      ...(text === undefined ? {} : { body: await this.#text(text) }),
      entries: [
        { label: style.texts.yes, key: "y", value: true },
        { label: style.texts.no, key: "n", value: false },
      ],
      current: danger ? 1 : 0,
    }, style);
    return await this.overlays.show(panel, undefined, called) ?? false;
  }

  async prompt(question: string, initial = ""): Promise<string | undefined> {
    const { TextInput } = await import("./text_input.ts");
    const panel = new TextInput(question, initial, await this.#style());
    return await this.overlays.show(panel, undefined, true);
  }

  async show(title: string, text: string): Promise<void> {
    const { TextPanel } = await import("./text_panel.ts");
    const panel = new TextPanel(title, await this.#text(text), await this.#style());
    await this.overlays.show(panel, undefined, true);
  }

  /** Shows rows that were laid out already. */
  async rows(
    title: string,
    render: (columns: number) => readonly string[],
    signal?: AbortSignal,
  ): Promise<void> {
    const [{ TextPanel }, { ScrollText }] = await Promise.all([
      import("./text_panel.ts"),
      import("./scroll_text.ts"),
    ]);
    const panel = new TextPanel(title, new ScrollText(render), await this.#style());
    await this.overlays.show(panel, signal, true);
  }

  /** Lets the user look through changes of files. */
  async changes(title: string, files: readonly ChangedFile[]): Promise<void> {
    const { lookAtChanges } = await import("./changes.ts");
    await lookAtChanges(this, title, files, await this.#style());
  }

  /** A text in words; `bullet` goes before each of its lines. */
  async #text(text: string, bullet = ""): Promise<ScrollText> {
    const [{ ScrollText }, { wordRows }] = await Promise.all([
      import("./scroll_text.ts"),
      import("./exact_text.ts"),
    ]);
    const indent = " ".repeat(bullet.length);
    return new ScrollText((columns) =>
      text.split("\n").flatMap((line) =>
        wordRows(line, columns - bullet.length, this.#options.palette().warning)
          .map((row, index) => `${index === 0 ? bullet : indent}${row}`)
      )
    );
  }

  async #style(): Promise<PanelStyle> {
    const { palette, locale, changed } = this.#options;
    return { palette: palette(), texts: await loadTexts("overlay", locale()), changed };
  }
}
