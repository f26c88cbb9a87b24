/**
 * The wildcards of ignore files, path rules and searches, matched in time that grows with `glob × text` and
 * no faster.
 *
 * A repository and a model write globs, so that no engine that backtracks may read them. Each list of globs
 * becomes one automaton: braces and groups are branches of it, never a list of spelled-out alternatives. Its
 * sets of states are kept as they are met (a DFA made on demand), so that a walk pays a few look-ups a path.
 */

/**
 * The reading of wildcards. `ignore`: they stop at `/`, and `**` counts only as a whole path part
 * (gitignore(5)). `rule`: `*` is any text, `/` included, and `/**\/` also no directory at all. `search`: as
 * `ignore`, and `**` at the beginning of a part crosses `/`, `@(a|b)`, `?(…)`, `*(…)`, `+(…)`, `!(…)` and
 * `(a|b)` are groups, and `[id]` or `(group)` also represents its own text.
 */
export type GlobDialect = "ignore" | "rule" | "search";

/** A glob, and what it names below: all of it `within` and the path itself, or what is `below` alone. */
export interface GlobForm {
  readonly glob: string;
  readonly tail?: "within" | "below";
  /** The result of {@linkcode compileRanked} for it; 0 if absent. */
  readonly rank?: number;
  /** It matches directories alone. */
  readonly directoriesOnly?: boolean;
}

export interface GlobOptions {
  readonly dialect: GlobDialect;
  readonly ignoreCase?: boolean | undefined;
  /** A match may begin behind any `/`. */
  readonly anywhere?: boolean;
}

/** Reports whether a whole text matches one of the globs. */
export type GlobTest = (text: string) => boolean;

export function compileGlobs(globs: readonly (string | GlobForm)[], options: GlobOptions): GlobTest {
  const forms = globs.map((each) => typeof each === "string" ? { glob: each } : each);
  const plain = new PlainGlobs(options);
  const wild = forms.filter((form) => !plain.add(form));
  let automaton: Automaton | undefined;
  return (text) => {
    if (plain.match(text)) return true;
    if (wild.length === 0) return false;
    automaton ??= Automaton.of(wild, options);
    return automaton.match(text).directory >= 0;
  };
}

interface PlainGlob {
  readonly text: string;
  readonly tail: GlobForm["tail"] | "any";
}

/**
 * Globs without wildcards, and those of rules that end in `/**`, by the name they begin with. Most lists hold
 * nothing else, and need no automaton, which takes milliseconds to make.
 */
class PlainGlobs {
  readonly #options: GlobOptions;
  readonly #byName = new Map<string, PlainGlob[]>();

  constructor(options: GlobOptions) {
    this.#options = options;
  }

  /** Returns false for a glob that takes an automaton. */
  add({ glob, tail }: GlobForm): boolean {
    const { dialect, ignoreCase } = this.#options;
    const isOpen = dialect === "rule" && tail !== "below" && glob.endsWith("/**");
    const text = isOpen ? glob.slice(0, -2) : glob;
    if (ignoreCase || text === "" || /[*?[\]{}()|\\]/.test(text)) return false;
    const name = text.split("/", 1)[0] ?? "";
    this.#byName.set(name, [...this.#byName.get(name) ?? [], { text, tail: isOpen ? "any" : tail }]);
    return true;
  }

