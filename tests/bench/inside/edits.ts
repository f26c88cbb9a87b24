/** Time of a patch of 200 hunks on a file of 5 MB, in this process, next to the `diff` package's. */
import { applyPatch } from "diff";
import { applyHunks } from "../../../src/tool/builtin/apply_patch/apply_hunks.ts";
import { parsePatch } from "../../../src/tool/builtin/apply_patch/parse.ts";
import { type Row, row } from "../report.ts";
import type { Bench } from "../runner.ts";

const HUNKS = 200;

function file(): string[] {
  const lines: string[] = [];
  for (let size = 0; size < 5_000_000;) {
    const index = lines.length;
    const line = index % 5 === 0 ? "}" : `  const value${index} = compute(${index}, "some text here");`;
    lines.push(line);
    size += line.length + 1;
  }
  return lines;
}

/** A patch of one line in every stretch of the file: `numbered` as a unified diff, else as Begin Patch. */
function patch(lines: readonly string[], numbered: boolean, spoil: (line: string) => string): string {
  const step = Math.floor(lines.length / HUNKS / 5) * 5;
  const body = Array.from({ length: HUNKS }, (_, index) => {
    const at = index * step + 10;
    const text = (from: number, to: number) =>
      lines.slice(from, to).map((line) => ` ${spoil(line)}\n`).join("");
    const head = numbered ? `@@ -${at + 1},7 +${at + 1},7 @@` : "@@";
    const changed = `-${spoil(lines[at + 3] ?? "")}\n+changed ${index}\n`;
    return `${head}\n${text(at, at + 3)}${changed}${text(at + 4, at + 7)}`;
  }).join("");
  return numbered
    ? `--- a/f.ts\n+++ b/f.ts\n${body}`
    : `*** Begin Patch\n*** Update File: f.ts\n${body}*** End Patch\n`;
}

function times(runs: number, work: () => unknown): number[] {
  return Array.from({ length: runs + 1 }, () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  }).slice(1);
}

/** A row for a patch that fits and one for a patch that fits nowhere. */
export function editRows({ quick }: Bench): Promise<Row[]> {
  const runs = quick ? 3 : 9;
  const lines = file();
  const text = `${lines.join("\n")}\n`;
  const unified = patch(lines, true, (line) => line);
  const both = (figure: string, target: number, ours: () => unknown, theirs: () => unknown) =>
    row({ figure, unit: "ms", target, reasonix: times(runs, ours), floor: times(runs, theirs) });
  const apply = (source: string) => () => applyHunks(text, parsePatch(source)[0]?.hunks ?? []);
  return Promise.resolve([
    both(
      "patch of 200 hunks on 5 MB (floor: the diff package)",
      150,
      apply(patch(lines, false, (line) => line)),
      () => applyPatch(text, unified),
    ),
    both(
      "patch on 5 MB that fits nowhere (floor: the diff package)",
      300,
      apply(patch(lines, false, (line) => line.replace("compute", "comptue"))),
      () => applyPatch(text, unified.replaceAll("compute", "comptue")),
    ),
  ]);
}
