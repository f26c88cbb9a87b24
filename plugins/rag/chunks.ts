/** Cuts texts into chunks of lines: by heading, by symbol, or by window. */

export interface Chunk {
  /** Lines, 1-indexed and inclusive. Pieces of one long line have the same. */
  readonly from: number;
  readonly to: number;
  /** The headings above it, or the names it defines; empty where there are none. */
  readonly title: string;
  readonly text: string;
}

/** Sizes in characters; a CJK character counts as two, because it is about as many tokens. */
const TARGET = 1200;
const MAX = 2000;
/** A smaller section is joined with the next one. */
const SMALL = 300;
const MAX_TITLE = 200;

const CJK = "\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7af\\uf900-\\ufaff";
const HAS_CJK = new RegExp(`[${CJK}]`);
/** Runs of Chinese, Japanese and Korean characters. */
const CJK_RUNS = new RegExp(`[${CJK}]+`, "g");

const MARKDOWN = /\.(?:md|mdx|markdown|rst|pdf|docx|xlsx|pptx|odt|epub|ipynb|eml|html?|csv)$/i;
const CODE =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|c|h|cc|cpp|hpp|cs|rb|php|sh|bash|kt|kts|swift|scala|lua|sql|zig|exs?|hs|ml|r|pl|vue|svelte|dart)$/i;

interface Section {
  /** Index of its first line. */
  readonly start: number;
  readonly title: string;
}

/** The chunks of a text; each line that is not blank is in one. The name of the file decides the form. */
export function chunksOf(path: string, text: string): readonly Chunk[] {
  const lines = text.split(/\r\n|\n|\r/);
  const sections = MARKDOWN.test(path) ? headings(lines) : CODE.test(path) ? symbols(lines) : [];
  if (sections[0]?.start !== 0) sections.unshift({ start: 0, title: "" });
  return packed(lines, sections);
}

/** Joins small sections, and cuts long ones where a blank line is. */
function packed(lines: readonly string[], sections: readonly Section[]): readonly Chunk[] {
  const chunks: Chunk[] = [];
  const sizes = lines.map(sizeOf);
  const sizeBetween = (from: number, to: number) => {
    let size = 0;
    for (let at = from; at < to; at++) size += sizes[at] ?? 0;
    return size;
  };
  for (let at = 0; at < sections.length;) {
    const { start, title } = sections[at] as Section;
    const titles = [title];
    let end = sections[++at]?.start ?? lines.length;
    let size = sizeBetween(start, end);
    while (size < SMALL && at < sections.length) {
      const next = sections[at] as Section;
      const after = sections[at + 1]?.start ?? lines.length;
      const more = sizeBetween(next.start, after);
      if (size + more > TARGET) break;
      titles.push(next.title.split(" › ").at(-1) ?? "");
      end = after;
      size += more;
      at++;
    }
    const joined = [...new Set(titles.filter((each) => each !== ""))].join("; ").slice(0, MAX_TITLE);
    for (const [from, to] of windows(lines, sizes, start, end)) addChunk(chunks, lines, from, to, joined);
  }
  return chunks;
}

/** Ranges of lines of at most the largest size, where one line does not exceed it. */
function* windows(
  lines: readonly string[],
  sizes: readonly number[],
  start: number,
  end: number,
): Generator<readonly [number, number]> {
  let from = start;
  while (from < end) {
    let to = from;
    let size = 0;
    let blank = -1;
    while (to < end && (to === from || size + (sizes[to] ?? 0) <= MAX)) {
      size += sizes[to] ?? 0;
      to++;
      if (size >= SMALL && lines[to]?.trim() === "") blank = to;
      if (size >= TARGET && blank > from) break;
    }
    if (to < end && blank > from) to = blank;
    yield [from, to];
    from = to;
  }
}

/** Without blank lines at both ends; nothing for blank lines alone. */
function addChunk(
  chunks: Chunk[],
  lines: readonly string[],
  start: number,
  end: number,
  title: string,
): void {
  let [from, to] = [start, end];
  while (from < to && lines[from]?.trim() === "") from++;
  while (to > from && lines[to - 1]?.trim() === "") to--;
  if (from === to) return;
  const text = lines.slice(from, to).join("\n");
  for (let at = 0; at < text.length;) {
    let length = to - from > 1 ? text.length : Math.min(text.length - at, MAX);
    // A pair of surrogates is not cut.
    if (at + length < text.length && /[\ud800-\udbff]/.test(text[at + length - 1] ?? "")) length--;
    chunks.push({ from: from + 1, to, title, text: text.slice(at, at + length).toWellFormed() });
    at += length;
  }
}

function sizeOf(line: string): number {
  return 1 + (HAS_CJK.test(line) ? 2 * line.length : line.length);
}

interface Heading {
  readonly level: number;
  readonly title: string;
}

