import { adaptTo, type LineMatch, type Replaced } from "../../edit/line_blocks.ts";
import { rebuiltLines } from "../../edit/text_edit.ts";
import type { Eol, EolStyle, Line } from "../../text/eol.ts";
import { type Hunk, oldLines } from "./patch.ts";

/** A file as the lines that hunks are placed among. */
export interface PatchedFile {
  readonly style: EolStyle;
  readonly lines: readonly Line[];
  /** No character of it has a typographic twin. */
  readonly isAscii: boolean;
}

/** A line to be written, with its line end. */
export interface WrittenLine {
  readonly text: string;
  readonly eol: string;
}

/**
 * The lines of a hunk whose old lines match a place in all but blanks or twins: context lines stay as the
 * file has them, new lines take on its line ends and indentation. Undefined where a new line cannot be
 * unindented as far as the others.
 */
export function fitHunk(file: PatchedFile, hunk: Hunk, match: LineMatch): WrittenLine[] | undefined {
  const { lines, style } = file;
  const count = oldLines(hunk).length;
  const raw = lines.slice(match.line, match.line + count);
  const fallback: Eol = lines[match.line]?.eol || lines[match.line - 1]?.eol || style.dominant;
  const out: WrittenLine[] = [];
  let next = 0;
  for (const run of changeRuns(hunk, raw)) {
    const adapt = adaptTo(match, run.added, run.removed);
    if (!adapt) return undefined;
    const removed = raw.slice(next, next + run.removed.length);
    next += removed.length;
    out.push(...rebuiltLines({
      raw: removed,
      old: run.removed.map(({ old }) => ({ text: old, eol: "\n" })),
      fresh: run.added.map((text) => ({ text, eol: "\n" })),
      fallback: raw[next - 1]?.eol || raw[next]?.eol || fallback,
      adapt,
    }));
    if (run.context) out.push(run.context);
    if (run.context) next++;
  }
  const reachesEnd = match.line + count === lines.length;
  const open = reachesEnd && (raw.at(-1)?.eol === "" || hunk.lines.at(-1)?.newline === false);
  return out.map((line, index) => ({
    text: line.text,
    eol: index === out.length - 1 && open ? "" : line.eol || fallback,
  }));
}

/** Removed and added lines one beside the other, and the context line behind them. */
interface ChangeRun {
  readonly removed: readonly Replaced[];
  readonly added: readonly string[];
  readonly context: Line | undefined;
}

function* changeRuns(hunk: Hunk, raw: readonly Line[]): Generator<ChangeRun> {
  let removed: Replaced[] = [];
  let added: string[] = [];
  let next = 0;
  for (const { kind, text: given } of hunk.lines) {
    const text = given.replace(/\r$/, "");
    if (kind === "+") {
      added.push(text);
      continue;
    }
    const line = raw[next++];
    if (kind === "-") removed.push({ old: text, raw: line?.text ?? "" });
    else {
      yield { removed, added, context: line };
      [removed, added] = [[], []];
    }
  }
  if (removed.length + added.length > 0) yield { removed, added, context: undefined };
}
