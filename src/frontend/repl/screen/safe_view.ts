import type { Frame, View } from "./view.ts";

export interface SafeViewOptions {
  readonly view: View;
  /** Shows the same with less, in place of a view that has failed. */
  readonly plain: View;
  /** Hears of each failure. */
  readonly failed: (error: unknown) => void;
  /** Both have failed: nothing can be drawn. */
  readonly hopeless: () => void;
}

/** A view whose failures do not end the program. */
export class SafeView implements View {
  readonly #options: SafeViewOptions;

  constructor(options: SafeViewOptions) {
    this.#options = options;
  }

  frame(columns: number, rows: number): Frame {
    const { view, plain, failed, hopeless } = this.#options;
    try {
      return view.frame(columns, rows);
    } catch (error) {
      failed(error);
    }
    try {
      return plain.frame(columns, rows);
    } catch {
      hopeless();
      return { lines: [] };
    }
  }
}
