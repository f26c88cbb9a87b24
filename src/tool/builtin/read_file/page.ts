import type { ToolResult, Truncation } from "../../tool.ts";
import { cutLine } from "../../truncation.ts";
import { type Encoding, encodingName } from "../../text/encoding.ts";
import type { EolStyle } from "../../text/eol.ts";
import { byteLength } from "../../../util/byte_length.ts";

const DEFAULT_LINES = 2000;
const MAX_BYTES = 32 * 1024;
const MAX_LINE_BYTES = 2000;

/** The request of the model: first line from 1, and how many lines. */
export interface Page {
  readonly offset: number;
  readonly limit: number | undefined;
}

/** Takes lines one by one and keeps those of the page, numbered and within the byte cap. */
export class LineWindow {
  readonly rows: string[] = [];
  /** Lines seen so far; all of them after {@linkcode finish} unless the reader stopped early. */
  total = 0;
  bytes = 0;
  cutLines = 0;
  full = false;
  noFinalNewline = false;
  readonly #page: Page;
  readonly style: EolStyle;

  constructor(page: Page, style: EolStyle) {
    this.#page = page;
    this.style = style;
  }

  /** Reports whether the next line belongs to the page, or lies before it. */
  get wantsMore(): boolean {
    return !this.full && this.rows.length < (this.#page.limit ?? DEFAULT_LINES);
  }

  /** Reports whether the next line lies in the page. */
  get inPage(): boolean {
    return this.total + 1 >= this.#page.offset;
  }

  push(line: string): void {
    this.total++;
    if (this.total < this.#page.offset) return;
    const shown = cutLine(line.isWellFormed() ? line : line.toWellFormed(), MAX_LINE_BYTES);
    const row = `${String(this.total).padStart(4)}→${shown}`;
    const size = byteLength(row) + 1;
    if (this.bytes + size > MAX_BYTES && this.rows.length > 0) {
      this.full = true;
      return;
    }
    if (shown !== line && shown.endsWith("bytes in all]")) this.cutLines++;
    this.bytes += size;
    this.rows.push(row);
  }

  skip(): void {
    this.total++;
  }

  finish(noFinalNewline: boolean): void {
    this.noFinalNewline = noFinalNewline;
  }
}

export interface PageFile {
  readonly shown: string;
  readonly encoding: Encoding;
  readonly bom: boolean;
  readonly totalBytes: number;
  /** The rest of the file was not looked at, so the number of lines is a lower bound. */
  readonly open?: boolean;
}

export function showPage(window: LineWindow, page: Page, file: PageFile): ToolResult {
  const notes = fileNotes(window, file);
  if (window.total === 0) return { content: ["(empty file)", ...notes].join("\n"), summary: "empty" };
  if (window.rows.length === 0) {
    const content = `(offset ${page.offset} is past the end: ${file.shown} has ${window.total} lines)`;
    return { content, summary: `past the end of ${window.total} lines` };
  }
  const last = page.offset + window.rows.length - 1;
  const whole = file.open !== true && last === window.total;
  const total = `${file.open ? "more than " : ""}${window.total}`;
  if (!whole) notes.unshift(`[lines ${page.offset}–${last} of ${total}; go on with offset ${last + 1}]`);
  const truncated = truncationOf(window, page, file, whole);
  return {
    content: [...window.rows, ...notes].join("\n"),
    summary: whole && page.offset === 1
      ? lines(window.rows.length)
      : `lines ${page.offset}–${last} of ${total}`,
    ...(truncated ? { truncated } : {}),
  };
}

function lines(count: number): string {
  return count === 1 ? "1 line" : `${count} lines`;
}

/** Returns what a reader must know to edit the file: anything but plain UTF-8 with LF. */
function fileNotes(window: LineWindow, file: PageFile): string[] {
  const notes: string[] = [];
  if (file.encoding !== "utf-8" || file.bom) notes.push(`encoding ${encodingName(file.encoding, file.bom)}`);
  if (window.style.mixed) notes.push("mixed CRLF and LF line ends");
  else if (window.style.dominant !== "\n") {
    notes.push(`${window.style.dominant === "\r" ? "CR" : "CRLF"} line ends`);
  }
  if (window.noFinalNewline) notes.push("no newline at the end");
  return notes.length > 0 ? [`[${notes.join("; ")}; kept by edits]`] : [];
}

/** A page the model chose itself is not a truncation. */
function truncationOf(
  window: LineWindow,
  page: Page,
  file: PageFile,
  whole: boolean,
): Truncation | undefined {
  const totals = {
    totalBytes: file.totalBytes,
    ...(file.open ? {} : { totalLines: window.total }),
    keptBytes: window.bytes,
  };
  if (window.full) return { cut: "tail", reason: "bytes", ...totals };
  if (!whole && page.limit === undefined) return { cut: "tail", reason: "lines", ...totals };
  if (window.cutLines > 0) return { cut: "lines", reason: "line_length", ...totals };
  return undefined;
}
