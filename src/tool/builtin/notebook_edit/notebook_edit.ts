import { commitText, writesDenied } from "../../file/commit.ts";
import { resolveWrite } from "../../file/target.ts";
import { loadText, requireSeen } from "../../file/text_file.ts";
import { eolStyle } from "../../text/eol.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { isRecord } from "../../../util/json.ts";

export async function notebookEdit(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  const target = await resolveWrite(context, String(args.path));
  const before = await loadText(context, target);
  requireSeen(context, before);
  const outcome = editNotebook(before.text, editOf(args));
  if ("problem" in outcome) return failure(`${target.shown}: ${outcome.problem}`);
  return await commitText(context, { ...before, target, before, after: outcome.text, note: outcome.done });
}

function editOf(args: Record<string, unknown>): CellEdit {
  const text = (value: unknown) => typeof value === "string" ? value : undefined;
  const mode = args.edit_mode === "insert" || args.edit_mode === "delete" ? args.edit_mode : "replace";
  return { mode, cell: text(args.cell), source: text(args.new_source), type: text(args.cell_type) };
}

interface CellEdit {
  readonly mode: "replace" | "insert" | "delete";
  readonly cell: string | undefined;
  readonly source: string | undefined;
  readonly type: string | undefined;
}

/** The new text of the notebook and what was done, or why nothing was. */
type NotebookOutcome = { readonly text: string; readonly done: string } | { readonly problem: string };

/** A cell of nbformat 4, as far as editing it goes. */
type Cell = Record<string, unknown>;

/** A notebook text with the places of its cells. */
interface Notebook {
  readonly text: string;
  readonly cells: readonly Cell[];
  readonly array: Span;
  readonly spans: readonly Span[];
  /** Cells have ids from nbformat 4.5 on. */
  readonly hasIds: boolean;
}

/**
 * Changes one cell of a notebook.
 *
 * Contract: the text outside that cell stays as it is, byte for byte; numbers and escapes of outputs are not
 * reprinted.
 */
function editNotebook(text: string, edit: CellEdit): NotebookOutcome {
  const notebook = parseNotebook(text);
  if (typeof notebook === "string") return { problem: `it is not a notebook: ${notebook}` };
  const index = edit.cell === undefined ? undefined : cellIndex(notebook, edit.cell);
  if (edit.cell !== undefined && index === undefined) return { problem: unknownCell(notebook, edit.cell) };
  if (edit.mode === "insert") return insertCell(notebook, edit, index === undefined ? 0 : index + 1);
  const cell = index === undefined ? undefined : notebook.cells[index];
  const span = index === undefined ? undefined : notebook.spans[index];
  if (index === undefined || !cell || !span) return { problem: `edit_mode ${edit.mode} needs a cell` };
  if (edit.mode === "delete") return { text: withoutCell(notebook, index), done: `deleted cell ${index}` };
  if (edit.source === undefined) return { problem: "new_source is required to replace a cell" };
  const put = printCell(notebook, replaced(cell, edit.source, edit.type));
  return { text: text.slice(0, span.start) + put + text.slice(span.end), done: `replaced cell ${index}` };
}

function parseNotebook(text: string): Notebook | string {
  let value: { cells?: unknown; nbformat?: number; nbformat_minor?: number } | null;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const found = isRecord(value) ? arrayUnder(text, "cells") : undefined;
  if (!value || !found || !Array.isArray(value.cells)) return "it has no list of cells (nbformat 4)";
  const hasIds = (value.nbformat ?? 4) > 4 || (value.nbformat_minor ?? 0) >= 5;
  return { text, cells: value.cells as Cell[], array: found.array, spans: found.elements, hasIds };
}

/** The cell with its new source; a code cell loses what it printed before. */
function replaced(cell: Cell, source: string, type: string | undefined): Cell {
  const kind = type ?? cell.cell_type;
  const out: Cell = { ...cell, cell_type: kind, source: sourceLike(cell.source, source) };
  delete out.outputs;
  delete out.execution_count;
  if (kind === "code") Object.assign(out, { execution_count: null, outputs: [] });
  // Jupyter writes keys in this order.
  return Object.fromEntries(Object.entries(out).sort(([a], [b]) => a < b ? -1 : 1));
}

