import { clusters, displayWidth } from "../../../util/display_width.ts";
import { Style } from "./style.ts";

/** All that a line may hold besides text: colours (SGR), links (OSC 8) that open nothing on this machine. */
const ALLOWED =
  // deno-lint-ignore no-control-regex
  /\x1b\[[0-9;:]*m|\x1b\]8;[\x20-\x3a\x3c-\x7e]*;(?:(?:https?|mailto):[^\x00-\x20\x7f-\x9f]*)?(?:\x07|\x1b\\)/y;
/** Sequences of other kinds, whole where they end; of a broken one only the beginning. */
const FOREIGN =
  // deno-lint-ignore no-control-regex
  /\x1b\[[\x20-\x3f]*[\x40-\x7e]|\x1b[\]PX^_][^\x1b\x07]*(?:\x07|\x1b\\)?|\x1b[\x20-\x2f]*[\x30-\x7e]?/y;
/**
 * Control characters, and those that take no cell and show text in another order, break lines or hide in it.
 * Joiners and selectors, which emoji and some scripts need, are none of them.
 */
const CONTROL =
  // deno-lint-ignore no-control-regex
  /[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;
// deno-lint-ignore no-control-regex
const SEQUENCES = /\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)/g;
// deno-lint-ignore no-control-regex
const LINK_CLOSED = /^\x1b\]8;[^;]*;(?:\x07|\x1b\\)$/;
const LINE_END = /[\n\u2028\u2029]/;
const RESET = "\x1b[0m";
const LINK_END = "\x1b]8;;\x1b\\";
const TAB = "    ";
/** Code units of a line that are looked at for each cell; no text needs as many. */
const MAX_PER_CELL = 128;

/** Characters that take the same cells on every terminal and join with nothing: printable ASCII and CJK. */
const SOLO = /^[\x20-\x7e\u3001-\u3029\u3030-\u3096\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]$/;
const ALL_SOLO =
  /^[\x20-\x7e\u3001-\u3029\u3030-\u3096\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]*$/;
const ASCII = /^[\x20-\x7e]*$/;

/** Cells that a line takes which holds nothing else than text, colours and links. */
function lineWidth(line: string): number {
  return displayWidth(line.replace(SEQUENCES, ""));
}

/**
 * Returns the line as it may be written: text, colours and links, everything else taken out; at most
 * `columns` cells, cut with an ellipsis when it has more; colours and links are ended.
 */
export function safeLine(whole: string, columns: number): string {
  if (whole.length <= columns && ASCII.test(whole)) return whole;
  const line = whole.slice(0, (columns + 1) * MAX_PER_CELL);
  const safe = CONTROL.test(line) ? withoutControls(line) : { text: line, styled: false, linked: false };
  if (lineWidth(safe.text) > columns) return cut(safe.text, columns);
  return `${safe.text}${safe.linked ? LINK_END : ""}${safe.styled ? RESET : ""}`;
}

interface Cleaned {
  readonly text: string;
  /** A colour or a link is still on at the end. */
  readonly styled: boolean;
  readonly linked: boolean;
}

