import { compileGlobs } from "../path/glob.ts";
import { sortedEntries } from "../path/probe.ts";

const MAX_FILES = 100;
const MAX_ENTRIES = 20_000;
const MAX_DEPTH = 12;
const SKIPPED = new Set([".git", "node_modules"]);

/**
 * The files that the patterns among these absolute paths represent, sorted; paths without a pattern stay in
 * their place.
 */
export function expandInstructionGlobs(entries: readonly string[]): string[] {
  const files: string[] = [];
  for (const entry of entries) {
    if (!isPattern(entry)) {
      files.push(entry);
      continue;
    }
    const matches = compileGlobs([entry], { dialect: "search" });
    for (const path of walk(staticPart(entry))) if (matches(path)) files.push(path);
  }
  return [...new Set(files)].slice(0, MAX_FILES);
}

function isPattern(entry: string): boolean {
  return /[*?[{]/.test(entry);
}

/** The directory before the first part with a pattern. */
function staticPart(pattern: string): string {
  const parts = pattern.split("/");
  const first = parts.findIndex(isPattern);
  return parts.slice(0, first).join("/") || "/";
}

function* walk(root: string): Generator<string> {
  let left = MAX_ENTRIES;
  const directories = [{ path: root, depth: 0 }];
  for (let directory = directories.pop(); directory && left > 0; directory = directories.pop()) {
    const below: typeof directories = [];
    for (const entry of sortedEntries(directory.path)) {
      if (--left < 0) return;
      const path = `${directory.path === "/" ? "" : directory.path}/${entry.name}`;
      if (entry.isDirectory) {
        if (directory.depth < MAX_DEPTH && !SKIPPED.has(entry.name)) {
          below.push({ path, depth: directory.depth + 1 });
        }
      } else yield path;
    }
    directories.push(...below.reverse());
  }
}
