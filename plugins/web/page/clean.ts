/**
 * Reads HTML once, from front to back, and keeps what a reader of the page sees: no hidden element, no
 * comment, no script, no invisible character. The result is well-formed HTML of bounded depth and size, so
 * that no library after it meets a page that it cannot bear.
 */
import { Parser } from "htmlparser2";
import { cleanLine, cleanText } from "../../common/material.ts";
import { hides, inherit, type Ink, isVisible, lookOf, type Styled, StyleSheet } from "./style.ts";

export interface CleanPage {
  readonly title: string;
  readonly html: string;
  /** Characters of text in `html`. */
  readonly length: number;
  /** Those outside of links and of the parts that lead through a site. */
  readonly prose: number;
  /** `YYYY-MM-DD` */
  readonly date: string | undefined;
  readonly site: string | undefined;
  /** Where a refresh, or a script of a page without text, leads. */
  readonly forward: string | undefined;
  /** The most elements within a line of text that follow each other without a block. */
  readonly longestRun: number;
  readonly scripts: number;
  /** A page that wants to know whether a person reads it. */
  readonly challenge: boolean;
  /** The page was larger than the limits; the rest is missing. */
  readonly cut: boolean;
}

/**
 * Takes the place of each character that only a style sheet hides: the search for the article sees what it
 * sees in a browser, and not one word of it can reach the result. Pages have no such character.
 */
export const GHOST = "\ufdd3";
const [AMPERSAND, LESS] = ["\ufdd4", "\ufdd5"];

/** The class of an element with a formula in TeX. */
export const TEX = "reasonix-tex";

type Attributes = Readonly<Record<string, string | undefined>>;

const MAX_DEPTH = 200;
const MAX_ELEMENTS = 60_000;
const MAX_SIZE = 4_000_000;
const MAX_URL = 2000;
const MAX_HELD = 200_000;
const CHUNK = 65_536;

const setOf = (names: string) => new Set(names.split(" "));
/** Elements whose content a browser does not show as text, and controls. */
const DROPPED = setOf(
  "template iframe object embed canvas svg math audio video noembed noframes select datalist textarea " +
    "applet map progress meter",
);
/** Elements that are not written while their content is. */
const UNWRAPPED = setOf(
  "html head body form font label fieldset button wbr picture source slot noscript img input",
);
/** Elements that are a line each within preformatted text. */
const LINES = setOf("div p li tr");
const LINE_NUMBER = /(?:^|\s)(?:linenos?|linenodiv|hljs-ln-numbers|line-numbers-rows|blob-num)(?:\s|$)/;
const VOID = setOf("br hr img");
const HELD = setOf("title script");
const BLOCKS = setOf(
  "address article aside blockquote br dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header " +
    "hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul",
);
const ASIDE = setOf("nav footer aside");
const NAME = /^[a-z][a-z0-9-]*$/;
const HEADINGS = /^h[1-6]$/;
const LINKED_DATA = "\0";
/** The attributes that the search for the article and the converter read. */
const COMMON = ["class", "id", "role"];
const LANGUAGE = ["data-lang", "data-language"];
const KEPT: Readonly<Record<string, readonly string[]>> = {
  ol: ["start"],
  li: ["value"],
  td: ["colspan", "rowspan"],
  th: ["colspan", "rowspan"],
  table: ["summary"],
  pre: LANGUAGE,
  code: LANGUAGE,
  div: LANGUAGE,
};
const CHALLENGE =
  /challenge-platform|cf-chl-|_cf_chl_opt|cf_captcha|datadome|px-captcha|hcaptcha\.com|g-recaptcha|awswaf|_Incapsula_/;
const FORWARD =
  /(?:^|[^\w.])(?:(?:window|document|self|top|parent)\.)*location(?:\.href)?\s*=\s*(["'`])([^"'`\s]{1,2000})\1|location\.(?:replace|assign)\(\s*(["'`])([^"'`\s]{1,2000})\3/;

interface Open extends Styled {
  readonly ink: Ink;
  /** Its end tag has to be written. */
  readonly written: boolean;
}

