import { sortedEntries } from "../../path/probe.ts";
import type { Skill } from "./skill.ts";

const MAX_FILES = 200;
const MAX_DEPTH = 3;
const SCRIPT = /\.(?:sh|bash|zsh|fish|py|rb|pl|js|mjs|cjs|ts|mts|ps1|bat|cmd|exe|lua|php)$|^scripts\/|^bin\//;

/** Files of a skill besides its SKILL.md, relative to its folder, in a stable order. */
export function resourcesOf(skill: Pick<Skill, "dir">): string[] {
  const files: string[] = [];
  const visit = (folder: string, prefix: string, depth: number): void => {
    for (const entry of sortedEntries(folder)) {
      if (entry.name.startsWith(".") || entry.isSymlink || files.length >= MAX_FILES) continue;
      if (entry.isDirectory && depth < MAX_DEPTH) {
        visit(`${folder}/${entry.name}`, `${prefix}${entry.name}/`, depth + 1);
      } else if (entry.isFile && `${prefix}${entry.name}` !== "SKILL.md") {
        files.push(`${prefix}${entry.name}`);
      }
    }
  };
  visit(skill.dir, "", 0);
  return files;
}

/** Whether a resource is meant to be run. */
export function isScript(path: string): boolean {
  return SCRIPT.test(path);
}
