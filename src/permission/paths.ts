/** Paths as rules see them. Everything here is lexical except {@linkcode resolveReal}. */

/** Joins a path to a folder; `~` counts as the home folder. `.` and `..` stay, because after a symbolic link they matter. */
export function absolutePath(path: string, cwd: string, home: string): string {
  const slashed = Deno.build.os === "windows" ? path.replaceAll("\\", "/") : path;
  if (slashed === "~" || slashed.startsWith("~/")) return home + slashed.slice(1);
  return isAbsolute(slashed) ? slashed : `${cwd}/${slashed}`;
}

function isAbsolute(path: string): boolean {
  return path.startsWith("/") || (Deno.build.os === "windows" && /^[A-Za-z]:\//.test(path));
}

export function normalizePath(path: string): string {
  const parts: string[] = [];
  for (const part of normalizeSlashes(path).split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") parts.pop();
    else parts.push(part);
  }
  const joined = parts.join("/");
  return /^[A-Za-z]:/.test(joined) && Deno.build.os === "windows" ? joined : `/${joined}`;
}

/**
 * The real path of an absolute path, walked like the kernel does: `..` leaves the folder a link leads to. What does not
 * exist yet is kept below the real path of its deepest existing ancestor; a dangling link counts as its target.
 */
export function resolveReal(path: string, hops = 0): string {
  if (path.length > MAX_PATH) return normalizePath(path);
  const direct = realOf(path);
  if (direct !== undefined) return direct;
  return /(?:^|\/)\.{1,2}(?:\/|$)/.test(path) ? walkReal(path, hops) : climbReal(path, hops);
}

/** Resolves the folder and then a dangling link or a missing name in it; right only where no `..` stands in the path. */
function climbReal(path: string, hops: number): string {
  const tidy = path.replace(/(.)\/+$/, "$1");
  const cut = tidy.lastIndexOf("/");
  if (cut < 0 || tidy === "/") return realOf(tidy) ?? tidy;
  const folder = cut === 0 ? "/" : tidy.slice(0, cut);
  const real = cut === 0 ? "/" : realOf(folder) ?? climbReal(folder, hops);
  const name = tidy.slice(cut + 1);
  const whole = name === "" ? real : `${real === "/" ? "" : real}/${name}`;
  const link = hops < MAX_LINKS ? linkTarget(whole, real) : undefined;
  return link === undefined ? whole : resolveReal(link, hops + 1);
}

function walkReal(path: string, hops: number): string {
  let current = "";
  for (const part of normalizeSlashes(path).split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      current = current.slice(0, current.lastIndexOf("/"));
      continue;
    }
    const next = current === "" && part.endsWith(":") ? part : `${current}/${part}`;
    const link = hops < MAX_LINKS ? linkTarget(next, current) : undefined;
    current = realOf(next) ?? (link === undefined ? next : resolveReal(link, hops + 1));
    if (current === "/") current = "";
  }
  return current === "" ? "/" : current;
}

/** Longer paths name nothing: the kernel refuses them. */
const MAX_PATH = 4096;
/** Hops after which the kernel gives up on a path. */
const MAX_LINKS = 40;

function realOf(path: string): string | undefined {
  try {
    return normalizeSlashes(Deno.realPathSync(path));
  } catch {
    return undefined;
  }
}

/** Where a symbolic link points, as an absolute path; undefined for anything else. */
function linkTarget(path: string, folder: string): string | undefined {
  try {
    const target = Deno.readLinkSync(path);
    return isAbsolute(target) ? target : `${folder}/${target}`;
  } catch {
    return undefined;
  }
}

function normalizeSlashes(path: string): string {
  return Deno.build.os === "windows" ? path.replace(/^\\\\\?\\/, "").replaceAll("\\", "/") : path;
}

/** Whether `path` is `folder` or lies below it. Both are normalised. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === "/" || path.startsWith(`${folder}/`);
}

/** The path seen from a folder that contains it (`.` for the folder itself), or undefined. */
export function relativeTo(path: string, folder: string): string | undefined {
  if (path === folder) return ".";
  const base = folder === "/" ? "/" : `${folder}/`;
  return path.startsWith(base) ? path.slice(base.length) : undefined;
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
