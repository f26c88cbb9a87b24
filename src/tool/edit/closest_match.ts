import { BLANK_RUNS, clustersOf, hasTwin, keyOf, normalizeLine } from "./normalize.ts";
import { type EolStyle, type Line, lineNumber, splitLines, toLf } from "../text/eol.ts";

interface Wanted {
  readonly oldString: string;
  readonly newString: string;
}

const SHOWN_LINES = 6;
const MAX_SIMILAR_LINES = 20_000;
const MAX_LINE_CHARS = 200;

interface ClosestMatchOptions {
  readonly style: EolStyle;
  readonly lines?: readonly Line[];
  readonly names: { readonly old: string; readonly fresh: string };
}

/** Explains why `oldString` was not found: the closest lines of the file, with blanks made visible. */
export function closestMatch(text: string, edit: Wanted, options: ClosestMatchOptions): string {
  const { names } = options;
  const hint = hintFor(text, edit, names.fresh);
  if (hint) return `${names.old} was not found; ${hint}`;
  const lines = options.lines ?? splitLines(text, options.style);
  const old = splitLines(toLf(edit.oldString), { dominant: "\n", mixed: false, any: true });
  const place = byEqualLines(lines, old) ?? bySimilarLine(lines, old);
  if (place === undefined) {
    return `${names.old} was not found, nor anything like it; read_file to see what is there`;
  }
  const shown = differing(lines, old, place);
  const file = shown.filter((index) => place + index <= lines.length).map((index) => {
    const line = lines[place + index];
    return line
      ? `${String(place + index + 1).padStart(6)}→${visible(line.text, old[index]?.text)}`
      : "      (end of the file)";
  });
  const given = shown.map((index) => `      →${visible(old[index]?.text ?? "", lines[place + index]?.text)}`);
  return [
    `${names.old} was not found; the nearest place differs from line ${
      place + (shown[0] ?? 0) + 1
    } on (· space, ⇥ tab)`,
    "the file has:",
    ...file,
    `${names.old} has:`,
    ...given,
  ].join("\n");
}

function hintFor(text: string, edit: Wanted, fresh: string): string | undefined {
  if (edit.newString !== "" && edit.newString.length > 10 && text.includes(edit.newString)) {
    return `${fresh} is already there, at line ${lineNumber(text, text.indexOf(edit.newString))}`;
  }
  const lines = edit.oldString.split("\n").filter((line) => line !== "");
  if (lines.length > 0 && lines.every((line) => /^ *\d+→/.test(line))) {
    return "it has the line numbers of read_file (`12→`), which are not part of the file";
  }
  return undefined;
}

/** The start for which most lines of the block match, blanks ignored. */
function byEqualLines(lines: readonly Line[], old: readonly Line[]): number | undefined {
  const wanted = old.slice(0, 400).map((line) => keyOf(line.text, "bare", BLANK_RUNS));
  const places = new Map(wanted.filter((key) => key !== "").map((key) => [key, [] as number[]]));
  for (const [index, line] of lines.entries()) {
    const list = places.get(keyOf(line.text, "bare", BLANK_RUNS));
    if (list && list.length < 50) list.push(index);
  }
  const votes = new Map<number, number>();
  for (const [offset, key] of wanted.entries()) {
    const found = places.get(key) ?? [];
    // A line that occurs often says little about the right position.
    for (const index of found) votes.set(index - offset, (votes.get(index - offset) ?? 0) + 1 / found.length);
  }
  let best: number | undefined;
  for (const [start, score] of votes) {
    const better = best === undefined || score > (votes.get(best) ?? 0) ||
      (score === votes.get(best) && start < best);
    if (start >= 0 && better) best = start;
  }
  return best;
}

/** The start that puts the longest line of the block on the most similar line. */
function bySimilarLine(lines: readonly Line[], old: readonly Line[]): number | undefined {
  let longest = 0;
  for (const [index, line] of old.entries()) {
    if (line.text.trim().length > (old[longest]?.text.trim().length ?? 0)) longest = index;
  }
  const wanted = new Set(pairsOf(old[longest]?.text.trim() ?? ""));
  if (wanted.size === 0) return undefined;
  let best: number | undefined;
  let bestScore = 0.5;
  for (const [index, line] of lines.slice(0, MAX_SIMILAR_LINES).entries()) {
    // Lines of very different length cannot reach the score.
    if (line.text.length * 3 < wanted.size || line.text.length > wanted.size * 20) continue;
    const score = similarity(wanted, line.text.trim());
    if (score > bestScore) {
      best = index;
      bestScore = score;
    }
  }
  return best === undefined ? undefined : Math.max(0, best - longest);
}

const MAX_PAIRS = 300;

function pairsOf(text: string): number[] {
  return Array.from(
    { length: Math.max(0, Math.min(text.length, MAX_PAIRS) - 1) },
    (_, at) => text.charCodeAt(at) << 16 | text.charCodeAt(at + 1),
  );
}

/** 1 for the same pairs, 0 for none in common. */
function similarity(wanted: ReadonlySet<number>, text: string): number {
  const pairs = pairsOf(text);
  const common = new Set(pairs.filter((pair) => wanted.has(pair))).size;
  return 2 * common / (pairs.length + wanted.size);
}

