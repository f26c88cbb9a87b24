import { isDirectory, sortedEntries } from "../../path/probe.ts";
import {
  readSkill,
  type Skill,
  type SkillRoot,
  type SkillRoots,
  type SkillWarning,
  staysInside,
} from "./skill.ts";

/** Everything that was found. `skills` is sorted by name, so that the same files give the same prompt. */
export interface SkillSet {
  readonly skills: readonly Skill[];
  readonly warnings: readonly SkillWarning[];
  /** Skills that lost to one of the same name from a stronger root. */
  readonly shadowed: readonly Skill[];
}

const FILE = "SKILL.md";
const MAX_DEPTH = 4;
const MAX_FOLDERS = 1_000;
const MAX_SKILLS = 200;
const SKIPPED = new Set(["node_modules", "__pycache__"]);

/** Reads the frontmatter of all skills below these roots, strongest root first. */
export function discoverSkills(roots: readonly SkillRoot[], locations: SkillRoots): SkillSet {
  const byName = new Map<string, Skill>();
  const warnings: SkillWarning[] = [];
  const shadowed: Skill[] = [];
  for (const root of roots) {
    for (const dir of skillDirectories(root, warnings)) {
      const file = `${dir}/${FILE}`;
      const skill = readSkill(
        { file, dir, scope: root.scope, bundle: root.bundle },
        (text) => warnings.push({ path: file, text }),
      );
      if (!skill || locations.disabled?.includes(skill.name)) continue;
      if (byName.has(skill.name)) shadowed.push(skill);
      else if (byName.size < MAX_SKILLS) byName.set(skill.name, skill);
      else warnings.push({ path: file, text: `left out: there are more than ${MAX_SKILLS} skills` });
    }
  }
  const skills = [...byName.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  return { skills, warnings, shadowed };
}

/** Directories with a SKILL.md, in a stable order. Nothing is looked for below one. */
function skillDirectories(root: SkillRoot, warnings: SkillWarning[]): string[] {
  const found: string[] = [];
  const fence = root.within === undefined ? undefined : Deno.realPathSync(root.within);
  const leaves = (path: string) => fence !== undefined && !staysInside(path, fence);
  const refuse = (path: string) =>
    warnings.push({ path, text: "left out: it is a link that leads out of the project" });
  if (leaves(root.path)) {
    refuse(root.path);
    return found;
  }
  let left = MAX_FOLDERS;
  const visit = (directory: string, depth: number): void => {
    if (--left < 0) return;
    const entries = sortedEntries(directory);
    const own = depth > 0 || root.bundle
      ? entries.find((entry) => entry.name === FILE && !entry.isDirectory)
      : undefined;
    if (own) {
      if (own.isSymlink && leaves(`${directory}/${FILE}`)) refuse(`${directory}/${FILE}`);
      else found.push(directory);
      return;
    }
    for (const entry of entries) {
      const path = `${directory}/${entry.name}`;
      const descends = entry.isSymlink ? isDirectory(path) : entry.isDirectory;
      if (entry.name.startsWith(".") || SKIPPED.has(entry.name) || !descends) continue;
      if (entry.isSymlink && leaves(path)) refuse(path);
      else if (depth < MAX_DEPTH) visit(path, depth + 1);
    }
  };
  visit(root.path, 0);
  if (left < 0) {
    warnings.push({ path: root.path, text: `only its first ${MAX_FOLDERS} directories were looked at` });
  }
  return found;
}
