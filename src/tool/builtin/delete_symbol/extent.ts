import { type Declaration, indentOf, isBlank } from "./declarations.ts";
import type { Language } from "./language.ts";
import type { Masked } from "./mask.ts";

/** Lines of a symbol with its comment and decorators, 0-based, both included. */
export interface Extent {
  readonly first: number;
  readonly last: number;
}

/** Where a declaration begins and ends. A string says why that cannot be told. */
export function extentOf(
  source: { readonly lines: readonly string[]; readonly masked: Masked; readonly language: Language },
  declaration: Declaration,
): Extent | string {
  const { lines, masked, language } = source;
  const code = masked.code.split("\n");
  const last = language.family === "python"
    ? pythonEnd(code, masked, declaration.line)
    : declaration.kind === "macro"
    ? macroEnd(lines, declaration.line)
    : braceEnd(code, masked, { language, declaration });
  if (typeof last === "string") return last;
  return { first: leadStart(lines, code, masked, declaration.line), last };
}

/** Everything indented deeper than the header, or only the statement itself. */
function pythonEnd(code: readonly string[], masked: Masked, line: number): number {
  const isOpen = (at: number) =>
    masked.inside[at] === true || (masked.depths[at] ?? 0) > (masked.depths[line] ?? 0);
  let last = line;
  while (last + 1 < code.length && isOpen(last + 1)) last++;
  const own = indentOf(code[line] ?? "");
  for (let at = last + 1; at < code.length; at++) {
    if (isOpen(at)) last = at;
    else if (!isBlank(code[at])) {
      if (indentOf(code[at] ?? "") <= own) break;
      last = at;
    }
  }
  return last;
}

function macroEnd(lines: readonly string[], line: number): number {
  while (/\\\r?$/.test(lines[line] ?? "")) line++;
  return line;
}

const BLOCKS =
  /^(function|func|fn|class|interface|enum|const enum|struct|union|trait|record|object|namespace|module|mod|protocol|extension|mixin|fun|def|macro_rules!|member)/;

/** Walks from the declaration to the end of its block or statement. */
function braceEnd(
  code: readonly string[],
  masked: Masked,
  what: { readonly language: Language; readonly declaration: Declaration },
): number | string {
  const { language, declaration } = what;
  const text = masked.code;
  const hasBlock = BLOCKS.test(declaration.kind);
  let depth = 0;
  let angles = 0;
  let assigned = false;
  for (let at = masked.starts[declaration.line] ?? 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === "(" || char === "[" || char === "{") {
      const body = char === "{" && depth === 0 && hasBlock && !assigned && !isTypeBrace(text, at, language);
      const close = body ? closing(text, at) : undefined;
      if (body) {
        return close === undefined ? "its block is not closed" : endLine(code, masked, close, declaration);
      }
      depth++;
    } else if (char === ")" || char === "]" || char === "}") {
      if (--depth < 0) return endLine(code, masked, at - 1, declaration);
    } else if (depth > 0) continue;
    else if (char === "<" && /\w<[^\s=<]/.test(text.slice(at - 1, at + 2))) angles++;
    else if (char === ">" && angles > 0) angles--;
    else if (char === ";") return endLine(code, masked, at, declaration);
    else if (char === "=" && text[at + 1] !== ">" && text[at + 1] !== "=") assigned = true;
    else if (char === "," && angles === 0) {
      if (!hasBlock || assigned) return "its statement declares more than one name";
      if (declaration.kind === "member") return endLine(code, masked, at, declaration);
    } else if (char === "\n" && endsStatement(text, at, language, hasBlock && !assigned)) {
      return endLine(code, masked, at - 1, declaration);
    }
  }
  return depth === 0 ? endLine(code, masked, text.length - 1, declaration) : "its brackets are not closed";
}

/** `f(): { a: number } {` and `func f() interface{} {`: a brace that belongs to a type. */
function isTypeBrace(text: string, at: number, language: Language): boolean {
  const before = text.slice(Math.max(0, at - 60), at).trimEnd();
  if (language.family === "go") return /\b(interface|struct)$/.test(before) && /\bfunc\b/.test(before);
  return language.family === "js" && /([:|&<,]|\bextends|\bis)$/.test(before);
}

function closing(text: string, open: number): number | undefined {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) return at;
  }
  return undefined;
}

const CONTINUES =
  /^\s*([.?:+\-*/%|&=<>,)\]}{]|\b(?:extends|implements|where|instanceof|in|is|as|satisfies|throws)\b)/;

/** Whether a line end ends the statement: nothing is open, and neither side says that it goes on. */
function endsStatement(text: string, at: number, language: Language, wantsBlock: boolean): boolean {
  if (!language.newlineEnds) return false;
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  const next = text.slice(at + 1, at + 200).trimStart();
  if (/[=+\-*/%|&<>,?:({[]\s*$|=>\s*$/.test(line)) return false;
  if (wantsBlock && language.family !== "go" && next.startsWith("{")) return false;
  return !CONTINUES.test(next) || next.startsWith("}") || next.startsWith(")");
}

/** The line of the last character, unless something else stands on it. */
function endLine(
  code: readonly string[],
  masked: Masked,
  at: number,
  declaration: Declaration,
): number | string {
  let line = declaration.line;
  while (line + 1 < masked.starts.length && (masked.starts[line + 1] ?? Infinity) <= at) line++;
  const rest = (code[line] ?? "").slice(at - (masked.starts[line] ?? 0) + 1).trim();
  return rest === "" || rest === ";" || rest === ","
    ? line
    : `other code stands behind it on line ${line + 1}`;
}

/** Goes up over comments, decorators and attributes that stand directly above. */
function leadStart(lines: readonly string[], code: readonly string[], masked: Masked, line: number): number {
  const depth = masked.depths[line] ?? 0;
  let first = line;
  for (let at = line - 1; at >= 0; at--) {
    const raw = lines[at] ?? "";
    if (isBlank(raw) || raw.startsWith("#!")) break;
    if ((masked.depths[at] ?? 0) > depth || masked.inside[at]) continue;
    const isComment = isBlank(code[at]);
    const isDecorator = /^\s*(@\w|#\[|#!?\[|\[[\w(]|template\s*<)/.test(code[at] ?? "");
    if (!isComment && !isDecorator) break;
    first = at;
  }
  return first;
}
