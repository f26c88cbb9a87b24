import { lineRuns } from "../text/diff.ts";
import { type Fold, FoldedLine, partsOfLine } from "./fold.ts";

/** A changed line three times: as the file has it, as the model quoted it, and as the model wants it. */
export interface ChangedLine {
  readonly raw: string;
  readonly old: string;
  readonly fresh: string;
}

/**
 * The new line, in which every word, blank or sign that the model did not change is taken from the file: a
 * typographic quote stays one, although the model quoted it as a plain one. `indent` shifts an indentation
 * that is new. Where the file's line is not the quoted one once both are folded, the new line is the model's.
 */
export function mergeTokens(line: ChangedLine, fold: Fold, indent: (text: string) => string): string {
  const [raw, old, fresh] = [partsOfLine(line.raw), partsOfLine(line.old), partsOfLine(line.fresh)];
  const file = new FoldedLine(raw.body, fold);
  const quoted = new FoldedLine(old.body, fold);
  if (fresh.body === "" || file.text !== quoted.text) return indent(line.fresh);
  const rawAt = (offset: number) => {
    const index = quoted.indexAt(offset);
    return index === undefined ? undefined : file.offsetAt(index);
  };
  const out = [old.lead === fresh.lead ? raw.lead : indent(`${fresh.lead}x`).slice(0, -1)];
  let at = 0;
  for (const run of lineRuns(tokensOf(old.body), tokensOf(fresh.body))) {
    const text = run.lines.join("");
    const [from, to] = [rawAt(at), rawAt(at + text.length)];
    // A run that ends inside one character of the file cannot be cut out of it.
    const isWhole = from !== undefined && to !== undefined;
    if (run.kind === " ") out.push(isWhole ? raw.body.slice(from, to) : text);
    if (run.kind === "+") out.push(text);
    if (run.kind !== "+") at += text.length;
  }
  out.push(old.tail === fresh.tail ? raw.tail : fresh.tail);
  return out.join("");
}

/**
 * Words, blanks and signs. Signs that stand together are one token, since `-` and `--` or `->` have nothing
 * in common; quotes and brackets are not part of it, since their other half stands elsewhere.
 */
function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

const PAIRED = String.raw`["'()\[\]{}\u2018-\u201f\uff02\uff07\uff08\uff09\uff3b\uff3d\uff5b\uff5d]`;
const TOKEN = new RegExp(
  String.raw`[\p{L}\p{N}\p{M}_]+|\s+|(${PAIRED})\p{M}*(?:\1\p{M}*)*|(?:(?!${PAIRED})[^\p{L}\p{N}_\s]\p{M}*)+`,
  "gu",
);