const PAPER: Ink = {
  tiny: false,
  invisible: false,
  color: undefined,
  ground: [255, 255, 255, 1],
  assumed: true,
  hidden: false,
};

export function cleanPage(source: string, url: string): CleanPage {
  return new PageReader(source, url).read();
}

class PageReader {
  readonly #out: string[] = [];
  readonly #open: Open[] = [];
  readonly #sheet = new StyleSheet();
  #linksSheet = false;
  #base: string;
  /** Open elements within one that is hidden, itself included. */
  #hidden = 0;
  #depth = 0;
  #elements = 0;
  #size = 0;
  #length = 0;
  #prose = 0;
  #emptyLines = 0;
  #run = 0;
  #longestRun = 0;
  readonly #inside = { pre: 0, heading: 0, noscript: 0, aside: 0, a: 0, li: 0 };
  /** Text of the current title, script or formula, which is not written as it comes. */
  #held = "";
  /** Text since the last tag. */
  #pending = "";
  #formula: { tex: string; isTex: boolean } | undefined;
  /** The last thing written is a tag next to which white space has no meaning. */
  #atBlock = true;
  /** The last image is one that a script loads later. */
  #isLazy = false;
  #title: string | undefined;
  #scripts = 0;
  readonly #found = { date: "", modified: "", site: "", forward: "", scriptForward: "" };

  constructor(readonly source: string, readonly url: string) {
    this.#base = url;
    for (const css of styleTexts(source)) this.#sheet.add(css);
  }

