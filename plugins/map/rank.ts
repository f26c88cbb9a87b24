/**
 * The rank of definitions: personalised PageRank over files, whose edges are references by name, and the share
 * of each definition in what its file gets. The same snapshot and focus give the same order on each machine:
 * every sum runs in the order of the sorted files.
 */
import type { MappedFile } from "./index.ts";
import type { Definition } from "./parser.ts";

export interface Ranked {
  readonly path: string;
  readonly definition: Definition;
  readonly score: number;
}

export interface Ranking {
  /** All definitions that other files can name, the most important first. */
  readonly list: readonly Ranked[];
  /** Words of the focus that match no path and no name. */
  readonly unmatched: readonly string[];
}

const DAMPING = 0.85;
const ROUNDS = 50;
const SETTLED = 1e-7;
/** The part of the start vector that the files of the focus share. */
const FOCUS_SHARE = 0.8;
/** What the factors are of: see `factorOf`. */
const LONG_NAME = 8;
const COMMON_NAME = 5;
/** A name with more definitions says nothing about any of them. */
const MAX_DEFINERS = 50;
const FROM_FOCUS = 50;
const FROM_TESTS = 0.1;
const TEST_PATH = /(?:^|\/)(?:tests?|__tests__|specs?|testdata|fixtures)\/|[._-](?:test|spec)\.[^/]*$/i;

interface Edge {
  readonly from: number;
  readonly to: number;
  readonly name: string;
  readonly weight: number;
}

export function rank(files: readonly MappedFile[], focus: readonly string[]): Ranking {
  const definers = definersOf(files);
  const words = focus.map((word) => word.toLowerCase());
  const inFocus = files.map(({ path }) => words.some((word) => matchesPath(path.toLowerCase(), word)));
  const named = new Set(
    [...definers.keys()].filter((name) => words.includes(name.toLowerCase())),
  );
  const edges = edgesOf(files, definers, inFocus, named);
  const start = startVector(files, inFocus, (index) => {
    const { definitions } = files[index]?.symbols ?? { definitions: [] };
    return definitions.some(({ name }) => named.has(name));
  });
  const out = new Float64Array(files.length);
  for (const { from, weight } of edges) out[from] = at(out, from) + weight;
  const ranks = pageRank(edges, out, start);
  const shares = new Map<string, number>();
  for (const { from, to, name, weight } of edges) {
    const key = `${to} ${name}`;
    shares.set(key, (shares.get(key) ?? 0) + at(ranks, from) * weight / at(out, from));
  }
  const list = files.flatMap(({ path, symbols: { definitions } }, index) =>
    definitions.filter(({ local }) => !local).map((definition): Ranked => {
      const { name, kind } = definition;
      const ofFile = at(ranks, index) / definitions.length * (inFocus[index] ? 1 : 0.1);
      const score = (shares.get(`${index} ${name}`) ?? 0) + ofFile;
      return { path, definition, score: named.has(name) ? score + 1 : score * (isNoise(kind) ? 0.1 : 1) };
    })
  );
  // Sorting is stable: equal scores stay in the order of paths and lines.
  list.sort((a, b) => b.score - a.score);
  const names = [...definers.keys()].map((name) => name.toLowerCase());
  const unmatched = focus.filter((_, index) => {
    const word = words[index] ?? "";
    return !names.includes(word) && !files.some(({ path }) => matchesPath(path.toLowerCase(), word));
  });
  return { list, unmatched };
}

function at(values: Float64Array, index: number): number {
  return values[index] ?? 0;
}

function isNoise(kind: string): boolean {
  return kind === "constant" || kind === "field" || kind === "module";
}

/** A word is a path, its end, a directory, or part of the last name in it. */
function matchesPath(path: string, word: string): boolean {
  return path === word || path.endsWith(`/${word}`) || `/${path}`.includes(`/${word.replace(/\/$/, "")}/`) ||
    (word.length > 2 && path.slice(path.lastIndexOf("/") + 1).includes(word));
}

/** Indexes of the files that define a name for others. */
function definersOf(files: readonly MappedFile[]): ReadonlyMap<string, readonly number[]> {
  const definers = new Map<string, number[]>();
  for (const [index, { symbols }] of files.entries()) {
    for (const { name, local } of symbols.definitions) {
      if (local) continue;
      const known = definers.get(name);
      if (!known) definers.set(name, [index]);
      else if (known.at(-1) !== index) known.push(index);
    }
  }
  return definers;
}

function edgesOf(
  files: readonly MappedFile[],
  definers: ReadonlyMap<string, readonly number[]>,
  inFocus: readonly boolean[],
  named: ReadonlySet<string>,
): readonly Edge[] {
  const edges: Edge[] = [];
  for (const [from, { path, symbols }] of files.entries()) {
    const source = (inFocus[from] ? FROM_FOCUS : 1) * (TEST_PATH.test(path) ? FROM_TESTS : 1);
    for (const [name, lines] of symbols.references) {
      const targets = definers.get(name);
      if (!targets || targets.length > MAX_DEFINERS) continue;
      const factor = factorOf(name, targets.length) * (named.has(name) ? 10 : 1);
      const weight = source * factor * Math.sqrt(lines.length) / targets.length;
      for (const to of targets) if (to !== from) edges.push({ from, to, name, weight });
    }
  }
  return edges;
}

/** Compound and long names are the words of a project; private and common ones are not. */
function factorOf(name: string, definers: number): number {
  const isCompound = /[a-z\d][A-Z]|[A-Za-z\d][_-][A-Za-z\d]/.test(name);
  return (name.length >= LONG_NAME && isCompound ? 10 : 1) * (/^[_#]/.test(name) ? 0.1 : 1) *
    (definers > COMMON_NAME ? 0.1 : 1);
}

function startVector(
  files: readonly MappedFile[],
  inFocus: readonly boolean[],
  definesNamed: (index: number) => boolean,
): Float64Array {
  const chosen = files.map((_, index) => inFocus[index] || definesNamed(index));
  const count = chosen.filter(Boolean).length;
  const share = count === 0 ? 0 : FOCUS_SHARE;
  return Float64Array.from(chosen, (is) => (1 - share) / files.length + (is ? share / count : 0));
}

/** What a file without references has goes back to the start. */
function pageRank(edges: readonly Edge[], out: Float64Array, start: Float64Array): Float64Array {
  let ranks = start;
  for (let round = 0; round < ROUNDS; round++) {
    let idle = 0;
    for (const [index, weight] of out.entries()) if (weight === 0) idle += at(ranks, index);
    const next = start.map((share) => share * (1 - DAMPING + DAMPING * idle));
    for (const { from, to, weight } of edges) {
      next[to] = at(next, to) + DAMPING * at(ranks, from) * weight / at(out, from);
    }
    const change = next.reduce((sum, value, index) => sum + Math.abs(value - at(ranks, index)), 0);
    ranks = next;
    if (change < SETTLED) break;
  }
  return ranks;
}
