/** Pages of a PDF → text, with a mark in front of each page. */
import type { PDFDocumentProxy } from "unpdf/pdfjs";
import { cleanText } from "../common/material.ts";
import { PluginError } from "../common/plugin.ts";
import {
  counted,
  isSelected,
  type OutlineEntry,
  type Reading,
  type Request,
  requirePages,
} from "./reading.ts";

/** More pages are converted when they are selected. */
const MAX_PAGES = 500;
const MAX_OUTLINE = 1000;

export async function readPdf({ bytes, name, pages }: Request): Promise<Reading> {
  const { getDocumentProxy } = await import("unpdf");
  let document: PDFDocumentProxy;
  try {
    document = await getDocumentProxy(bytes, { enableXfa: false, verbosity: 0 });
  } catch (error) {
    if (error instanceof Error && error.name === "PasswordException") {
      throw new PluginError(
        `Cannot read ${name}: it is encrypted with a password`,
        "save it without the password",
      );
    }
    throw error;
  }
  const total = document.numPages;
  requirePages(name, total, pages);
  const lines: string[] = [];
  const starts = new Map<number, number>();
  const failed: number[] = [];
  let characters = 0;
  for (let number = 1; number <= total && starts.size < MAX_PAGES; number++) {
    if (!isSelected(number, pages)) continue;
    starts.set(number, lines.length + 1);
    let text = "";
    try {
      text = await pageText(document, number);
    } catch {
      failed.push(number);
    }
    characters += text.replace(/\s/g, "").length;
    // As the whole text becomes later, so that the lines of the outline are those of the result.
    const clean = cleanText(text).replace(/[ \t]+$/gm, "").replace(/\n{3,}/g, "\n\n").trim();
    lines.push(`--- Page ${number} of ${total} ---`, "", ...(clean === "" ? [] : [...clean.split("\n"), ""]));
  }
  const { info } = await document.getMetadata().catch(() => ({ info: {} }));
  const { Title, CreationDate } = info as Record<string, unknown>;
  const notes = [counted(total, "page")];
  const last = [...starts.keys()].at(-1) ?? 0;
  if (pages) notes.push(`lines count from page ${starts.keys().next().value}`);
  const next = starts.size === MAX_PAGES && last < total ? last + 1 : undefined;
  if (next !== undefined) notes.push(`pages from ${next} left out: select them with pages`);
  if (failed.length > 0) notes.push(`damaged: page ${failed.join(", ")}`);
  if (characters === 0) notes.push("no text layer: the pages are images, and text in them is not recognized");
  return {
    markdown: lines.join("\n"),
    title: typeof Title === "string" && Title !== "" ? Title : undefined,
    date: typeof CreationDate === "string"
      ? CreationDate.replace(/^D:(\d{4})(\d\d)(\d\d).*/, "$1-$2-$3")
      : undefined,
    pages: total,
    next,
    textless: characters === 0,
    outline: await outlineOf(document, starts),
    notes,
  };
}

/** Lines as the document has them; a larger gap becomes an empty line. */
async function pageText(document: PDFDocumentProxy, number: number): Promise<string> {
  const page = await document.getPage(number);
  const { items } = await page.getTextContent();
  let text = "";
  let before: { readonly y: number; readonly height: number } | undefined;
  for (const item of items) {
    if (!("str" in item)) continue;
    const y = Number(item.transform[5]);
    if (before && text.endsWith("\n") && item.str.trim() !== "" && before.y - y > 1.8 * before.height) {
      text += "\n";
    }
    text += item.str + (item.hasEOL ? "\n" : "");
    if (item.str.trim() !== "") before = { y, height: item.height || 10 };
  }
  page.cleanup();
  return text;
}

/** The bookmarks of the document, else its pages. */
async function outlineOf(
  document: PDFDocumentProxy,
  starts: ReadonlyMap<number, number>,
): Promise<OutlineEntry[]> {
  const found: OutlineEntry[] = [];
  type Bookmark = Awaited<ReturnType<PDFDocumentProxy["getOutline"]>>[number];
  const waiting: { readonly level: number; readonly bookmark: Bookmark }[] = [];
  const add = (level: number, bookmarks: readonly Bookmark[]) =>
    waiting.unshift(...bookmarks.map((bookmark) => ({ level, bookmark })));
  add(1, await document.getOutline().catch(() => null) ?? []);
  for (let next = waiting.shift(); next && found.length < MAX_OUTLINE; next = waiting.shift()) {
    const { level, bookmark: { title, dest, items } } = next;
    const line = starts.get(await pageOf(document, dest).catch(() => 0));
    if (line !== undefined) found.push({ level, title: title.replace(/\s+/g, " ").trim(), line });
    if (level < 6) add(level + 1, items);
  }
  if (found.length > 0) return found;
  return [...starts].map(([number, line]) => ({ level: 1, title: `Page ${number}`, line }));
}

async function pageOf(document: PDFDocumentProxy, dest: unknown): Promise<number> {
  const target = typeof dest === "string" ? await document.getDestination(dest) : dest;
  const [page] = Array.isArray(target) ? target : [];
  return typeof page === "number" ? page + 1 : await document.getPageIndex(page) + 1;
}
