import { oneLine } from "../../util/terminal_text.ts";
import type { Palette } from "../../view/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import type { OverlayQueue } from "./overlay/overlay.ts";
import { hintRows } from "./overlay/panel.ts";
import { type Frame, stack, type View } from "./screen/view.ts";
import { StatusLine } from "./status_line.ts";
import type { Transcript } from "./transcript/chat_transcript.ts";
import type { Submissions } from "./submissions.ts";

export interface LayoutInputs {
  readonly palette: Palette;
  readonly texts: ChatTexts;
  readonly transcript: Transcript;
  readonly submissions: Submissions;
  readonly overlays: OverlayQueue;
  readonly composer: View;
  /** The first line of the chat, until the session is open and it is printed. */
  readonly header: (columns: number) => string | undefined;
  /** The next Ctrl-C leaves. */
  readonly leaving: () => boolean;
  /** Hears why something could not be drawn. */
  readonly failed: (error: unknown) => void;
  /** Nothing can be drawn. */
  readonly hopeless: () => void;
}

/** Messages that wait are shown up to this number of lines. */
const WAITING_LINES = 3;

/** A screen with fewer rows belongs to the overlay that is open. */
const ROOMY = 16;

/** The live region: what is going on, what waits, the composer or the overlay in its place, the status. */
export class Layout implements View {
  readonly status: StatusLine;
  readonly #parts: LayoutInputs;

  constructor(parts: LayoutInputs) {
    this.#parts = parts;
    this.status = new StatusLine(parts.palette, () => parts.texts.status, () => parts.submissions.opening);
  }

  /** A failure does not end the program: what somebody writes or answers in is shown without the rest. */
  frame(columns: number, rows: number): Frame {
    try {
      return this.#whole(columns, rows);
    } catch (error) {
      this.#parts.failed(error);
    }
    try {
      return this.#plain(columns, rows);
    } catch {
      this.#parts.hopeless();
      return { lines: [] };
    }
  }

  #whole(columns: number, rows: number): Frame {
    const { palette, transcript, overlays, composer, header } = this.#parts;
    const hint = this.#hint();
    const status = { lines: [hint === "" ? this.status.line(columns) : palette.dim(hint)] };
    const { top } = overlays;
    const waiting = { lines: top && rows < ROOMY ? [] : this.#waiting() };
    const head = top || rows < ROOMY / 2 ? [] : [header(columns)].filter((line) => line !== undefined);
    const taken = waiting.lines.length + status.lines.length + head.length + 1;
    const room = Math.max(1, rows - taken);
    const bottom = overlays.aside ? this.#beside(columns, room) : (top ?? composer).frame(columns, room);
    const live = transcript.live(columns, Math.max(0, rows - bottom.lines.length - taken));
    return stack([{ lines: [...head, ...live, ""] }, waiting, bottom, status]);
  }

  #plain(columns: number, rows: number): Frame {
    const { overlays, composer } = this.#parts;
    return stack([{ lines: [""] }, (overlays.top ?? composer).frame(columns, Math.max(1, rows - 1))]);
  }

  /** A question that has come up while a message is being written, and below it the message. */
  #beside(columns: number, rows: number): Frame {
    const { palette, texts: { chat }, overlays, composer } = this.#parts;
    const draft = composer.frame(columns, Math.max(1, Math.floor(rows / 3)));
    const hint = hintRows([chat.asideAnswer, chat.asideWrite], columns).map(palette.warning);
    const left = Math.max(0, rows - draft.lines.length - hint.length);
    return stack([overlays.top?.frame(columns, left) ?? { lines: [] }, { lines: hint }, draft]);
  }

  /** What the user has to know now, in the place of the status. */
  #hint(): string {
    const { texts: { chat }, submissions: { queue }, transcript, overlays, leaving } = this.#parts;
    if (leaving()) return chat.leaveHint;
    if (queue.stopping) return chat.stopping;
    // A command that has a question waits for its user.
    return queue.busy && !transcript.busy && !overlays.top ? chat.working : "";
  }

  /** What was sent and has not been taken yet. */
  #waiting(): string[] {
    const { texts: { chat }, submissions: { queue, steering }, palette } = this.#parts;
    const lines = [
      ...steering.map((text) => chat.steering(oneLine(text, 200))),
      ...queue.waiting.map(({ text }) => chat.queued(oneLine(text, 200))),
    ];
    const more = lines.length > WAITING_LINES ? [`… +${lines.length - WAITING_LINES}`] : [];
    const hint = queue.waiting.length > 0 ? [chat.queueHint] : [];
    return [...lines.slice(0, WAITING_LINES), ...more, ...hint].map((line) => palette.dim(line));
  }
}
