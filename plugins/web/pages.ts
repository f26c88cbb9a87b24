/** Opened pages: requests, conversion by kind, and the pages that the process keeps. */
import { PluginError } from "../common/plugin.ts";
import type { Call } from "../common/tool.ts";
import { fetchPage, type Network, pageUrl, type Redirect, type Reply } from "./fetch.ts";

export interface Page {
  /** The final URL. */
  readonly url: string;
  readonly title?: string | undefined;
  readonly date?: string | undefined;
  /** `article`, `page`, `feed`, `json` …, or a type of images. */
  readonly kind: string;
  readonly notes: readonly string[];
  readonly lines: readonly string[];
  readonly image?: { readonly bytes: Uint8Array; readonly mimeType: string };
}

interface KeptPage {
  readonly page: Page;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
  readonly size: number;
  checkedAt: number;
}

/** Runs a converter within its bounds. */
export type Convert = (
  converter: string,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) => Promise<Converted>;

interface Converted {
  readonly markdown: string;
  readonly title?: string | undefined;
  readonly date?: string | undefined;
  /** Of pages and text. */
  readonly part?: string;
  /** Of documents: the kind. */
  readonly converter?: string;
  readonly notes?: readonly string[] | undefined;
}

/** Bytes of all kept pages, about. */
const MAX_KEPT = 32e6;
const LINE_OVERHEAD = 32;
const MAX_LINE = 3000;
const PIECES = new RegExp(`[^]{1,${MAX_LINE}}`, "gu");
const ACCEPT = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5";

export class Pages {
  /** In the order of their last use. */
  readonly #kept = new Map<string, KeptPage>();
  #size = 0;

  /** Pages are asked for again after `keepMs`. */
  constructor(
    readonly network: Network,
    readonly convert: Convert,
    readonly keepMs: number,
    readonly now: () => number = Date.now,
    readonly maxKept = MAX_KEPT,
  ) {}

  /** Resolves to the page, or to where it redirects; throws a PluginError of one line. */
  async open(
    text: string,
    { signal, progress }: Pick<Call, "signal" | "progress">,
  ): Promise<Page | Redirect> {
    const url = pageUrl(text);
    const kept = this.#kept.get(url.href);
    if (kept && this.now() - kept.checkedAt < this.keepMs) return this.#keep(url.href, kept);
    const timer = setInterval(() => progress(`Waits for ${url.host}`), 1000);
    try {
      const reply = await fetchPage(this.network, url, {
        accept: ACCEPT,
        "accept-encoding": "gzip, br",
        "user-agent": "Mozilla/5.0 (compatible; Reasonix)",
        ...(kept?.etag === undefined ? {} : { "if-none-match": kept.etag }),
        ...(kept?.lastModified === undefined ? {} : { "if-modified-since": kept.lastModified }),
      }, signal);
      if ("redirect" in reply) return reply;
      if (reply.status === 304 && kept) {
        kept.checkedAt = this.now();
        return this.#keep(url.href, kept);
      }
      requirePage(reply);
      const page = await this.#convert(reply, signal);
      const { etag, "last-modified": lastModified } = reply.headers;
      const size = page.lines.reduce(
        (sum, line) => sum + line.length + LINE_OVERHEAD,
        page.image?.bytes.length ?? 0,
      );
      return this.#keep(url.href, { page, etag, lastModified, size, checkedAt: this.now() });
    } finally {
      clearInterval(timer);
    }
  }

  #keep(key: string, kept: KeptPage): Page {
    this.#drop(key);
    this.#kept.set(key, kept);
    this.#size += kept.size;
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.maxKept) break;
      this.#drop(oldest);
    }
    return kept.page;
  }

  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0;
    this.#kept.delete(key);
  }

  async #convert({ url, headers, bytes }: Reply, signal: AbortSignal): Promise<Page> {
    const contentType = headers["content-type"] ?? "";
    const kind = kindOf(contentType, url, bytes);
    const base = { url: url.href, notes: [], lines: [] };
    if (kind.startsWith("image/")) return { ...base, kind, image: { bytes, mimeType: kind } };
    if (kind === "binary") {
      const type = contentType === "" ? "data of an unknown type" : contentType.slice(0, 100);
      throw new PluginError(`Cannot show ${url.href}: it is ${type} (${bytes.length} bytes), not text`);
    }
    try {
      const name = url.pathname.replace(/^.*\//, "") || url.host;
      const input = { bytes, contentType, url: url.href, name };
      const found = await this.convert(kind, input, signal);
      const { markdown, title = "", date, converter = kind, part = converter, notes = [] } = found;
      const lines = linesOf(markdown.trimEnd());
      return { ...base, title: title === "" ? undefined : title, date, kind: part, notes, lines };
    } catch (error) {
      if (!(error instanceof PluginError)) throw error;
      const isWhole = error.message.startsWith("Cannot ");
      throw new PluginError(
        isWhole ? error.message : `Cannot show ${url.href}: ${error.message}`,
        error.remedy,
      );
    }
  }
}

