import type { HitLocation, KnownLocation } from "../../core/mod.ts";
import { contains } from "../../path/contains.ts";
import { absolutePath, normalize } from "../../path/lexical.ts";
import { exists } from "../../path/probe.ts";
import { ANY, firstMark, isKnown, matchPattern, ONE, type PathContext, STAR } from "../../rule/mod.ts";
import type { DestructiveTarget } from "../types.ts";
import { MKTEMP_NAME } from "./words.ts";

/**
 * How many files are counted, and how many names a glob may become, before it is only said that there are
 * more.
 */
const MAX_COUNT = 5000;
const MAX_NAMES = 200;

/** What a destructive command would hit. */
export interface Hit {
  readonly place: HitLocation;
  readonly target: DestructiveTarget;
}

/** Judges the targets of one destructive command. Paths may have unknown parts (see pattern.ts). */
export interface TargetJudge {
  /**
   * Returns what lies outside of the roots, or is a root, the home directory or the root directory, or holds
   * one.
   */
  hits(path: string, cwds: readonly string[] | undefined): Hit[];
  /** Only the root directory, the home directory and the roots themselves, or what holds them. */
  vital(path: string, cwds: readonly string[] | undefined): Hit[];
}

/** In `privateDirectories`, which are the commands' own, nothing of the user's is lost. */
export function createTargetJudge(places: PathContext, privateDirectories: readonly string[]): TargetJudge {
  const roots = [...new Set(places.roots.map((root) => places.realPath(root)))];
  const home = places.realPath(places.home);
  const judge = (path: string): KnownLocation | undefined => {
    if (path === "/") return "root";
    if (path === home) return "home";
    if (roots[0] === path) return "workspace";
    if (contains(path, home)) return "holdsHome";
    if (roots.some((root) => contains(path, root))) return "holdsWorkspace";
    const own = contains(home, path) ? roots : [...roots, ...privateDirectories];
    return own.some((root) => contains(root, path)) ? undefined : "outside";
  };
  const find = (path: string, cwds: readonly string[] | undefined): Hit[] => {
    if (path === ANY || path === "" || (!/^[/~]/.test(path) && !cwds)) return [unknownHit(path)];
    const bases = /^[/~]/.test(path) ? [places.cwd] : cwds ?? [];
    return bases.flatMap((cwd) => findHits(absolutePath(path, { cwd, home: places.home }), places, judge));
  };
  return {
    hits: find,
    vital: (path, cwds) => find(path, cwds).filter(({ place }) => place !== "outside" && place !== "unknown"),
  };
}

type LocateTarget = (path: string) => KnownLocation | undefined;

function unknownHit(path: string): Hit {
  return { place: "unknown", target: { path: readable(path) } };
}

/** Marks as a person would write them. */
function readable(path: string): string {
  return path.replaceAll(STAR, "*").replaceAll(ONE, "?").replaceAll(ANY, "…") || "…";
}

function findHits(path: string, places: PathContext, judge: LocateTarget): Hit[] {
  const mark = firstMark(path);
  if (mark < 0) {
    const real = removed(path, places);
    const place = judge(real);
    return place === undefined ? [] : [{ place, target: count(real) }];
  }
  if (path.includes(`/${MKTEMP_NAME}`)) {
    return path.slice(path.indexOf(`/${MKTEMP_NAME}`)).includes("..") ? [unknownHit(path)] : [];
  }
  if (path.includes(ANY)) return [unknownHit(path)];
  return globHits(path, places, judge);
}

/** Removing a link removes the link; with a slash behind it, what it leads to. */
function removed(path: string, places: PathContext): string {
  if (/\/\.{0,2}$/.test(path)) return places.realPath(path);
  const cut = path.replace(/\/+$/, "").lastIndexOf("/");
  const folder = places.realPath(path.slice(0, cut) || "/");
  return normalize(`${folder}/${path.slice(cut + 1)}`);
}

function globHits(path: string, places: PathContext, judge: LocateTarget): Hit[] {
  const slashless = path.replace(/\/+$/, "");
  const cut = slashless.lastIndexOf("/");
  const last = slashless.slice(cut + 1);
  const folder = slashless.slice(0, cut) || "/";
  const real = isKnown(folder) ? places.realPath(folder) : undefined;
  const place = real === undefined ? undefined : judge(real);
  if (real !== undefined && place === undefined && !path.endsWith("/")) return [];
  const everything = [...last].every((char) => char === STAR || char === ".");
  if (real !== undefined && place !== undefined && everything) {
    return [{ place: `everything:${place}`, target: count(real) }];
  }
  const names = expandGlob(path);
  if (names.length > MAX_NAMES) {
    return [{ place: "manyNames", target: { path: readable(path) } }];
  }
  return names.flatMap((name) => findHits(name, places, judge));
}

/**
 * The existing paths a glob with marks becomes. Hidden names only match where the pattern begins with a dot.
 */
function expandGlob(path: string): string[] {
  let found = [""];
  for (const part of path.split("/").filter((each) => each !== "")) {
    found = found.flatMap((base) => {
      if (isKnown(part)) return [`${base}/${part}`];
      return listFolder(base || "/")
        .filter((entry) =>
          (part.startsWith(".") || !entry.startsWith(".")) &&
          matchPattern(part.replaceAll(STAR, ANY), entry) === "yes"
        )
        .map((entry) => `${base}/${entry}`);
    }).slice(0, MAX_NAMES + 1);
  }
  return found;
}

function listFolder(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].map((entry) => entry.name);
  } catch {
    return [];
  }
}

/** Counts the files below a path; links are not followed. */
function count(path: string): DestructiveTarget {
  let files = 0;
  const open = [path];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    try {
      for (const entry of Deno.readDirSync(folder)) {
        if (entry.isDirectory) open.push(`${folder === "/" ? "" : folder}/${entry.name}`);
        else files++;
        if (files >= MAX_COUNT || open.length >= MAX_COUNT) return { path, files, more: true };
      }
    } catch {
      if (folder === path) return { path, ...(exists(path) ? { files: 1 } : { files: 0 }) };
    }
  }
  return { path, files };
}
