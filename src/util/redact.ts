const ORDINARY = /^(?:[A-Z]?[a-z]{0,15}|[A-Z]{1,15}|[A-Za-z]{1,3}[_-][A-Z]{2}(?:[.@][\w-]+)*|C\.[\w-]+)$/;

/** Removing an ordinary text hides nothing. */
export function isOrdinaryText(text: string): boolean {
  return ORDINARY.test(text.trim());
}

/** A text with letters and digits in disorder, unlike paths and dates. */
export function looksLikeSecret(text: string): boolean {
  return text.split(/[^A-Za-z0-9]/).some((part) =>
    part.length >= 16 && (part.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0) > 3
  );
}

interface SecretEncodings {
  /** As it is, inside JSON and in a URL: may be found anywhere. */
  readonly open: readonly string[];
  readonly encoded: readonly string[];
}

const SHORTEST = 10;

function secretEncodings(value: string): SecretEncodings {
  const open = [value, JSON.stringify(value).slice(1, -1)];
  try {
    const url = encodeURIComponent(value);
    open.push(url, url.replace(/%../g, (code) => code.toLowerCase()));
  } catch {
    // Lone surrogates have no such spelling.
  }
  const bytes = new TextEncoder().encode(value);
  const base64 = [0, 1, 2].map((offset) => base64At(bytes, offset));
  // Alone it ends in a character that what follows would change.
  base64.push(bytes.toBase64({ omitPadding: true }));
  const safe = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const hex = bytes.toHex();
  const encoded = [...base64, ...safe, hex, hex.toUpperCase()];
  return {
    open: [...new Set(open)],
    encoded: [...new Set(encoded)].filter((text) => text.length >= SHORTEST),
  };
}

/**
 * The characters that do not depend on the bytes around the value, which begins at this offset in a group of
 * three.
 */
function base64At(bytes: Uint8Array, offset: number): string {
  const padded = new Uint8Array(offset + bytes.length);
  padded.set(bytes, offset);
  return padded.toBase64().slice(Math.ceil(offset * 8 / 6), Math.floor(padded.length * 8 / 6));
}

/** The characters, of the first 128, that encoded data is made of. */
const CODE = Uint8Array.from(
  { length: 128 },
  (_, code) => /[\w+/-]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/**
 * Finds a run of characters that could be encoded data. It looks from the end of each stretch, so that most
 * text is skipped.
 */
function hasLongRun(text: string, length: number): boolean {
  for (let end = length - 1; end < text.length;) {
    let at = end;
    while (at > end - length && CODE[text.charCodeAt(at)] === 1) at--;
    if (at === end - length) return true;
    end = at + length;
  }
  return false;
}

/** An expression for encoded texts that may be broken into lines. */
function brokenPattern(encoded: readonly string[]): RegExp {
  const forms = encoded.map((text) =>
    [...text].map((char) => `\\x${char.charCodeAt(0).toString(16)}`).join("(?:\\r?\\n)?")
  );
  return new RegExp(forms.join("|"), "g");
}

/** Lines as programs break encoded data: long, and full of it to the end. */
const BREAKS = /(?<=[A-Za-z0-9+/_-]{40})\r?\n(?=[A-Za-z0-9+/_=-])/g;

function unbroken(text: string): string {
  return text.replace(BREAKS, "");
}

const MARK = "[redacted]";

/** Shorter values are too common in ordinary text to be taken out wherever they occur. */
const SHORTEST_VALUE = 8;

/** A token does not start inside a longer word. One start for each word also keeps the search linear. */
const START = "(?<![A-Za-z0-9_-])";

/**
 * Token shapes that are secret whatever the issuer: a fixed start, and a length that prose and hashes do not
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

/** Words joined by dashes look alike, so {@linkcode isRandom} decides. */
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

/**
 * Returns a function that replaces the given values and common shapes of tokens by `[redacted]`. Values
 * shorter than 8 characters and single words stay: replacing them would damage ordinary text.
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

/** Adds secrets that the configuration does not know, such as a new token of a server, to every redactor. */
export function learnSecret(...values: readonly string[]): void {
  const added = values.filter((value) => isRedacted(value.trim()) && !learned.values.has(value));
  if (added.length === 0) return;
  for (const value of added) learned.values.add(value);
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
  const beginnings = beginningRemover(spellings.flatMap((one) => one.open));
  return (text) => beginnings(encoded(open(text)));
}

/** Removes the beginning of a value where a text was cut in the middle of it. */
function beginningRemover(texts: readonly string[]): (text: string) => string {
  return (text) => {
    if (!text.endsWith("…")) return text;
    const end = text.length - 1;
    for (const value of texts) {
      for (let length = Math.min(value.length - 1, end); length >= SHORTEST_VALUE; length--) {
        if (text.startsWith(value.slice(0, length), end - length)) {
          return `${text.slice(0, end - length)}${MARK}…`;
        }
      }
    }
    return text;
  };
}

function remover(texts: readonly string[]): (text: string) => string {
  // Longest first, so that a value that contains another goes as a whole.
  const known = [...new Set(texts)].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(known.map((text) => RegExp.escape(text)).join("|"), "g");
  return (text) => known.some((value) => text.includes(value)) ? text.replace(pattern, MARK) : text;
}

/** Most texts contain no run that could be encoded, which one look finds out. */
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

function replaceShape(match: string, ...rest: unknown[]): string {
  const { head, dashed } = rest.at(-1) as { head?: string; dashed?: string };
  if (head === undefined) return dashed === undefined || isRandom(match) ? MARK : match;
  return match.endsWith(MARK) ? match : head + MARK;
}

/**
 * A part between dashes is long and mixes digits with letters, or the whole mixes digits and both cases,
 * unlike words.
 */
function isRandom(token: string): boolean {
  const count = (pattern: RegExp) => token.match(pattern)?.length ?? 0;
  return token.split(/[-_]/).some((part) => part.length >= 16 && /\d/.test(part) && /[A-Za-z]/.test(part)) ||
    (count(/\d/g) > 2 && count(/[a-z]/g) > 0 && count(/[A-Z]/g) > 2);
}
