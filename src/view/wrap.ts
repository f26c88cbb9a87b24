/** Columns that a text takes on a terminal. */
export type MeasureWidth = (text: string) => number;

/** Width of texts that are shown before the tables of wide characters are loaded. */
export const roughWidth: MeasureWidth = (text) =>
  text.length +
  (text.match(/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\uff60]/g)?.length ?? 0);

/** Words, blanks, and wide characters one by one, each with the closing punctuation behind it. */
const TOKENS =
  /\n|[ \t]+|[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60][\u3001\u3002\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff1a\uff1b\uff1f\u201d]*|[^ \t\n\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60]+/gu;

/**
 * Breaks text at blanks as it streams, and between wide characters. A word that is wider than the terminal
 * is not broken, so that it can be copied.
 */
export class StreamWrap {
  readonly #columns: () => number;
  readonly #width: MeasureWidth;
  readonly #indent: string;
  #column = 0;
  #blanks = "";
  /** The last word, of which more may come. */
  #pending = "";

  /** Lines after a break begin with `indent`. */
  constructor(columns: () => number, width: MeasureWidth, indent = "") {
    this.#columns = columns;
    this.#width = width;
    this.#indent = indent;
  }

  /** Takes text; returns the part that can be written now. */
  push(text: string): string {
    const tokens = (this.#pending + text).match(TOKENS) ?? [];
    this.#pending = tokens.pop() ?? "";
    return tokens.map((token) => this.#token(token)).join("");
  }

  /** The rest of what was given, without blanks at its end. */
  end(): string {
    const rest = this.#token(this.#pending);
    [this.#pending, this.#blanks] = ["", ""];
    return rest;
  }

  #token(token: string): string {
    if (token === "\n") {
      [this.#column, this.#blanks] = [0, ""];
      return token;
    }
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

/** Wraps a complete text. A number keeps its percent sign, and a list its dots at the ends of lines. */
export function wrapText(text: string, columns: number, width: MeasureWidth, indent = ""): string[] {
  const wrap = new StreamWrap(() => columns, width, indent);
  const lines = wrap.push(text.replace(/(?<=\S) (?=%|·(?: |$))/g, "\u00a0")) + wrap.end();
  return lines.replaceAll("\u00a0", " ").split("\n");
}
