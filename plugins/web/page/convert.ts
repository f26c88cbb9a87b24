/** The converter `page`: bytes of an HTML page → the article in it as Markdown. Runs in a bounded worker. */
import { Readability } from "@mozilla/readability";
import JSDOMParser from "@mozilla/readability/JSDOMParser.js";
import { decodePage } from "./charset.ts";
import { type CleanPage, cleanPage, decodeSigns, encodeSigns, GHOST } from "./clean.ts";
import { markdownOf, type PageElement } from "./markdown.ts";

export interface PageInput {
  readonly bytes: Uint8Array;
  /** The final URL, against which links are resolved. */
  readonly url: string;
  /** The header `Content-Type`. */
  readonly contentType?: string;
  /** Converts the whole page without a search for the article. */
  readonly part?: "page";
}

export interface PageResult {
  readonly markdown: string;
  readonly title: string;
  /** `YYYY-MM-DD` */
  readonly date?: string | undefined;
  readonly site?: string | undefined;
  readonly charset: string;
  /** `article`, or the whole page where there is no article, or hardly any of the text is in it. */
  readonly part: "article" | "page";
  /** A page without text of interest that leads to another URL. */
  readonly forward?: string | undefined;
  /** Phrases for the first line of a result. */
  readonly notes: readonly string[];
}

/** An article with less than this share of the text is not the article. */
const MIN_SHARE = 1 / 5;
/** A longer one is the article whatever else is on the page: captions of a gallery, comments of readers. */
const LONG = 3000;
/** The time of the search for an article grows with its square; such a page is a log. */
const MAX_RUN = 5000;
/** A page with fewer characters that has scripts shows its text with them. */
const MIN_TEXT = 200;

export function convert({ bytes, url, contentType, part: wanted }: PageInput): Promise<PageResult> {
  const decoded = decodePage(bytes, contentType);
  const page = cleanPage(decoded.text, url);
  const { title, date, site, forward } = page;
  const { markdown, part } = contentOf(page, wanted === undefined);
  const notes = notesOf(page, markdown);
  if (decoded.guessed) notes.push(`read as ${decoded.charset}, which is a guess`);
  if (decoded.replaced > 0) {
    notes.push(`${decoded.replaced} characters are not readable as ${decoded.charset}`);
  }
  return Promise.resolve({ markdown, title, date, site, charset: decoded.charset, part, forward, notes });
}

function notesOf({ forward, challenge, length, scripts, cut }: CleanPage, markdown: string): string[] {
  const notes: string[] = [];
  if (forward !== undefined) notes.push(`the page forwards to ${forward}; call web_open with it`);
  else if (challenge) notes.push("a challenge page: the server wants a person and a browser");
  else if (length < MIN_TEXT && scripts > 0) {
    const verb = length === 0 ? "needs" : "may need";
    notes.push(`the page ${verb} JavaScript: an MCP server for Playwright can read it, see docs/mcp.md`);
  } else if (markdown === "") notes.push("the page has no visible text");
  if (cut) notes.push("the page is too large: its end is left out");
  return notes;
}

/** A library may fail for a page: then the next way is tried, and the last one needs no library. */
function contentOf(page: CleanPage, article: boolean): Pick<PageResult, "markdown" | "part"> {
  const ways: readonly (readonly [PageResult["part"], () => PageElement | undefined])[] = [
    ["article", () => article && page.longestRun <= MAX_RUN ? articleOf(page) : undefined],
    ["page", () => documentOf(page).body],
  ];
  for (const [part, find] of ways) {
    try {
      const element = find();
      if (element) return { markdown: markdownOf(element), part };
    } catch {
      // The next way.
    }
  }
  return { markdown: plainText(page.html), part: "page" };
}

interface PageDocument extends PageElement {
  readonly body: PageElement;
  createTextNode(text: string): object;
}

/** The parser that comes with the search for the article wants well-formed markup: `cleanPage` makes it. */
function documentOf({ title, html }: CleanPage): PageDocument {
  const parser = new JSDOMParser();
  // It would print errors, also while it searches.
  Object.getPrototypeOf(parser).error = (message: string) => {
    throw new Error(message);
  };
  const head = `<head><title>${encodeSigns(title)}</title></head>`;
  const document: PageDocument = parser.parse(`<html>${head}<body>${html}</body></html>`);
  completeText(Object.getPrototypeOf(document.createTextNode("")));
  return document;
}

/** Gives text nodes two names of their content that the converter uses. */
function completeText(prototype: { textContent: string }): void {
  for (const name of ["data", "nodeValue"]) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(this: typeof prototype) {
        return this.textContent;
      },
      set(this: typeof prototype, text: string) {
        this.textContent = text;
      },
    });
  }
}

function articleOf(page: CleanPage): PageElement | undefined {
  const document = documentOf(page);
  const article = new Readability<PageElement>(document as never, {
    keepClasses: true,
    serializer: (node) => node,
  })
    .parse();
  const length = article?.textContent?.replaceAll(GHOST, "").trim().length ?? 0;
  return article?.content && length >= Math.min(LONG, MIN_SHARE * page.prose) ? article.content : undefined;
}

function plainText(html: string): string {
  const text = html
    .replace(
      /<\/?(?:p|div|br|hr|li|tr|h[1-6]|pre|table|ul|ol|section|article|blockquote|dt|dd)\b[^>]*>/g,
      "\n",
    )
    .replace(/<[^>]*>/g, "")
    .replace(/\s*\n\s*/g, "\n\n");
  return decodeSigns(text).trim();
}
