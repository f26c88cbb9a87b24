/** `deno task report`: prints the largest files, functions, parameter lists, import lists and directories. */
import { type Offence, thisProject } from "../tests/house/project.ts";
import {
  crowdedDirectories,
  longFiles,
  longFunctions,
  manyImports,
  manyParameters,
} from "../tests/house/rules_size.ts";
import { say } from "./process.ts";

const SHOWN = 15;

const REPORTS = {
  "Files over 300 lines (tests: 500)": longFiles,
  "Functions over 60 lines": longFunctions,
  "Functions with more than 4 positional parameters": manyParameters,
  "Files with more than 15 imports": manyImports,
  "Directories with more than 14 source files": crowdedDirectories,
};

function line({ path, line, what }: Offence): string {
  return `  ${path}${line === undefined ? "" : `:${line}`}: ${what}`;
}

for (const [title, find] of Object.entries(REPORTS)) {
  const found = find(thisProject()).toSorted((a, b) => (b.value ?? 0) - (a.value ?? 0));
  say(`${title}: ${found.length}`);
  for (const offence of found.slice(0, SHOWN)) say(line(offence));
  if (found.length > SHOWN) say(`  … and ${found.length - SHOWN} more`);
}
