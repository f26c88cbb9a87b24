import type { Language } from "./language.ts";
import type { Masked } from "./mask.ts";

/** A place where a name is declared. */
export interface Declaration {
  /** 0-based line. */
  readonly line: number;
  /** The word that declares it, such as `class`; `member` for what stands in a class body by itself. */
  readonly kind: string;
  readonly name: string;
}

/** A declaration whose block holds members. */
interface Container extends Declaration {
  readonly from: number;
  readonly to: number;
}

const JS_HEAD = "(?:export\\s+)?(?:default\\s+)?(?:declare\\s+)?(?:abstract\\s+)?(?:async\\s+)?";

/** Per family: how a line begins that declares a name by a keyword. Group 1 is the keyword, group 2 the name. */
const KEYWORDS: Readonly<Record<Language["family"], RegExp>> = {
  js: new RegExp(
    `^\\s*${JS_HEAD}(function\\s*\\*?|class|interface|(?:const\\s+)?enum|namespace|module|type|const|let|var)\\s*(?<=[\\s*])([\\w$]+)`,
  ),
  go: /^\s*(func|type|var|const)\s+(?:\([^)]*\)\s*)?(\w+)/,
  rust:
    /^\s*(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:async\s+)?(?:unsafe\s+)?(?:extern\s+_*\s+)?(?:const\s+(?=fn\b))?(fn|struct|enum|trait|type|const|static(?:\s+mut)?|mod|union|macro_rules!)\s+(\w+)/,
  python: /^\s*(?:async\s+)?(def|class)\s+(\w+)/,
  c: /^\s*(?:[\w@]+\s+)*?(class|interface|enum|struct|union|record|trait|object|namespace|protocol|extension|mixin|fun|func|def|typealias|using|val|var|let)\s+(?:class\s+)?([\w$]+)(?!\s*\()/,
};

