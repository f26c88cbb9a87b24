/**
 * Paths as text; the file system is not asked. There is one form: `/` between names, on Windows too, where
 * `C:/` and `//server/share/` are roots.
 */
import { ReasonixError } from "../core/mod.ts";

const WINDOWS = Deno.build.os === "windows";

export interface PathBase {
  readonly cwd: string;
  /** The directory that a leading `~` means; without it `~` is an ordinary name. */
  readonly home?: string | undefined;
  readonly windows?: boolean;
}

const DRIVE = /^[a-z]:/i;
const UNC = /^\/\/[^/]+\/+[^/]+/;
const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/**
 * The path with `/` between names. A device prefix in front of an ordinary Windows path (`\\?\C:\`) is left
 * out.
 */
export function slashed(path: string, windows = WINDOWS): string {
  if (!windows) return path;
  return path.replaceAll("\\", "/").replace(/^\/(?:\/|\?\?\/)(?:[?.]\/)?(?=[a-z]:\/)/i, "")
    .replace(/^\/(?:\/|\?\?\/)(?:[?.]\/)?unc\//i, "//");
}

export function isAbsolute(path: string, windows = WINDOWS): boolean {
  return path.startsWith("/") || (windows && /^(?:[a-z]:)?[\\/]/i.test(path));
}

/**
 * The absolute form of a path. `..` is left in place: what it means depends on links, so only `realPath` may
 * take it away.
 */
export function absolutePath(path: string, base: PathBase): string {
  const windows = base.windows ?? WINDOWS;
  let text = slashed(path, windows);
  if (base.home !== undefined && /^~(?:\/|$)/.test(text)) text = slashed(base.home, windows) + text.slice(1);
  if (windows && (DRIVE.test(text) || text.startsWith("//"))) return text;
  const cwd = slashed(base.cwd, windows);
  if (!text.startsWith("/")) return `${cwd.replace(/\/+$/, "")}/${text}`;
  return windows ? (DRIVE.exec(cwd) ?? UNC.exec(cwd))?.[0] + text : text;
}

/**
 * Refuses what is no path of a file: NUL bytes, the empty text, and forms of the Windows name space that mean
 * something else than the file they seem to name.
 *
 * Contract: throws a `ReasonixError` with exit "blocked".
 */
export function requireFilePath(path: string, windows = WINDOWS): void {
  if (path === "") refuse(path, "it is empty", "name a file or directory");
  if (path.includes("\0")) refuse(path, "it contains a NUL byte", "leave the byte out");
  if (windows) requireWindowsFile(path.replaceAll("\\", "/"));
}

function requireWindowsFile(path: string): void {
  if (/^\/(?:\/[?.]|\?\?)(?:\/|$)/.test(path)) {
    refuse(path, "it is a device path", "write it as C:\\directory\\file");
  }
  if (/^[a-z]:(?!\/)/i.test(path)) {
    refuse(path, "it counts from the current directory of a drive", "write it as C:\\directory\\file");
  }
  for (const name of path.replace(DRIVE, "").split("/")) {
    if (name.includes(":")) refuse(path, "it names an alternate data stream", "leave out the colon");
    if (RESERVED.test(name)) refuse(path, `${name} is a device name`, "choose another file name");
    if (/[. ]$/.test(name) && !/^\.{1,2}$/.test(name)) {
      refuse(path, "Windows drops dots and spaces at the end of a name", "leave them out");
    }
  }
}

function refuse(path: string, why: string, remedy: string): never {
  throw new ReasonixError(`Cannot use the path ${JSON.stringify(path)}: ${why}`, { exit: "blocked", remedy });
}

/** The absolute path without `.`, `..` and doubled separators, as text. */
export function normalize(path: string, windows = WINDOWS): string {
  const { root, names } = splitPath(path, windows);
  const kept: string[] = [];
  for (const name of names) {
    if (name === "..") kept.pop();
    else kept.push(windows ? name.replace(/(?<=.)[. ]+$/, "") : name);
  }
  return root + kept.join("/");
}

/** The root of an absolute path (ending in `/`) and its names, `.` and empty ones left out. */
export function splitPath(path: string, windows = WINDOWS): { root: string; names: string[] } {
  const text = slashed(path, windows);
  const drive = windows ? (DRIVE.exec(text) ?? UNC.exec(text))?.[0] ?? "" : "";
  const names = text.slice(drive.length).split("/").filter((name) => name !== "" && name !== ".");
  return { root: drive === "" && !text.startsWith("/") ? "" : `${drive}/`, names };
}

export function join(directory: string, name: string): string {
  return directory.endsWith("/") ? directory + name : `${directory}/${name}`;
}

/** The directory that contains a path; a root contains itself. */
export function parentOf(path: string): string {
  const cut = path.lastIndexOf("/");
  if (cut <= 0 || (cut === 2 && DRIVE.test(path))) return path.slice(0, cut + 1);
  return path.slice(0, cut);
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The path seen from a directory that contains it (`.` for the directory itself), or undefined. */
export function relativeTo(path: string, directory: string): string | undefined {
  if (path === directory) return ".";
  const base = join(directory, "");
  return path.startsWith(base) ? path.slice(base.length) : undefined;
}

/**
 * Containment of absolute, normalised paths, and the one form in which names are compared where their
 * spelling does not count.
 */

/** Says whether the usual file system of this platform ignores the case of names. */
export const IGNORES_CASE: boolean = Deno.build.os === "windows" || Deno.build.os === "darwin";

/** Characters that HFS+ leaves out when it compares names. */
const IGNORED = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;
// deno-lint-ignore no-control-regex
const ASCII = /^[\x00-\x7f]*$/;

/** The form in which a file system that ignores case and composition compares names. */
export function foldPath(path: string): string {
  if (ASCII.test(path)) return path.toLowerCase();
  const names = path.normalize("NFD").replace(IGNORED, "");
  // Only a lower case ß becomes "SS", so a capital one is made lower case first.
  return names.toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
}

/** Reports whether `path` is `directory` itself or is in it. */
export function contains(directory: string, path: string): boolean {
  const [outer, inner] = [slashed(directory), slashed(path)];
  if (!inner.startsWith(outer)) return false;
  return inner.length === outer.length || outer.endsWith("/") || inner.charAt(outer.length) === "/";
}

/**
 * The same on a file system that may write names in another case. A match that only folding shows is believed
 * only when the file system confirms it: two directories that differ in case are two where case counts.
 */
export function containsOnDisk(directory: string, path: string): boolean {
  if (contains(directory, path)) return true;
  if (!contains(foldPath(slashed(directory)), foldPath(slashed(path)))) return false;
  const depth = slashed(directory).split("/").length;
  return sameFile(slashed(path).split("/").slice(0, depth).join("/"), directory);
}

function sameFile(a: string, b: string): boolean {
  try {
    const [left, right] = [Deno.statSync(a), Deno.statSync(b)];
    return left.ino !== null && left.ino === right.ino && left.dev === right.dev;
  } catch {
    return false;
  }
}
