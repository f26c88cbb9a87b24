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

const DAMPING = 0.85;
const ROUNDS = 20;
/** The part of the start vector that the files of the focus share. */
const FOCUS_SHARE = 0.8;
const LONG_NAME = 8;
const COMMON_NAME = 5;
/** A name with more definitions says nothing about any of them. */
const MAX_DEFINERS = 10;
const FOCUS_FACTOR = 10;
const TESTS_SHARE = 0.1;
const NOISE: readonly string[] = ["constant", "field", "module"];
const TEST_PATH = /(?:^|\/)(?:tests?|__tests__|specs?|testdata|fixtures)\/|[._-](?:test|spec)\.[^/]*$/i;

/** Members that values of the language have, too. */
const BUILT_IN = new Set(
  [Object, Function, String, Number, Array, Map, Set, Promise, RegExp, Date, Error, Uint8Array, Iterator]
    .flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)),
);

/** The files that define a name for others. A slot is a name in a file. */
interface Definers {
  readonly slots: number[];
  /** All of its definitions are methods. */
  isMethod: boolean;
}

/** References of files to slots of others, as columns: an object for each would take most of the time. */
interface Edges {
  readonly from: number[];
  readonly slot: number[];
  readonly weight: number[];
}

/**
 * Returns all definitions that other files can name, the most important first, and the words of the focus
 * that match no path and no name.
 */
export function rank(files: readonly MappedFile[], focus: readonly string[]) {
  const { definers, fileOf } = definersOf(files);
  const words = focus.map((word) => word.toLowerCase());
  const count = (matches: (word: string) => boolean) => words.length === 0 ? 0 : words.filter(matches).length;
  const named = (name: string) => count((word) => word.length > 2 && name.toLowerCase().includes(word));
  const inFocus = files.map(({ path }) => count((word) => matchesPath(path.toLowerCase(), word)));
  const isTest = files.map(({ path }) => TEST_PATH.test(path));
  const edges = edgesOf(files, definers, fileOf, named);
  const { ranks, shares } = pageRank(edges, fileOf, startVector(isTest, inFocus));
  const wantsTests = words.some((word) => TEST_PATH.test(`${word}/`));
  const list = files.flatMap(({ path, symbols: { definitions } }, index) => {
    const ofFile = 0.1 * at(ranks, index) / definitions.length;
    const factor = isTest[index] && !wantsTests ? TESTS_SHARE : 1;
    return definitions.filter(({ local }) => !local).map((definition): Ranked => {
      const { name, kind } = definition;
      const slot = definers.get(name)?.slots.find((each) => fileOf[each] === index) ?? -1;
      const focused = 1 + FOCUS_FACTOR * ((inFocus[index] ?? 0) + named(name));
      const score = (at(shares, slot) + ofFile) * factor * focused * (NOISE.includes(kind) ? 0.1 : 1);
      return { path, definition, score: score + (focus.includes(name) ? 1 : 0) };
    });
  });
  // Sorting is stable: equal scores stay in the order of paths and lines.
  list.sort((a, b) => b.score - a.score);
  const isKnown = (word: string) =>
    files.some(({ path }) => path.toLowerCase().includes(word)) ||
    definers.keys().some((name) => name.toLowerCase().includes(word));
  return { list, unmatched: focus.filter((word) => !isKnown(word.toLowerCase())) };
}

function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? 0;
}

/** A word is a path, its end, a directory, or part of the last name in it. */
function matchesPath(path: string, word: string): boolean {
  return path === word || path.endsWith(`/${word}`) || `/${path}`.includes(`/${word.replace(/\/$/, "")}/`) ||
    (word.length > 2 && path.slice(path.lastIndexOf("/") + 1).includes(word));
}

function definersOf(files: readonly MappedFile[]) {
  const definers = new Map<string, Definers>();
  const fileOf: number[] = [];
  for (const [index, { symbols }] of files.entries()) {
    for (const { name, local, kind } of symbols.definitions) {
      if (local) continue;
      const isMethod = kind === "method";
      const known = definers.get(name);
      if (!known) definers.set(name, { slots: [fileOf.push(index) - 1], isMethod });
      else {
        known.isMethod &&= isMethod;
        if (fileOf[known.slots.at(-1) ?? -1] !== index) known.slots.push(fileOf.push(index) - 1);
      }
    }
  }
  return { definers, fileOf };
}