/** Sections by heading, titled with the headings above them. */
function headings(lines: readonly string[]): Section[] {
  const found: Section[] = [];
  const above: string[] = [];
  let fence: string | undefined;
  for (const [at, line] of lines.entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined;
      continue;
    }
    const heading = fence === undefined ? headingAt(line, lines[at + 1] ?? "") : undefined;
    if (heading === undefined) continue;
    above.length = Math.min(above.length, heading.level - 1);
    above[heading.level - 1] = heading.title.replace(/[*_`]/g, "");
    found.push({ start: at, title: above.filter((each) => each !== undefined).join(" › ") });
  }
  return found;
}

function headingAt(line: string, next: string): Heading | undefined {
  const [, marks, title] = /^ {0,3}(#{1,6})\s+(.*?)[\s#]*$/.exec(line) ?? [];
  if (marks !== undefined && title !== undefined) return { level: marks.length, title };
  const under = /^ {0,3}(=+|-{2,})\s*$/.exec(next)?.[1];
  if (under === undefined || !/^ {0,3}[^\s|>#*+=-]/.test(line)) return undefined;
  return { level: under.startsWith("=") ? 1 : 2, title: line.trim() };
}

const SYMBOL = new RegExp(
  "^( {0,4}|\\t?)(?:(?:export|default|declare|public|private|protected|internal|static|abstract|final|async|" +
    "override|pub(?:\\([^)]*\\))?|unsafe|extern|inline|virtual|open|sealed|data|local)\\s+)*" +
    "(function\\b\\*?|class|interface|type|enum|struct|trait|impl|def|fn|func|fun|sub|module|namespace|object|" +
    "record|protocol|const|let|var)\\s+(?:\\([^)]*\\)\\s*)?([\\p{L}_$][\\p{L}\\p{N}_$]*)",
  "u",
);
const VARIABLE = /^(?:const|let|var|type)$/;
const COMMENT = /^\s*(?:\/\/|\/?\*|#(?!include|define)|@|--|;;)/;

/** Sections by lines that look like definitions, with the comments directly above them. */
function symbols(lines: readonly string[]): Section[] {
  const found: Section[] = [];
  for (const [at, line] of lines.entries()) {
    const [, indent, word, name] = SYMBOL.exec(line) ?? [];
    if (word === undefined || name === undefined || (indent !== "" && VARIABLE.test(word))) continue;
    let start = at;
    const before = found.at(-1)?.start ?? -1;
    while (start - 1 > before && COMMENT.test(lines[start - 1] ?? "")) start--;
    found.push({ start, title: name });
  }
  return found;
}

/**
 * The text as the table of words holds it: runs of CJK characters as overlapping pairs, because no blank
 * separates their words, and the parts of names such as `readFile` in addition.
 */
export function indexedWords(text: string): string {
  const pairs = HAS_CJK.test(text) ? text.replace(CJK_RUNS, (run) => ` ${pairsOf(run).join(" ")} `) : text;
  const names = text.match(/\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*/g);
  return names === null ? pairs : `${pairs}\n${[...new Set(names)].flatMap(nameParts).join(" ")}`;
}

/** The text as the table of trigrams holds it: only its runs of CJK characters. */
export function indexedGrams(text: string): string {
  return HAS_CJK.test(text) ? (text.match(CJK_RUNS) ?? []).join(" ") : "";
}

function pairsOf(run: string): readonly string[] {
  return run.length === 1 ? [run] : Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2));
}

function nameParts(name: string): readonly string[] {
  return name.replace(/([a-z0-9])(?=[A-Z])/g, "$1 ").split(/[ _]/);
}

/** Words without meaning for a search, left out where a query has others. */
const STOP_WORDS = new Set(
  ("a about all an and any are as at be by can could did do does for from had has have how i if in into is it its " +
    "me my no not of on or our should so some than that the their them then there these they this to us was we " +
    "were what when where which who why will with would you your").split(" "),
);
export interface TextQueries {
  /** Queries of FTS5; empty where the query has nothing for that table. */
  readonly words: string;
  readonly grams: string;
}

/** Returns the queries of both tables for a query in natural language. */
export function textQueries(query: string): TextQueries {
  const runs = query.match(CJK_RUNS) ?? [];
  const plain = query.replace(CJK_RUNS, " ").split(/\s+/).flatMap((word) => {
    const parts = word.match(/[\p{L}\p{N}_]+/gu) ?? [];
    const phrase = parts.length > 1 || word.includes("_") ? [parts.join(" ")] : [];
    return [...phrase, ...parts.flatMap((part) => [part, ...nameParts(part)])];
  }).filter((word) => word !== "");
  const asked = plain.filter((word) => !STOP_WORDS.has(word.toLowerCase()));
  const pairs = runs.flatMap(pairsOf);
  const useful = [...asked, ...pairs];
  const terms = [...new Set(useful.length > 0 ? useful : [...plain, ...pairs])];
  const grams = runs.flatMap((run) =>
    Array.from({ length: Math.max(run.length - 2, 0) }, (_, at) => run.slice(at, at + 3))
  );
  const quoted = (term: string) => `"${term.replaceAll('"', "")}"${isSingle(term) ? "*" : ""}`;
  return {
    words: terms.slice(0, 100).map(quoted).join(" OR "),
    grams: [...new Set(grams)].slice(0, 100).map(quoted).join(" OR "),
  };
}

/** A single CJK character is looked for as the start of a pair. */
function isSingle(term: string): boolean {
  return term.length === 1 && HAS_CJK.test(term);
}