  read(): CleanPage {
    const parser = new Parser({
      onopentag: (name, attributes) => this.#start(name, attributes),
      ontext: (text) => void (this.#pending += text),
      onclosetag: (name) => this.#end(name),
    });
    for (let at = 0; at < this.source.length && !this.#isFull; at += CHUNK) {
      parser.write(this.source.slice(at, at + CHUNK));
    }
    const cut = this.#isFull;
    parser.end();
    this.#text();
    const { date, modified, site, forward, scriptForward } = this.#found;
    const leads = forward || (this.#length < 300 ? scriptForward : "");
    return {
      title: cleanLine(this.#title ?? "", 300),
      html: this.#out.join(""),
      length: this.#length,
      prose: this.#prose,
      date: date || modified || undefined,
      site: cleanLine(site, 100) || undefined,
      forward: leads || undefined,
      longestRun: this.#longestRun,
      scripts: this.#scripts,
      challenge: this.#length < 2000 && CHALLENGE.test(this.source),
      cut,
    };
  }

  get #isFull(): boolean {
    return this.#elements >= MAX_ELEMENTS || this.#size >= MAX_SIZE || this.#sheet.isExhausted;
  }

  #start(tag: string, attributes: Attributes): void {
    this.#text();
    if (this.#hidden > 0) {
      this.#hidden++;
      if (this.#formula && tag === "annotation" && /tex/i.test(attributes.encoding ?? "")) {
        this.#formula.isTex = true;
        this.#held = "";
      }
      return;
    }
    const ink = this.#open.at(-1)?.ink ?? PAPER;
    const id = attributes.id ?? "";
    const classes = attributes.class === undefined ? [] : attributes.class.split(/\s+/, 50);
    const element = { tag, id, classes, ink, written: false };
    this.#open.push(element);
    if (this.#metadata(tag, attributes)) return;
    const style = inlineStyle(tag, attributes);
    const look = this.#sheet.lookOf(this.#open, style);
    const isPicture = tag === "img" && /\bfallback-image\b|\bmath-fallback/.test(attributes.class ?? "");
    const isRoot = tag === "html" || tag === "body";
    if (
      isDropped(tag, attributes, isPicture) || (tag === "button" && this.#inside.heading === 0) ||
      (style !== undefined && !isRoot && hides(lookOf(style)))
    ) {
      this.#open.pop();
      this.#hidden = 1;
      this.#held = "";
      if (tag === "math" && isVisible(ink) && !isDropped("", attributes, false) && !(look && hides(look))) {
        this.#formula = { tex: attributes.alttext ?? "", isTex: false };
      }
      return;
    }
    // A page may start invisible until its fonts have arrived.
    if (isRoot) { for (const name of ["visibility", "font-size", "font"]) look?.delete(name); }
    const own = look ? { ...inherit(ink, look), hidden: ink.hidden || (!isRoot && hides(look)) } : ink;
    const isUnknown = own.assumed && this.#linksSheet && (id !== "" || classes.length > 0);
    const inPre = this.#inside.pre > 0;
    const written = NAME.test(tag) && !UNWRAPPED.has(tag) && this.#depth < MAX_DEPTH && !this.#isFull &&
      !(tag === "a" && this.#inside.a > 0) && !(inPre && (tag === "br" || LINES.has(tag)));
    this.#open[this.#open.length - 1] = {
      ...element,
      ink: isUnknown ? { ...own, ground: undefined, assumed: false } : own,
      written: written && !VOID.has(tag),
    };
    this.#count(tag, 1);
    // The search for the article drops controls.
    if (tag === "input" && this.#inside.li > 0) this.#write("checked" in attributes ? "[x] " : "[ ] ");
    this.#run = tag === "br" || !BLOCKS.has(tag) ? this.#run + 1 : 0;
    this.#longestRun = Math.max(this.#longestRun, this.#run);
    if (inPre && tag === "br") this.#newLine();
    if (tag === "img") return own.hidden || own.invisible ? undefined : this.#image(attributes, isPicture);
    if (!written || this.#inside.noscript > 0) return;
    this.#elements++;
    if (!VOID.has(tag)) this.#depth++;
    this.#write(`<${tag}${this.#attributes(tag, attributes)}${VOID.has(tag) ? "/>" : ">"}`);
    this.#atBlock = BLOCKS.has(tag);
  }

  #count(tag: string, step: 1 | -1): void {
    if (HEADINGS.test(tag)) this.#inside.heading += step;
    else if (tag === "pre" || tag === "noscript" || tag === "a" || tag === "li") this.#inside[tag] += step;
    else if (ASIDE.has(tag)) this.#inside.aside += step;
  }

  #end(tag: string): void {
    this.#text();
    if (this.#hidden > 0) {
      this.#hidden--;
      if (this.#formula?.isTex && tag === "annotation") {
        this.#formula.tex = this.#held;
        this.#formula.isTex = false;
      }
      if (this.#hidden > 0 || !this.#formula) return;
      const { tex } = this.#formula;
      this.#formula = undefined;
      return this.#writeFormula(tex === "" ? this.#held : tex);
    }
    const element = this.#open.pop();
    if (!element) return;
    if (tag === "title") this.#title ??= this.#held;
    else if (tag === "script") this.#script();
    this.#count(tag, -1);
    if (this.#inside.pre > 0 && LINES.has(tag) && !this.#out.at(-1)?.endsWith("\n")) this.#newLine();
    if (!element.written || this.#inside.noscript > 0 || tag === "noscript") return;
    this.#depth--;
    this.#write(`</${tag}>`);
    this.#atBlock = BLOCKS.has(tag);
  }

  /** Handles the text since the last tag. */
  #text(): void {
    const text = this.#pending;
    if (text === "") return;
    this.#pending = "";
    const element = this.#open.at(-1);
    if (this.#hidden > 0 ? this.#formula : element && HELD.has(element.tag)) {
      if (this.#held.length < MAX_HELD) this.#held += text;
      return;
    }
    if (this.#hidden > 0 || this.#inside.noscript > 0 || element?.tag === "style" || this.#isFull) return;
    const clean = cleanText(text);
    const visible = this.#inside.pre > 0
      ? clean.replace(/[^\S\n]{100,}/g, " ").replace(/\n{50,}/g, "\n\n")
      : clean.replace(/\s+/g, " ");
    if (this.#atBlock && visible === " " && this.#inside.pre === 0) return;
    this.#atBlock = false;
    if (element && !isVisible(element.ink)) return this.#write(visible.replace(/\S/g, GHOST));
    const { length } = visible.trim();
    this.#length += length;
    if (this.#inside.aside === 0 && this.#inside.a === 0) this.#prose += length;
    this.#write(encodeSigns(visible));
  }

  /** Ends a line of preformatted text. The converter takes long for many empty lines. */
  #newLine(): void {
    if (this.#emptyLines++ < 50) this.#out.push("\n");
  }

  #write(html: string): void {
    this.#emptyLines = 0;
    this.#out.push(html);
    this.#size += html.length;
  }

  #writeFormula(tex: string): void {
    const text = cleanLine(tex, 2000).replace(/^\{\\displaystyle (.*)\}$/, "$1");
    if (text === "") return;
    this.#length += text.length;
    this.#write(`<code class="${TEX}">${encodeSigns(text)}</code>`);
  }

  /** Reads an element that is not text; false for one that is. */
  #metadata(tag: string, attributes: Attributes): boolean {
    if (tag === "meta") this.#meta(attributes);
    else if (tag === "link") this.#linksSheet ||= /\bstylesheet\b/i.test(attributes.rel ?? "");
    else if (tag === "base" && attributes.href) this.#base = this.#absolute(attributes.href) ?? this.#base;
    else if (tag === "frame" && attributes.src) {
      const target = this.#absolute(attributes.src);
      if (target) this.#write(`<p><a href="${escapeHtml(target)}">frame</a></p>`);
    } else if (tag === "time" && attributes.datetime) this.#setDate("modified", attributes.datetime);
    if (HELD.has(tag)) this.#held = "";
    if (tag === "script") {
      this.#scripts++;
      if (attributes.type === "application/ld+json") this.#held = LINKED_DATA;
    }
    return HELD.has(tag) || /^(?:meta|base|link|frame|style)$/.test(tag);
  }

  #meta({ name, property, itemprop, content = "", "http-equiv": header }: Attributes): void {
    const key = (property ?? name ?? itemprop ?? "").toLowerCase();
    if (
      /^(?:article:published_time|date|datepublished|pubdate|dc\.date(?:\.issued)?|dcterms\.(?:issued|created|date)|citation_publication_date)$/
        .test(key)
    ) {
      this.#setDate("date", content);
    } else if (
      /^(?:article:modified_time|og:updated_time|datemodified|last-modified|dcterms\.modified)$/.test(key)
    ) {
      this.#setDate("modified", content);
    } else if (key === "og:site_name") this.#found.site ||= content;
    const refresh = /^\s*(\d+)(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?["']?\s*([^"'\s]+)/i.exec(
      content.slice(0, MAX_URL),
    );
    if (
      header?.toLowerCase() === "refresh" && refresh && this.#inside.noscript === 0 &&
      Number(refresh[1]) <= 10
    ) {
      this.#found.forward ||= this.#forwardTo(refresh[2] ?? "");
    }
  }

  #script(): void {
    if (this.#held.startsWith(LINKED_DATA)) {
      this.#setDate("date", /"datePublished"\s*:\s*"([^"]+)"/.exec(this.#held)?.[1] ?? "");
      this.#setDate("modified", /"dateModified"\s*:\s*"([^"]+)"/.exec(this.#held)?.[1] ?? "");
    } else if (this.#held.length < 20_000) {
      const found = FORWARD.exec(this.#held);
      if (found) this.#found.scriptForward ||= this.#forwardTo(found[2] ?? found[4] ?? "");
    }
  }

  #setDate(kind: "date" | "modified", text: string): void {
    const found = /^\s*(\d{4})[-/]?(\d\d)[-/]?(\d\d)(?!\d)/.exec(text);
    if (found && this.#found[kind] === "") this.#found[kind] = found.slice(1).join("-");
  }

  #forwardTo(target: string): string {
    const found = this.#absolute(target.replaceAll("\\/", "/"));
    return found === undefined || found === this.url ? "" : found;
  }

  #absolute(target: string): string | undefined {
    if (target.length > MAX_URL) return undefined;
    const url = URL.parse(target.trim(), this.#base);
    return url && /^(?:https?|mailto|ftp):$/.test(url.protocol) ? cleanText(url.href) : undefined;
  }

  #attributes(tag: string, attributes: Attributes): string {
    let text = "";
    for (const name of tag in KEPT ? [...COMMON, ...KEPT[tag] ?? []] : COMMON) {
      const value = attributes[name];
      if (value !== undefined && value.length < 500) text += ` ${name}="${escapeHtml(value)}"`;
    }
    const { rel, itemprop } = attributes;
    if (rel?.includes("author")) text += ' rel="author"';
    if (itemprop && /author|name/.test(itemprop)) text += ` itemprop="${escapeHtml(itemprop.slice(0, 100))}"`;
    if (tag === "a" && attributes.href && !attributes.href.trimStart().startsWith("#")) {
      const target = this.#absolute(attributes.href);
      if (target !== undefined) text += ` href="${escapeHtml(target)}"`;
    }
    return text;
  }

  #image(attributes: Attributes, isPicture: boolean): void {
    const { alt = "", src = "", width, height } = attributes;
    if (isPicture) return this.#writeFormula(alt);
    const isFallback = this.#inside.noscript > 0;
    const sources = [attributes["data-src"], attributes["data-original"], attributes["data-lazy-src"], src];
    const sets = [attributes["data-srcset"], attributes.srcset].map((set) => set?.trim().split(/\s/, 1)[0]);
    const picture = [...sources, ...sets].filter((each) =>
      each && !/^\s*data:|\bblank\.gif|spacer/.test(each)
    )
      .map((each) => this.#absolute(each ?? "")).find((each) => each !== undefined);
    const isLazy = this.#isLazy;
    this.#isLazy = picture === undefined && !isFallback;
    if ((picture === undefined && alt === "") || (isFallback && !isLazy)) return;
    if ([width, height].some((side) => side !== undefined && Number(side) <= 1)) return;
    this.#elements++;
    const kept = cleanLine(alt, 300);
    this.#write(
      `<img${picture ? ` src="${escapeHtml(picture)}"` : ""} alt="${escapeHtml(kept)}"${
        this.#attributes("img", attributes)
      }/>`,
    );
  }
}

/** The content of the style elements for screens; unlike a pattern, in one pass. */
function* styleTexts(source: string): Generator<string> {
  const lower = source.toLowerCase();
  for (let at = 0;;) {
    const open = lower.indexOf("<style", at);
    const start = open < 0 ? -1 : lower.indexOf(">", open);
    const end = start < 0 ? -1 : lower.indexOf("</style", start);
    if (end < 0) return;
    if (!/media\s*=\s*["']?\s*print/.test(lower.slice(open, start).slice(0, 500))) {
      yield source.slice(start + 1, end);
    }
    at = end;
  }
}

function inlineStyle(tag: string, { style, bgcolor, color }: Attributes): string | undefined {
  const parts = [
    ...(bgcolor ? [`background:${bgcolor}`] : []),
    ...(tag === "font" && color ? [`color:${color}`] : []),
    ...(style ? [style] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(";");
}

function isDropped(tag: string, attributes: Attributes, isPicture: boolean): boolean {
  return "hidden" in attributes || "popover" in attributes || DROPPED.has(tag) ||
    (attributes["aria-hidden"] === "true" && !isPicture) ||
    LINE_NUMBER.test(attributes.class ?? "") || (tag === "td" && attributes.class === "gutter") ||
    (tag === "dialog" && !("open" in attributes)) || (tag === "input" && attributes.type !== "checkbox");
}

/** Entities would make a node of the document for each sign; noncharacters do not. */
export function encodeSigns(text: string): string {
  return /[&<]/.test(text) ? text.replaceAll("&", AMPERSAND).replaceAll("<", LESS) : text;
}

export function decodeSigns(text: string): string {
  return text.replaceAll(GHOST, "").replaceAll(AMPERSAND, "&").replaceAll(LESS, "<");
}

function escapeHtml(text: string): string {
  return /[&<>"]/.test(text)
    ? text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;")
    : text;
}