/** Parts of a long line are lines, too, so that `offset` reaches them. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const pieces = (line: string) => line.length > MAX_LINE ? line.match(PIECES) ?? [] : [line];
  return text.split("\n").flatMap(pieces);
}

function requirePage({ url, status, headers, bytes }: Reply): void {
  if (status >= 200 && status < 300 && status !== 204 && status !== 205) {
    if (bytes.length > 0) return;
    throw new PluginError(`Cannot open ${url.href}: the server answers ${status} with an empty page`);
  }
  const text = () => new TextDecoder().decode(bytes.subarray(0, 64 * 1024));
  const isChallenge = headers["cf-mitigated"] === "challenge" ||
    [403, 429, 503].includes(status) && /captcha|challenge|just a moment|are you (a )?human/i.test(text());
  const { "retry-after": retry = "" } = headers;
  const [reason, remedy] = isChallenge
    ? ["a challenge page, which only a person in a browser can pass", "use another source"]
    : [WORDS[status] ?? (status >= 500 ? "the server has a failure" : "no page"), undefined];
  throw new PluginError(
    `Cannot open ${url.href}: the server answers ${status} (${reason})`,
    status === 429 && /^\d{1,6}$/.test(retry) ? `try again in ${retry} s` : remedy,
  );
}

const WORDS: Readonly<Record<number, string>> = {
  204: "no content",
  205: "no content",
  304: "not modified",
  401: "it needs a login",
  403: "forbidden",
  404: "not found",
  410: "gone",
  429: "too many requests",
  451: "unavailable for legal reasons",
};

const DOCUMENT_TYPE =
  /^application\/(pdf|epub\+zip|rtf|msword|vnd\.(openxmlformats|oasis\.opendocument|ms-(excel|powerpoint|word))[\w.+-]*|x-ipynb\+json)$|^message\/rfc822$/;
const DOCUMENT_NAME = /\.(pdf|docx?|xlsx?|pptx?|epub|od[tsp]|ipynb|eml)$/i;
const TEXT_TYPE =
  /^text\/|[/+](json|xml|yaml|toml|javascript|ecmascript|x-ndjson|x-sh|sql|graphql|x-www-form-urlencoded)$|^application\/(x-)?(yaml|javascript)/;
const FEED = /^\s*(\xef\xbb\xbf)?(<\?[^>]*>\s*|<!--[^]*?-->\s*)*<(rss|feed|rdf:RDF)\b/i;
const IMAGES: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8/, "image/gif"],
  [/^RIFF[^]{4}WEBP/, "image/webp"],
];

/** The converter for a body, the type of an image that models take, or `binary`. */
function kindOf(contentType: string, url: URL, bytes: Uint8Array): string {
  const [type = ""] = contentType.toLowerCase().split(/[;,\s]/);
  const start = String.fromCharCode(...bytes.subarray(0, 1024));
  const image = IMAGES.find(([magic]) => magic.test(start));
  if (image) return image[1];
  const isVague = type === "" || /^(application|binary)\/(octet-stream|x-download|zip)$/.test(type);
  if (start.startsWith("%PDF-") || DOCUMENT_TYPE.test(type)) return "document";
  if (isVague && start.startsWith("PK\x03\x04")) return "document";
  if ((isVague || type === "application/json") && DOCUMENT_NAME.test(url.pathname)) return "document";
  if (type === "text/html" || type === "application/xhtml+xml") return "page";
  if (FEED.test(start)) return "feed";
  if (TEXT_TYPE.test(type)) return "text";
  if (!isVague || /\0/.test(start) && !/^(\xff\xfe|\xfe\xff)/.test(start)) return "binary";
  return /^\s*(<!--[^]*?-->\s*)?<(!doctype html|html)\b/i.test(start) ? "page" : "text";
}
