/** The wildcards of ignore files and of path rules, as regular expressions. */

/** Alternatives more than this are not spelled out: a pattern of that kind is a mistake. */
const MAX_ALTERNATIVES = 256;

/** `a{b,c}` as `ab`, `ac`. Unbalanced braces stay as they are. */
export function expandBraces(pattern: string): string[] {
  const open = unescapedIndex(pattern, "{");
  if (open < 0) return [pattern];
  const parts: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = open; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === "\\") at++;
    else if (char === "{") depth++;
    else if (char === "," && depth === 1) {
      parts.push(pattern.slice(start, at));
      start = at + 1;
    } else if (char === "}" && --depth === 0) {
      parts.push(pattern.slice(start, at));
      const head = pattern.slice(0, open);
      const out = parts.flatMap((part) => expandBraces(head + part + pattern.slice(at + 1)));
      return out.slice(0, MAX_ALTERNATIVES);
    }
  }
  return [pattern];
}

function unescapedIndex(text: string, wanted: string): number {
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === wanted) return at;
  }
  return -1;
}

/**
 * The source of a regular expression for one line of an ignore file, without `!`, the trailing and the
 * leading `/`. Wildcards stop at `/`; `**` counts only as a whole path part (gitignore(5)).
 */
export function ignoreGlobSource(glob: string): string {
  let out = "";
  let at = 0;
  if (glob === "**") return ".*";
  while (glob.startsWith("**/", at)) {
    if (at === 0) out += "(?:.*/)?";
    at += 3;
  }
  while (at < glob.length) {
    if (glob.startsWith("/**", at) && (at + 3 === glob.length || glob[at + 3] === "/")) {
      let end = at + 3;
      while (glob.startsWith("/**", end) && (end + 3 === glob.length || glob[end + 3] === "/")) end += 3;
      out += end === glob.length ? "/.+" : "/(?:.*/)?";
      at = end === glob.length ? end : end + 1;
      continue;
    }
    const [source, next] = oneElement(glob, at);
    out += source;
    at = next;
  }
  return out;
}

/**
 * The source of a regular expression for the glob of a path rule: `*` is any text, `/` included, `/**\/` also
 * no directory at all, and a backslash takes the next wildcard as it is.
 */
export function pathGlobSource(glob: string): string {
  let out = "";
  for (let at = 0; at < glob.length;) {
    const [source, next] = glob.startsWith("/**/", at)
      ? ["/(?:.*/)?", at + 4]
      : glob[at] === "*"
      ? [".*", at + 1]
      : glob[at] === "?"
      ? [".", at + 1]
      : oneElement(glob, at);
    out += source;
    at = next;
  }
  return out;
}

/** The part of a glob before its first wildcard. */
export function literalHead(glob: string): string {
  return /^(?:\\.|[^*?[\\]|\\$)*/su.exec(glob)?.[0] ?? "";
}

/** A path as the glob that means it alone. */
export function escapeGlob(path: string): string {
  return path.replace(/[*?[\]{}\\]/g, "\\$&");
}

export function unescapeGlob(glob: string): string {
  return glob.replace(/\\(.)/gs, "$1");
}

function oneElement(glob: string, at: number): [source: string, next: number] {
  const char = glob.charAt(at);
  switch (char) {
    case "*": {
      let end = at;
      while (glob[end] === "*") end++;
      return ["[^/]*", end];
    }
    case "?":
      return ["[^/]", at + 1];
    case "[":
      return characterClass(glob, at) ?? ["\\[", at + 1];
    case "\\":
      return [escapeRegExp(glob.charAt(at + 1) || "\\"), at + 2];
    default:
      return [escapeRegExp(char), at + 1];
  }
}

/** `[a-z]`, `[!a]`, `[]a]`; undefined when the bracket is never closed. */
function characterClass(glob: string, at: number): [source: string, next: number] | undefined {
  let index = at + 1;
  const negated = glob[index] === "!" || glob[index] === "^";
  if (negated) index++;
  let body = "";
  for (let first = true;; first = false) {
    const char = glob[index++];
    if (char === undefined) return undefined;
    if (char === "]" && !first) break;
    if (char === "\\") body += `\\${glob[index++] ?? "\\"}`;
    else body += "[]^&".includes(char) ? `\\${char}` : char;
  }
  // A wildcard never matches the separator, not even a negated class.
  return [negated ? `[^/${body}]` : `(?!/)[${body}]`, index];
}

export function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
