import { contains } from "../../path/lexical.ts";
import { exists, isDirectory } from "../../path/probe.ts";
import { existingRealPath } from "../../path/real_path.ts";
import type { SkillScope } from "./skill.ts";

export interface SkillRoots {
  readonly cwd: string;
  /** Reasonix home. */
  readonly home: string;
  /** Home of the user, for `~/.agents` and `~/.claude`. */
  readonly userHome?: string;
  /** `[skills]` of the configuration; paths absolute. */
  readonly paths?: readonly string[];
  readonly excluded?: readonly string[];
  readonly disabled?: readonly string[];
}

export interface SkillRoot {
  readonly path: string;
  readonly scope: SkillScope;
  /** Links may not lead out of this directory. */
  readonly within?: string;
}

const FOLDERS = [".reasonix", ".agents", ".claude"];

/**
 * The skill directories that exist, strongest first: the project's nearest to the working directory,
 * configured ones, the user's.
 */
export function skillRoots(places: SkillRoots): SkillRoot[] {
  const roots: SkillRoot[] = [];
  const add = (root: SkillRoot) => {
    const { path } = root;
    const excluded = places.excluded?.some((other) => contains(other, path));
    if (!excluded && !roots.some((other) => other.path === path) && isDirectory(path)) roots.push(root);
  };
  const folders = projectDirectories(places);
  const within = folders.at(-1) ?? places.cwd;
  for (const folder of folders) {
    for (const name of FOLDERS) add({ path: `${folder}/${name}/skills`, scope: "project", within });
  }
  for (const configured of places.paths ?? []) {
    const path = configured.replace(/(.)\/+$/, "$1");
    const inside = contains(existingRealPath(within) ?? within, existingRealPath(path) ?? path);
    add(inside ? { path, scope: "project", within } : { path, scope: "configured" });
  }
  add({ path: `${places.home}/skills`, scope: "user" });
  if (places.userHome !== undefined) {
    for (const name of FOLDERS) add({ path: `${places.userHome}/${name}/skills`, scope: "user" });
  }
  return roots;
}

export type CommandRoots = Pick<SkillRoots, "cwd" | "home" | "userHome">;

const COMMAND_FOLDERS = [".reasonix", ".claude"];

/** The directories of commands that exist, strongest first, found as those of skills are. */
export function commandRoots(places: CommandRoots): SkillRoot[] {
  return namedRoots(places, "commands");
}

/** The same for agents. */
export function agentRoots(places: CommandRoots): SkillRoot[] {
  return namedRoots(places, "agents");
}

function namedRoots(places: CommandRoots, kind: "commands" | "agents"): SkillRoot[] {
  const { home, userHome } = places;
  const folders = projectDirectories(places);
  const within = folders.at(-1) ?? places.cwd;
  const roots: SkillRoot[] = [
    ...folders.flatMap((folder) =>
      COMMAND_FOLDERS.map((name): SkillRoot => ({
        path: `${folder}/${name}/${kind}`,
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
  return roots.filter(({ path }, at) =>
    roots.findIndex((other) => other.path === path) === at && isDirectory(path)
  );
}

/** From the working directory up to the root of its repository; the user's home is no project. */
function projectDirectories({ cwd, userHome }: SkillRoots): string[] {
  const folders: string[] = [];
  for (let folder = cwd;;) {
    if (folder !== userHome) folders.push(folder);
    if (exists(`${folder}/.git`)) return folders;
    const parent = folder.replace(/[/\\][^/\\]*$/, "");
    if (parent === folder || parent === "") return cwd === userHome ? [] : [cwd];
    folder = parent;
  }
}
