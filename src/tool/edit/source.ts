import { type EolStyle, eolStyle, splitLines } from "../text/eol.ts";
import { FileLines } from "./file_lines.ts";

/** A text to edit, split once. */
export class Source {
  readonly text: string;
  readonly style: EolStyle;
  #file: FileLines | undefined;
  #offsets: number[] | undefined;

  constructor(text: string) {
    this.text = text;
    this.style = eolStyle(text);
  }

  get file(): FileLines {
    return this.#file ??= new FileLines(splitLines(this.text, this.style));
  }

  /** Index in the text where a line begins; the number of lines gives the end. */
  offset(line: number): number {
    if (!this.#offsets) {
      let at = 0;
      this.#offsets = [0, ...this.file.lines.map((one) => at += one.text.length + one.eol.length)];
    }
    return this.#offsets[line] ?? this.text.length;
  }
}

/** Start of every occurrence; occurrences may overlap. */
export function occurrences(text: string, wanted: string): number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) starts.push(at);
  return starts;
}

/** Translates an index of the text with LF line ends into one of the text itself. */
export function crlfPositions(text: string): (index: number) => number {
  const feeds: number[] = [];
  for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n", at + 2)) {
    feeds.push(at - feeds.length);
  }
  return (index) => {
    let low = 0;
    let high = feeds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((feeds[middle] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return index + low;
  };
}