function edgesOf(
  files: readonly MappedFile[],
  definers: ReadonlyMap<string, Definers>,
  fileOf: readonly number[],
  named: (name: string) => number,
): Edges {
  const edges: Edges = { from: [], slot: [], weight: [] };
  /** For languages whose members are not known by their syntax, and for the others. */
  const any = new Map<string, { readonly slots: readonly number[]; readonly factor: number }>();
  const typed: typeof any = new Map();
  for (const [name, { slots, isMethod }] of definers) {
    if (slots.length > MAX_DEFINERS) continue;
    const factor = factorOf(name, slots.length, isMethod) * (1 + FOCUS_FACTOR * named(name)) / slots.length;
    any.set(name, { slots, factor });
    if (!isMethod || !BUILT_IN.has(name)) typed.set(isMethod ? `.${name}` : name, { slots, factor });
  }
  for (const [index, { path, symbols }] of files.entries()) {
    const targets = languageOf(path)?.queries.includes("javascript") ? typed : any;
    for (const [name, lines] of symbols.references) {
      const target = targets.get(name);
      if (!target) continue;
      const weight = target.factor * Math.sqrt(lines.length);
      for (const slot of target.slots) {
        if (fileOf[slot] === index) continue;
        edges.from.push(index);
        edges.slot.push(slot);
        edges.weight.push(weight);
      }
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
function startVector(isTest: readonly boolean[], inFocus: readonly number[]): Float64Array {
  const all = isTest.map((is) => is ? TESTS_SHARE : 1);
  const chosen = all.map((weight, index) => weight * at(inFocus, index) ** 2);
  const sum = (list: readonly number[]) => list.reduce((total, each) => total + each, 0);
  const share = sum(chosen) === 0 ? 0 : FOCUS_SHARE;
  const [whole, part] = [(1 - share) / sum(all), share === 0 ? 0 : share / sum(chosen)];
  return Float64Array.from(all, (weight, index) => weight * whole + at(chosen, index) * part);
}

/** Returns the ranks of files and the shares of slots. The part of a file without references starts again. */
function pageRank({ from, slot, weight }: Edges, fileOf: readonly number[], start: Float64Array) {
  const out = new Float64Array(start.length);
  for (const [edge, file] of from.entries()) out[file] = (out[file] ?? 0) + (weight[edge] ?? 0);
  const part = Float64Array.from(weight, (each, edge) => each / (out[from[edge] ?? 0] ?? 1));
  let ranks = start;
  let shares = new Float64Array(fileOf.length);
  for (let round = 0; round < ROUNDS; round++) {
    const idle = ranks.reduce((sum, each, index) => out[index] === 0 ? sum + each : sum, 0);
    const next = start.map((share) => share * (1 - DAMPING + DAMPING * idle));
    shares = new Float64Array(fileOf.length);
    for (let edge = 0; edge < part.length; edge++) {
      const to = slot[edge] ?? 0;
      shares[to] = (shares[to] ?? 0) + (ranks[from[edge] ?? 0] ?? 0) * (part[edge] ?? 0);
    }
    for (const [slot, file] of fileOf.entries()) {
      next[file] = (next[file] ?? 0) + DAMPING * (shares[slot] ?? 0);
    }
    ranks = next;
  }
  return { ranks, shares };
}

/** Characters of a token, as everywhere in this map. */
const TOKEN = 4;

/**
 * Returns as many of the first definitions as the budget has room for, by file, and a last line with what was
 * left out. The text never has more than `tokens` tokens.
 */
export function renderMap(
  snapshot: Snapshot,
  { list, unmatched }: ReturnType<typeof rank>,
  tokens: number,
): Answer {
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
  const text = lines.join("") + summaryOf(snapshot, shown, list.length, unmatched);
  const data = { shown, definitions: list.length, files: snapshot.files.length };
  return { text, data: { ...data, tokens: Math.ceil(text.length / TOKEN) } };
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
    ...(unmatched.length > 0
      ? [`the focus matches nothing in ${unmatched.join(" ").slice(0, 80).toWellFormed()}`]
      : []),
  ];
  return `[${parts.join("; ")}]`;
}
