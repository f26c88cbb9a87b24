/** Writes the table of protected paths into docs/security.md. */
import { PROTECTED_PATHS, type ProtectedScope } from "../src/path/protected.ts";

export const SECURITY_PAGE = new URL("../docs/security.md", import.meta.url);
const START = "<!-- protected paths: start (generated from src/path/protected.ts) -->";
const END = "<!-- protected paths: end -->";

const PLACES: Readonly<Record<ProtectedScope, string>> = {
  anywhere: "in any directory",
  root: "in your home, at the top of a writable directory",
  home: "in your home",
  programs: "in your home, outside of projects there",
};

/** The generated part of the page with its markers, aligned the way `deno fmt` aligns it. */
export function protectedSection(): string {
  const groups = Map.groupBy(PROTECTED_PATHS, ({ scope, why }) => `${why}\n${scope}`);
  const rows = [...groups.values()].map((group) => [
    group[0]?.why ?? "",
    group[0] ? PLACES[group[0].scope] : "",
    group.map(({ pattern }) => `\`${pattern}\``).join(" "),
  ]);
  const table = [["what it is", "where", "paths"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) =>
    `| ${widths.map((width, column) => (row[column] ?? "").padEnd(width)).join(" | ")} |`
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [START, "", ...lines.slice(0, 1), rule, ...lines.slice(1), "", END].join("\n");
}

function withSection(page: string): string {
  const start = page.indexOf(START);
  const end = page.indexOf(END);
  if (start < 0 || end < start) {
    throw new Error(`Cannot find the markers ${START} and ${END} in docs/security.md`);
  }
  return page.slice(0, start) + protectedSection() + page.slice(end + END.length);
}

if (import.meta.main) {
  await Deno.writeTextFile(SECURITY_PAGE, withSection(await Deno.readTextFile(SECURITY_PAGE)));
}
