// @ts-types="./highlight_library.d.ts"
import library from "highlight.js/lib/common";
import type { Meaning, Palette } from "./palette.ts";

/** Highlights the lines of code; undefined when the language is unknown. */
export type Highlight = (code: string, language: string) => string[] | undefined;

/** A part of a line of code; plain without a meaning. */
export interface CodeToken {
  readonly text: string;
  readonly meaning: Meaning | undefined;
}

/** Meanings of scopes of highlight.js; other scopes are plain. */
const SCOPES: Readonly<Record<string, Meaning>> = {
  "keyword": "keyword",
  "literal": "number",
  "number": "number",
  "symbol": "number",
  "bullet": "number",
  "string": "string",
  "regexp": "string",
  "char": "string",
  "code": "string",
  "comment": "comment",
  "quote": "comment",
  "doctag": "comment",
  "meta": "comment",
  "title": "title",
  "section": "title",
  "function": "title",
  "attr": "title",
  "attribute": "title",
  "property": "title",
  "selector-class": "title",
  "selector-id": "title",
  "type": "type",
  "built_in": "type",
  "class": "type",
  "name": "type",
  "tag": "type",
  "selector-tag": "type",
  "template-variable": "type",
  "addition": "added",
  "deletion": "removed",
  "strong": "bold",
  "emphasis": "italic",
};

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** Highlights the common languages of highlight.js. */
export function highlighter(palette: Palette): Highlight {
  return (code, language) =>
    codeTokens(code, language)?.map((line) =>
      line.map(({ text, meaning }) => meaning ? palette[meaning](text) : text).join("")
    );
}

/** Splits code into the tokens of each line; undefined when the language is unknown. */
export function codeTokens(code: string, language: string): CodeToken[][] | undefined {
  if (!library.getLanguage(language)) return undefined;
  const { value } = library.highlight(code, { language, ignoreIllegals: true });
  return tokensOf(value);
}

function tokensOf(markup: string): CodeToken[][] {
  const lines: CodeToken[][] = [[]];
  const scopes: (Meaning | undefined)[] = [];
  for (const [part, names] of markup.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (names !== undefined) scopes.push(SCOPES[names.split(" ")[0]?.replace(/^hljs-/, "") ?? ""]);
    else if (part === "</span>") scopes.pop();
    else {
      const meaning = scopes.at(-1);
      const text = part.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity] ?? entity);
      text.split("\n").forEach((piece, index) => {
        if (index > 0) lines.push([]);
        if (piece !== "") lines.at(-1)?.push({ text: piece, meaning });
      });
    }
  }
  return lines;
}
