import { ReasonixError } from "../../core/mod.ts";

/** Files looked at when a hard link is compared with what may not be read. */
const MAX_ENTRIES = 20_000;

/**
 * The state of an open file, after checking that `path` still leads to it. Device and inode are compared on
 * the descriptor, so it does not matter what happens to the path between the look and the comparison.
 */
export function verifyOpenFile(file: Deno.FsFile, path: string, real: string): Deno.FileInfo {
  const info = file.statSync();
  const changed = () =>
    new ReasonixError(`Cannot use ${path}: it was replaced while it was being opened`, {
      exit: "blocked",
      remedy: "look at the file again, then retry",
    });
  if (real !== path) throw changed();
  let named: Deno.FileInfo;
  try {
    named = Deno.lstatSync(path);
  } catch {
    throw changed();
  }
  if (named.isSymlink || named.ino !== info.ino || named.dev !== info.dev) throw changed();
  return info;
}

/**
 * Reports whether a file is also reachable under one of these paths, that is, is a hard link to something in
 * there.
 */
export function holdsInode(areas: readonly string[], wanted: Deno.FileInfo): boolean {
  let left = MAX_ENTRIES;
  const pending = [...areas];
  for (let path = pending.pop(); path !== undefined && left > 0; path = pending.pop()) {
    left--;
    try {
      const info = Deno.lstatSync(path);
      if (info.ino === wanted.ino && info.dev === wanted.dev) return true;
      if (info.isDirectory) {
        for (const entry of Deno.readDirSync(path)) pending.push(`${path}/${entry.name}`);
      }
    } catch {
      // Gone or unreadable for us, so unreadable through a link as well.
    }
  }
  return false;
}
