export type Eol = "\n" | "\r\n" | "\r";

export interface EolStyle {
  /** The most frequent one; `\n` for a text without line ends. */
  readonly dominant: Eol;
  readonly mixed: boolean;
  readonly any: boolean;
}

/** A lone CR counts only where no LF is used at all (the old Macintosh style). */
export function eolStyle(text: string): EolStyle {
  let crlf = 0;
  let lf = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    if (at > 0 && text.charCodeAt(at - 1) === 13) crlf++;
    else lf++;
  }
  if (crlf + lf === 0 && text.includes("\r")) return { dominant: "\r", mixed: false, any: true };
  return { dominant: crlf > lf ? "\r\n" : "\n", mixed: crlf > 0 && lf > 0, any: crlf + lf > 0 };
}

/** `eol` is empty for a last line without a line end. */
export interface Line {
  readonly text: string;
  readonly eol: Eol | "";
}

/** Joining `text + eol` of all lines gives the text back. No empty line follows a final end. */
export function splitLines(text: string, style: EolStyle): Line[] {
  const lines: Line[] = [];
  const mark = style.dominant === "\r" ? "\r" : "\n";
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf(mark, start);
    if (end < 0) {
      lines.push({ text: text.slice(start), eol: "" });
      break;
    }
    const crlf = mark === "\n" && end > start && text.charCodeAt(end - 1) === 13;
    lines.push({ text: text.slice(start, crlf ? end - 1 : end), eol: crlf ? "\r\n" : mark });
    start = end + 1;
  }
  return lines;
}

export function lineNumber(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < index; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

export function toLf(text: string): string {
  return text.includes("\r") ? text.replaceAll("\r\n", "\n") : text;
}
