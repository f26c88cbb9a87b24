import { type Adapt, partnersOf, type Replaced } from "./line_blocks.ts";
import { lineRuns } from "../text/diff.ts";
import { type Eol, type EolStyle, eolStyle, type Line, splitLines } from "../text/eol.ts";

export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export function applyTextEdits(text: string, splices: readonly TextEdit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const splice of splices) {
    parts.push(text.slice(at, splice.start), splice.text);
    at = splice.end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}

interface Rebuild {
  readonly raw: readonly Line[];
  readonly old: readonly Line[];
  readonly fresh: readonly Line[];
  /** Line end for new lines without a neighbour that has one. */
  readonly fallback: Eol;
  readonly adapt: Adapt;
}

/**
 * Replaces lines. Those in both the old and the new text stay byte for byte as in the file; new lines get the
 * line end of their neighbor.
 */
export function rebuildLines(parts: Rebuild): string {
  return rebuiltLines(parts).map((line) => line.text + line.eol).join("");
}

export function rebuiltLines(parts: Rebuild): Line[] {
  const key = (line: Line) => line.eol === "" ? line.text : `${line.text}\n`;
  const out: Line[] = [];
  let rawAt = 0;
  let freshAt = 0;
  let removed = 0;
  for (const run of lineRuns(parts.old.map(key), parts.fresh.map(key))) {
    const { raw, old, fresh } = parts;
    const start = rawAt - removed;
    const added = fresh.slice(freshAt, freshAt + run.lines.length);
    let partners: readonly (number | undefined)[] | undefined;
    const replaced = (index: number) => {
      partners ??= partnersOf(textsOf(added), textsOf(old.slice(start, start + removed)));
      return replacedAt(parts, start, partners[index]);
    };
    for (const index of run.lines.keys()) {
      if (run.kind === " ") {
        const line = raw[rawAt];
        if (line) out.push(line);
      } else if (run.kind === "+") {
        const line = fresh[freshAt];
        if (line) {
          const eol = eolFor(parts, line, removed > 0 ? start + Math.min(index, removed - 1) : rawAt - 1);
          out.push({ text: parts.adapt(line.text, () => replaced(index)), eol });
        }
      }
      if (run.kind !== "+") rawAt++;
      if (run.kind !== "-") freshAt++;
    }
    removed = run.kind === "-" ? run.lines.length : 0;
  }
  return ended(out, parts);
}

/** Gives every line but the last a line end; the last has none where only the file lacks it. */
function ended(lines: readonly Line[], { raw, old, fallback }: Rebuild): Line[] {
  const isOpen = raw.at(-1)?.eol === "" && old.at(-1)?.eol !== "";
  return lines.map((line, index) => {
    if (index < lines.length - 1) return line.eol === "" ? { ...line, eol: fallback } : line;
    return isOpen ? { ...line, eol: "" } : line;
  });
}

function replacedAt({ raw, old }: Rebuild, start: number, partner: number | undefined): Replaced | undefined {
  if (partner === undefined) return undefined;
  const line = raw[start + partner];
  const quoted = old[start + partner];
  return line && quoted && { raw: line.text, old: quoted.text };
}

function textsOf(lines: readonly Line[]): string[] {
  return lines.map((line) => line.text);
}

function eolFor(parts: Rebuild, line: Line, neighbour: number): Eol | "" {
  if (line.eol === "") return "";
  return parts.raw[neighbour]?.eol || parts.raw[neighbour + 1]?.eol || parts.fallback;
}

/** The line end of the line of `index`, else of the line before, else the dominant one. */
export function localEol(text: string, index: number, style: EolStyle): Eol {
  if (!style.mixed) return style.dominant;
  const next = text.indexOf("\n", index);
  if (next >= 0) return text.charCodeAt(next - 1) === 13 ? "\r\n" : "\n";
  const before = index === 0 ? -1 : text.lastIndexOf("\n", index - 1);
  if (before >= 0) return text.charCodeAt(before - 1) === 13 ? "\r\n" : "\n";
  return style.dominant;
}

/** A whole new text for a file with the line ends the file had: line by line where it is mixed. */
export function withEolsOf(before: string, after: string): string {
  const style = eolStyle(before);
  if (!style.any || (style.dominant === "\n" && !style.mixed)) return after;
  const fresh = splitLines(after, eolStyle(after));
  if (!style.mixed) return fresh.map((line) => line.text + (line.eol === "" ? "" : style.dominant)).join("");
  const raw = splitLines(before, style);
  const same = (text: string) => text;
  return rebuildLines({ raw, old: raw, fresh, fallback: style.dominant, adapt: same });
}
