import { isOrdinaryText } from "./secret_look.ts";
import { brokenPattern, hasLongRun, secretEncodings, unbroken } from "./secret_encodings.ts";

/** Takes secrets out of text that leaves the program: events, logs, errors, doctor output. */

/** The mark in place of a secret. */
const MARK = "[redacted]";

/** Shorter values are too common in ordinary text to be taken out wherever they occur. */
const SHORTEST_VALUE = 8;

/** A token does not start inside a longer word. One start for each word also keeps the search linear. */
const START = "(?<![A-Za-z0-9_-])";

/**
 * Token shapes that are secret whoever issued them: a fixed start, and a length that prose and hashes do not
 * have.
 */
const SHAPES = [
  // GitHub, GitLab, npm, PyPI, Hugging Face.
  String.raw`\bgh[pousr]_[A-Za-z0-9]{36,}\b`,
  String.raw`\bgithub_pat_[A-Za-z0-9_]{50,}\b`,
  START + "glpat-[A-Za-z0-9_-]{20,}",
  String.raw`\bnpm_[A-Za-z0-9]{36}\b`,
  START + "pypi-[A-Za-z0-9_-]{50,}",
  String.raw`\bhf_[A-Za-z0-9]{30,}\b`,
  // Slack, Google, AWS.
  START + "xox[abeoprs]-[A-Za-z0-9-]{10,}",
  START + "AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
  String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
  // JSON web tokens: three parts, the first two JSON objects.
  START + String.raw`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`,
  // Private keys, cut off or whole.
  String
    .raw`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|$)`,
];

/**
 * Keys that model vendors and payment services issue. Words joined by dashes look alike, so {@linkcode
 * isRandom} has the last word.
 */
const DASHED = START + "(?:sk|rk|pk)[-_][A-Za-z0-9_-]{20,}";

/** Shapes whose name stays readable: `$<head>` is kept. */
const NAMED = [
  String.raw`\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?`,
  String.raw`\bx-api-key["']?\s*[:=]\s*["']?`,
];

/** Places where a match can start at all: one cheap look decides whether the big expression runs. */
const HINTS =
  /[srp]k[-_]|gh[pousr]_|github_pat_|glpat-|npm_|pypi-|hf_|xox|AIza|AKIA|ASIA|eyJ|PRIVATE KEY|authorization|x-api-key/i;

const SHAPE_EXPRESSION = new RegExp(
  `(?<head>${NAMED.map((head) => `(?:${caseless(head)})`).join("|")})[^\\s"',;]{6,}|(?<dashed>${DASHED})|${
    SHAPES.join("|")
  }`,
  "g",
);

/** Letters outside of escapes and classes match both cases, while the shapes stay exact. */
function caseless(source: string): string {
  return source.replace(
    /\\.|\[[^\]]*\]|[a-z]/g,
    (part) => part.length === 1 ? `[${part}${part.toUpperCase()}]` : part,
  );
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/**
 * A function that replaces the given secret values and common token shapes in a text by `[redacted]`. Text
 * without any comes back as the same string. Values shorter than 8 characters and single words are left
 * alone: replacing them would shred ordinary text.
 */
export function createRedactor(secretValues: Iterable<string>): (text: string) => string {
  const values = removerOf(secretValues);
  return (text) => {
    const result = learned.remove(values(text));
    return HINTS.test(result) ? result.replace(SHAPE_EXPRESSION, replaceShape) : result;
  };
}

/** Secrets that came up while the program ran. */
const learned = { values: new Set<string>(), remove: (text: string) => text };

/**
 * Tells every redactor of this process, also those that exist already, a secret that the configuration does
 * not know: a token that a server has just issued.
 */
export function learnSecret(value: string): void {
  if (!isRedacted(value.trim()) || learned.values.has(value)) return;
  learned.values.add(value);
  learned.remove = removerOf(learned.values);
}

function isRedacted(value: string): boolean {
  return value.length >= SHORTEST_VALUE && !isOrdinaryText(value);
}

function removerOf(secretValues: Iterable<string>): (text: string) => string {
  const values = [...secretValues].map((value) => value.trim()).filter(isRedacted);
  const spellings = values.map(secretEncodings);
  const open = remover(spellings.flatMap((one) => one.open));
  const encoded = encodedRemover(spellings.flatMap((one) => one.encoded));
  return (text) => encoded(open(text));
}

/** Takes known texts out, wherever they stand. */
function remover(texts: readonly string[]): (text: string) => string {
  // Longest first, so that a value that contains another goes as a whole.
  const known = [...new Set(texts)].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(known.map(escaped).join("|"), "g");
  return (text) => known.some((value) => text.includes(value)) ? text.replace(pattern, MARK) : text;
}

/**
 * The same for encoded ones. Most texts hold nothing that could be one, and one look finds that out for all
 * of them.
 */
function encodedRemover(texts: readonly string[]): (text: string) => string {
  if (texts.length === 0) return (text) => text;
  const shortest = Math.min(...texts.map((text) => text.length));
  const whole = remover(texts);
  return (text) => {
    if (!hasLongRun(text, shortest)) return text;
    const result = whole(text);
    const joined = unbroken(result);
    if (joined === result || !texts.some((value) => joined.includes(value))) return result;
    return result.replace(brokenPattern(texts), MARK);
  };
}

/** The replacement of one match; the groups are the last of what `replace` hands over. */
function replaceShape(match: string, ...rest: unknown[]): string {
  const { head, dashed } = rest.at(-1) as { head?: string; dashed?: string };
  if (head === undefined) return dashed === undefined || isRandom(match) ? MARK : match;
  return match.endsWith(MARK) ? match : head + MARK;
}

/**
 * Reports whether a part between dashes is long and mixes digits with letters, or the whole mixes digits and
 * both cases, as no words do.
 */
function isRandom(token: string): boolean {
  const count = (pattern: RegExp) => token.match(pattern)?.length ?? 0;
  return token.split(/[-_]/).some((part) => part.length >= 16 && /\d/.test(part) && /[A-Za-z]/.test(part)) ||
    (count(/\d/g) > 2 && count(/[a-z]/g) > 0 && count(/[A-Z]/g) > 2);
}
