import { after } from "../../../util/timer.ts";
import type { View } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";

/**
 * A question that owns the keyboard until it is answered; the composer is hidden meanwhile. Keys that mean
 * nothing to it are lost.
 */
export interface Overlay<T> extends View {
  input(event: InputEvent): void;
  /** Resolves once; with undefined when it was left without an answer. */
  readonly answer: Promise<T | undefined>;
  /** Leaves it without an answer. */
  cancel(): void;
}

/** Nobody reads a question faster: a key that comes earlier, or in one go with others, is no answer. */
const PAUSE_MS = 300;
/** Somebody who has typed within this time is still writing. */
const WRITING_MS = 1000;

interface Waiting {
  readonly overlay: Overlay<unknown>;
  readonly called: boolean;
}

export interface OverlayQueueOptions {
  /** Draws what has changed. */
  readonly changed: () => void;
  /** The composer holds a text that was not sent. */
  readonly drafting?: () => boolean;
  /** Milliseconds of a clock that only goes on. */
  readonly now?: (() => number) | undefined;
}

/**
 * The overlays that wait for an answer. The first one is shown; the others follow in order. One that appears
 * by itself is not answered by keys that were meant for something else: it takes none until there was a
 * pause, and while somebody writes a message it stands beside the composer until Tab goes over to it.
 */
export class OverlayQueue {
  readonly #changed: () => void;
  readonly #drafting: () => boolean;
  readonly #now: () => number;
  readonly #waiting: Waiting[] = [];
  /** The overlay that has got the keyboard, and since when nothing has been typed. */
  #shown: Overlay<unknown> | undefined;
  #armed = true;
  #quietSince = 0;
  /** The last key that went to the composer, and when. */
  #last = { key: "", at: -Infinity };
  /** The keys on their way were meant for an overlay before, and not for the composer. */
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

  /** Somebody writes a message, and the overlay on top leaves the keyboard to that. */
  get aside(): boolean {
    return this.top !== undefined && !this.#armed && (this.#drafting() || this.#writing());
  }

  /** Gives a key to the overlay on top; false: it is still meant for what was there before. */
  input(event: InputEvent): boolean {
    const { top } = this;
    const key = event.kind === "key" ? event.key : "paste";
    if (top && this.#takes(key)) {
      top.input(event);
      return true;
    }
    const taken = top !== undefined && (this.#armed || (this.#follows && !this.aside));
    if (!taken) this.#last = { key, at: this.#now() };
    if (top && !taken) this.#redrawLater();
    return taken;
  }

  #takes(key: string): boolean {
    // What refuses at most may come at any time.
    if (this.#armed || key === "escape" || (key === "ctrl+c" && !this.#drafting())) return true;
    if (this.aside) {
      // It goes over to the overlay, and is no answer.
      this.#armed = key === "tab";
      return false;
    }
    const now = this.#now();
    this.#armed = now - this.#quietSince >= PAUSE_MS;
    this.#quietSince = now;
    return this.#armed;
  }

  /** Enter has sent what was written, so that it is the end of it. */
  #writing(): boolean {
    const { key, at } = this.#last;
    return key !== "enter" && this.#now() - at < WRITING_MS;
  }

  /** Nothing else draws when somebody has stopped writing. */
  #redrawLater(): void {
    this.#cancelRedraw();
    this.#cancelRedraw = after(WRITING_MS, this.#changed);
  }

  /**
   * Shows an overlay when its turn has come; an abort takes it away. With `called` the user asked for it: the
   * next key is meant for it.
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

  /** Leaves all of them without an answer. */
  cancel(): void {
    for (const { overlay } of [...this.#waiting]) overlay.cancel();
  }

  #update(): void {
    const [first] = this.#waiting;
    if (first?.overlay !== this.#shown) {
      this.#follows = this.#shown !== undefined;
      this.#shown = first?.overlay;
      this.#armed = first?.called ?? true;
      this.#quietSince = this.#now();
      this.#cancelRedraw();
      if (this.aside) this.#redrawLater();
    }
    this.#changed();
  }
}
