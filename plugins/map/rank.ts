/**
 * The rank of definitions: personalised PageRank over files, whose edges are references by name, and the
 * share of each definition in what its file gets. The same snapshot and focus give the same order on each
 * machine: every sum runs in the order of the sorted files.
 */
import type { Answer } from "../common/tool.ts";
import { languageOf } from "./languages.ts";
import type { MappedFile, Snapshot } from "./index.ts";
import type { Definition } from "./parser.ts";

interface Ranked {
  readonly path: string;
  readonly definition: Definition;
  readonly score: number;
}

interface Ranking {
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
const FOCUS_FACTOR = 10;
const TESTS_SHARE = 0.1;
const NOISE: readonly string[] = ["constant", "field", "module"];
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
  const count = (matches: (word: string) => boolean) => words.filter(matches).length;
  const inFocus = files.map(({ path }) => count((word) => matchesPath(path.toLowerCase(), word)));
  const names = new Map([...definers.keys()].map((name) => [name, name.toLowerCase()]));
  const named = (name: string) => count((word) => word.length > 2 && (names.get(name) ?? "").includes(word));
  const start = startVector(files, inFocus);
  const edges = edgesOf(files, definers, named);
  const out = new Float64Array(files.length);
  for (const { from, weight } of edges) out[from] = at(out, from) + weight;
  const ranks = pageRank(edges, out, start);
  const shares = new Map<string, number>();
  for (const { from, to, name, weight } of edges) {
    const key = `${to} ${name}`;
    shares.set(key, (shares.get(key) ?? 0) + at(ranks, from) * weight / at(out, from));
  }
  const wantsTests = words.some((word) => TEST_PATH.test(`${word}/`));
  const list = files.flatMap(({ path, symbols: { definitions } }, index) => {
    const ofFile = 0.1 * at(ranks, index) / definitions.length;
    const factor = TEST_PATH.test(path) && !wantsTests ? TESTS_SHARE : 1;
    return definitions.filter(({ local }) => !local).map((definition): Ranked => {
      const { name, kind } = definition;
      const focused = 1 + FOCUS_FACTOR * ((inFocus[index] ?? 0) + named(name));
      const share = (shares.get(`${index} ${name}`) ?? 0) + ofFile;
      const score = share * factor * focused * (NOISE.includes(kind) ? 0.1 : 1);
      return { path, definition, score: score + (focus.includes(name) ? 1 : 0) };
    });
  });
  // Sorting is stable: equal scores stay in the order of paths and lines.
  list.sort((a, b) => b.score - a.score);
  const all = [...names.values(), ...files.map(({ path }) => path.toLowerCase())];
  return {
    list,
    unmatched: focus.filter((_, index) => !all.some((each) => each.includes(words[index] ?? ""))),
  };
}

function at(values: Float64Array, index: number): number {
  return values[index] ?? 0;
}

/** A word is a path, its end, a directory, or part of the last name in it. */
function matchesPath(path: string, word: string): boolean {
  return path === word || path.endsWith(`/${word}`) || `/${path}`.includes(`/${word.replace(/\/$/, "")}/`) ||
    (word.length > 2 && path.slice(path.lastIndexOf("/") + 1).includes(word));
}

/** Members that values of the language have, too. */
const BUILT_IN = new Set(
  [Object, Function, String, Number, Array, Map, Set, Promise, RegExp, Date, Error, Uint8Array, Iterator]
    .flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)),
);

interface Definers {
  /** Indexes, in their order. */
  readonly files: number[];
  /** All of its definitions are methods. */
  isMethod: boolean;
}

/** Finds the files that define a name for others. */
function definersOf(files: readonly MappedFile[]): ReadonlyMap<string, Definers> {
  const definers = new Map<string, Definers>();
  for (const [index, { symbols }] of files.entries()) {
    for (const { name, local, kind } of symbols.definitions) {
      if (local) continue;
      const isMethod = kind === "method";
      const known = definers.get(name);
      if (!known) definers.set(name, { files: [index], isMethod });
      else {
        known.isMethod &&= isMethod;
        if (known.files.at(-1) !== index) known.files.push(index);
      }
    }
  }
  return definers;
}

