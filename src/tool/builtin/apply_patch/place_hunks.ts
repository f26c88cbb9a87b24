import type { PatchedFile } from "./fit_hunk.ts";
import { HunkSearch, type Placement, several, statedLine } from "./hunk_search.ts";
import { type Hunk, leadingContext, oldLines, trailingContext } from "./patch.ts";

/** The reason why a hunk has no place, or more than one. */
export interface Misfit {
  readonly hunk: number;
  /** Continues "hunk 2 of 3 "; absent when its lines stand nowhere. */
  readonly problem?: string;
}

/** The most places of all hunks that are compared with each other. */
const MAX_PLACES = 500_000;

/**
 * Places all hunks of a file together: they are placed if and only if there is exactly one way to place them
 * all in order, each by the strictest comparison that finds it at all. An anchor stands somewhere above its
 * hunk, also above the hunk before. Where hunks fit in too many places to look at all ways, there is none.
 */
export function placeHunks(file: PatchedFile, hunks: readonly Hunk[]): readonly Placement[] | Misfit {
  const search = new HunkSearch(file);
  const candidates: (readonly Placement[])[] = [];
  let [drift, all] = [0, 0];
  for (const [index, hunk] of hunks.entries()) {
    const found = search.candidates(hunk, drift);
    if (typeof found === "string") return { hunk: index, problem: found };
    const [only] = found;
    if (!only) return { hunk: index };
    const stated = statedLine(hunk);
    if (stated !== undefined && found.length === 1) drift = only.line - stated;
    all += found.length;
    if (all > MAX_PLACES) return { hunk: index, problem: several("fits in", found) };
    candidates.push(found);
  }
  return unique(candidates, apart) ?? unique(candidates, sharingContext) ?? outOfOrder(candidates);
}

type Order = (before: Placement, after: Placement) => boolean;

function apart(before: Placement, after: Placement): boolean {
  return after.line >= before.line + oldLines(before.hunk).length;
}

/** Hunks so near to each other that the context behind one is the context before the next. */
function sharingContext(before: Placement, after: Placement): boolean {
  const end = before.line + oldLines(before.hunk).length - trailingContext(before.hunk);
  return after.line >= before.line && after.line + leadingContext(after.hunk) >= end;
}

/** The one way to place all hunks in order; a misfit when there are several, undefined when there is none. */
function unique(
  candidates: readonly (readonly Placement[])[],
  inOrder: Order,
): readonly Placement[] | Misfit | undefined {
  // Lines appended at the end of the file belong there whatever comes after them in the patch.
  const moving = candidates.map((places) => places.length === 1 && isAppended(places[0]) ? [] : places);
  const options: Placement[][] = moving.map(() => []);
  let later: { readonly place: Placement; readonly ways: number }[] | undefined;
  let ways = 1;
  for (let index = moving.length - 1; index >= 0; index--) {
    const places = moving[index] ?? [];
    if (places.length === 0) continue;
    const next = later;
    const here = places.map((place) => ({
      place,
      ways: next === undefined ? 1 : countWays(next, place, inOrder),
    })).filter((option) => option.ways > 0);
    ways = here.reduce((sum, option) => Math.min(2, sum + option.ways), 0);
    if (ways === 0) return undefined;
    later = here;
    options[index] = here.map((option) => option.place);
  }
  let before: Placement | undefined;
  const chosen: Placement[] = [];
  for (const [index, places] of candidates.entries()) {
    const [appended] = places;
    if ((moving[index] ?? []).length === 0) {
      if (appended) chosen.push(appended);
      continue;
    }
    const open = (options[index] ?? []).filter((place) => before === undefined || inOrder(before, place));
    const [only] = open;
    if (!only || open.length > 1) return { hunk: index, problem: several("fits in", open) };
    chosen.push(only);
    before = only;
  }
  return chosen;
}

function countWays(
  next: readonly { readonly place: Placement; readonly ways: number }[],
  place: Placement,
  inOrder: Order,
): number {
  let ways = 0;
  // Places are in order, so the last ones follow first.
  for (let at = next.length - 1; at >= 0 && ways < 2; at--) {
    const option = next[at];
    if (!option || !inOrder(place, option.place)) break;
    ways += option.ways;
  }
  return Math.min(2, ways);
}

function isAppended(place: Placement | undefined): boolean {
  return place !== undefined && oldLines(place.hunk).length === 0 && place.hunk.line === undefined &&
    place.hunk.anchors.length === 0;
}

/** Every hunk has a place, but not behind the one before it. */
function outOfOrder(candidates: readonly (readonly Placement[])[]): Misfit {
  let first = 0;
  for (const [index, places] of candidates.entries()) {
    const last = places.at(-1);
    if (index > 0 && last && last.line < first) {
      return {
        hunk: index,
        problem: `stands at line ${last.line + 1}, above the hunk before it (line ${first + 1}); ` +
          "give the hunks in the order of the file",
      };
    }
    for (const { line } of places) first = Math.max(first, line);
  }
  return {
    hunk: candidates.length - 1,
    problem: "overlaps the hunk before it; join the two, or give the hunks in the order of the file",
  };
}
