/**
 * One small pattern language for rules and for what a command line is known to become.
 *
 * A text is a string in which control characters, which no judged line may contain, stand for what is not
 * known: {@linkcode ANY} any text at all, {@linkcode STAR} and {@linkcode ONE} what a glob left open. Words
 * are joined by {@linkcode SEP}.
 */

/** Boundary between two words. */
export const SEP = "\x01";
/** Any text, word boundaries included: a rule's `*`, or an expansion that only the shell can do. */
export const ANY = "\x02";
/** One character: a rule's `?`, a glob's `?` or `[…]`. */
export const ONE = "\x03";
/** A glob's `*`: any text without a slash. */
export const STAR = "\x04";

const MARKS = new RegExp(`[${ANY}${ONE}${STAR}]`);

/** Reports whether the text is fully known. */
export function isKnown(text: string): boolean {
  return !MARKS.test(text);
}

/** Tells where the first unknown part begins, or -1. */
export function firstMark(text: string): number {
  return text.search(MARKS);
}

/** `no`, `yes` for every possible value of the text, or `maybe` when some values match. */
export type Match = "yes" | "maybe" | "no";

/** Turns a rule's `*` and `?` into marks. */
export function toPattern(spec: string): string {
  return spec.replace(/\*+/g, ANY).replaceAll("?", ONE);
}

/** Matches a whole text against a rule pattern made by {@linkcode toPattern}. */
export function matchPattern(pattern: string, text: string): Match {
  if (!literalHeadsAgree(pattern, text)) return "no";
  if (isKnown(text)) return covers(pattern, text) ? "yes" : "no";
  if (covers(pattern, text)) return "yes";
  return intersects(pattern, text) ? "maybe" : "no";
}

function literalHeadsAgree(pattern: string, text: string): boolean {
  const length = Math.min(pattern.length, text.length);
  for (let i = 0; i < length; i++) {
    const a = pattern.charCodeAt(i);
    const b = text.charCodeAt(i);
    if ((a >= 2 && a <= 4) || (b >= 2 && b <= 4)) return true;
    if (a !== b) return false;
  }
  return true;
}

/** Greedy glob match in which an unknown part of the text is only covered by the pattern's own `ANY`. */
function covers(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let mark = 0;
  while (t < text.length) {
    const c = pattern[p];
    if (c === ANY) {
      star = p++;
      mark = t;
    } else if (c !== undefined && (c === text[t] ? c !== STAR : oneCovers(c, text[t]))) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++mark;
    } else return false;
  }
  while (pattern[p] === ANY) p++;
  return p === pattern.length;
}

function oneCovers(c: string, t: string | undefined): boolean {
  return c === ONE && t !== undefined && t !== ANY && t !== STAR && t !== SEP;
}

/** Reports whether two texts with open parts have a value in common. */
function intersects(a: string, b: string): boolean {
  let row = new Uint8Array(b.length + 1);
  row[0] = 1;
  for (let j = 0; j < b.length && isOpen(b[j]); j++) row[j + 1] = 1;
  for (let i = 0; i < a.length; i++) {
    const c = a[i];
    const next = new Uint8Array(b.length + 1);
    if (isOpen(c)) next[0] = row[0] ?? 0;
    for (let j = 1; j <= b.length; j++) {
      const d = b[j - 1];
      const skipA = isOpen(c) && (row[j] === 1 || (next[j - 1] === 1 && fits(c, d)));
      const skipB = isOpen(d) && (next[j - 1] === 1 || (row[j] === 1 && fits(d, c)));
      const both = row[j - 1] === 1 && (c === d || (c === ONE && d !== SEP) || (d === ONE && c !== SEP));
      if (skipA || skipB || both) next[j] = 1;
    }
    row = next;
  }
  return row[b.length] === 1;
}

function isOpen(c: string | undefined): boolean {
  return c === ANY || c === STAR;
}

function fits(open: string | undefined, c: string | undefined): boolean {
  return open === ANY || (c !== "/" && c !== SEP);
}
