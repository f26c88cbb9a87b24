import { type EolStyle, type Line, lineNumber, splitLines, toLf } from "../text/eol.ts";

/** The part of an edit that matters here. */
interface Wanted {
  readonly oldString: string;
  readonly newString: string;
}

const SHOWN_LINES = 6;
const MAX_SIMILAR_LINES = 20_000;
const MAX_LINE_CHARS = 200;

/** What the two texts are called in the message. */
export interface NearestOptions {
  readonly style: EolStyle;
  readonly names: { readonly old: string; readonly fresh: string };
}

/** Why `oldString` was not found: the lines of the file that come closest, with blanks made visible. */
export function nearestLines(text: string, edit: Wanted, options: NearestOptions): string {
  const { names } = options;
  const hint = hintFor(text, edit, names.fresh);
  if (hint) return `${names.old} was not found; ${hint}`;
  const lines = splitLines(text, options.style);
  const old = splitLines(toLf(edit.oldString), { dominant: "\n", mixed: false, any: true });
  const place = byEqualLines(lines, old) ?? bySimilarLine(lines, old);
  if (place === undefined) {
    return `${names.old} was not found, nor anything like it; read_file to see what is there`;
  }
  const shown = differing(lines, old, place);
  const file = shown.filter((index) => place + index <= lines.length).map((index) => {
    const line = lines[place + index];
    return line
      ? `${String(place + index + 1).padStart(6)}→${visible(line.text)}`
      : "      (end of the file)";
  });
  const given = shown.map((index) => `      →${visible(old[index]?.text ?? "")}`);
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
  const bare = unescaped(edit.oldString);
  if (bare !== edit.oldString && toLf(text).includes(toLf(bare))) {
    return "it is escaped once too often: line ends, tabs or quotes have a backslash that the file does not have";
  }
  const lines = edit.oldString.split("\n").filter((line) => line !== "");
  if (lines.length > 0 && lines.every((line) => /^ *\d+→/.test(line))) {
    return "it has the line numbers of read_file (`12→`), which are not part of the file";
  }
  return undefined;
}

/** The text as it was before somebody escaped it once more. */
function unescaped(text: string): string {
  const marks: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
  return text.replace(/\\([ntr"'`\\])/g, (_, mark: string) => marks[mark] ?? mark);
}

/** The start for which most lines of the block stand where they should, blanks at both ends ignored. */
function byEqualLines(lines: readonly Line[], old: readonly Line[]): number | undefined {
  const places = new Map<string, number[]>();
  for (const [index, line] of lines.entries()) {
    const key = line.text.trim();
    if (key === "") continue;
    const list = places.get(key);
    if (!list) places.set(key, [index]);
    else if (list.length < 50) list.push(index);
  }
  const votes = new Map<number, number>();
  for (const [offset, line] of old.slice(0, 400).entries()) {
    const found = places.get(line.text.trim()) ?? [];
    // A line that stands in many places says little about the right one.
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

/** The line most like the longest line of the block, taken as where the block should be. */
function bySimilarLine(lines: readonly Line[], old: readonly Line[]): number | undefined {
  let longest = 0;
  for (const [index, line] of old.entries()) {
    if (line.text.trim().length > (old[longest]?.text.trim().length ?? 0)) longest = index;
  }
  const wanted = pairsOf(old[longest]?.text.trim() ?? "");
  if (wanted.size === 0) return undefined;
  let best: number | undefined;
  let bestScore = 0.5;
  for (const [index, line] of lines.slice(0, MAX_SIMILAR_LINES).entries()) {
    // Lines of very different length cannot reach the score.
    if (line.text.length * 3 < wanted.size || line.text.length > wanted.size * 20) continue;
    const pairs = pairsOf(line.text.trim());
    let common = 0;
    for (const pair of pairs) if (wanted.has(pair)) common++;
    const score = 2 * common / (pairs.size + wanted.size);
    if (score > bestScore) {
      best = index;
      bestScore = score;
    }
  }
  return best === undefined ? undefined : Math.max(0, best - longest);
}

function pairsOf(text: string): Set<string> {
  const pairs = new Set<string>();
  for (let index = 0; index + 1 < Math.min(text.length, 300); index++) {
    pairs.add(text.slice(index, index + 2));
  }
  return pairs;
}

/** Indexes into the block from the first difference on. */
function differing(lines: readonly Line[], old: readonly Line[], place: number): number[] {
  let first = old.findIndex((line, index) => lines[place + index]?.text !== line.text);
  if (first < 0) first = old.length - 1;
  return Array.from({ length: Math.min(old.length - first, SHOWN_LINES) }, (_, index) => first + index);
}

/** Blanks at both ends, tabs and characters that cannot be seen, made visible. */
function visible(text: string): string {
  const cut = text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}…` : text;
  return cut.toWellFormed()
    .replace(/^ +| +$/g, (run) => "·".repeat(run.length))
    .replace(/\t/g, "⇥")
    .replace(/(?<=⇥) +/g, (run) => "·".repeat(run.length))
    .replace(INVISIBLE, (char) => `<U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

const INVISIBLE =
  // deno-lint-ignore no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff]/g;
