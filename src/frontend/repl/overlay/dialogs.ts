import type { PlanAnswer, PlanProposal } from "../../../run/mod.ts";
import type { ApprovalAnswer } from "../../../core/mod.ts";
import type { PanelOptions, PanelStyle } from "./panel.ts";
import type { Overlay } from "../screen/view.ts";
import type { Answer, ApprovalQuestion, OpenQuestion, Questions } from "../../session/questions.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import { loadTexts, loadTranslator, type Locale } from "../../../i18n/mod.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { after } from "../../../util/timer.ts";
import { loadMarkdown, type Palette } from "../../../view/mod.ts";

/** A key that comes earlier cannot be an answer: it takes longer to read a question. */
const PAUSE_MS = 300;
/** After a key to the composer the user counts as typing for this long. */
const WRITING_MS = 1000;

interface Waiting {
  readonly overlay: Overlay<unknown>;
  readonly called: boolean;
}

interface OverlayQueueOptions {
  readonly changed: () => void;
  readonly drafting?: () => boolean;
  readonly now?: (() => number) | undefined;
}

/**
 * The overlays that wait for an answer. The first one is shown; the others follow in order.
 *
 * Contract: typed text never answers. It goes to the composer, which keeps the keyboard as long as it has
 * text, until Tab hands it to the overlay. A first single letter or digit after a pause selects its entry;
 * with the next one both go to the composer, and the selection is undone. Enter answers after a pause, or
 * where a key other than text has moved the selection. What Enter must not answer needs the letter of the
 * selected entry after a second without a key: neither text, a repeated key nor a paste comes so.
 */
export class OverlayQueue {
  readonly #changed: () => void;
  readonly #drafting: () => boolean;
  readonly #now: () => number;
  readonly #waiting: Waiting[] = [];
  #shown: Overlay<unknown> | undefined;
  #shownAt = 0;
  /** The overlay has the keyboard: the user opened it, switched to it, or moved in it. */
  #armed = true;
  /** No text was typed since the user opened an overlay, or used one. */
  #called = true;
  /** The last key of all, and the last one for the composer. */
  #last = { key: "", at: -Infinity };
  #written = { key: "", at: -Infinity };
  /** A letter that selected an entry, and may be the start of a text. */
  #held: { readonly overlay: unknown; readonly event: InputEvent; readonly back: () => void } | undefined;
  /** Pending keys were typed for an earlier overlay, not for the composer. */
  #follows = false;
  #cancelRedraw: () => void = () => {};

  constructor({ changed, drafting, now }: OverlayQueueOptions) {
    this.#changed = changed;
    this.#drafting = drafting ?? (() => false);
    this.#now = now ?? (() => performance.now());
  }

  get top(): Overlay<unknown> | undefined {
    return this.#waiting[0]?.overlay;
  }

  /** The user is typing a message, and the overlay on top leaves the keyboard to the composer. */
  get aside(): boolean {
    return this.top !== undefined && !this.#armed && (this.#drafting() || this.#writing());
  }

  /** Gives a key to the overlay on top; returns the keys for the composer. */
  input(event: InputEvent): readonly InputEvent[] {
    const last = this.#last;
    // A letter for a closed overlay starts a text only if more text follows at once.
    if (event.kind === "key" && this.#confirms(event.text, last)) {
      [this.#held, this.#last] = [undefined, { key: event.key, at: this.#now() }];
      return [];
    }
    const isOld = this.#held?.overlay !== this.top && this.#now() - last.at >= WRITING_MS;
    const held = isOld ? undefined : this.#held;
    this.#held = undefined;
    const key = event.kind === "key" ? event.key : "paste";
    this.#last = { key, at: this.#now() };
    if (held && (event.text !== undefined || key === "backspace")) {
      held.back();
      return this.#leave([held.event, event]);
    }
    if (event.text === undefined) {
      return this.#take(event, key, { ...last, held: held !== undefined }) ? [] : this.#leave([event]);
    }
    return this.#takeText(event, event.text, last.at) ? [] : this.#leave([event]);
  }

  /**
   * Answers the overlay on top by one key, for a view whose keys do that: not while the composer has text,
   * and only after a pause, as another key could be the start of a message.
   */
  answerBy(key: string): boolean {
    const isReady = this.#pausedFor(PAUSE_MS, this.#last.at) && !this.#drafting() && !this.aside;
    if (!isReady || !this.top?.answerBy?.(key)) return false;
    this.#armed = this.#called = true;
    this.#last = { key, at: this.#now() };
    return true;
  }

  /** A letter behind Enter begins another message. */
  #confirms(text: string | undefined, last: { readonly key: string; readonly at: number }): boolean {
    if (text === undefined || last.key === "enter" || this.aside) return false;
    return this.#pausedFor(WRITING_MS, last.at) && (this.top?.confirm?.(text) ?? false);
  }

