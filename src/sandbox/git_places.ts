import { isWithin } from "./area.ts";
import { realPathOf } from "./resolve.ts";

/** What the jail has to know about the repository of a writable root. Absolute paths; some may not exist. */
export interface GitPlaces {
  /** Where git must be able to write although it lies outside: the shared folder of a linked work tree. */
  readonly writable: readonly string[];
  /** What makes git run programs. */
  readonly protectedPaths: readonly string[];
  /** Files that make git take its settings from somewhere else. They cannot be protected while they do not exist. */
  readonly redirects: readonly string[];
}

const NOTHING: GitPlaces = { writable: [], protectedPaths: [], redirects: [] };

function namesIn(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map((entry) => entry.name);
  } catch {
    return [];
  }
}

/** Hooks and settings of a repository's folder and of the submodules it keeps. */
function programs(folder: string): string[] {
  const modules = namesIn(`${folder}/modules`).map((name) => `${folder}/modules/${name}`);
  return [folder, ...modules].flatMap((
    path,
  ) => [`${path}/hooks`, `${path}/config`, `${path}/config.worktree`]);
}

/**
 * The folder a `.git` file leads to, if that folder agrees: a linked work tree and its repository name each other. A file that a
 * stranger's archive brought can only name one of the two.
 */
function linkedWorktree(root: string): { folder: string; common: string } | undefined {
  try {
    const target = /^gitdir: (.+)$/m.exec(Deno.readTextFileSync(`${root}/.git`))?.[1];
    if (target === undefined) return undefined;
    const folder = realPathOf(target.startsWith("/") ? target : `${root}/${target}`);
    if (realPathOf(Deno.readTextFileSync(`${folder}/gitdir`).trim()) !== realPathOf(`${root}/.git`)) {
      return undefined;
    }
    const common = realPathOf(`${folder}/${Deno.readTextFileSync(`${folder}/commondir`).trim()}`);
    return isWithin(folder, `${common}/worktrees`) ? { folder, common } : undefined;
  } catch {
    return undefined;
  }
}

/** Looks at the repository of a root; costs little where there is none. */
export function gitPlaces(root: string): GitPlaces {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(`${root}/.git`);
  } catch {
    return NOTHING;
  }
  const folder = `${root}/.git`;
  if (info.isDirectory) {
    return {
      writable: [],
      protectedPaths: programs(folder),
      redirects: [`${folder}/commondir`, `${folder}/config.worktree`],
    };
  }
  const linked = linkedWorktree(root);
  if (linked === undefined) return { ...NOTHING, protectedPaths: [folder] };
  const pointers = [
    `${linked.folder}/gitdir`,
    `${linked.folder}/commondir`,
    `${linked.folder}/config.worktree`,
  ];
  return {
    writable: [linked.common],
    protectedPaths: [folder, ...programs(linked.common), ...pointers],
    redirects: [
      `${linked.common}/commondir`,
      `${linked.common}/config.worktree`,
      `${linked.folder}/config.worktree`,
    ],
  };
}