  match(text: string): boolean {
    if (this.#byName.size === 0) return false;
    for (let start = 0; start >= 0;) {
      const slash = text.indexOf("/", start);
      const name = text.slice(start, slash < 0 ? text.length : slash);
      if (this.#byName.get(name)?.some((glob) => matchesAt(glob, text, start))) return true;
      start = this.#options.anywhere && slash >= 0 ? slash + 1 : -1;
    }
    return false;
  }
}

function matchesAt({ text: glob, tail }: PlainGlob, text: string, start: number): boolean {
  if (!text.startsWith(glob, start)) return false;
  const end = start + glob.length;
  if (tail === "any") return true;
  if (end === text.length) return tail !== "below";
  return tail !== undefined && text[end] === "/" && (tail === "within" || end + 1 < text.length);
}

/** The highest rank among the globs that match a text, -1 when none does. */
export function compileRanked(
  globs: readonly GlobForm[],
  options: GlobOptions,
): (text: string, isDirectory: boolean) => number {
  const automaton = Automaton.of(globs, options);
  return (text, isDirectory) => automaton.match(text)[isDirectory ? "directory" : "file"];
}

/** The most alternatives that {@linkcode expandBraces} spells out by default. */
const MAX_ALTERNATIVES = 256;
/** The most groups that are spelled out, whatever they enclose. */
const MAX_GROUPS = 64;
/** The most characters between brackets; what is longer is plain text. */
const MAX_CLASS = 256;

/**
 * `a{b,c}` as `ab`, `ac`. Unbalanced braces, and those between brackets, stay as they are. Undefined when
 * there are more alternatives than `most`, or too many braces to look at all of them.
 */
export function expandBraces(pattern: string, most = MAX_ALTERNATIVES): string[] | undefined {
  if (!pattern.includes("{")) return [pattern];
  const groups = groupsIn(pattern, "ignore");
  if (groups.length > MAX_GROUPS || groups.some(({ depth }) => depth >= MAX_DEPTH)) return undefined;
  const found: string[] = [];
  for (const alternative of alternatives("", pattern)) {
    if (found.push(alternative) > most) return undefined;
  }
  return found;
}

function* alternatives(head: string, rest: string): Generator<string> {
  const [group] = groupsIn(rest, "ignore");
  if (!group) {
    yield head + rest;
    return;
  }
  const before = head + rest.slice(0, group.start);
  for (const [from, to] of partsOf(group)) {
    yield* alternatives(before, rest.slice(from, to) + rest.slice(group.end + 1));
  }
}

/** The part of a glob before its first wildcard. */
export function literalHead(glob: string): string {
  return /^(?:\\.|[^*?[\\]|\\$)*/su.exec(glob)?.[0] ?? "";
}

/** A path as the glob that means it alone. */
export function escapeGlob(path: string): string {
  return path.replace(/[*?[\]{}\\]/g, "\\$&");
}

export function unescapeGlob(glob: string): string {
  return glob.replace(/\\(.)/gs, "$1");
}

/** Braces or parentheses that enclose alternatives. */
interface Group {
  readonly kind: "{" | "(" | "@" | "?" | "*" | "+" | "!";
  /** Of the group with its sign, of its bracket, and of the bracket that closes it. */
  readonly start: number;
  readonly open: number;
  readonly end: number;
  readonly separators: readonly number[];
  /** Groups around it. */
  readonly depth: number;
}

type OpenGroup = Omit<Group, "end" | "separators"> & { readonly separators: number[] };

/** Groups within groups that are distinguished; deeper ones are plain text. */
const MAX_DEPTH = 16;

/** The groups of a glob, the outer ones first; what is escaped or between brackets belongs to none. */
function groupsIn(glob: string, dialect: GlobDialect): Group[] {
  const found: Group[] = [];
  const stack: OpenGroup[] = [];
  let braces = 0;
  const close = (end: number) => {
    const group = stack.pop();
    if (group) found.push({ ...group, end });
  };
  // A parenthesis that its braces do not close is a character.
  const dropParentheses = () => {
    while (stack.length > 0 && stack.at(-1)?.kind !== "{") stack.pop();
  };
  for (let at = 0; at < glob.length; at++) {
    const char = glob.charAt(at);
    if (char === "\\") at++;
    else if (char === "[") at = (readClass(glob, at)?.end ?? at + 1) - 1;
    else if (char === "{") {
      braces++;
      stack.push({ kind: "{", start: at, open: at, separators: [], depth: stack.length });
    } else if (char === "," && braces > 0) {
      dropParentheses();
      stack.at(-1)?.separators.push(at);
    } else if (char === "}" && braces > 0) {
      dropParentheses();
      close(at);
      braces--;
    } else if (dialect !== "search") continue;
    else if ("@?*+!".includes(char) && glob[at + 1] === "(") {
      stack.push({ kind: char as Group["kind"], start: at, open: ++at, separators: [], depth: stack.length });
    } else if (char === "(") {
      stack.push({ kind: "(", start: at, open: at, separators: [], depth: stack.length });
    } else if (stack.length === 0 || stack.at(-1)?.kind === "{") continue;
    else if (char === "|") stack.at(-1)?.separators.push(at);
    else if (char === ")") close(at);
  }
  // Nothing behind a brace that stays open is a group.
  const unclosed = stack.find(({ kind }) => kind === "{")?.start ?? Infinity;
  return found.filter(({ kind, start }) => kind !== "{" || start < unclosed)
    .sort((a, b) => a.start - b.start);
}

/** The alternatives of a group, as ranges of the glob. */
function partsOf({ open, end, separators }: Group): (readonly [from: number, to: number])[] {
  const ends = [...separators, end];
  return ends.map((to, i) => [(i === 0 ? open : ends[i - 1] ?? open) + 1, to]);
}

interface CharClass {
  /** Index behind `]`. */
  readonly end: number;
  readonly has: (code: number) => boolean;
}

/** `[a-z]`, `[!a]`, `[]a]`; undefined when the bracket is never closed, or a range runs backwards. */
function readClass(glob: string, at: number): CharClass | undefined {
  let index = at + 1;
  const negated = glob[index] === "!" || glob[index] === "^";
  if (negated) index++;
  const ranges: (readonly [from: number, to: number])[] = [];
  const character = () => {
    if (glob[index] === "\\" && index + 1 < glob.length) index++;
    return glob.charCodeAt(index++);
  };
  for (let first = true; first || glob[index] !== "]"; first = false) {
    if (index >= glob.length || index - at > MAX_CLASS) return undefined;
    const from = character();
    const isRange = glob[index] === "-" && index + 1 < glob.length && glob[index + 1] !== "]";
    if (isRange) index++;
    const to = isRange ? character() : from;
    if (to < from) return undefined;
    ranges.push([from, to]);
  }
  const has = (code: number) => ranges.some(([from, to]) => code >= from && code <= to);
  return { end: index + 1, has: (code) => code !== SLASH && has(code) !== negated };
}

const SLASH = 47;

/** Kinds of states by what they take: nothing (it leads to others), one character, or a whole part. */
const [FORK, END, CHAR, ANY, NO_SLASH, CLASS, NOT] = [0, 1, 2, 3, 4, 5, 6];

/** Positions in a glob: at its beginning, at that of a part, with one or two stars since, anywhere else. */
const [START, PART, START_STAR, PART_STAR, START_STARS, PART_STARS, INSIDE] = [0, 1, 2, 3, 4, 5, 6];
/** Added while a parenthesis that represents itself is open. */
const IN_PARENTHESIS = 8;

/** A set of states that a text can have led to. */
interface StateSet {
  readonly id: number;
  readonly states: readonly number[];
  /** The highest rank of the globs that match here, for files and for directories; -1: none. */
  readonly file: number;
  readonly directory: number;
  /** By the next character. */
  readonly next: (StateSet | undefined)[];
}

const NOWHERE: StateSet = { id: -1, states: [], file: -1, directory: -1, next: [] };

/** States and characters that the sets may hold in all before they are forgotten. */
const MAX_KEPT = 1 << 20;
/** The most states of an automaton: a part that must not match and its progress are one number together. */
const PROGRESS = 1 << 24;

/** One automaton for a list of globs. */
class Automaton {
  readonly #options: GlobOptions;
  readonly #kinds: number[] = [];
  /** Of each state the character, the index of a class or of a part that must not match. */
  readonly #values: number[] = [];
  readonly #next: number[] = [];
  readonly #other: number[] = [];
  readonly #starts: number[] = [];
  readonly #classes: ((code: number) => boolean)[] = [];
  readonly #parts: Automaton[] = [];
  /** Of each state the number of the last set that it was added to. */
  readonly #marks: number[] = [];
  #mark = 0;
  /** By a sum of their states. */
  readonly #sets = new Map<number, readonly StateSet[]>();
  #byId: StateSet[] = [];
  #kept = 0;

  constructor(options: GlobOptions) {
    this.#options = options;
  }

  static of(globs: readonly GlobForm[], options: GlobOptions): Automaton {
    const automaton = new Automaton(options);
    for (const each of globs) automaton.add(each);
    return automaton;
  }

  add({ glob, tail, rank = 0, directoriesOnly = false }: GlobForm): void {
    const end = this.state(END, rank * 2 + (directoriesOnly ? 1 : 0));
    const below = tail === undefined ? end : this.state(CHAR, SLASH);
    if (tail === "within") this.connect(below, this.loop(ANY, end));
    if (tail === "below") this.connect(below, this.state(ANY, 0, this.loop(ANY, end)));
    const exit = tail === "within" ? this.state(FORK, 0, below, end) : below;
    const start = new GlobReader(glob, this.#options.dialect, this).read(exit);
    this.#starts.push(start);
    if (this.#options.anywhere) this.#starts.push(this.loop(ANY, this.state(CHAR, SLASH, start)));
  }

  state(kind: number, value: number, next = -1, other = -1): number {
    this.#values.push(kind === CHAR ? this.#uppercase(value) : value);
    this.#marks.push(0);
    this.#next.push(next);
    this.#other.push(other);
    return this.#kinds.push(kind) - 1;
  }

  connect(state: number, next: number): void {
    this.#next[state] = next;
  }

  /** Any number of characters of a kind, and then `next`. */
  loop(kind: number, next: number): number {
    const step = this.state(kind, 0);
    return this.#next[step] = this.state(FORK, 0, step, next);
  }

  charClass(has: (code: number) => boolean, next: number): number {
    return this.state(CLASS, this.#classes.push(has) - 1, next);
  }

  /** A part of a path that must not match a glob. */
  not(glob: string, next: number): number {
    return this.state(
      NOT,
      this.#parts.push(Automaton.of([{ glob }], { ...this.#options, anywhere: false })) - 1,
      next,
    );
  }

  /** The set that a whole text leads to. */
  match(text: string): StateSet {
    if (this.#size() > MAX_KEPT) this.#forget();
    let set = this.first();
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      set = set.next[code] ?? this.follow(set, code);
      if (set.states.length === 0) return i === text.length - 1 ? set : NOWHERE;
    }
    return set;
  }

  #size(): number {
    return this.#parts.reduce((sum, part) => sum + part.#size(), this.#kept);
  }

  /** Only between two texts: what a set of one part holds is known to others by its number. */
  #forget(): void {
    this.#sets.clear();
    this.#byId = [];
    this.#kept = 0;
    for (const part of this.#parts) part.#forget();
  }

  /** The set before any character. */
  first(): StateSet {
    return this.#byId[0] ?? this.#collect([...this.#starts]);
  }

  set(id: number): StateSet {
    return this.#byId[id] ?? NOWHERE;
  }

  /** The set after one more character. */
  follow(set: StateSet, code: number): StateSet {
    const known = set.next[code];
    if (known) return known;
    const uppercase = this.#uppercase(code);
    const entered: number[] = [];
    const progress = new Set<number>();
    for (const state of set.states) {
      if (state >= PROGRESS) {
        if (code !== SLASH) this.#continue(state, code, progress, entered);
      } else if (this.#takes(state, code, uppercase)) entered.push(this.#next[state] ?? -1);
    }
    return set.next[code] = this.#collect(entered, progress);
  }

  /** One more character of a part that must not match. */
  #continue(at: number, code: number, progress: Set<number>, entered: number[]): void {
    const state = at % PROGRESS;
    const part = this.#parts[this.#values[state] ?? 0];
    const after = part?.follow(part.set(Math.floor(at / PROGRESS) - 1), code) ?? NOWHERE;
    progress.add(state + (after.id + 1) * PROGRESS);
    if (after.directory < 0) entered.push(this.#next[state] ?? -1);
  }

  #takes(state: number, code: number, uppercase: number): boolean {
    switch (this.#kinds[state]) {
      case CHAR:
        return uppercase === this.#values[state];
      case CLASS:
        return this.#inClass(this.#values[state] ?? 0, code);
      case ANY:
        return true;
      default:
        return code !== SLASH;
    }
  }

  #inClass(index: number, code: number): boolean {
    const has = this.#classes[index] ?? (() => false);
    if (!this.#options.ignoreCase) return has(code);
    const char = String.fromCharCode(code);
    return [char, char.toLowerCase(), char.toUpperCase()].some((each) =>
      each.length === 1 && has(each.charCodeAt(0))
    );
  }

  #uppercase(code: number): number {
    if (!this.#options.ignoreCase) return code;
    const upper = String.fromCharCode(code).toUpperCase();
    return upper.length === 1 ? upper.charCodeAt(0) : code;
  }

  /** The set of these states and all that they lead to without a character. */
  #collect(open: number[], progress: Set<number> = new Set()): StateSet {
    const found: number[] = [];
    const mark = ++this.#mark;
    let [file, directory] = [-1, -1];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (state < 0 || this.#marks[state] === mark) continue;
      this.#marks[state] = mark;
      const value = this.#values[state] ?? 0;
      switch (this.#kinds[state]) {
        case FORK:
          open.push(this.#other[state] ?? -1, this.#next[state] ?? -1);
          break;
        case END:
          if (value % 2 === 0) file = Math.max(file, value >> 1);
          directory = Math.max(directory, value >> 1);
          break;
        case NOT: {
          const inner = this.#parts[value]?.first() ?? NOWHERE;
          progress.add(state + (inner.id + 1) * PROGRESS);
          if (inner.directory < 0) open.push(this.#next[state] ?? -1);
          break;
        }
        default:
          found.push(state);
      }
    }
    found.push(...progress);
    const isFound = (state: number) => state < PROGRESS ? this.#marks[state] === mark : progress.has(state);
    const hash = found.reduce((sum, state) => (sum + mixed(state)) | 0, 0);
    const alike = this.#sets.get(hash) ?? [];
    const known = alike.find((set) =>
      set.file === file && set.directory === directory && set.states.length === found.length &&
      set.states.every(isFound)
    );
    if (known) return known;
    const made = { id: this.#byId.length, states: found, file, directory, next: [] };
    this.#sets.set(hash, [...alike, made]);
    this.#byId.push(made);
    this.#kept += found.length + 128;
    return made;
  }
}

/** A number for a state by which sums of several are unlikely to be the same. */
function mixed(state: number): number {
  const spread = Math.imul(state + 1, 0x9e3779b1);
  return Math.imul(spread ^ (spread >>> 15), 0x85ebca6b);
}

/** Turns one glob into states: one for each position in it and each way to have come there. */
class GlobReader {
  readonly #glob: string;
  readonly #dialect: GlobDialect;
  readonly #make: Automaton;
  readonly #groups = new Map<number, Group>();
  /** Positions that lead to others without a character. */
  readonly #jumps = new Map<number, readonly number[]>();
  readonly #beginnings: readonly number[];
  readonly #closing = new Set<number>();
  readonly #known = new Map<number, number>();
  #todo: (readonly [state: number, at: number, mode: number])[] = [];
  #exit = -1;

  constructor(glob: string, dialect: GlobDialect, make: Automaton) {
    this.#glob = glob;
    this.#dialect = dialect;
    this.#make = make;
    const groups = groupsIn(glob, dialect).filter(({ depth }) => depth < MAX_DEPTH);
    for (const group of groups) {
      this.#groups.set(group.start, group);
      const { kind, end, separators } = group;
      const repeats = kind === "*" || kind === "+";
      for (const at of [...separators, end]) {
        this.#jumps.set(at, repeats ? [...partsOf(group).map(([from]) => from), end + 1] : [end + 1]);
      }
      if (kind === "(" && separators.length === 0) this.#closing.add(end);
    }
    this.#beginnings = dialect === "search" ? this.#barsOutside(groups) : [];
  }

  /** Bars outside of all groups part the whole glob. */
  #barsOutside(groups: readonly Group[]): number[] {
    const found: number[] = [];
    let inside = -1;
    for (let at = 0; at < this.#glob.length; at++) {
      const char = this.#glob[at];
      inside = Math.max(inside, groups.find(({ start }) => start === at)?.end ?? -1);
      if (char === "\\") at++;
      else if (char === "[") at = (readClass(this.#glob, at)?.end ?? at + 1) - 1;
      else if (char === "|" && at > inside) {
        found.push(at + 1);
        this.#jumps.set(at, [this.#glob.length]);
      }
    }
    return found;
  }

  read(exit: number): number {
    this.#exit = exit;
    const mode = this.#dialect === "rule" ? INSIDE : START;
    const start = this.#all([0, ...this.#beginnings], mode);
    for (let next = this.#todo.pop(); next; next = this.#todo.pop()) {
      const [state, at, how] = next;
      this.#make.connect(state, this.#from(at, how));
    }
    return start;
  }

  /** The state at a position; what it leads to is found later, so that long globs need no deep stack. */
  #at(at: number, mode: number): number {
    const key = at * 16 + mode;
    let state = this.#known.get(key);
    if (state === undefined) {
      this.#known.set(key, state = this.#make.state(FORK, 0));
      this.#todo.push([state, at, mode]);
    }
    return state;
  }

  #all(positions: readonly number[], mode: number): number {
    return positions.map((at) => this.#at(at, mode)).reduce((a, b) => this.#make.state(FORK, 0, a, b));
  }

  #from(at: number, mode: number): number {
    const how = mode & ~IN_PARENTHESIS;
    const inside = INSIDE | (mode & IN_PARENTHESIS);
    const char = this.#glob[at];
    const jumps = this.#jumps.get(at);
    if (jumps && !(mode & IN_PARENTHESIS && this.#closing.has(at))) return this.#all(jumps, mode);
    const group = this.#groups.get(at);
    if (how === START_STARS || how === PART_STARS) {
      if (!group || group.kind === "*") return this.#afterTwoStars(at, mode);
    } else if (how === START_STAR || how === PART_STAR) {
      if (char === "*" && group?.kind !== "*") return this.#at(at + 1, mode + 2);
      if (group?.kind !== "{") return this.#make.loop(this.#star, this.#at(at, inside));
    }
    if (group) return this.#group(group, mode);
    if (char === undefined) return this.#exit;
    if (char === "*") {
      return how === INSIDE
        ? this.#make.loop(this.#star, this.#at(at + 1, mode))
        : this.#at(at + 1, mode + 2);
    }
    return this.#character(at, inside);
  }

  get #star(): number {
    return this.#dialect === "rule" ? ANY : NO_SLASH;
  }

  #character(at: number, inside: number): number {
    const char = this.#glob.charAt(at);
    const code = this.#glob.charCodeAt(at);
    if (char === "?") return this.#make.state(this.#star, 0, this.#at(at + 1, inside));
    if (char === "\\") {
      const escaped = at + 1 < this.#glob.length ? this.#glob.charCodeAt(at + 1) : code;
      return this.#make.state(CHAR, escaped, this.#at(Math.min(at + 2, this.#glob.length), inside));
    }
    const mode = char === "/" ? PART | (inside & IN_PARENTHESIS) : this.#closing.has(at) ? INSIDE : inside;
    const itself = () => this.#make.state(CHAR, code, this.#at(at + 1, mode));
    const found = char === "[" ? readClass(this.#glob, at) : undefined;
    if (!found) return itself();
    const inClass = this.#make.charClass(found.has, this.#at(found.end, inside));
    return this.#dialect === "search" ? this.#make.state(FORK, 0, inClass, itself()) : inClass;
  }

  #group(group: Group, mode: number): number {
    const { kind, open, end } = group;
    const parts = partsOf(group).map(([from]) => from);
    const inside = INSIDE | (mode & IN_PARENTHESIS);
    if (kind === "!") return this.#make.not(`@${this.#glob.slice(open, end + 1)}`, this.#at(end + 1, inside));
    const choice = this.#all(kind === "?" || kind === "*" ? [...parts, end + 1] : parts, mode);
    if (!this.#closing.has(end)) return choice;
    const itself = this.#make.state(CHAR, "(".charCodeAt(0), this.#at(open + 1, INSIDE | IN_PARENTHESIS));
    return this.#make.state(FORK, 0, choice, itself);
  }

  /** Two stars that begin a part: what follows reports whether they are all of it. */
  #afterTwoStars(at: number, mode: number): number {
    const char = this.#glob[at];
    const isStart = (mode & ~IN_PARENTHESIS) === START_STARS;
    const parenthesis = mode & IN_PARENTHESIS;
    const rule = this.#dialect === "rule";
    if (char === "/") {
      const next = this.#at(at + 1, (rule ? INSIDE : isStart ? START : PART) | parenthesis);
      const slash = this.#make.state(CHAR, SLASH, next);
      return this.#make.state(FORK, 0, next, this.#make.loop(ANY, slash));
    }
    if (char === undefined) {
      const rest = this.#make.loop(ANY, this.#exit);
      return isStart || rule ? rest : this.#make.state(ANY, 0, rest);
    }
    const crosses = rule || (this.#dialect === "search" && char !== "*");
    return this.#make.loop(crosses ? ANY : NO_SLASH, this.#at(at, INSIDE | parenthesis));
  }
}
