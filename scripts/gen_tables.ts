/** Writes the tables of protected paths and of programs into docs/security.md and docs/permissions.md. */
import { PROTECTED_KINDS, PROTECTED_PATHS, type ProtectedScope } from "../src/path/protected.ts";
import { limitsReading, type Program } from "../src/permission/command/program.ts";
import { PROGRAMS } from "../src/permission/command/programs.ts";

const PLACES: Readonly<Record<ProtectedScope, string>> = {
  anywhere: "in any directory",
  root: "in your home, at the top of a writable directory",
  home: "in your home",
  programs: "in your home, outside of projects there",
};

function protectedPaths(): string {
  const groups = Map.groupBy(PROTECTED_PATHS, ({ scope, kind }) => `${kind}\n${scope}`);
  const rows = [...groups.values()].map((group) => [
    group[0] ? PROTECTED_KINDS[group[0].kind].text : "",
    group[0] ? PLACES[group[0].scope] : "",
    group.map(({ pattern }) => `\`${pattern}\``).join(" "),
  ]);
  return markdownTable([["what it is", "where", "paths"], ...rows]);
}

/** Names of the rows that pass, in the order of the alphabet, subcommands with their program. */
function namesWhere(passes: (row: Program) => boolean): string {
  const names = PROGRAMS.filter(passes).flatMap(({ names, sub }) =>
    names.split(" ").map((name) => sub === undefined ? name : `${name} ${sub.split(" ").join("/")}`)
  );
  return [...new Set(names)].sort().map((name) => `\`${name.replace("#", "")}\``).join(" ");
}

function readingPrograms(): string {
  return markdownTable([
    ["known to read", "programs"],
    ["whatever their options", namesWhere(({ reads }) => reads === true)],
    [
      "with the options and operands that their row lists",
      namesWhere((row) => !row.reads && limitsReading(row)),
    ],
    ["asked only about their version or help", namesWhere(({ prints }) => prints !== undefined)],
  ]);
}

function deletingPrograms(): string {
  const names = namesWhere(({ destroys }) => destroys !== undefined);
  return markdownTable([["deletion", "programs"], ["looked at word by word", names]]);
}

function words(list: string | undefined): string {
  return (list ?? "").split(" ").filter((word) => word !== "").map((word) => `\`${word}\``).join(" ");
}

function clientsOfServices(): string {
  const rows = PROGRAMS.flatMap(({ names, deletes, deleting, text }) =>
    deletes ?? deleting ?? text ? [[words(names), words(deletes), words(deleting), text ? "yes" : ""]] : []
  );
  return markdownTable([
    ["clients", "words that delete", "options that delete", "statements are read"],
    ...rows,
  ]);
}

/** Aligned the way `deno fmt` aligns it, so that generating and formatting agree. */
function markdownTable([head = [], ...rows]: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** Generated parts of the documents, by page and by the name in their markers. */
const SECTIONS: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  "docs/security.md": { "protected paths": protectedPaths },
  "docs/permissions.md": {
    "reading programs": readingPrograms,
    "deleting programs": deletingPrograms,
    "clients of services": clientsOfServices,
  },
};

/** The pages by path from the root of the repository, as they are and with their generated parts replaced. */
export function generatedPages(): { path: string; current: string; wanted: string }[] {
  return Object.entries(SECTIONS).map(([path, sections]) => {
    const current = Deno.readTextFileSync(new URL(`../${path}`, import.meta.url));
    const wanted = Object.entries(sections).reduce((page, [name, content]) => {
      const marker = new RegExp(`(<!-- ${name}: start [^\\n]*-->\\n)[^]*?(\\n<!-- ${name}: end -->)`);
      if (!marker.test(page)) throw new Error(`Cannot find the markers of "${name}" in ${path}`);
      return page.replace(marker, (_, start, end) => `${start}\n${content()}\n${end}`);
    }, current);
    return { path, current, wanted };
  });
}

if (import.meta.main) {
  for (const { path, wanted } of generatedPages()) {
    await Deno.writeTextFile(new URL(`../${path}`, import.meta.url), wanted);
  }
}
