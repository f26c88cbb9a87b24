import { errorMessage, message, ReasonixError, usageError } from "../core/mod.ts";
import { baseName, contains } from "../path/lexical.ts";
import { isDirectory, readSmallText } from "../path/probe.ts";
import { worktreesDir } from "../path/project_dir.ts";
import { realPath } from "../path/real_path.ts";
import { entries, firstLine, Git, type GitOptions, openRepository, type Repository } from "../git/mod.ts";
import type { CachedCommit, CachedTree } from "./repository_cache.ts";
import { listFiles, Snapshot, type WorktreePatch } from "./snapshot.ts";
import {
  isOwnerAlive,
  lockWorktrees,
  readRecord,
  reap,
  removeTree,
  saveRecord,
  worktreeDir,
  type WorktreeRecord,
} from "./owner.ts";

interface WorktreeOptions {
  /** The directory whose repository gets another work tree. */
  readonly cwd: string;
  /** Reasonix home. */
  readonly home: string;
  /** Names the work tree among all: letters, digits, `.`, `_` and `-`. */
  readonly id: string;
  /** Days that it stays for another run to resume after its process has ended; absent: none. */
  readonly keepDays?: number;
  /** Changes files in the directory to work in before the changes begin to count. */
  readonly prepare?: ((cwd: string) => Promise<void>) | undefined;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * A separate git work tree for an agent: the commit that its parent has checked out, with the uncommitted
 * changes of tracked files, the untracked files and the index. Its `HEAD` is detached; no branch is made.
 */
export class Worktree implements AsyncDisposable {
  readonly record: WorktreeRecord;
  readonly cwd: string;
  readonly #home: string;
  readonly #snapshot: Snapshot;

  constructor(home: string, record: WorktreeRecord, snapshot: Snapshot) {
    this.#home = home;
    this.record = record;
    this.cwd = record.prefix === "" ? record.tree : `${record.tree}/${record.prefix}`;
    this.#snapshot = snapshot;
  }

  async diff(signal?: AbortSignal): Promise<WorktreePatch> {
    return await this.#snapshot.diff(signal);
  }

  /** The reason why a patch does not apply to the parent's files. */
  async problemOf({ file }: Pick<WorktreePatch, "file">): Promise<string | undefined> {
    return await this.#snapshot.problemOf(file, this.record.top);
  }

  /** Changes all files of the patch or none. Throws a ReasonixError when it cannot. */
  async applyToParent({ file }: Pick<WorktreePatch, "file">): Promise<void> {
    const problem = await this.#snapshot.apply(file, this.record.top);
    if (problem === undefined) return;
    throw new ReasonixError(message`Cannot apply the changes to ${this.record.top}: ${problem}`, {
      remedy: message`nothing was changed; the patch is ${file}`,
    });
  }

