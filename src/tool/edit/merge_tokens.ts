import { lineRuns } from "../text/diff.ts";
import { type Fold, foldOffsets } from "./fold.ts";

/** A changed line three times: as the file has it, as the model quoted it, and as the model wants it. */
export interface ChangedLine {
  readonly raw: string;
  readonly old: string;
  readonly fresh: string;
}

/**
 * The new line, in which every word, blank or sign that the model did not change is taken from the file: a
 * typographic quote stays one, although the model quoted it as a plain one. `indent` shifts an indentation
 * that is new.
 *
 * Contract: `raw` and `old` are equal once folded and unindented.
 */
export function mergeTokens(line: ChangedLine, fold: Fold, indent: (text: string) => string): string {
  const lead = /^[ \t]*/;
  const [rawLead, oldLead, freshLead] = [line.raw, line.old, line.fresh].map((text) =>
    lead.exec(text)?.[0] ?? ""
  );
  const raw = line.raw.slice(rawLead?.length);
  const old = line.old.slice(oldLead?.length);
  const fresh = line.fresh.slice(freshLead?.length);
  const start = oldLead === freshLead ? rawLead ?? "" : indent(`${freshLead}x`).slice(0, -1);
  const rawOffsets = foldOffsets(raw, fold);
  const folded = inverse(foldOffsets(old, fold));
  const rawAt = (index: number) => rawOffsets[folded(index)] ?? raw.length;
  const out = [start];
  let at = 0;
  for (const run of lineRuns(tokensOf(old), tokensOf(fresh))) {
    const length = run.lines.reduce((sum, token) => sum + token.length, 0);
    if (run.kind === " ") {
      out.push(raw.slice(rawAt(at), at + length === old.length ? raw.length : rawAt(at + length)));
    }
    if (run.kind === "+") out.push(...run.lines);
    if (run.kind !== "+") at += length;
  }
  return out.join("");
}

function tokensOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}\p{M}_]+|\s+|[^]\p{M}*/gu) ?? [];
}

/** From an index of the text to that of the folded text: the first one that lies there or behind it. */
function inverse(offsets: readonly number[]): (index: number) => number {
  return (index) => {
    const found = offsets.findIndex((offset) => offset >= index);
    return found < 0 ? offsets.length - 1 : found;
  };
}
