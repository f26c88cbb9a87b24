/** Containment of real paths, for both kinds of file systems. */

const SEPARATORS = /[\\/]/;

/** Characters that HFS+ leaves out when it compares names. */
const IGNORED = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

/** The form in which a file system that ignores case and composition compares names. */
export function foldPath(path: string): string {
  return path.normalize("NFD").replace(IGNORED, "").toUpperCase().toLowerCase();
}

/** Whether `path` is `area` itself or lies in it. Both are absolute and normal. */
export function isWithin(path: string, area: string): boolean {
  if (!path.startsWith(area)) return false;
  if (path.length === area.length || SEPARATORS.test(area.at(-1) ?? "")) return true;
  return SEPARATORS.test(path.charAt(area.length));
}

function sameFile(a: string, b: string): boolean {
  try {
    const [left, right] = [Deno.statSync(a), Deno.statSync(b)];
    return left.ino !== null && left.ino === right.ino && left.dev === right.dev;
  } catch {
    return false;
  }
}

/**
 * Whether `path` lies in `area` on a file system that may write names in another case. A match that only folding shows is believed
 * only when the file system confirms it: two directories that differ in case are two directories where case counts.
 */
export function isWithinFolded(path: string, area: string): boolean {
  if (isWithin(path, area)) return true;
  if (!isWithin(foldPath(path), foldPath(area))) return false;
  const depth = area.split(SEPARATORS).length;
  const separator = path.includes("\\") ? "\\" : "/";
  return sameFile(path.split(SEPARATORS).slice(0, depth).join(separator), area);
}
