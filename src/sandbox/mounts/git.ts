import { contains } from "../../path/lexical.ts";
import { exists, readSmallText } from "../../path/probe.ts";
import { realPath } from "../../path/real_path.ts";
import { attempt } from "../../util/lazy.ts";

/** Paths of the repository of a writable root. They are absolute; some may not exist. */
interface GitPaths {
  /**
   * Directories outside that git writes to: the shared one of a linked work tree, a submodule's repository.
   */
  readonly writable: readonly string[];
  /** Settings and files that make git run programs. */
  readonly protectedPaths: readonly string[];
  /** Files that make git use other settings. They cannot be protected while they do not exist. */
  readonly redirects: readonly string[];
}

const NOTHING: GitPaths = { writable: [], protectedPaths: [], redirects: [] };

const MAX_DIRECTORIES = 300;
const MAX_DEPTH = 4;
/** Packages may come as repositories, which are not worked in. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", "target", "dist", "build"]);

/** Directories below this one, nearest first, that `isWanted` accepts; those are not entered. */
function below(
  directory: string,
  isWanted: (path: string) => boolean,
  skip: (name: string) => boolean,
): string[] {
  const wanted: string[] = [];
  let level = [directory];
  let left = MAX_DIRECTORIES;
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

/** Repository directories of submodules and their submodules; their names may have slashes. */
function modulesOf(directory: string): string[] {
  const found = below(`${directory}/modules`, isRepository, () => false);
  return found.flatMap((path) => [path, ...modulesOf(path)]);
}

/** Settings and hooks of a repository's directory. */
function programs(directory: string): Pick<GitPaths, "protectedPaths" | "redirects"> {
  const linked = namesIn(`${directory}/worktrees`).map((name) => `${directory}/worktrees/${name}`);
  const directories = [directory, ...[directory, ...linked].flatMap(modulesOf)];
  const settings = linked.map((path) => `${path}/config.worktree`);
  return {
    protectedPaths: [
      ...directories.flatMap((path) => [`${path}/hooks`, `${path}/config`, `${path}/config.worktree`]),
      ...settings,
    ],
    redirects: [
      ...directories.flatMap((path) => [`${path}/commondir`, `${path}/config.worktree`]),
      ...directories.map((path) => `${path}/hooks`).filter((path) => !exists(path)),
      ...settings,
    ],
  };
}

function leadsTo(root: string): string | undefined {
  const target = /^gitdir: (.+)$/m.exec(textOf(`${root}/.git`))?.[1];
  return target && realPath(target.startsWith("/") ? target : `${root}/${target}`);
}

/**
 * A linked work tree and its repository name each other; a file from a third-party archive can only name one
 * of the two.
 */
function linkedWorktree(root: string): { directory: string; common: string } | undefined {
  try {
    const directory = leadsTo(root);
    if (directory === undefined) return undefined;
    if (realPath(textOf(`${directory}/gitdir`).trim()) !== realPath(`${root}/.git`)) {
      return undefined;
    }
    const common = realPath(`${directory}/${textOf(`${directory}/commondir`).trim()}`);
    return contains(`${common}/worktrees`, directory) ? { directory, common } : undefined;
  } catch {
    return undefined;
  }
}

/** A submodule's repository is among those of its superproject. */
function submodule(root: string): string | undefined {
  try {
    const directory = leadsTo(root);
    if (directory === undefined || !/\/\.git\/(?:.*\/)?modules\//.test(directory)) return undefined;
    const tree = /^[ \t]*worktree[ \t]*=[ \t]*"?([^"\n]+)/m.exec(textOf(`${directory}/config`))
      ?.[1]?.trim();
    if (tree === undefined) return undefined;
    return realPath(tree.startsWith("/") ? tree : `${directory}/${tree}`) === realPath(root)
      ? directory
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Repositories in roots, present at the first look of a session: a later one belongs to the command that made
 * it.
 */
export type NestedRepositories = Map<string, readonly string[]>;

function nestedRepositories(root: string, known: NestedRepositories): readonly string[] {
  let found = known.get(root);
  if (found === undefined) {
    found = below(
      root,
      (path) => exists(`${path}/.git`),
      (name) => name.startsWith(".") || SKIPPED.has(name),
    );
    known.set(root, found);
  }
  return found;
}

/** Paths of the repositories of a root: the one it belongs to, and those in it. */
export function gitPaths(root: string, known: NestedRepositories = new Map()): GitPaths {
  const all = [
    repositoryAt(root, true),
    ...nestedRepositories(root, known).map((path) => repositoryAt(path, false)),
  ];
  return {
    writable: all.flatMap((paths) => paths.writable),
    protectedPaths: all.flatMap((paths) => paths.protectedPaths),
    redirects: all.flatMap((paths) => paths.redirects),
  };
}

function repositoryAt(root: string, outer: boolean): GitPaths {
  const info = attempt(() => Deno.lstatSync(`${root}/.git`));
  if (!info) return NOTHING;
  const directory = `${root}/.git`;
  if (info.isDirectory) return { writable: [], ...programs(directory) };
  const linked = outer ? linkedWorktree(root) : undefined;
  if (linked !== undefined) {
    const { protectedPaths, redirects } = programs(linked.common);
    const pointers = [`${linked.directory}/gitdir`, `${linked.directory}/commondir`];
    return {
      writable: [linked.common],
      protectedPaths: [directory, ...protectedPaths, ...pointers],
      redirects,
    };
  }
  const own = outer ? submodule(root) : undefined;
  if (own === undefined) return { ...NOTHING, protectedPaths: [directory] };
  const { protectedPaths, redirects } = programs(own);
  return { writable: [own], protectedPaths: [directory, ...protectedPaths], redirects };
}

function textOf(path: string): string {
  return readSmallText(path) ?? "";
}

function entriesOf(directory: string): Deno.DirEntry[] {
  return attempt(() => [...Deno.readDirSync(directory)]) ?? [];
}

function namesIn(directory: string): string[] {
  return entriesOf(directory).map((entry) => entry.name);
}
