/** The converter `feed`: RSS and Atom. Entries become a page, so that hidden text in them does not arrive. */
import { parseFeed } from "htmlparser2";
import { decodePage } from "./page/charset.ts";
import { convert as convertPage, type PageInput, type PageResult } from "./page/convert.ts";
import { convert as convertText, type TextResult } from "./text.ts";

type FeedResult = Omit<PageResult, "part"> & { readonly part: "feed" };

export async function convert(input: PageInput): Promise<FeedResult | TextResult> {
  const feed = parseFeed(decodePage(input.bytes, input.contentType).text);
  if (!feed) return await convertText(input);
  const entries = feed.items.map(({ title, link, pubDate, description = "" }) => {
    const name = escaped(title ?? link ?? "Untitled");
    const heading = link === undefined ? name : `<a href="${escaped(link)}">${name}</a>`;
    const date = dayOf(pubDate);
    return `<h2>${heading}</h2>${date === undefined ? "" : `<p>${date}</p>`}<div>${description}</div>`;
  });
  const html = `<!doctype html><title>Feed</title><body>${entries.join("\n")}</body>`;
  const bytes = new TextEncoder().encode(html);
  const page = convertPage({ bytes, url: input.url, contentType: "text/html; charset=utf-8", part: "page" });
  return { ...await page, title: feed.title ?? "", date: dayOf(feed.updated), part: "feed" };
}

function dayOf(date: Date | undefined): string | undefined {
  return date === undefined || Number.isNaN(date.getTime()) ? undefined : date.toISOString().slice(0, 10);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
