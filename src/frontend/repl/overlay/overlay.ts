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

/** The overlays that wait for an answer. The first one is shown; the others follow in order. */
export class OverlayQueue {
  readonly #changed: () => void;
  readonly #waiting: Overlay<unknown>[] = [];

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get top(): Overlay<unknown> | undefined {
    return this.#waiting[0];
  }

  /** Shows an overlay when its turn has come; an abort takes it away. */
  async show<T>(overlay: Overlay<T>, signal?: AbortSignal): Promise<T | undefined> {
    const cancel = () => overlay.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) overlay.cancel();
    this.#waiting.push(overlay);
    this.#changed();
    try {
      return await overlay.answer;
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#waiting.splice(this.#waiting.indexOf(overlay), 1);
      this.#changed();
    }
  }

  /** Leaves all of them without an answer. */
  cancel(): void {
    for (const overlay of [...this.#waiting]) overlay.cancel();
  }
}
