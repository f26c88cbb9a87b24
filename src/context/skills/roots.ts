import type { Bundle } from "../../config/mod.ts";
import { contains } from "../../path/lexical.ts";
import { exists, isDirectory } from "../../path/probe.ts";
import { existingRealPath } from "../../path/real_path.ts";
import type { SkillSet } from "./discover.ts";
import type { SkillRoot, SkillRoots, SkillScope } from "./skill.ts";

/** Directories of a project, and of the user's home, that hold parts of each kind. */
const FOLDERS = {
  skills: [".reasonix", ".agents", ".claude"],
  commands: [".reasonix", ".claude"],
  agents: [".reasonix", ".claude"],
};

export type CommandRoots = Pick<SkillRoots, "cwd" | "home" | "userHome" | "bundles">;

/** The directories of commands that exist, strongest first, found as those of skills are. */
export function commandRoots(locations: CommandRoots): SkillRoot[] {
  return rootsOf("commands", locations);
}

export function agentRoots(locations: CommandRoots): SkillRoot[] {
  return rootsOf("agents", locations);
}

/**
 * The directories of one kind that exist, strongest first: the project's nearest to the working directory,
 * configured ones, the user's, those of bundles.
 */
function rootsOf(kind: keyof typeof FOLDERS, locations: SkillRoots): SkillRoot[] {
  const { cwd, home, userHome, paths = [], excluded = [], bundles } = locations;
  const directories = projectDirectories(locations);
  const within = directories.at(-1) ?? cwd;
  const below = (directory: string) => FOLDERS[kind].map((name) => `${directory}/${name}/${kind}`);
  const roots: SkillRoot[] = [
    ...directories.flatMap(below).map((path): SkillRoot => ({ path, scope: "project", within })),
    ...paths.map((path) => configuredRoot(path.replace(/(.)\/+$/, "$1"), within)),
    { path: `${home}/${kind}`, scope: "user" },
    ...(userHome === undefined ? [] : below(userHome)).map((path): SkillRoot => ({ path, scope: "user" })),
    ...bundleRoots(bundles, kind),
  ];
  return roots.filter(({ path, bundle }, at) =>
    roots.findIndex((other) => other.path === path) === at && (bundle !== undefined || isDirectory(path)) &&
    !excluded.some((other) => contains(other, path))
  );
}

function configuredRoot(path: string, within: string): SkillRoot {
  const inside = contains(existingRealPath(within) ?? within, existingRealPath(path) ?? path);
  return inside ? { path, scope: "project", within } : { path, scope: "configured" };
}

/** The directories of bundles with one kind of parts; `project`: as those that need trust. */
export function bundleRoots(
  bundles: readonly Bundle[] = [],
  kind: "commands" | "agents" | "skills",
  scope: SkillScope = "user",
): SkillRoot[] {
  return bundles.flatMap((bundle) =>
    bundle[kind].map((path): SkillRoot => ({ path, scope, within: bundle.root, bundle }))
  );
}

/** From the working directory up to the root of its repository; the user's home is no project. */
function projectDirectories({ cwd, userHome }: SkillRoots): string[] {
  const directories: string[] = [];
  for (let directory = cwd;;) {
    if (directory !== userHome) directories.push(directory);
    if (exists(`${directory}/.git`)) return directories;
    const parent = directory.replace(/[/\\][^/\\]*$/, "");
    if (parent === directory || parent === "") return cwd === userHome ? [] : [cwd];
    directory = parent;
  }
}

const NONE: SkillSet = { skills: [], warnings: [], shadowed: [] };

/**
 * All skills of the user and the project. Where there is no skill directory, this costs a few stat calls and
 * loads nothing.
 */
export async function findSkills(locations: SkillRoots): Promise<SkillSet> {
  const roots = rootsOf("skills", locations);
  if (roots.length === 0) return NONE;
  const { discoverSkills } = await import("./discover.ts");
  return discoverSkills(roots, locations);
}
