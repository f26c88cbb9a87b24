/** The converter `text`: JSON, XML, feeds and other text. Runs in a bounded worker, as all conversions. */
import { cleanText } from "../common/material.ts";
import { decodePage } from "./page/charset.ts";
import type { PageInput } from "./page/convert.ts";

export interface TextResult {
  readonly markdown: string;
  readonly title?: string | undefined;
  readonly date?: string | undefined;
  readonly part: "feed" | "json" | "xml" | "text";
  readonly notes: readonly string[];
}

const FEED = /^\s*(<\?[^>]*>\s*|<!--[^]*?-->\s*)*<(rss|feed|rdf:RDF)\b/i;
/** Lines longer than this are broken where the format allows it. */
const LONG_LINE = 2000;

export async function convert({ bytes, url, contentType }: PageInput): Promise<TextResult> {
  const { text, charset, guessed, replaced } = decodePage(bytes, contentType);
  const notes = [
    ...(guessed ? [`read as ${charset}, which is a guess`] : []),
    ...(replaced > 0 ? [`${replaced} characters are not readable as ${charset}`] : []),
  ];
  const feed = FEED.test(text) ? await feedOf(text, url) : undefined;
  if (feed) return { ...feed, notes };
  const part = /^\s*[[{]/.test(text) ? "json" : /^\s*</.test(text) ? "xml" : "text";
  const isLong = text.split("\n", 1000).some((line) => line.length > LONG_LINE);
  return { part, notes, markdown: cleanText(isLong ? broken(text, part) : text) };
}

function broken(text: string, part: "json" | "xml" | "text"): string {
  if (part === "xml") return text.replace(/>\s*(?=<)/g, ">\n");
  if (part === "text") return text;
  try {
    return JSON.stringify(JSON.parse(text, exact), undefined, 2);
  } catch {
    return text;
  }
}

/** Numbers stay as they are written: those with many digits would change. */
function exact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const raw = (JSON as { rawJSON?: (text: string) => unknown }).rawJSON;
  const isExact = typeof value !== "number" || context?.source === undefined ||
    String(value) === context.source;
  return isExact || !raw ? value : raw(context.source);
}

/** Entries become a page of headings, so that hidden text and scripts in them do not arrive. */
async function feedOf(text: string, url: string): Promise<Omit<TextResult, "notes"> | undefined> {
  const [{ parseFeed }, { convert }] = await Promise.all([
    import("htmlparser2"),
    import("./page/convert.ts"),
  ]);
  const feed = parseFeed(text);
  if (!feed) return undefined;
  const entries = feed.items.map(({ title, link, pubDate, description = "" }) => {
    const name = escaped(title ?? link ?? "Untitled");
    const heading = link === undefined ? name : `<a href="${escaped(link)}">${name}</a>`;
    const date = dayOf(pubDate);
    return `<h2>${heading}</h2>${date === undefined ? "" : `<p>${date}</p>`}<div>${description}</div>`;
  });
  const html = `<!doctype html><html><head><title>Feed</title></head><body>${
    entries.join("\n")
  }</body></html>`;
  const bytes = new TextEncoder().encode(html);
  const { markdown } = await convert({
    bytes,
    url,
    contentType: "text/html; charset=utf-8",
    part: "page",
  });
  return { markdown, title: feed.title, date: dayOf(feed.updated), part: "feed" };
}

function dayOf(date: Date | undefined): string | undefined {
  return date === undefined || Number.isNaN(date.getTime()) ? undefined : date.toISOString().slice(0, 10);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
