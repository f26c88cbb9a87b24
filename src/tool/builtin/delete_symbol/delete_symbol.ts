import { commitText, writesDenied } from "../../file/commit.ts";
import { resolveWrite } from "../../file/target.ts";
import { loadText, requireSeen } from "../../file/text_file.ts";
import { eolStyle, type Line, splitLines } from "../../text/eol.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { type Declaration, findDeclarations, indentOf, isBlank } from "./declarations.ts";
import { type Extent, extentOf } from "./extent.ts";
import { type Language, languageOf } from "./language.ts";
import { type Masked, maskSource } from "./mask.ts";

export async function deleteSymbol(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  const target = await resolveWrite(context, String(args.path));
  const language = languageOf(target.path);
  if (!language) {
    return failure(
      `${target.shown}: symbols of this kind of file are not known`,
      "use edit_file or delete_range",
    );
  }
  const before = await loadText(context, target);
  requireSeen(context, before);
  const kind = typeof args.kind === "string" ? args.kind : undefined;
  const found = locate(before.text, language, { name: String(args.name), kind });
  if (typeof found === "string") return failure(`${target.shown}: ${found}`);
  const note = `deleted lines ${found.extent.first + 1}–${found.extent.last + 1}`;
  return await commitText(context, { ...before, target, before, after: without(found, language), note });
}

interface Located {
  readonly lines: readonly Line[];
  readonly masked: Masked;
  readonly extent: Extent;
}

function locate(
  text: string,
  language: Language,
  wanted: { readonly name: string; readonly kind: string | undefined },
): Located | string {
  const parts = wanted.name.split(/\.|::|#/).filter((part) => part !== "");
  const name = parts.at(-1);
  if (!name || !/^[\w$]+$/.test(name)) return `${JSON.stringify(wanted.name)} is not a name`;
  const lines = splitLines(text, eolStyle(text));
  const masked = maskSource(lines.map((line) => `${line.text}\n`).join(""), language);
  const all = findDeclarations(masked, language, { name, owner: parts.at(-2) });
  const fitting = all.filter((one) => wanted.kind === undefined || isKind(one, wanted.kind));
  if (fitting.length === 0) {
    return `no declaration of ${wanted.name} was found${all.length > 0 ? ` as ${wanted.kind}` : ""}`;
  }
  const source = { lines: lines.map((line) => line.text), masked, language };
  const extents = fitting.map((one) => extentOf(source, one));
  const merged = overloads(extents, source.lines);
  if (typeof merged === "string") return `${wanted.name} cannot be deleted: ${merged}; use edit_file`;
  if (merged.length > 1) {
    const at = fitting.map((one) => `${one.line + 1} (${one.kind})`).join(", ");
    return `${wanted.name} is declared more than once, at lines ${at}; give Class.name or kind, or use edit_file`;
  }
  const extent = merged[0];
  return extent ? { lines, masked, extent } : `no declaration of ${wanted.name} was found`;
}

const KIND_WORDS: Readonly<Record<string, RegExp>> = {
  function: /^(function|func|fn|def|fun)/,
  method: /^(member|func|fn|def|fun)/,
  variable: /^(const|let|var|val|static|variable|member)/,
  constant: /^(const|static|val|macro)/,
  field: /^(member|val|var|let)/,
  property: /^(member|val|var|let)/,
};

function isKind(declaration: Declaration, kind: string): boolean {
  const wanted = kind.toLowerCase();
  return declaration.kind === wanted ||
    (KIND_WORDS[wanted]?.test(declaration.kind) ?? declaration.kind.includes(wanted));
}

/** Overload signatures, which have no body, count as one symbol with the declaration that follows them. */
function overloads(extents: readonly (Extent | string)[], lines: readonly string[]): Extent[] | string {
  const out: Extent[] = [];
  for (const extent of extents) {
    if (typeof extent === "string") return extent;
    const last = out.at(-1);
    const follows = last !== undefined && extent.first > last.last &&
      lines.slice(last.last + 1, extent.first).every(isBlank) && !/\}\s*$/.test(lines[last.last] ?? "");
    if (follows) out.splice(-1, 1, { first: last.first, last: extent.last });
    else out.push(extent);
  }
  return out;
}

/** The text without the lines, and without the blank lines that would be left doubled or at the edge of a block. */
function without(found: Located, language: Language): string {
  const { lines, extent } = found;
  let [first, last] = [extent.first, extent.last];
  const text = (at: number) => lines[at]?.text ?? "";
  const blank = (at: number) => isBlank(lines[at]?.text);
  const put = language.family === "python" && isOnlyStatement(lines, extent) ? passLine(lines, extent) : [];
  if (put.length > 0) return joined([...lines.slice(0, first), ...put, ...lines.slice(last + 1)]);
  if (first === 0 || blank(first - 1) || /[{(:]\s*$/.test(text(first - 1))) {
    while (last + 1 < lines.length && blank(last + 1)) last++;
  }
  if (last + 1 >= lines.length || /^\s*[})]/.test(text(last + 1))) {
    while (first > 0 && blank(first - 1)) first--;
  }
  return joined([...lines.slice(0, first), ...lines.slice(last + 1)]);
}

function joined(lines: readonly Line[]): string {
  return lines.map((line) => line.text + line.eol).join("");
}

/** Whether a Python block would be left without a statement. */
function isOnlyStatement(lines: readonly Line[], extent: Extent): boolean {
  const own = indentOf(lines[extent.first]?.text ?? "");
  if (own === 0) return false;
  const code = (line: Line | undefined) =>
    line !== undefined && !isBlank(line.text) && !/^\s*#/.test(line.text);
  const above = lines.slice(0, extent.first).findLast(code);
  const below = lines.slice(extent.last + 1).find(code);
  const sameAbove = above !== undefined && indentOf(above.text) >= own;
  const sameBelow = below !== undefined && indentOf(below.text) >= own;
  return !sameAbove && !sameBelow;
}

function passLine(lines: readonly Line[], extent: Extent): Line[] {
  const head = lines[extent.first];
  return head ? [{ text: `${/^\s*/.exec(head.text)?.[0] ?? ""}pass`, eol: head.eol || "\n" }] : [];
}
