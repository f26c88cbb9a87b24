import { attempt } from "../core/mod.ts";
/** Questions to the file system that answer instead of throwing: what cannot be looked at is not there. */

/** Says whether something has this name, even if it is a link that leads nowhere. */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

export function isFile(path: string): boolean {
  return attempt(() => Deno.statSync(path).isFile) ?? false;
}

export function isDirectory(path: string): boolean {
  return attempt(() => Deno.statSync(path).isDirectory) ?? false;
}

/**
 * The text of an ordinary file of at most this many bytes. A repository may bring a pipe or a link to a
 * device under any name: opening one waits forever, reading the other never ends.
 */
export function readSmallText(path: string, maxBytes = 1024 * 1024): string | undefined {
  try {
    const { isFile, size } = Deno.statSync(path);
    return isFile && size <= maxBytes ? Deno.readTextFileSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** The entries of a directory by name. */
export function sortedEntries(directory: string): Deno.DirEntry[] {
  return attempt(() => [...Deno.readDirSync(directory)].sort((a, b) => a.name < b.name ? -1 : 1)) ?? [];
}
