import { errorMessage, ReasonixError } from "../core/mod.ts";
import { entries, type Git } from "./git_commands.ts";
import type { Repository } from "./repository.ts";

/** Files that are copied at the same time. */
const AT_ONCE = 16;

/**
 * Copies files and links as they are, with their permissions. Paths are relative to both directories. Returns
 * those that were there.
 */
export async function copyFiles(
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
    // It went away after it was listed, as files do in a directory that somebody works in.
    if (error instanceof Deno.errors.NotFound) return false;
    throw new ReasonixError(`Cannot copy ${from} into a work tree: ${errorMessage(error)}`, {
      remedy: "make it readable, or have git ignore it",
      cause: error,
    });
  }
}

/**
 * Makes the index of a work tree say what that of its parent says: what is staged, in conflict and left out
 * stays so. No filter of the user's is run for it.
 */
export async function copyIndex(
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
  // Files that differ make this fail, and are found again by whoever looks.
  const env = await withoutFilters(git, top);
  await git.run(["update-index", "-q", "--refresh"], { ...here, env });
}

/** Variables by which git knows none of the filters that its settings name. */
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
