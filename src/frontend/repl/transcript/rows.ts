import { clusters, displayWidth } from "../../../util/display_width.ts";
import { wrapText } from "../../../view/mod.ts";
import { Style } from "../screen/style.ts";

// deno-lint-ignore no-control-regex
const SEQUENCES = /(\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\))/;
const RESET = "\x1b[0m";
const LINK_END = "\x1b]8;;\x1b\\";

/** The line in rows of at most `columns` cells; colours and links go on in each, and end with it. */
export function rowsOfLine(line: string, columns: number): string[] {
  if (displayWidth(line) <= columns) return [line];
  const rows: string[] = [];
  const state = new RowState();
  let row = "";
  let used = 0;
  for (const part of line.split(SEQUENCES)) {
    if (part.startsWith("\x1b")) {
      state.take(part);
      row += part;
      continue;
    }
    for (const cluster of clusters(part)) {
      const width = displayWidth(cluster);
      if (used + width > columns && used > 0) {
        rows.push(row + state.end);
        row = state.begin;
        used = 0;
      }
      row += cluster;
      used += width;
    }
  }
  return [...rows, row];
}

/** A bullet, or a name in a column of its own. */
const HEAD = /^ *(?:[-•·!✗✓] +|\S+(?: \S+)* {2,})/;

/**
 * The rows of a line without colours, broken between words: what goes on stands below where the text of the
 * line began, behind its bullet or its column of names.
 */
export function hangingRows(line: string, columns: number): string[] {
  const blanks = /^ */.exec(line)?.[0] ?? "";
  // In a narrow window a column of names would leave no room for the text.
  const found = [HEAD.exec(line)?.[0] ?? blanks, blanks];
  const head = found.find((each) => displayWidth(each) <= columns / 2) ?? "";
  const indent = displayWidth(head);
  const room = Math.max(1, columns - indent);
  return wrapText(line.slice(head.length), room, displayWidth)
    .flatMap((row) => rowsOfLine(row, room))
    .map((row, index) => (index === 0 ? head : " ".repeat(indent)) + row);
}

/** Colours and the link that are on, to be ended with a row and begun again with the next. */
class RowState {
  #colours: string[] = [];
  #style = new Style();
  #link = "";

  take(sequence: string): void {
    if (sequence.startsWith("\x1b]")) {
      // deno-lint-ignore no-control-regex
      this.#link = /^\x1b\]8;[^;]*;(?:\x07|\x1b\\)$/.test(sequence) ? "" : sequence;
      return;
    }
    this.#style.apply(sequence);
    this.#colours = this.#style.plain ? [] : [...this.#colours, sequence];
  }

  get begin(): string {
    return this.#link + this.#colours.join("");
  }

  get end(): string {
    return (this.#colours.length > 0 ? RESET : "") + (this.#link === "" ? "" : LINK_END);
  }
}