const FUNCTION_KEYWORD = /^\s*(?:[\w@]+\s+)*?(fun|func|def|function)\s+(?:<[^>]*>\s*)?([\w$]+)\s*[(<]/;

const CONTAINERS =
  /^(class|interface|enum|struct|trait|record|object|namespace|module|protocol|extension|mixin|impl|union|mod)$/;

/** Every declaration of `name`; with `owner`, only members of that class, type, trait or namespace. */
export function findDeclarations(
  masked: Masked,
  language: Language,
  wanted: { readonly name: string; readonly owner: string | undefined },
): Declaration[] {
  const lines = masked.code.split("\n");
  const keyed = lines.flatMap((text, line) =>
    masked.inside[line] ? [] : keywordDeclaration(text, line, language)
  );
  const containers = containersOf(lines, masked, language, keyed);
  const owners = wanted.owner === undefined
    ? undefined
    : containers.filter((one) => one.name === wanted.owner);
  const within = (line: number) => !owners || owners.some((owner) => line > owner.from && line < owner.to);
  const found = keyed.filter((one) => one.name === wanted.name && within(one.line));
  const taken = new Set(found.map((one) => one.line));
  const add = (declaration: Declaration) => {
    if (!taken.has(declaration.line)) found.push(declaration);
    taken.add(declaration.line);
  };
  const pattern = memberPattern(language, escapeName(wanted.name));
  for (const owner of owners ?? containers) {
    const inner = memberDepth(lines, masked, owner, language);
    for (let line = owner.from + 1; line < owner.to; line++) {
      const fits = !masked.inside[line] && inner(line) &&
        pattern.test((lines[line] ?? "").replace(/\r$/, ""));
      if (fits) add({ line, kind: "member", name: wanted.name });
    }
  }
  outside(lines, masked, language, wanted).forEach(add);
  return found.sort((a, b) => a.line - b.line);
}

function keywordDeclaration(text: string, line: number, language: Language): Declaration[] {
  const match = (language.family === "c" ? FUNCTION_KEYWORD.exec(text) : undefined) ??
    KEYWORDS[language.family].exec(text);
  const [, keyword, name] = match ?? [];
  return keyword && name ? [{ line, kind: keyword.replace(/\s+/g, " ").trim(), name }] : [];
}

function containersOf(
  lines: readonly string[],
  masked: Masked,
  language: Language,
  keyed: readonly Declaration[],
): Container[] {
  const heads = keyed.filter((one) => CONTAINERS.test(one.kind.replace(/^const /, "")));
  if (language.family === "rust") {
    lines.forEach((text, line) => {
      const name = /^\s*(?:unsafe\s+)?impl\b(?:\s*<[^{]*?>)?\s+(?:[^{]*?\bfor\s+)?(?:\w+::)*(\w+)/.exec(text)
        ?.[1];
      if (name && !masked.inside[line]) heads.push({ line, kind: "impl", name });
    });
  }
  return heads.map((head) => ({
    ...head,
    from: head.line,
    to: blockEnd(lines, masked, head.line, language),
  }));
}

/** The line on which the block of a declaration closes. */
function blockEnd(lines: readonly string[], masked: Masked, line: number, language: Language): number {
  if (language.family === "python") {
    const own = indentOf(lines[line] ?? "");
    let at = line + 1;
    while (
      at < lines.length && (isContinued(masked, at) || isBlank(lines[at]) || indentOf(lines[at] ?? "") > own)
    ) at++;
    return at;
  }
  const depth = masked.depths[line] ?? 0;
  let opened = false;
  for (let at = line + 1; at < lines.length; at++) {
    const now = masked.depths[at] ?? 0;
    if (now > depth) opened = true;
    else if (opened || /;\s*$/.test(lines[at - 1] ?? "")) return at;
  }
  return lines.length;
}

function isContinued(masked: Masked, line: number): boolean {
  return masked.inside[line] === true || (masked.depths[line] ?? 0) > 0;
}

const MODIFIERS =
  "(?:(?:public|private|protected|internal|static|readonly|async|override|abstract|final|get|set|accessor|declare)\\s+)*";

/** How a line directly in the body of a container begins a member of this name. */
function memberPattern(language: Language, name: string): RegExp {
  switch (language.family) {
    case "js":
      return new RegExp(`^\\s*${MODIFIERS}\\*?\\s*#?${name}\\s*[?!]?\\s*(?:[(<=:;,{]|$)`);
    case "python":
      return new RegExp(`^\\s*${name}\\s*(?::[^=]+)?(?:=(?!=)|$)`);
    default:
      return new RegExp(
        `^\\s*(?!(?:return|throw|new|else|case)\\b)(?:[\\w<>\\[\\],.?*&:~@()]+\\s+)*?[*&~]*\\b${name}\\s*(?:[(<=:;,{]|$)`,
      );
  }
}

/** Which lines stand directly in the body of a container. */
function memberDepth(
  lines: readonly string[],
  masked: Masked,
  owner: Container,
  language: Language,
): (line: number) => boolean {
  if (language.family === "python") {
    const first = lines.findIndex((text, line) =>
      line > owner.from && !isBlank(text) && !isContinued(masked, line)
    );
    const indent = indentOf(lines[first] ?? "");
    return (line) => !isContinued(masked, line) && indentOf(lines[line] ?? "") === indent;
  }
  const depth = (masked.depths[owner.from] ?? 0) + 1;
  return (line) => masked.depths[line] === depth;
}

/** What stands outside any block: C functions and macros, Python variables, methods defined with their type's name. */
function outside(
  lines: readonly string[],
  masked: Masked,
  language: Language,
  wanted: { readonly name: string; readonly owner: string | undefined },
): Declaration[] {
  const pattern = outsidePattern(language, escapeName(wanted.name), wanted.owner && escapeName(wanted.owner));
  if (!pattern) return [];
  return lines.flatMap((text, line) => {
    const open = masked.inside[line] || (masked.depths[line] ?? 0) > 0;
    const kind = /^#/.test(text) ? "macro" : /\(/.test(text) ? "function" : "variable";
    return !open && pattern.test(text) ? [{ line, kind, name: wanted.name }] : [];
  });
}

function outsidePattern(language: Language, name: string, owner: string | undefined): RegExp | undefined {
  switch (language.family) {
    case "go":
      return owner
        ? new RegExp(`^func\\s*\\([^)]*\\b${owner}(?:\\[[^\\]]*\\])?\\s*\\)\\s*${name}\\b`)
        : undefined;
    case "python":
      return owner ? undefined : new RegExp(`^${name}\\s*(?::[^=]+)?=(?!=)`);
    case "c":
      return owner ? new RegExp(`^[\\w<>\\[\\],*&:~\\s]*?\\b${owner}\\s*::\\s*~?${name}\\s*\\(`) : new RegExp(
        `^(?:#\\s*define\\s+|(?!\\s*(?:return|else|using|typedef)\\b)[\\w<>\\[\\],*&:~\\s]*?[\\s*&])?${name}\\s*(?:\\(|\\[|=|;|\\s\\S)`,
      );
    default:
      return undefined;
  }
}

function escapeName(name: string): string {
  return name.replace(/[$]/g, "\\$");
}

export function indentOf(text: string): number {
  return /^[ \t]*/.exec(text)?.[0].length ?? 0;
}

export function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === "";
}
