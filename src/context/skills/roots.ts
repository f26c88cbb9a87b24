import type { Bundle } from "../../config/mod.ts";
import { contains } from "../../path/lexical.ts";
import { exists, isDirectory } from "../../path/probe.ts";
import { existingRealPath } from "../../path/real_path.ts";
import type { SkillSet } from "./discover.ts";
import type { SkillRoot, SkillRoots, SkillScope } from "./skill.ts";

const FOLDERS = [".reasonix", ".agents", ".claude"];

/**
 * The skill directories that exist, strongest first: the project's nearest to the working directory,
 * configured ones, the user's.
 */
function skillRoots(locations: SkillRoots): SkillRoot[] {
  const roots: SkillRoot[] = [];
  const add = (root: SkillRoot) => {
    const { path } = root;
    const excluded = locations.excluded?.some((other) => contains(other, path));
    if (!excluded && !roots.some((other) => other.path === path) && isDirectory(path)) roots.push(root);
  };
  const directories = projectDirectories(locations);
  const within = directories.at(-1) ?? locations.cwd;
  for (const directory of directories) {
    for (const name of FOLDERS) add({ path: `${directory}/${name}/skills`, scope: "project", within });
  }
  for (const configured of locations.paths ?? []) {
    const path = configured.replace(/(.)\/+$/, "$1");
    const inside = contains(existingRealPath(within) ?? within, existingRealPath(path) ?? path);
    add(inside ? { path, scope: "project", within } : { path, scope: "configured" });
  }
  add({ path: `${locations.home}/skills`, scope: "user" });
  if (locations.userHome !== undefined) {
    for (const name of FOLDERS) add({ path: `${locations.userHome}/${name}/skills`, scope: "user" });
  }
  bundleRoots(locations.bundles, "skills").forEach(add);
  return roots;
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

export type CommandRoots = Pick<SkillRoots, "cwd" | "home" | "userHome" | "bundles">;

const COMMAND_FOLDERS = [".reasonix", ".claude"];

/** The directories of commands that exist, strongest first, found as those of skills are. */
export function commandRoots(locations: CommandRoots): SkillRoot[] {
  return namedRoots(locations, "commands");
}

export function agentRoots(locations: CommandRoots): SkillRoot[] {
  return namedRoots(locations, "agents");
}

function namedRoots(locations: CommandRoots, kind: "commands" | "agents"): SkillRoot[] {
  const { home, userHome } = locations;
  const directories = projectDirectories(locations);
  const within = directories.at(-1) ?? locations.cwd;
  const roots: SkillRoot[] = [
    ...directories.flatMap((directory) =>
      COMMAND_FOLDERS.map((name): SkillRoot => ({
        path: `${directory}/${name}/${kind}`,
        scope: "project",
        within,
      }))
    ),
    { path: `${home}/${kind}`, scope: "user" },
    ...(userHome === undefined ? [] : COMMAND_FOLDERS).map((name): SkillRoot => ({
      path: `${userHome}/${name}/${kind}`,
      scope: "user",
    })),
  ];
  const found = roots.filter(({ path }, at) =>
    roots.findIndex((other) => other.path === path) === at && isDirectory(path)
  );
  return [...found, ...bundleRoots(locations.bundles, kind)];
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
  const roots = skillRoots(locations);
  if (roots.length === 0) return NONE;
  const { discoverSkills } = await import("./discover.ts");
  return discoverSkills(roots, locations);
}
