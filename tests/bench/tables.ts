/** Rows as a table: for a terminal, and as `docs/performance.md` has it. */
import type { Row, Spread } from "./report.ts";

/** The rows of one group, under its title. */
export interface Table {
  readonly title: string;
  readonly rows: readonly Row[];
}

const HEAD = ["figure", "Reasonix", "floor", "ratio", "target", "runs", "result"];

/** Three digits, or whole numbers. */
function number(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

/** Median (least–greatest). */
function cell(found: Spread | undefined): string {
  if (found === undefined) return "";
  const { median, min, max, samples } = found;
  return samples.length === 1 ? number(median) : `${number(median)} (${number(min)}–${number(max)})`;
}

/** The name with its unit, and what is next to both programs. */
function nameOf({ figure, unit, programs }: Row): string {
  const others = Object.entries(programs).filter(([name]) => name !== "reasonix" && name !== "floor");
  const list = others.map(([name, { median }]) => `${name} ${number(median)}`).join(", ");
  return `${figure}, ${unit}${list === "" ? "" : ` (${list})`}`;
}

function targetOf({ target, targetRatio }: Row): string {
  if (target === undefined) return "";
  return `≤ ${target}${targetRatio === undefined ? "" : `, ×${targetRatio}`}`;
}

/** The outcome of a target, also when only its ratio to the floor is missed. */
function outcome({ reached, ratioToFloor, target, targetRatio }: Row): string {
  if (reached === undefined) return target === undefined ? "" : "too few runs";
  if (!reached) return "missed";
  const ratioMissed = targetRatio !== undefined && (ratioToFloor ?? 0) > targetRatio;
  return ratioMissed ? "reached, not the ratio" : "reached";
}

function cells(row: Row): string[] {
  const { reasonix, floor } = row.programs;
  const runs = [reasonix, floor].flatMap((found) => found ? [found.samples.length] : []);
  return [
    nameOf(row),
    cell(reasonix),
    cell(floor),
    row.ratioToFloor === undefined ? "" : `×${number(row.ratioToFloor)}`,
    targetOf(row),
    [...new Set(runs)].join(", "),
    outcome(row),
  ];
}

/** Lines with columns of one width each; `toRight` reports a column that its numbers are at its right. */
function aligned(lines: readonly string[][], toRight: (column: number) => boolean): string[][] {
  const widths = HEAD.map((_, column) => Math.max(3, ...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line.map((text, column) => {
      const width = widths[column] ?? 0;
      return toRight(column) ? text.padStart(width) : text.padEnd(width);
    })
  );
}

/** All tables as text. */
export function textTables(tables: readonly Table[]): string {
  return tables.map(({ title, rows }) =>
    [
      title,
      ...aligned([HEAD, ...rows.map(cells)], () => false).map((line) => `  ${line.join("  ").trimEnd()}`),
    ].join("\n")
  ).join("\n\n");
}

/** A page with these tables instead of those that are between its heading "Figures" and the next one. */
export function withTables(page: string, tables: readonly Table[]): string {
  return page.replace(/(?<=^## Figures\n\n).*?(?=^## )/ms, () => `${markdownTables(tables)}\n`);
}

/** All tables as Markdown, as `deno fmt` leaves it. */
export function markdownTables(tables: readonly Table[]): string {
  const toRight = (column: number) => column > 0 && column < HEAD.length - 1;
  return tables.map(({ title, rows }) => {
    const [head = [], ...lines] = aligned([HEAD, ...rows.map(cells)], toRight);
    const rule = head.map((text, column) =>
      toRight(column) ? `${"-".repeat(text.length - 1)}:` : "-".repeat(text.length)
    );
    const table = [head, rule, ...lines].map((line) => `| ${line.join(" | ")} |`);
    return `### ${title}\n\n${table.join("\n")}\n`;
  }).join("\n");
}
