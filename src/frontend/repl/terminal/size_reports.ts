import { after } from "../../../util/timer.ts";

/** Asks how large the text area is, in characters. */
export const SIZE_QUESTION = "\x1b[18t";
// deno-lint-ignore no-control-regex
const REPORT = /^\x1b\[8;(\d+);(\d+)t$/;
/** A terminal that has answered before and does not now is not waited for any longer. */
const ANSWER_MS = 200;

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/**
 * What a terminal itself says of its size. tmux changes the size of what it shows at once, and that of the
 * terminal that programs ask the system for up to 250 ms later; what it answers is true at that place of the
 * output.
 */
export class SizeReports {
  /** In which order it names rows and columns: some versions of tmux have it the wrong way round. */
  #order: "rows-first" | "columns-first" | undefined;
  readonly #waiting: ((size: Size | undefined) => void)[] = [];

  /** It has not answered in time: it is asked no more until it has, or it would answer the next program. */
  #late = false;

  /** It has answered, and is worth asking. */
  get known(): boolean {
    return this.#order !== undefined && !this.#late;
  }

  /** An answer is on its way. */
  get waiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** The answer to a question that is being written now; undefined when none comes. */
  next(): Promise<Size | undefined> {
    const { promise, resolve } = Promise.withResolvers<Size | undefined>();
    const cancel = after(ANSWER_MS, () => {
      this.#late = true;
      resolve(undefined);
    });
    this.#waiting.push((size) => {
      cancel();
      resolve(size);
    });
    return promise;
  }

  /** Takes an answer, the first while the terminal has size `now`; false when the sequence is no answer. */
  take(sequence: string, now: Size): boolean {
    const match = REPORT.exec(sequence);
    if (!match) return false;
    const [first, second] = [Number(match[1]), Number(match[2])];
    // Equal numbers say nothing of their order.
    if (first !== second && first === now.rows && second === now.columns) this.#order ??= "rows-first";
    if (first !== second && first === now.columns && second === now.rows) this.#order ??= "columns-first";
    const size = this.#order === "columns-first"
      ? { columns: first, rows: second }
      : { columns: second, rows: first };
    this.#waiting.shift()?.(size);
    this.#late = this.#waiting.length > 0 && this.#late;
    return true;
  }
}

export function isSame(one: Size, other: Size): boolean {
  return one.columns === other.columns && one.rows === other.rows;
}

/** The size of the terminal as the system knows it; a usual one where it is gone or says nothing. */
export function consoleSize(): Size {
  try {
    const { columns, rows } = Deno.consoleSize();
    if (columns > 0 && rows > 0) return { columns, rows };
  } catch { /* no terminal any more */ }
  return { columns: 80, rows: 24 };
}
