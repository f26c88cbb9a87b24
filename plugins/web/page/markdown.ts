/** Elements → Markdown: the rules for code, tables, lists, links and images that pages really have. */
import TurndownService from "turndown";
import { decodeSigns, GHOST, TEX } from "./clean.ts";

/** The part of the document model that the rules use. */
export interface PageElement {
  readonly nodeName: string;
  readonly className: string;
  readonly textContent: string;
  readonly parentNode: PageElement | null;
  readonly firstElementChild: PageElement | null;
  getAttribute(name: string): string | null;
}

/** Noncharacters, which no page has after its cleaning: begin and end of a cell, end of a row. */
const [CELL, CELL_END, ROW_END] = ["\ufdd0", "\ufdd1", "\ufdd2"] as const;
const MAX_COLUMNS = 200;
const MAX_CELL = 2000;

export function markdownOf(root: PageElement): string {
  // The converter would work on a copy, which is not needed here.
  const text = converter().turndown({ nodeType: 1, cloneNode: () => root });
  return decodeSigns(loose(text)).replace(/[ \t]+$/gm, "").trim();
}

function converter() {
  const service = new TurndownService({
    headingStyle: "atx",
    hr: "---",
    bulletListMarker: "-",
    codeBlockStyle: "fenced",
    emDelimiter: "*",
    br: "",
  });
  service.escape = escapeText;
  const add = (filter: string | string[], replacement: (content: string, node: PageElement) => string) =>
    service.addRule(String(filter), { filter, replacement });
  const positions = new WeakMap<PageElement, number>();
  add("pre", (_, node) => fenced(node.textContent.replaceAll(GHOST, ""), languageOf(node)));
  service.addRule("formula", {
    filter: (node: PageElement) => node.nodeName === "CODE" && node.className === TEX,
    replacement: (_: string, node: PageElement) => `$${node.textContent}$`,
  });
  add(["h1", "h2", "h3", "h4", "h5", "h6"], (content, { nodeName }) => {
    const line = oneLine(content);
    return line === "" ? "" : `\n\n${"#".repeat(Number(nodeName[1]))} ${line}\n\n`;
  });
  add("li", (content, node) => {
    const list = node.parentNode;
    let prefix = "- ";
    if (list?.nodeName === "OL") {
      const given = Number(node.getAttribute("value") ?? NaN);
      const position = given || (positions.get(list) ?? Number(list.getAttribute("start") ?? 1) - 1) + 1;
      positions.set(list, position);
      prefix = `${position}. `;
    }
    const text = content.trim();
    return text === "" ? "" : `${prefix}${text.replace(/\n(?!\n)/g, `\n${" ".repeat(prefix.length)}`)}\n`;
  });
  add("dt", (content) => content.trim() === "" ? "" : `\n\n**${oneLine(content).replaceAll("**", "")}**\n`);
  add("dd", (content) => `\n${content.trim()}\n`);
  add("a", (content, node) => {
    const target = node.getAttribute("href")?.replace(/[()]/g, (sign) => sign === "(" ? "%28" : "%29");
    const text = oneLine(content.replace(/^#+ /gm, ""));
    if (target === undefined) return /^[#¶§]$/.test(text) ? "" : content;
    if (text === "" || text === target) return text;
    const around = content.includes("\n\n") ? "\n\n" : "";
    return `${around}[${text}](${target})${around}`;
  });
  add("img", (_, node) => {
    const source = node.getAttribute("src");
    const alt = escapeText(node.getAttribute("alt") ?? "").replace(/[[\]]/g, "\\$&");
    return `![${alt}]${source === null ? "" : `(${source.replace(/[()]/g, encodeURIComponent)})`}`;
  });
  add("sup", (content) => /^[-−+]?\d+$/.test(content) ? `^${content}` : content);
  add(["td", "th"], (content, node) => {
    const header = node.nodeName === "TH" ? "h" : "d";
    const span = (name: string) => Math.min(MAX_COLUMNS, Number(node.getAttribute(name)) || 1);
    return `${CELL}${header},${span("colspan")},${span("rowspan")},${loose(content).trim()}${CELL_END}`;
  });
  add("tr", (content) => `${content}${ROW_END}`);
  add(["thead", "tbody", "tfoot", "colgroup", "col"], (content) => content);
  for (
    const [tags, sign] of [[["em", "i"], "*"], [["strong", "b"], "**"], [
      ["del", "s", "strike"],
      "~~",
    ]] as const
  ) {
    add([...tags], (content, node) => {
      for (let above = node.parentNode; above; above = above.parentNode) {
        if (tags.some((tag) => tag === above?.nodeName.toLowerCase())) return content;
      }
      return content.trim() === "" ? content : `${sign}${content}${sign}`;
    });
  }
  add("caption", (content) => `${oneLine(content)}\n\n`);
  add("table", (content) => tableOf(content));
  return service;
}

interface Cell {
  readonly isHeader: boolean;
  readonly text: string;
}

/** Tables that lay out a page become its text, one cell after the other. */
function tableOf(content: string): string {
  const before = content.replace(CELLS, "").replaceAll(ROW_END, "").trim();
  const rows: Cell[][] = [];
  /** Rows that a cell from above still covers, by column. */
  const covered: number[] = [];
  let isLayout = false;
  for (const part of content.split(ROW_END)) {
    const row: Cell[] = [];
    const skip = () => {
      for (let above = covered[row.length] ?? 0; above > 0; above = covered[row.length] ?? 0) {
        covered[row.length] = above - 1;
        row.push({ isHeader: false, text: "" });
      }
    };
    for (const [, kind, columns, height, text = ""] of part.matchAll(CELLS)) {
      skip();
      if (text.length > MAX_CELL || /^(?:#{1,6} |```|\| )/m.test(text)) isLayout = true;
      for (let column = 0; column < Number(columns) && row.length < MAX_COLUMNS; column++) {
        covered[row.length] = Number(height) - 1;
        row.push({ isHeader: kind === "h", text: column === 0 ? text : "" });
      }
    }
    skip();
    if (row.some(({ text }) => text !== "")) rows.push(row);
  }
  const width = Math.max(0, ...rows.map((row) => row.length));
  const first = rows[0];
  if (!first) return before === "" ? "" : `\n\n${before}\n\n`;
  if (isLayout || width < 2 || (rows.length < 2 && !first.some(({ isHeader }) => isHeader))) {
    const texts = rows.flat().map(({ text }) => text).filter((text) => text !== "");
    return `\n\n${[before, ...texts].join("\n\n").trim()}\n\n`;
  }
  const line = (row: readonly Cell[]) =>
    `| ${
      Array.from({ length: width }, (_, at) =>
        (row[at]?.text ?? "").replaceAll("|", "\\|").replace(/\s*\n\s*/g, "<br>")).join(" | ")
    } |`;
  const hasHeader = first.every(({ isHeader, text }) => isHeader || text === "");
  const lines = [
    line(hasHeader ? first : []),
    `|${" --- |".repeat(width)}`,
    ...rows.slice(hasHeader ? 1 : 0).map(line),
  ];
  return `\n\n${before === "" ? "" : `${before}\n\n`}${lines.join("\n")}\n\n`;
}

const CELLS = new RegExp(`${CELL}([hd]),(\\d+),(\\d+),([^${CELL_END}]*)${CELL_END}`, "g");

/** Cells without a table around them become paragraphs. */
function loose(text: string): string {
  return text.includes(ROW_END) || text.includes(CELL)
    ? text.replace(CELLS, "\n\n$4\n\n").replaceAll(ROW_END, "")
    : text;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").trim();
}

function fenced(code: string, language: string): string {
  const longest = Math.max(2, ...(code.match(/^`{3,}/gm) ?? []).map((ticks) => ticks.length));
  const fence = "`".repeat(longest + 1);
  const text = code.replace(/^\n+/, "").trimEnd();
  return text === "" ? "" : `\n\n${fence}${language}\n${text}\n${fence}\n\n`;
}

/** The language as highlighters write it: on the block, on the code in it, or on an element around it. */
function languageOf(pre: PageElement): string {
  let around = pre.parentNode;
  for (const element of [pre.firstElementChild, pre]) {
    const found = languageIn(element, /(?:^|\s)(?:lang(?:uage)?-|brush:\s*|sourceCode\s+)([\w+#-]+)/);
    if (found) return found;
  }
  for (let level = 0; level < 5 && around && /^(?:DIV|FIGURE|T[A-Z]+)$/.test(around.nodeName); level++) {
    const found = languageIn(
      around,
      /(?:^|\s)(?:language-|highlight-(?:source-|text-)?|sourceCode\s+)([\w+#-]+)/,
    );
    if (found) return found;
    around = around.parentNode;
  }
  return "";
}

function languageIn(element: PageElement | null, names: RegExp): string | undefined {
  const found = element?.getAttribute("data-lang") ?? element?.getAttribute("data-language") ??
    names.exec(element?.className ?? "")?.[1];
  return found?.toLowerCase().slice(0, 20);
}

/**
 * Escapes what would become Markdown at the start of a line or around a word, and no more: a reader finds
 * `snake_case` and `a[0]` as the page has them.
 */
function escapeText(text: string): string {
  return (text.includes(GHOST) ? text.replaceAll(GHOST, "").replace(/^\s+$/, "") : text)
    .replace(/^(\s*)(#{1,6}\s|[-+]\s|>|=+\s*$|~~~|```)/, "$1\\$2")
    .replace(/^(\s*\d+)([.)]\s)/, "$1\\$2")
    .replace(/`|\*(?=\S)|(?<=\S)\*/g, "\\$&")
    .replace(/\](?=\()/g, "\\]");
}
