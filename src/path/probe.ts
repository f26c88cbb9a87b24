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
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

export function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
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
  try {
    return [...Deno.readDirSync(directory)].sort((a, b) => a.name < b.name ? -1 : 1);
  } catch {
    return [];
  }
}