function insertCell(notebook: Notebook, edit: CellEdit, at: number): NotebookOutcome {
  if (edit.type === undefined) return { problem: "cell_type is required to insert a cell" };
  const id = notebook.hasIds ? crypto.randomUUID().slice(0, 8) : undefined;
  const isCode = edit.type === "code";
  const cell: Cell = {
    cell_type: edit.type,
    ...(isCode ? { execution_count: null } : {}),
    ...(id ? { id } : {}),
    metadata: {},
    ...(isCode ? { outputs: [] } : {}),
    source: sourceLike([], edit.source ?? ""),
  };
  const put = printCell(notebook, cell);
  const { text, array } = notebook;
  const next = notebook.spans[at];
  const last = notebook.spans.at(-1);
  const gap = indentOf(text) === undefined ? "" : lineBreak(text, 2);
  const done = `inserted cell ${at}${id ? ` (id ${id})` : ""}`;
  if (next) return { text: `${text.slice(0, next.start)}${put},${gap}${text.slice(next.start)}`, done };
  if (last) return { text: `${text.slice(0, last.end)},${gap}${put}${text.slice(last.end)}`, done };
  const close = gap === "" ? "" : lineBreak(text, 1);
  return { text: `${text.slice(0, array.start)}[${gap}${put}${close}]${text.slice(array.end)}`, done };
}

function withoutCell(notebook: Notebook, index: number): string {
  const { text, spans, array } = notebook;
  const [before, own, next] = [spans[index - 1], spans[index], spans[index + 1]];
  if (next && own) return text.slice(0, own.start) + text.slice(next.start);
  if (before && own) return text.slice(0, before.end) + text.slice(own.end);
  return `${text.slice(0, array.start)}[]${text.slice(array.end)}`;
}

/** JSON of a cell as it stands in the list of cells, two levels deep. */
function printCell(notebook: Notebook, cell: Cell): string {
  const indent = indentOf(notebook.text);
  if (indent === undefined) return JSON.stringify(cell);
  return JSON.stringify(cell, null, indent).replaceAll("\n", lineBreak(notebook.text, 2));
}

/** The indentation step, or undefined for a notebook on one line. */
function indentOf(text: string): string | undefined {
  return /\n([ \t]+)"/.exec(text)?.[1];
}

function lineBreak(text: string, depth: number): string {
  return eolStyle(text).dominant + (indentOf(text) ?? "").repeat(depth);
}

/** A cell by its id, or by its number from 0. */
function cellIndex(notebook: Notebook, cell: string): number | undefined {
  const byId = notebook.cells.findIndex((entry) => entry.id === cell);
  if (byId >= 0) return byId;
  const number = /^(?:cell-)?(\d+)$/.exec(cell)?.[1];
  return number !== undefined && Number(number) < notebook.cells.length ? Number(number) : undefined;
}

function unknownCell(notebook: Notebook, cell: string): string {
  const ids = notebook.cells.slice(0, 30).map((entry, index) =>
    entry.id ? `${index}:${entry.id}` : String(index)
  );
  const rest = notebook.cells.length > ids.length ? ", …" : "";
  return `there is no cell "${cell}"; known: ${ids.join(", ") || "none"}${rest}`;
}

/** The format allows one string, or a list of lines with their ends. */
function sourceLike(old: unknown, text: string): string | string[] {
  if (typeof old === "string") return text;
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/**
 * The place where values stand in a JSON text that is known to be valid, so that one can be replaced without
 * touching the rest.
 */

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The elements of the array under a top-level key, and the array itself; undefined when there is none. */
function arrayUnder(
  text: string,
  key: string,
): { readonly array: Span; readonly elements: Span[] } | undefined {
  for (let at = text.indexOf("{") + 1; at < text.length;) {
    at = skipBlank(text, at);
    if (text[at] !== '"') return undefined;
    const nameEnd = skipValue(text, at);
    const name: unknown = JSON.parse(text.slice(at, nameEnd));
    const start = skipBlank(text, skipBlank(text, nameEnd) + 1);
    const end = skipValue(text, start);
    if (name === key) {
      return text[start] === "[" ? { array: { start, end }, elements: elementsOf(text, start) } : undefined;
    }
    at = skipBlank(text, end) + 1;
  }
  return undefined;
}

function elementsOf(text: string, open: number): Span[] {
  const spans: Span[] = [];
  for (let at = skipBlank(text, open + 1); at < text.length && text[at] !== "]";) {
    const end = skipValue(text, at);
    spans.push({ start: at, end });
    at = skipBlank(text, end);
    if (text[at] === ",") at = skipBlank(text, at + 1);
  }
  return spans;
}

function skipBlank(text: string, at: number): number {
  while (at < text.length && " \t\r\n".includes(text[at] ?? "")) at++;
  return at;
}

/** Index after the value that begins at `at`. */
function skipValue(text: string, at: number): number {
  let depth = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') at = skipString(text, at);
    else if (char === "{" || char === "[") {
      depth++;
      at++;
    } else if (char === "}" || char === "]") {
      if (depth === 0) return at;
      depth--;
      at++;
    } else if (depth === 0 && (char === "," || " \t\r\n".includes(char ?? ""))) return at;
    else at++;
    if (depth === 0 && (char === '"' || char === "}" || char === "]")) return at;
  }
  return at;
}

function skipString(text: string, at: number): number {
  for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
  return at + 1;
}
