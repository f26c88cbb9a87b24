/** Columns that a text takes on a terminal. */
export type MeasureWidth = (text: string) => number;

/**
 * Wide characters may be parted anywhere but before closing punctuation; a number keeps its per cent
 * sign, and a list its dots at the ends of lines.
 */
const TOKENS =
  /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60][\u3001\u3002\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff1a\uff1b\uff1f\u201d]*|[ \t]+(?![%·])|(?:[^ \t\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60]| (?=[%·]))+/gu;

/**
 * Breaks text at blanks as it streams, and between wide characters. A word that is wider than the terminal is
 * left to the terminal, so that it can be copied whole.
 */
export class StreamWrap {
  readonly #columns: () => number;
  readonly #width: MeasureWidth;
  readonly #indent: string;
  #column = 0;
  #blanks = "";
  /** A word of which more may come. */
  #pending = "";

  /** Lines after the first one begin with `indent` where a break was made. */
  constructor(columns: () => number, width: MeasureWidth, indent = "") {
    this.#columns = columns;
    this.#width = width;
    this.#indent = indent;
  }

  /** What can be written now. */
  push(text: string): string {
    const all = this.#pending + text;
    const known = Math.max(all.lastIndexOf(" "), all.lastIndexOf("\n")) + 1;
    this.#pending = all.slice(known);
    return this.#wrapped(all.slice(0, known));
  }

  /** The rest of what was given. */
  end(): string {
    const rest = this.#wrapped(this.#pending);
    this.#pending = "";
    this.#blanks = "";
    return rest;
  }

  #wrapped(text: string): string {
    return text.split("\n").map((line, at) => {
      if (at > 0) [this.#column, this.#blanks] = [0, ""];
      return (at > 0 ? "\n" : "") + (line.match(TOKENS) ?? []).map((token) => this.#token(token)).join("");
    }).join("");
  }

  #token(token: string): string {
    if (token.trim() === "") {
      this.#blanks += token;
      return "";
    }
    const [blanks, width] = [this.#blanks, this.#width(token)];
    this.#blanks = "";
    if (this.#column > 0 && this.#column + blanks.length + width > this.#columns()) {
      this.#column = this.#indent.length + width;
      return `\n${this.#indent}${token}`;
    }
    this.#column += blanks.length + width;
    return blanks + token;
  }
}

/** The lines of a text that is there as a whole. */
export function wrapText(text: string, columns: number, width: MeasureWidth, indent = ""): string[] {
  const wrap = new StreamWrap(() => columns, width, indent);
  return (wrap.push(text) + wrap.end()).split("\n");
}