  /** The user has asked for an overlay: the next keys are for it, unless text is typed first. */
  called(): void {
    this.#called = true;
  }

  #leave(events: readonly InputEvent[]): readonly InputEvent[] {
    this.#written = this.#last;
    this.#called = false;
    if (this.top) {
      this.#armed = false;
      this.#redrawLater();
    }
    return events;
  }

  #takeText(event: InputEvent, text: string, lastAt: number): boolean {
    const { top } = this;
    if (!top || this.aside || !(this.#armed || this.#pausedFor(WRITING_MS, lastAt))) return false;
    if (top.wants(text)) {
      this.#armed = this.#called = true;
      top.input(event);
      return true;
    }
    const back = event.kind === "key" ? top.select?.(text) : undefined;
    if (!back) return false;
    this.#held = { overlay: top, event, back };
    return true;
  }

  #take(
    event: InputEvent,
    key: string,
    last: { readonly key: string; readonly at: number; readonly held: boolean },
  ): boolean {
    const { top } = this;
    if (!top) return false;
    const isEarly = !this.#armed && !this.#pausedFor(PAUSE_MS, last.at);
    const isRepeated = key === "enter" && last.key === key && this.#now() - last.at < PAUSE_MS;
    // Keys that can only refuse are accepted at any time.
    if (key === "escape" || (key === "ctrl+c" && !this.#drafting())) top.input(event);
    else if (this.aside) {
      // Tab switches to the overlay without answering.
      this.#armed = key === "tab";
      return this.#armed;
    } else if (isRepeated || (isEarly && !(last.held && key !== "enter"))) {
      // Enter right after a letter may send a message of one letter.
      return this.#armed || this.#follows || last.held;
    } else {
      this.#armed = this.#called = true;
      top.input(event);
    }
    return true;
  }

  #pausedFor(ms: number, lastAt: number): boolean {
    return this.#now() - Math.max(this.#shownAt, lastAt) >= ms;
  }

  /** Enter ends the typing: it has sent the message. */
  #writing(): boolean {
    const { key, at } = this.#written;
    return key !== "enter" && this.#now() - at < WRITING_MS;
  }

  /** Draws again when the typing has ended; no other event does. */
  #redrawLater(): void {
    this.#cancelRedraw();
    this.#cancelRedraw = after(WRITING_MS, this.#changed);
  }

  /**
   * Shows an overlay after the earlier ones; an abort cancels it. With `called` the user asked for it: the
   * next key is for it, unless text was typed since.
   */
  async show<T>(overlay: Overlay<T>, signal?: AbortSignal, called = false): Promise<T | undefined> {
    const cancel = () => overlay.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) overlay.cancel();
    const waiting: Waiting = { overlay, called };
    this.#waiting.push(waiting);
    this.#update();
    try {
      return await overlay.answer;
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      this.#update();
    }
  }

  /** Shows an overlay for which the user has pressed a key, once it is loaded. */
  async open<T>(load: () => Promise<Overlay<T>>): Promise<T | undefined> {
    this.called();
    return await this.show(await load(), undefined, true);
  }

  cancel(): void {
    for (const { overlay } of [...this.#waiting]) overlay.cancel();
  }

  #update(): void {
    const [first] = this.#waiting;
    if (first?.overlay !== this.#shown) {
      this.#follows = this.#shown !== undefined;
      this.#shown = first?.overlay;
      this.#shownAt = this.#now();
      this.#armed = first === undefined || (first.called && this.#called);
      this.#cancelRedraw();
      if (this.aside) this.#redrawLater();
    }
    this.#changed();
  }
}

/** The display of a question: until the signal aborts; `called` when the user has asked for it. */
interface Shown {
  readonly signal: AbortSignal;
  readonly called: boolean;
}

interface DialogsOptions extends OverlayQueueOptions {
  readonly palette: () => Palette;
  readonly locale: () => Locale;
  readonly questions: Questions;
  /** Called with the front end that has answered a question that was shown here. */
  readonly elsewhere: (by: string) => void;
  readonly failed: (error: unknown) => void;
}

/** The questions of the session as overlays. Panels are loaded when the first of them is shown. */
export class Dialogs {
  readonly overlays: OverlayQueue;
  /** Shows no questions any more; they stay open. */
  readonly close: () => void;
  readonly #options: DialogsOptions;

  constructor(options: DialogsOptions) {
    const { questions, elsewhere, failed } = options;
    this.#options = options;
    this.overlays = new OverlayQueue(options);
    this.close = questions.attach({
      name: "terminal",
      show: (question, signal) => this.#answer(question, { signal, called: question.called }),
      elsewhere,
      failed,
    });
  }

