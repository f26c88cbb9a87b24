/**
 * The place where values stand in a JSON text that is known to be valid, so that one can be replaced without
 * touching the rest.
 */

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The elements of the array under a top-level key, and the array itself; undefined when there is none. */
export function arrayUnder(
  text: string,
  key: string,
): { readonly array: Span; readonly elements: Span[] } | undefined {
  for (let at = text.indexOf("{") + 1; at < text.length;) {
    at = skipBlank(text, at);
    if (text[at] !== '"') return undefined;
    const nameEnd = skipValue(text, at);
    const name: unknown = JSON.parse(text.slice(at, nameEnd));
    const start = skipBlank(text, skipBlank(text, nameEnd) + 1);
    const end = skipValue(text, start);
    if (name === key) {
      return text[start] === "[" ? { array: { start, end }, elements: elementsOf(text, start) } : undefined;
    }
    at = skipBlank(text, end) + 1;
  }
  return undefined;
}

function elementsOf(text: string, open: number): Span[] {
  const spans: Span[] = [];
  for (let at = skipBlank(text, open + 1); at < text.length && text[at] !== "]";) {
    const end = skipValue(text, at);
    spans.push({ start: at, end });
    at = skipBlank(text, end);
    if (text[at] === ",") at = skipBlank(text, at + 1);
  }
  return spans;
}

function skipBlank(text: string, at: number): number {
  while (at < text.length && " \t\r\n".includes(text[at] ?? "")) at++;
  return at;
}

/** Index after the value that begins at `at`. */
function skipValue(text: string, at: number): number {
  let depth = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') at = skipString(text, at);
    else if (char === "{" || char === "[") {
      depth++;
      at++;
    } else if (char === "}" || char === "]") {
      if (depth === 0) return at;
      depth--;
      at++;
    } else if (depth === 0 && (char === "," || " \t\r\n".includes(char ?? ""))) return at;
    else at++;
    if (depth === 0 && (char === '"' || char === "}" || char === "]")) return at;
  }
  return at;
}

function skipString(text: string, at: number): number {
  for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
  return at + 1;
}