function withoutControls(line: string): Cleaned {
  let text = "";
  const style = new Style();
  let linked = false;
  for (let at = 0; at < line.length;) {
    const allowed = line[at] === "\x1b" ? matchAt(ALLOWED, line, at) : undefined;
    if (allowed !== undefined) {
      if (allowed[1] === "[") style.apply(allowed);
      else linked = !LINK_CLOSED.test(allowed);
      text += allowed;
      at += allowed.length;
    } else if (line[at] === "\x1b") at += matchAt(FOREIGN, line, at)?.length ?? 1;
    else {
      const character = line[at] ?? "";
      if (character === "\t") text += TAB;
      else if (LINE_END.test(character)) text += " ";
      else if (!CONTROL.test(character)) text += character;
      at++;
    }
  }
  return { text, styled: !style.plain, linked };
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function cut(line: string, columns: number): string {
  let kept = "";
  let used = 0;
  for (const part of parts(line)) {
    if (part.startsWith("\x1b")) kept += part;
    else if (used >= 0) {
      for (const segment of clusters(part)) {
        const width = displayWidth(segment);
        if (used + width > columns - 1) {
          kept += columns > 0 ? "…" : "";
          used = -1;
          break;
        }
        kept += segment;
        used += width;
      }
    }
  }
  return line.includes("\x1b") ? `${kept}${line.includes("\x1b]8;") ? LINK_END : ""}${RESET}` : kept;
}

/** The sequences of a line and the texts between them. */
function parts(line: string): string[] {
  return line.split(new RegExp(`(${SEQUENCES.source})`)).filter((part) => part !== "");
}

/** Rows that a line takes after the terminal was made `columns` wide and has wrapped it anew. */
export function rowsOf(line: string, columns: number): number {
  const text = line.replace(SEQUENCES, "");
  if (ASCII.test(text)) return Math.max(1, Math.ceil(text.length / columns));
  let rows = 1;
  let used = 0;
  for (const segment of clusters(text)) {
    const width = displayWidth(segment);
    if (used + width > columns) {
      rows++;
      used = 0;
    }
    used += width;
  }
  return rows;
}

/**
 * Text that, written from the first column on, takes the cursor to `column` on terminals that give some
 * characters other widths than we do; undefined where they cannot differ.
 */
export function pathTo(line: string, column: number): string | undefined {
  if (ALL_SOLO.test(line.replace(SEQUENCES, ""))) return undefined;
  const path = beginning(line, column);
  // Blanks after the line and the inside of a wide character are no end of a path.
  if (lineWidth(path) !== column || ALL_SOLO.test(path.replace(SEQUENCES, ""))) return undefined;
  return path.includes("\x1b") ? `${path}${path.includes("\x1b]8;") ? LINK_END : ""}${RESET}` : path;
}

/** Row, counted from the first of a line, in which a cell is after the line was wrapped anew. */
export function rowOf(line: string, column: number, columns: number): number {
  const path = beginning(line, column).replace(SEQUENCES, "");
  return rowsOf(`${path}${" ".repeat(column - lineWidth(path))}x`, columns) - 1;
}

/** The characters of a line in its first cells. */
function beginning(line: string, cells: number): string {
  let text = "";
  let used = 0;
  for (const part of parts(line)) {
    if (part.startsWith("\x1b")) {
      text += part;
      continue;
    }
    for (const segment of clusters(part)) {
      const width = displayWidth(segment);
      if (used + width > cells) return text;
      text += segment;
      used += width;
    }
  }
  return text;
}

/** What has to be written, and from which column on, to make `old` into `line` in its row. */
export function lineChange(old: string, line: string): { readonly column: number; readonly text: string } {
  const same = samePart(old, line);
  const column = lineWidth(line.slice(0, same));
  const colours = line.slice(0, same).match(SEQUENCES) ?? [];
  const style = new Style();
  for (const colour of colours) style.apply(colour);
  const rest = `${style.plain ? "" : colours.join("")}${line.slice(same)}`;
  const clear = same === old.length ? "" : "\x1b[K";
  // Lines end without a colour, so the rest is cleared without one. First: behind the last column of the
  // screen there is no place for the cursor, and clearing would take the character there.
  return { column, text: clear + rest };
}

/** Length of the common beginning that ends between two characters which join with nothing. */
function samePart(old: string, line: string): number {
  const most = Math.min(old.length, line.length);
  let same = 0;
  while (same < most && old[same] === line[same]) same++;
  while (same > 0 && !(isBoundary(line, same) && isBoundary(old, same))) same--;
  return line.slice(0, same).includes("\x1b]8;") ? 0 : same;
}

function isBoundary(line: string, at: number): boolean {
  if (at < line.length && !SOLO.test(line[at] ?? "")) return false;
  if (!SOLO.test(line[at - 1] ?? "")) return false;
  // Inside of a sequence the letters and digits look like text.
  const escape = line.lastIndexOf("\x1b", at - 1);
  if (escape < 0) return true;
  const sequence = matchAt(ALLOWED, line, escape);
  return sequence !== undefined && escape + sequence.length <= at;
}
