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

/** Somebody who types leaves no longer pause between two keys of which the second is still no answer. */
const PAUSE_MS = 150;
/** Keys that refuse or leave at most: they may come at any time. */
const HARMLESS = new Set(["escape", "ctrl+c"]);

interface Waiting {
  readonly overlay: Overlay<unknown>;
  readonly called: boolean;
}

/**
 * The overlays that wait for an answer. The first one is shown; the others follow in order. One that appears
 * by itself is not answered by keys that were on their way to something else: it takes none until there was a
 * pause.
 */
export class OverlayQueue {
  readonly #changed: () => void;
  readonly #now: () => number;
  readonly #waiting: Waiting[] = [];
  /** The overlay that has got the keyboard, and since when nothing has been typed. */
  #shown: Overlay<unknown> | undefined;
  #armed = true;
  #quietSince = 0;
  /** The keys on their way were meant for an overlay before, and not for the composer. */
  #follows = false;

  constructor(changed: () => void, now: () => number = () => performance.now()) {
    this.#changed = changed;
    this.#now = now;
  }

  get top(): Overlay<unknown> | undefined {
    return this.#waiting[0]?.overlay;
  }

  /** Gives a key to the overlay on top; false: it is still meant for what was there before. */
  input(event: InputEvent): boolean {
    const { overlay } = this.#waiting[0] ?? {};
    if (!overlay) return false;
    if (!this.#takes(event)) return this.#follows;
    overlay.input(event);
    return true;
  }

  #takes(event: InputEvent): boolean {
    if (this.#armed || (event.kind === "key" && HARMLESS.has(event.key))) return true;
    const now = this.#now();
    this.#armed = now - this.#quietSince >= PAUSE_MS;
    this.#quietSince = now;
    return this.#armed;
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
    }
    this.#changed();
  }
}