  async remove(): Promise<void> {
    await removeTree(this.#home, this.record);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }
}

/**
 * Makes a work tree below the Reasonix home, after removing abandoned ones. Throws a ReasonixError with the
 * reason; nothing is left then.
 */
export async function createWorktree(options: WorktreeOptions, signal?: AbortSignal): Promise<Worktree> {
  const { id, keepDays, prepare } = options;
  const home = realPath(options.home);
  const cwd = realPath(options.cwd);
  const git = Git.find(cwd);
  const repository = await openCommitted(git, cwd, signal);
  if (contains(repository.top, home)) {
    throw new ReasonixError(
      message`Cannot make a work tree of ${repository.top}: it contains the Reasonix home`,
      {
        remedy: message`set REASONIX_HOME to a directory outside of the repository`,
      },
    );
  }
  const facts = { id, parent: cwd, ...placeOf(home, id, repository) };
  return await make(home, { facts, keepDays }, async (record) => {
    const copied = await fill(git, { home, record, repository, signal });
    return await begin(git, { home, record, repository, prepare, signal }, copied);
  });
}

interface CloneOptions extends Omit<WorktreeOptions, "cwd">, CachedTree {
  /** The directory to work in, from the top; "" for the top itself. */
  readonly prefix: string;
}

/**
 * Makes a work tree with a separate repository below the Reasonix home: it uses the objects of the mirror and
 * has the history and the tags up to the commit, no branch and no remote; so does each submodule. Nothing
 * that the repository brings is executed. Throws a ReasonixError with the reason; nothing is left then.
 */
export async function cloneWorktree(options: CloneOptions, signal?: AbortSignal): Promise<Worktree> {
  const { id, keepDays, prepare, prefix, mirror, commit, submodules } = options;
  const home = realPath(options.home);
  const git = Git.find(mirror);
  const tree = `${worktreeDir(home, id)}/tree/${baseName(mirror).replace(/-[0-9a-f]+\.git$/, "")}`;
  const mirrors = [...new Set([mirror, ...submodules.map((each) => each.mirror)])];
  const facts = { id, parent: tree, top: tree, tree, prefix, common: `${tree}/.git`, head: commit, mirrors };
  return await make(home, { facts, keepDays }, async (record) => {
    const objectFormat = await checkOut(git, tree, { mirror, commit, signal });
    for (const { path, ...cached } of submodules) {
      if (!isOwnDirectory(tree, path)) {
        throw new ReasonixError(
          message`Cannot check out the submodule ${path}: it is no directory at ${commit}`,
        );
      }
      await checkOut(git, `${tree}/${path}`, { ...cached, signal });
    }
    if (!isOwnDirectory(tree, prefix)) {
      throw usageError(
        message`Cannot work in ${prefix}: it is no directory of the repository at ${commit}`,
        message`give a directory of the repository as "dir", which is no link`,
      );
    }
    const { present } = await listFiles(git, tree, { signal });
    const repository = { objects: `${mirror}/objects`, objectFormat };
    return await begin(git, { home, record, repository, prepare, signal }, present);
  });
}

/** Reports whether a path below a work tree is a directory that no link leads to. */
function isOwnDirectory(tree: string, path: string): boolean {
  const directory = path === "" ? tree : `${tree}/${path}`;
  return isDirectory(directory) && realPath(directory) === directory;
}

/** Makes the repository of a clone and its files, without filters of the user. Returns its object format. */
async function checkOut(
  git: Git,
  tree: string,
  { mirror, commit, signal }: CachedCommit & Pick<Filling, "signal">,
): Promise<string> {
  const purpose = message`Cannot check out ${commit}`;
  const ask = (args: readonly string[], options: Omit<GitOptions, "cwd"> & { readonly cwd?: string } = {}) =>
    git.ask(purpose, args, { cwd: tree, signal, ...options });
  const shared = { cwd: mirror, env: { GIT_DIR: mirror } };
  const objectFormat = (await ask(["rev-parse", "--show-object-format"], shared)).trim();
  await Deno.mkdir(tree, { recursive: true, mode: 0o700 });
  await ask(["init", "--quiet", "--template=", `--object-format=${objectFormat}`]);
  await Deno.writeTextFile(`${tree}/.git/objects/info/alternates`, `${mirror}/objects\n`);
  await Deno.copyFile(`${mirror}/shallow`, `${tree}/.git/shallow`).catch(() => {});
  const listing = [
    "for-each-ref",
    `--merged=${commit}`,
    "--format=create %(refname) %(objectname)",
    "refs/tags",
  ];
  await ask(["update-ref", "--stdin"], { input: await ask(listing, shared) });
  await ask(["checkout", "--quiet", "--detach", commit], { env: await withoutFilters(git, tree) });
  return objectFormat;
}

/** Claims the directory of a work tree and fills it, after removing abandoned ones. */
async function make(
  home: string,
  { facts, keepDays }: { readonly facts: WorktreeFacts; readonly keepDays: number | undefined },
  fill: (record: WorktreeRecord) => Promise<Worktree>,
): Promise<Worktree> {
  if (!/^[A-Za-z0-9][\w.-]{0,120}$/.test(facts.id)) {
    throw new TypeError(`Cannot name a work tree "${facts.id}"`);
  }
  await reap(home);
  const record = await claim(home, facts, keepDays);
  try {
    return await fill(record);
  } catch (error) {
    await removeTree(home, record).catch(() => {});
    throw error;
  }
}

interface Beginning extends Pick<Filling, "home" | "record" | "signal">, Pick<WorktreeOptions, "prepare"> {
  readonly repository: Pick<Repository, "objects" | "objectFormat">;
}

/** Keeps what the files are now, or after `prepare`. */
async function begin(
  git: Git,
  { home, record, repository, prepare, signal }: Beginning,
  files: readonly string[],
): Promise<Worktree> {
  const snapshot = new Snapshot(git, snapshotDir(home, record.id), record.tree);
  const worktree = new Worktree(home, record, snapshot);
  const more = prepare ? { prepare: () => prepare(worktree.cwd) } : {};
  await snapshot.take(files, repository, { signal, ...more });
  return worktree;
}

type WorktreeFacts = Omit<WorktreeRecord, "pid" | "start" | "host" | "keepUntil">;

function placeOf(home: string, id: string, { top, prefix, common, head }: CommittedRepository) {
  const name = top.slice(top.lastIndexOf("/") + 1) || "root";
  return { top, prefix, common, head, tree: `${worktreeDir(home, id)}/tree/${name}` };
}

/** Takes the directory. A directory of an ended process that no run may resume is removed. */
async function claim(
  home: string,
  facts: WorktreeFacts,
  keepDays: number | undefined,
): Promise<WorktreeRecord> {
  using _lock = await lockWorktrees(home);
  const present = readRecord(home, facts.id);
  if (present && isOwnerAlive(present)) {
    throw new ReasonixError(
      message`Cannot make the work tree ${facts.id}: process ${present.pid} works in it`,
      {
        remedy: message`wait for it to end, or end it`,
      },
    );
  }
  if (present) await removeTree(home, present);
  try {
    await Deno.mkdir(worktreeDir(home, facts.id), { recursive: true, mode: 0o700 });
    return await saveRecord(home, { ...facts, ...keptFor(keepDays) });
  } catch (error) {
    throw new ReasonixError(
      message`Cannot make a work tree in ${worktreesDir(home)}: ${errorMessage(error)}`,
      { remedy: message`make the Reasonix home writable and free space there`, cause: error },
    );
  }
}

function keptFor(days: number | undefined): Pick<WorktreeRecord, "keepUntil"> {
  return days === undefined ? {} : { keepUntil: new Date(Date.now() + days * DAY_MS).toISOString() };
}

interface Filling {
  readonly home: string;
  readonly record: WorktreeRecord;
  readonly repository: CommittedRepository;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the files. */
async function fill(git: Git, { home, record, repository, signal }: Filling): Promise<string[]> {
  const { top, head } = repository;
  const { tree, prefix } = record;
  await addTree(git, home, { top, tree, head, signal });
  const { present } = await listFiles(git, top, { signal });
  const copied = await copyFiles(present, { from: top, to: tree, signal });
  if (prefix !== "") await Deno.mkdir(`${tree}/${prefix}`, { recursive: true });
  await copyIndex(git, repository, { tree, signal });
  return copied;
}

const ATTEMPTS = 10;
const PAUSE_MS = 50;

/**
 * Git fails over the half-written entry of another work tree, such as that of a killed process: one at a
 * time, and again after a moment.
 */
async function addTree(
  git: Git,
  home: string,
  { top, tree, head, signal }: Pick<CommittedRepository, "top" | "head"> & Pick<Filling, "signal"> & {
    readonly tree: string;
  },
): Promise<void> {
  const adding = ["worktree", "add", "--quiet", "--detach", "--no-checkout", tree, head];
  for (let attempt = 1;; attempt++) {
    using _lock = await lockWorktrees(home);
    const { code, errors } = await git.run(adding, { cwd: top, signal });
    if (code === 0) return;
    if (attempt >= ATTEMPTS || !/failed to read|unable to read/.test(errors)) {
      throw new ReasonixError(message`Cannot make a work tree of ${top}: ${firstLine(errors)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

function snapshotDir(home: string, id: string): string {
  return `${worktreeDir(home, id)}/beginning.git`;
}

/**
 * Resumes a work tree whose process has ended; undefined without a whole one. Throws a ReasonixError while
 * its process runs.
 */
export async function adoptWorktree(
  { home: given, id, keepDays }: Omit<WorktreeOptions, "cwd">,
): Promise<Worktree | undefined> {
  const home = realPath(given);
  using _lock = await lockWorktrees(home);
  const record = readRecord(home, id);
  if (!record) {
    // Removing it was interrupted at the very end.
    await Deno.remove(worktreeDir(home, id)).catch(() => {});
    return undefined;
  }
  if (isOwnerAlive(record) && record.pid !== Deno.pid) {
    throw new ReasonixError(message`Cannot resume the work tree ${id}: process ${record.pid} works in it`, {
      remedy: message`wait for it to end, or end it`,
    });
  }
  const whole = readSmallText(`${snapshotDir(home, id)}/base-tree`) !== undefined && isDirectory(record.tree);
  if (!whole) {
    await removeTree(home, record);
    return undefined;
  }
  const { keepUntil: _old, ...rest } = record;
  const owned = await saveRecord(home, { ...rest, ...keptFor(keepDays) });
  const snapshot = new Snapshot(Git.find(record.tree), snapshotDir(home, id), record.tree);
  return new Worktree(home, owned, snapshot);
}

/** Throws a ReasonixError that says why no work tree can be made of a directory, if none can. */
export async function requireRepository(cwd: string): Promise<void> {
  await openCommitted(Git.find(cwd), realPath(cwd));
}

type CommittedRepository = Repository & { readonly head: string };

async function openCommitted(git: Git, cwd: string, signal?: AbortSignal): Promise<CommittedRepository> {
  const purpose = message`Cannot make a work tree of ${cwd}`;
  const repository = await openRepository(git, cwd, { purpose, signal });
  const { head } = repository;
  if (head !== undefined) return { ...repository, head };
  throw new ReasonixError(message`${purpose}: the repository has no commit yet`, {
    remedy: message`make a first commit`,
  });
}

const AT_ONCE = 16;

/** Copies files and links with their permissions. Returns those that existed. */
async function copyFiles(
  paths: readonly string[],
  { from, to, signal }: {
    readonly from: string;
    readonly to: string;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<string[]> {
  const copied: string[] = [];
  const made = new Set<string>([to]);
  const waiting = paths.values();
  const copyNext = async (): Promise<void> => {
    for (const path of waiting) {
      signal?.throwIfAborted();
      const target = `${to}/${path}`;
      const directory = target.slice(0, target.lastIndexOf("/"));
      if (!made.has(directory)) {
        await Deno.mkdir(directory, { recursive: true });
        made.add(directory);
      }
      if (await copyOne(`${from}/${path}`, target)) copied.push(path);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, copyNext));
  return copied;
}

async function copyOne(from: string, to: string): Promise<boolean> {
  try {
    const { isSymlink } = await Deno.lstat(from);
    if (isSymlink) await Deno.symlink(await Deno.readLink(from), to);
    else await Deno.copyFile(from, to);
    return true;
  } catch (error) {
    // It went away after it was listed, as files do in a directory in use.
    if (error instanceof Deno.errors.NotFound) return false;
    throw new ReasonixError(message`Cannot copy ${from} into a work tree: ${errorMessage(error)}`, {
      remedy: message`make it readable, or have git ignore it`,
      cause: error,
    });
  }
}

/** Copies the index: staged, conflicting and left-out files stay so. No filter of the user runs. */
async function copyIndex(
  git: Git,
  { top }: Pick<Repository, "top">,
  { tree, signal }: { readonly tree: string; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const purpose = `Cannot copy the index of ${top} into a work tree`;
  const staged = await git.ask(purpose, ["ls-files", "-z", "--stage"], { cwd: top, signal });
  const here = { cwd: tree, signal };
  await git.ask(purpose, ["update-index", "-z", "--index-info"], { ...here, input: staged });
  const tagged = entries(await git.ask(purpose, ["ls-files", "-z", "-t"], { cwd: top, signal }));
  const left = tagged.filter((entry) => entry.startsWith("S ")).map((entry) => `${entry.slice(2)}\0`);
  if (left.length > 0) {
    const skipping = ["update-index", "-z", "--skip-worktree", "--stdin"];
    await git.ask(purpose, skipping, { ...here, input: left.join("") });
  }
  // Files that differ make this fail, and are found by the next look.
  const env = await withoutFilters(git, top);
  await git.run(["update-index", "-q", "--refresh"], { ...here, env });
}

/** Variables that disable the filters in git's settings. */
async function withoutFilters(git: Git, cwd: string): Promise<Record<string, string>> {
  const listing = [
    "config",
    "-z",
    "--name-only",
    "--get-regexp",
    "^filter\\..*\\.(clean|smudge|process|required)$",
  ];
  const names = [...new Set(entries((await git.run(listing, { cwd })).text))];
  const values = names.flatMap((name, at) => [
    [`GIT_CONFIG_KEY_${at}`, name],
    [`GIT_CONFIG_VALUE_${at}`, name.endsWith(".required") ? "false" : ""],
  ]);
  return { GIT_CONFIG_COUNT: String(names.length), ...Object.fromEntries(values) };
}
