import type { Language } from "./language.ts";

/** A source text with everything blanked out that is not code. */
export interface Masked {
  /** Same length as the source: comments are blanks, string contents underscores, line ends stay. */
  readonly code: string;
  /** Index where each line begins. */
  readonly starts: readonly number[];
  /** Open brackets of any kind at the beginning of each line. */
  readonly depths: readonly number[];
  /** Whether the line begins inside a string or a comment. */
  readonly inside: readonly boolean[];
}

export function maskSource(text: string, language: Language): Masked {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at++) units[at] = text.charCodeAt(at);
  const insideAt = new Set<number>();
  for (let at = 0; at < text.length;) {
    const span = spanAt(text, at, language);
    if (!span) {
      at++;
      continue;
    }
    for (let index = at; index < span.end; index++) {
      if (text[index] === "\n") insideAt.add(index + 1);
      else if (text[index] !== "\r") units[index] = span.fill;
    }
    at = span.end;
  }
  const code = decodeUnits(units);
  return { code, ...lineTable(code, insideAt) };
}

const BLANK = 32;
const UNDERSCORE = 95;

interface MaskSpan {
  readonly end: number;
  readonly fill: number;
}

/** The comment, string or regular expression that begins at `at`. */
function spanAt(text: string, at: number, language: Language): MaskSpan | undefined {
  const char = text[at] ?? "";
  for (const mark of language.lineComment) {
    if (text.startsWith(mark, at)) return { end: lineEnd(text, at), fill: BLANK };
  }
  if (language.blockComment && text.startsWith("/*", at)) {
    return { end: commentEnd(text, at, language.nestedComment), fill: BLANK };
  }
  if (language.family === "rust" && char === "r") {
    const raw = /^r(#*)"/.exec(text.slice(at, at + 20));
    const isWord = at > 0 && /\w/.test(text[at - 1] ?? "");
    if (raw && !isWord) return string(endOf(text, `"${raw[1]}`, at + raw[0].length));
  }
  for (const mark of language.longQuotes) {
    if (text.startsWith(mark, at)) return string(longEnd(text, at, mark, language));
  }
  if (char !== "" && language.quotes.includes(char)) {
    // A lifetime, not a character.
    if (language.family === "rust" && !/^'(\\.[^']*|[^'\\])'/u.test(text.slice(at, at + 12))) {
      return undefined;
    }
    return string(quoteEnd(text, at, char));
  }
  if (language.family === "js" && char === "/" && regexMayStart(text, at)) return string(regexEnd(text, at));
  return undefined;
}

function string(end: number): MaskSpan {
  return { end, fill: UNDERSCORE };
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

function endOf(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from);
  return end < 0 ? text.length : end + mark.length;
}

function commentEnd(text: string, at: number, nested: boolean): number {
  if (!nested) return endOf(text, "*/", at + 2);
  let depth = 0;
  for (let index = at; index < text.length; index++) {
    if (text.startsWith("/*", index)) depth++;
    else if (text.startsWith("*/", index)) depth--;
    else continue;
    index++;
    if (depth === 0) return index + 1;
  }
  return text.length;
}

/** End of a string that may span lines. A JavaScript template may hold code with templates of its own. */
function longEnd(text: string, at: number, mark: string, language: Language): number {
  const raw = language.family === "go";
  for (let index = at + mark.length; index < text.length; index++) {
    if (!raw && text[index] === "\\") index++;
    else if (text.startsWith(mark, index)) return index + mark.length;
    else if (mark === "`" && !raw && text.startsWith("${", index)) {
      index = templateCodeEnd(text, index + 2, language) - 1;
    }
  }
  return text.length;
}

function templateCodeEnd(text: string, at: number, language: Language): number {
  let depth = 1;
  while (at < text.length) {
    const span = spanAt(text, at, language);
    if (span) {
      at = span.end;
      continue;
    }
    if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) return at + 1;
    at++;
  }
  return at;
}

function quoteEnd(text: string, at: number, quote: string): number {
  for (let index = at + 1; index < text.length; index++) {
    if (text[index] === "\\") index++;
    else if (text[index] === quote) return index + 1;
    else if (text[index] === "\n") return index;
  }
  return text.length;
}

/** A slash after a value divides; after anything else it begins a regular expression. */
function regexMayStart(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 40), at).trimEnd();
  if (before === "" || /[(,=:[!&|?{};+\-*%~^<>]$/.test(before)) {
    return !/^\/[/*>]/.test(text.slice(at, at + 2));
  }
  return /\b(return|typeof|case|in|of|delete|void|throw|new|else|do|await|yield)$/.test(before);
}

function regexEnd(text: string, at: number): number {
  let inClass = false;
  for (let index = at + 1; index < text.length; index++) {
    const char = text[index];
    if (char === "\\") index++;
    else if (char === "\n") return at + 1;
    else if (char === "[") inClass = true;
    else if (char === "]") inClass = false;
    else if (char === "/" && !inClass) return index + 1;
  }
  return at + 1;
}

function decodeUnits(units: Uint16Array): string {
  const parts: string[] = [];
  for (let at = 0; at < units.length; at += 8192) {
    parts.push(String.fromCharCode(...units.subarray(at, at + 8192)));
  }
  return parts.join("");
}

function lineTable(code: string, insideAt: ReadonlySet<number>): Omit<Masked, "code"> {
  const starts = [0];
  const depths = [0];
  const inside = [insideAt.has(0)];
  let depth = 0;
  for (let at = 0; at < code.length; at++) {
    const char = code[at];
    if (char === "{" || char === "(" || char === "[") depth++;
    else if (char === "}" || char === ")" || char === "]") depth--;
    else if (char === "\n") {
      starts.push(at + 1);
      depths.push(depth);
      inside.push(insideAt.has(at + 1));
    }
  }
  return { starts, depths, inside };
}
