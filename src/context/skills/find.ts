import type { SkillSet } from "./discover.ts";
import { type SkillRoots, skillRoots } from "./roots.ts";

const NONE: SkillSet = { skills: [], warnings: [], shadowed: [] };

/**
 * All skills of the user and the project. Where there is no skill directory, this costs a few stat calls and
 * loads nothing.
 */
export async function findSkills(places: SkillRoots): Promise<SkillSet> {
  const roots = skillRoots(places);
  if (roots.length === 0) return NONE;
  const { discoverSkills } = await import("./discover.ts");
  return discoverSkills(roots, places);
}