  async #answer({ id, kind, question }: OpenQuestion, shown: Shown): Promise<Answer | undefined> {
    const { palette, texts } = await this.style();
    switch (kind) {
      case "approval":
        return await this.#approve(id, question, shown);
      case "ask":
        return await this.#askAll(question.questions, shown);
      case "plan":
        return await this.#plan(question, shown);
      case "trust": {
        const { trustPanel } = await import("./questions.ts");
        for (;;) {
          const answer = await this.#ask(trustPanel(question.lines, texts.trust, palette), shown);
          if (answer !== "look") return answer;
          await this.#read(texts.trust.detailsTitle, question.details, shown);
        }
      }
      case "copy": {
        const { busy, busyCopy } = await loadTexts("chat", this.#options.locale());
        return await this.#confirm({ title: busy(question.pid), text: busyCopy }, shown);
      }
      case "choose":
        return await this.#choose(id, question, shown);
      case "confirm":
        return await this.#confirm(question, shown);
      case "prompt": {
        const { title, initial } = question;
        return await this.#ask({ title, input: { label: "", initial, write: String } }, shown);
      }
      case "show":
        await this.#read(question.title, question.text, shown);
        return null;
      case "changes": {
        const { lookAtChanges } = await import("./questions.ts");
        await lookAtChanges((panel) => this.#ask(panel, shown), question, await this.style());
        return null;
      }
    }
  }

  async #approve(id: string, question: ApprovalQuestion, shown: Shown): Promise<ApprovalAnswer | undefined> {
    const { approvalPanel } = await import("./questions.ts");
    const { locale, questions } = this.#options;
    const checkRule = question.checksRule && ((rule: string) => questions.call(id, "checkRule", rule));
    const style = { ...await this.style(), translator: await loadTranslator(locale()), checkRule };
    return await this.#ask(await approvalPanel(question, style), shown);
  }

  /** Answers by question; undefined when the user left one without. */
  async #askAll(
    questions: OpenQuestion<"ask">["question"]["questions"],
    shown: Shown,
  ): Promise<readonly (readonly string[])[] | undefined> {
    const { questionPanel } = await import("./questions.ts");
    const { texts } = await this.style();
    const answers: (readonly string[])[] = [];
    for (const [index, question] of questions.entries()) {
      const panel = questionPanel(question, { at: index + 1, of: questions.length }, texts.ask);
      const answer = await this.#ask(panel, shown);
      if (!answer) return undefined;
      answers.push(answer);
    }
    return answers;
  }

  /** Asks about a plan, which is in the transcript; undefined when the user leaves it for later. */
  async #plan(proposal: PlanProposal, shown: Shown): Promise<PlanAnswer | undefined> {
    const { isLongPlan, planPanel } = await import("./questions.ts");
    const { palette, texts } = await this.style();
    for (let isRead = !isLongPlan(proposal);; isRead = true) {
      const answer = await this.#ask(planPanel(proposal, texts.plan, isRead), shown);
      if (answer !== "look") return answer === "leave" ? undefined : answer;
      const renderer = await loadMarkdown({ palette });
      const text = terminalSafe(proposal.plan);
      await renderer.prepare(text);
      await this.#read(texts.plan.readTitle, (columns) => renderer.render(text, columns), shown);
    }
  }

  async #choose(
    id: string,
    { entries, moves, ...options }: OpenQuestion<"choose">["question"],
    shown: Shown,
  ): Promise<number | undefined> {
    const { questions } = this.#options;
    return await this.#ask({
      ...options,
      entries: entries.map(({ preview, ...entry }, value) => ({
        ...entry,
        value,
        ...(preview ? { preview: () => questions.call(id, "preview", value) } : {}),
      })),
      ...(moves ? { onMove: (at: number) => questions.call(id, "move", at) } : {}),
    }, shown);
  }

  async #confirm(
    { title, text, danger }: OpenQuestion<"confirm">["question"],
    shown: Shown,
  ): Promise<boolean | undefined> {
    const { texts: { yes, no } } = await this.style();
    return await this.#ask({
      title,
      tone: danger ? "danger" : "plain",
      ...(text === undefined ? {} : { body: text }),
      entries: [{ label: yes, key: "y", value: true }, { label: no, key: "n", value: false }],
      current: danger ? 1 : 0,
    }, shown);
  }

  /** Shows a text, or rows that are laid out for a width. */
  async #read(title: string, body: NonNullable<PanelOptions<never>["body"]>, shown: Shown): Promise<void> {
    await this.#ask({ title, body }, { ...shown, called: true });
  }

  async #ask<T>(options: PanelOptions<T>, { signal, called }: Shown): Promise<T | undefined> {
    const { Panel } = await import("./panel.ts");
    return await this.overlays.show(new Panel(options, await this.style()), signal, called);
  }

  /** The style of panels, in the language of the user. */
  async style(): Promise<PanelStyle> {
    const { palette, locale, changed } = this.#options;
    return { palette: palette(), texts: await loadTexts("overlay", locale()), changed };
  }
}
