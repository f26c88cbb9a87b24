import type { TurnState } from "../../../control/mod.ts";
import { type Event, PersonWaits } from "../../../core/mod.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import { grouped, type Palette } from "../../../view/mod.ts";
import { timeText, type TranscriptTexts } from "./texts.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 120;
/** The number of tokens is shown anew this often: with each token it would cost more than the answer. */
const COUNT_MS = 500;

type Waiting = TurnState | "thinking" | "writing" | "retry";

/** What is being waited for, since when, and how much has come. */
export class Activity {
  #what: Waiting | undefined;
  #model = "";
  #since = 0;
  /** Output of the replies of this turn that are over, as the server has counted. */
  #counted = 0;
  #characters = 0;
  /** The number of tokens that is shown, and since when. */
  #shown = { tokens: 0, at: 0 };
  #attempt = { number: 0, most: 0 };
  /** The times in which a person was asked, which nothing took. */
  readonly waits = new PersonWaits();

  get busy(): boolean {
    return this.#what !== undefined;
  }

  /** Takes an event; the time is in milliseconds. */
  event(event: Event, now: number): void {
    this.waits.take(event, now);
    switch (event.type) {
      case "turn.state":
        this.#enter(event.to, now);
        break;
      case "message.start":
        this.#model = oneLine(event.model, 40);
        break;
      case "message.delta":
        if (this.#what !== "compacting") this.#what = event.channel === "text" ? "writing" : "thinking";
        this.#characters += event.text.length;
        if (now - this.#shown.at >= COUNT_MS) this.#count(now);
        break;
      case "message.retry":
        this.#what = "retry";
        this.#attempt = { number: event.attempt, most: event.maxAttempts };
        break;
      case "message.end":
        this.#counted += event.usage?.outputTokens ?? Math.round(this.#characters / 4);
        this.#characters = 0;
        this.#count(now);
        break;
    }
  }

  stop(): void {
    this.#what = undefined;
  }

  /** One of the frames of the spinner; a still sign where nothing may move. */
  spinner(now: number, still: boolean): string {
    return still ? "•" : FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length] ?? "•";
  }

  /** The line about it. */
  line(view: ActivityView): string {
    const { texts, palette, now, columns } = view;
    const { tokens } = this.#shown;
    const parts = [
      timeText(now - this.#since - this.waits.since(this.#since, now), texts),
      ...(tokens > 0 ? [texts.aboutTokens(grouped(tokens))] : []),
      texts.escToStop,
    ];
    const head = `${palette.accent(this.spinner(now, view.still))} ${this.#said(texts)}`;
    return fitDisplay(`${head}${palette.dim(` · ${parts.join(" · ")}`)}`, columns);
  }

  #enter(state: TurnState, now: number): void {
    const rests = state === "idle" || state === "done" || state === "failed" || state === "stopped";
    if (!rests && !this.busy) {
      [this.#since, this.#counted, this.#characters] = [now, 0, 0];
      this.#count(now);
    }
    this.#what = rests ? undefined : state;
  }

  #count(now: number): void {
    this.#shown = { tokens: this.#counted + Math.round(this.#characters / 4), at: now };
  }

  #said(texts: TranscriptTexts): string {
    const model = this.#model || texts.theModel;
    switch (this.#what) {
      case "thinking":
        return texts.thinking(model);
      case "writing":
        return texts.writing(model);
      case "retry":
        return texts.waitingToTry(this.#attempt.number, this.#attempt.most);
      case "compacting":
        return texts.compacting;
      case "running_tools":
        return texts.working;
      case "verifying":
        return texts.verifying;
      case "awaiting_approval":
      case "awaiting_answer":
        return texts.waitingForYou;
      default:
        return texts.waitingFor(model);
    }
  }
}

export interface ActivityView {
  readonly texts: TranscriptTexts;
  readonly palette: Palette;
  readonly now: number;
  readonly columns: number;
  /** Nothing may move by itself. */
  readonly still: boolean;
}