function differing(lines: readonly Line[], old: readonly Line[], place: number): number[] {
  let first = old.findIndex((line, index) => lines[place + index]?.text !== line.text);
  if (first < 0) first = old.length - 1;
  return Array.from({ length: Math.min(old.length - first, SHOWN_LINES) }, (_, index) => first + index);
}

/**
 * Blanks at both ends, tabs and characters that cannot be seen, made visible; next to a line that looks the
 * same, also every character that has a twin, and every blank of a run.
 */
function visible(text: string, other: string | undefined): string {
  const cut = text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}…` : text;
  const alike = other !== undefined && other !== text &&
    normalizeLine(other, BLANK_RUNS) === normalizeLine(text, BLANK_RUNS);
  const spelled = alike
    ? clustersOf(cut.toWellFormed()).map((cluster) =>
      hasTwin(cluster) ? [...cluster].map(codePoint).join("") : cluster
    ).join("")
    : cut.toWellFormed();
  return spelled
    .replace(alike ? /^ +| +$| {2,}/g : /^ +| +$/g, (run) => "·".repeat(run.length))
    .replace(/\t/g, "⇥")
    .replace(/(?<=⇥) +/g, (run) => "·".repeat(run.length))
    .replace(INVISIBLE, codePoint);
}

function codePoint(char: string): string {
  return `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
}

const INVISIBLE =
  // deno-lint-ignore no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff]/g;

const NOUN =
  "(?:code|files?|class(?:es)?|functions?|methods?|implementations?|contents?|body|bodies|lines?|imports?|logic|" +
  "fields?|properties|props|tests?|cases?|styles?|rules?|sections?|document|text|components?|config(?:uration)?|options|" +
  "entries|items|elements|variables|constants|definitions|statements|handlers|routes|module|block|struct|script|markup)";
const STAYS =
  "(?: (?:is|are|remains?|stays?|goes|go|continues?)(?: here| unchanged| the same| as (?:is|before))*| here| unchanged| above| below)*";

/** Wordings that are never a real comment. */
const PLAIN = [
  `(?:and )?(?:the |your )?rest(?: of)?(?: the| your| this| these)?(?: \\w+)? ${NOUN}${STAYS}`,
  `(?:all |the )*(?:existing|unchanged) (?:code|implementation|content|logic)${STAYS}`,
  `(?:${NOUN} )?(?:unchanged|omitted)(?: for (?:brevity|clarity))?(?: here)?`,
  `(?:everything|all|nothing) else(?: (?:is|remains|stays))?(?: unchanged| the same| as (?:is|before))?`,
  `(?:same|identical) as (?:before|above|in the original|the original)`,
  `no changes?(?: here| needed)?`,
];
/** Wordings that mean an omission between dots or in parentheses only: alone they may be a heading. */
const MARKED = [
  ...PLAIN,
  `(?:all |the |your |and |keep )*(?:existing|remaining|previous|other|original|rest|more|same)(?: of)?(?: the)?(?: \\w+)?(?: ${NOUN})?${STAYS}`,
];
const PLAIN_OMISSION = new RegExp(`^(?:${PLAIN.join("|")})$`, "i");
const MARKED_OMISSION = new RegExp(`^(?:${MARKED.join("|")})$`, "i");

const OPENING = /^(?:\/\/+|#+|--+|;+|%+|\/\*+|\*+|<!--|\{\/\*+|"""|''')\s*/;
const CLOSING = /\s*(?:\*+\/\}?|-->|"""|''')$/;

/** Reads a line without its comment marks; `dots` for nothing but an ellipsis. */
function readMark(line: string): "omission" | "dots" | undefined {
  const trimmed = line.trim();
  const text = trimmed.replace(OPENING, "").replace(CLOSING, "");
  const isComment = text !== trimmed;
  const words = text.replace(/^[(<[{\s]*(?:\.{3,}|…)?[\s(<[{]*/, "").replace(
    /[)>\]}\s.:]*(?:\.{3,}|…)?[\s)>\]}.]*$/,
    "",
  );
  const marked = /\.{3}|…/.test(text) || /^\(.*\)$/.test(text);
  if (words === "") return isComment && /^(?:\.{3,}|…)$/.test(text) ? "dots" : undefined;
  if (!marked && !isComment) return undefined;
  return (marked ? MARKED_OMISSION : PLAIN_OMISSION).test(words) ? "omission" : undefined;
}

/**
 * The first of `fresh` that represents text left out and that is not among `old`; undefined for an honest
 * edit. A comment of nothing but dots counts only where lines go away.
 */
export function omissionIn(fresh: readonly string[], old: readonly string[]): string | undefined {
  const known = new Set(old.map((line) => line.trim()));
  const count = (lines: readonly string[]) => lines.filter((line) => line.trim() !== "").length;
  const shrinks = count(fresh) < count(old);
  return fresh.find((line) => {
    if (known.has(line.trim())) return false;
    const mark = readMark(line);
    return mark === "omission" || (mark === "dots" && shrinks);
  })?.trim();
}

export function omissionProblem(line: string, name: string): string {
  return `${name} has the placeholder ${
    JSON.stringify(line.slice(0, 120))
  }, which would replace the code it represents; ` +
    "write out every line, or edit only the lines that change";
}
