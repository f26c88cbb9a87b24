import { exists, readSmallText } from "../util/look.ts";
import { isWithin } from "./area.ts";
import { realPathOf } from "./resolve.ts";

/** What the jail has to know about the repository of a writable root. Absolute paths; some may not exist. */
export interface GitPlaces {
  /** Where git must be able to write although it lies outside: the shared folder of a linked work tree, a submodule's own. */
  readonly writable: readonly string[];
  /** What makes git run programs. */
  readonly protectedPaths: readonly string[];
  /** Files that make git take its settings from somewhere else. They cannot be protected while they do not exist. */
  readonly redirects: readonly string[];
}

const NOTHING: GitPlaces = { writable: [], protectedPaths: [], redirects: [] };

/** Folders looked into when repositories are looked for. */
const MAX_FOLDERS = 300;
const MAX_DEPTH = 4;
/** Packages may come as repositories, which nobody works in. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", "target", "dist", "build"]);

/** Folders below this one, nearest first, of which `isWanted` says so; those are not entered. */
function below(
  folder: string,
  isWanted: (path: string) => boolean,
  skip: (name: string) => boolean,
): string[] {
  const wanted: string[] = [];
  let level = [folder];
  let left = MAX_FOLDERS;
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0 && left > 0; depth++) {
    const next: string[] = [];
    for (const path of level) {
      if (left-- <= 0) break;
      for (const { name, isDirectory } of entriesOf(path)) {
        const inner = `${path}/${name}`;
        if (!isDirectory || skip(name)) continue;
        (isWanted(inner) ? wanted : next).push(inner);
      }
    }
    level = next;
  }
  return wanted;
}

function isRepository(path: string): boolean {
  return ["HEAD", "hooks", "config"].some((name) => exists(`${path}/${name}`));
}

/** Repository folders of submodules and their submodules; their names may have slashes. */
function modulesOf(folder: string): string[] {
  const found = below(`${folder}/modules`, isRepository, () => false);
  return found.flatMap((path) => [path, ...modulesOf(path)]);
}

/** What makes git run programs for a repository's folder: what is there to be protected, and what must not be made. */
function programs(folder: string): Pick<GitPlaces, "protectedPaths" | "redirects"> {
  const linked = namesIn(`${folder}/worktrees`).map((name) => `${folder}/worktrees/${name}`);
  const folders = [folder, ...[folder, ...linked].flatMap(modulesOf)];
  const settings = linked.map((path) => `${path}/config.worktree`);
  return {
    protectedPaths: [
      ...folders.flatMap((path) => [`${path}/hooks`, `${path}/config`, `${path}/config.worktree`]),
      ...settings,
    ],
    redirects: [
      ...folders.flatMap((path) => [`${path}/commondir`, `${path}/config.worktree`]),
      ...folders.map((path) => `${path}/hooks`).filter((path) => !exists(path)),
      ...settings,
    ],
  };
}

/** The folder a `.git` file leads to. */
function leadsTo(root: string): string | undefined {
  const target = /^gitdir: (.+)$/m.exec(textOf(`${root}/.git`))?.[1];
  return target && realPathOf(target.startsWith("/") ? target : `${root}/${target}`);
}

/**
 * The folder a `.git` file leads to, if that folder agrees: a linked work tree and its repository name each other. A file that a
 * stranger's archive brought can only name one of the two.
 */
function linkedWorktree(root: string): { folder: string; common: string } | undefined {
  try {
    const folder = leadsTo(root);
    if (folder === undefined) return undefined;
    if (realPathOf(textOf(`${folder}/gitdir`).trim()) !== realPathOf(`${root}/.git`)) {
      return undefined;
    }
    const common = realPathOf(`${folder}/${textOf(`${folder}/commondir`).trim()}`);
    return isWithin(folder, `${common}/worktrees`) ? { folder, common } : undefined;
  } catch {
    return undefined;
  }
}

/** The same for a submodule, whose repository lies among those of the one around it. */
function submodule(root: string): string | undefined {
  try {
    const folder = leadsTo(root);
    if (folder === undefined || !/\/\.git\/(?:.*\/)?modules\//.test(folder)) return undefined;
    const tree = /^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$/m.exec(textOf(`${folder}/config`))
      ?.[1];
    if (tree === undefined) return undefined;
    return realPathOf(tree.startsWith("/") ? tree : `${folder}/${tree}`) === realPathOf(root)
      ? folder
      : undefined;
  } catch {
    return undefined;
  }
}

/** What was there when a root was first looked at: what a command makes later is as much its own as the rest of the files. */
const nested = new Map<string, readonly string[]>();

function nestedRepositories(root: string): readonly string[] {
  let found = nested.get(root);
  if (found === undefined) {
    found = below(
      root,
      (path) => exists(`${path}/.git`),
      (name) => name.startsWith(".") || SKIPPED.has(name),
    );
    nested.set(root, found);
  }
  return found;
}

/** Looks at the repositories of a root, the one it belongs to and those in it; costs little where there is none. */
export function gitPlaces(root: string): GitPlaces {
  const all = [
    repositoryAt(root, true),
    ...nestedRepositories(root).map((path) => repositoryAt(path, false)),
  ];
  return {
    writable: all.flatMap((places) => places.writable),
    protectedPaths: all.flatMap((places) => places.protectedPaths),
    redirects: all.flatMap((places) => places.redirects),
  };
}

/** `outer`: what lies outside of the folder is opened for it. */
function repositoryAt(root: string, outer: boolean): GitPlaces {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(`${root}/.git`);
  } catch {
    return NOTHING;
  }
  const folder = `${root}/.git`;
  if (info.isDirectory) return { writable: [], ...programs(folder) };
  const linked = outer ? linkedWorktree(root) : undefined;
  if (linked !== undefined) {
    const { protectedPaths, redirects } = programs(linked.common);
    const pointers = [`${linked.folder}/gitdir`, `${linked.folder}/commondir`];
    return { writable: [linked.common], protectedPaths: [folder, ...protectedPaths, ...pointers], redirects };
  }
  const own = outer ? submodule(root) : undefined;
  if (own === undefined) return { ...NOTHING, protectedPaths: [folder] };
  const { protectedPaths, redirects } = programs(own);
  return { writable: [own], protectedPaths: [folder, ...protectedPaths], redirects };
}

function textOf(path: string): string {
  return readSmallText(path) ?? "";
}

function entriesOf(folder: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(folder)];
  } catch {
    return [];
  }
}

function namesIn(folder: string): string[] {
  return entriesOf(folder).map((entry) => entry.name);
}