function edgesOf(
  files: readonly MappedFile[],
  definers: ReadonlyMap<string, Definers>,
  named: (name: string) => number,
): readonly Edge[] {
  const edges: Edge[] = [];
  for (const [from, { path, symbols }] of files.entries()) {
    const tellsMembers = languageOf(path)?.queries.includes("javascript") === true;
    for (const [written, lines] of symbols.references) {
      const isMember = written.startsWith(".");
      const name = isMember ? written.slice(1) : written;
      const targets = definers.get(name);
      if (!targets || targets.files.length > MAX_DEFINERS) continue;
      if (isMember && BUILT_IN.has(name) || tellsMembers && isMember !== targets.isMethod) continue;
      const factor = factorOf(name, targets.files.length, targets.isMethod) *
        (1 + FOCUS_FACTOR * named(name));
      const weight = factor * Math.sqrt(lines.length) / targets.files.length;
      for (const to of targets.files) if (to !== from) edges.push({ from, to, name, weight });
    }
  }
  return edges;
}

/**
 * Compound and long names are the words of a project; private and common ones are not. A method is known by
 * its name alone, which a class of the language may have, too.
 */
function factorOf(name: string, definers: number, isMethod: boolean): number {
  const isCompound = /[a-z\d][A-Z]|[A-Za-z\d][_-][A-Za-z\d]/.test(name);
  return (name.length >= LONG_NAME && isCompound ? 10 : 1) * (/^[_#]/.test(name) ? 0.1 : 1) *
    (definers > COMMON_NAME ? 0.1 : 1) * (isMethod ? 0.1 : 1);
}

/** Where a reader begins: at the files of the focus, else at all files, and rarely at tests. */
function startVector(files: readonly MappedFile[], inFocus: readonly number[]): Float64Array {
  const all = files.map(({ path }) => TEST_PATH.test(path) ? TESTS_SHARE : 1);
  const chosen = all.map((weight, index) => weight * (inFocus[index] ?? 0) ** 2);
  const sum = (list: readonly number[]) => list.reduce((total, each) => total + each, 0);
  const share = sum(chosen) === 0 ? 0 : FOCUS_SHARE;
  const [whole, part] = [(1 - share) / sum(all), share === 0 ? 0 : share / sum(chosen)];
  return Float64Array.from(all, (weight, index) => weight * whole + (chosen[index] ?? 0) * part);
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

/** Characters of a token, as everywhere in this map. */
const TOKEN = 4;

/**
 * Returns as many of the first definitions as the budget has room for, by file, and a last line with what was
 * left out. The text never has more than `tokens` tokens.
 */
export function renderMap(snapshot: Snapshot, { list, unmatched }: Ranking, tokens: number): Answer {
  const lineOf = ({ path, definition: { line, text } }: Ranked) => `${path}:${line} ${text}\n`;
  let room = tokens * TOKEN - summaryOf(snapshot, list.length, list.length, unmatched).length;
  let shown = 0;
  for (const ranked of list) {
    room -= lineOf(ranked).length;
    if (room < 0) break;
    shown++;
  }
  const chosen = Map.groupBy(list.slice(0, shown), ({ path }) => path);
  const lines = [...chosen.values()].flatMap((ofFile) =>
    ofFile.toSorted((a, b) => a.definition.line - b.definition.line).map(lineOf)
  );
  const text = (lines.join("") + summaryOf(snapshot, shown, list.length, unmatched)).slice(0, tokens * TOKEN);
  return {
    text,
    data: {
      shown,
      definitions: list.length,
      files: snapshot.files.length,
      tokens: Math.ceil(text.length / TOKEN),
    },
  };
}

function summaryOf(
  { files, unsupported, broken, skipped, beyond }: Snapshot,
  shown: number,
  all: number,
  unmatched: readonly string[],
): string {
  const parts = [
    `${shown} of ${all} definitions in ${files.length} files`,
    `${broken} with syntax errors`,
    `${unsupported} of unsupported types`,
    ...(skipped > 0 ? [`${skipped} binary, minified or too large`] : []),
    ...(beyond > 0 ? [`${beyond} beyond max_files`] : []),
    ...(unmatched.length > 0 ? [`the focus matches nothing in ${unmatched.join(" ").slice(0, 80)}`] : []),
  ];
  return `[${parts.join("; ")}]`;
}
