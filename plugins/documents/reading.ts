/** What the readers of all kinds share: their input and result, selected pages, and tables. */
import { PluginError } from "../common/plugin.ts";
import type { Archive } from "./archive.ts";

export interface DocumentInput {
  readonly bytes: Uint8Array;
  /** For messages, and for the kind where the content does not decide. */
  readonly name: string;
  /** First and last of pages, slides or sheets, from 1; all that there are, up to a limit, when absent. */
  readonly pages?: readonly PageRange[];
}

export type PageRange = readonly [first: number, last: number];

export interface DocumentResult {
  readonly markdown: string;
  /** The kind of the document, such as `docx`. */
  readonly converter: string;
  readonly title?: string | undefined;
  readonly date?: string | undefined;
  /** Number of all pages, slides or sheets. */
  readonly pages?: number | undefined;
  /** The first page that was left out because there are too many. */
  readonly next?: number | undefined;
  /** Content above a limit, of which only a part is here, as phrases. */
  readonly cut?: readonly string[];
  /** Its pages are images. */
  readonly textless?: boolean;
  readonly outline: readonly OutlineEntry[];
  /** Phrases for the first line of a result. */
  readonly notes: readonly string[];
}

export interface OutlineEntry {
  readonly level: number;
  readonly title: string;
  /** From 1, in the lines of `markdown`. */
  readonly line: number;
}

/** What the reader of a kind returns. Headings become the outline where it has none. */
export type Reading =
  & Pick<DocumentResult, "markdown" | "title" | "date" | "pages" | "next" | "cut" | "textless">
  & Partial<Pick<DocumentResult, "outline" | "notes">>;

/** Pages are selected; the reader of a kind without pages ignores them. */
export interface Request extends DocumentInput {
  readonly archive: Archive;
}

/** Reports whether a page, slide or sheet is one of those that are wanted. */
export function isSelected(page: number, pages: readonly PageRange[] | undefined): boolean {
  return pages === undefined || pages.some(([first, last]) => first <= page && page <= last);
}

/** Throws a {@linkcode PluginError} when no page is selected. */
export function requirePages(name: string, total: number, pages: readonly PageRange[] | undefined): void {
  if (!pages || pages.some(([first]) => first <= total)) return;
  throw new PluginError(`Cannot select these pages of ${name}: it has ${total}`, `use pages up to ${total}`);
}

/** A table in Markdown; the first row is its header. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  if (columns === 0) return "";
  const line = (row: readonly string[]) => {
    const cells = Array.from({ length: columns }, (_, at) => row[at] ?? "");
    return `| ${
      cells.map((cell) => cell.trim().replace(/\s*\n\s*/g, "<br>").replaceAll("|", "\\|")).join(" | ")
    } |`;
  };
  const [head = [], ...body] = rows;
  return [line(head), `|${" --- |".repeat(columns)}`, ...body.map(line)].join("\n");
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
