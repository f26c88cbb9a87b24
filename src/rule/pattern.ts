/**
 * One small pattern language for rules and for what a command line is known to become.
 *
 * A text is a string in which control characters, which no judged line may contain, represent what is not
 * known: {@linkcode ANY} any text at all, {@linkcode STAR} and {@linkcode ONE} what a glob left open. Words
 * are joined by {@linkcode SEP}.
 */

/** Boundary between two words. */
export const SEP = "\x01";
/** Any text, word boundaries included: a rule's `*`, or an expansion that only the shell can do. */
export const ANY = "\x02";
/** One character: a rule's `?`, a glob's `?` or `[…]`. */
export const ONE = "\x03";
/** A glob's `*`: any text without a slash. */
export const STAR = "\x04";

const MARKS = new RegExp(`[${ANY}${ONE}${STAR}]`);

export function isKnown(text: string): boolean {
  return !MARKS.test(text);
}

/** Reports where the first unknown part begins, or -1. */
export function firstMark(text: string): number {
  return text.search(MARKS);
}

/** `no`, `yes` for every possible value of the text, or `maybe` when some values match. */
export type Match = "yes" | "maybe" | "no";

/** Turns a rule's `*` and `?` into marks. */
export function toPattern(spec: string): string {
  return spec.replace(/\*+/g, ANY).replaceAll("?", ONE);
}

/** Matches a whole text against a rule pattern made by {@linkcode toPattern}. */
export function matchPattern(pattern: string, text: string): Match {
  if (!literalHeadsAgree(pattern, text)) return "no";
  if (isKnown(pattern) ? pattern === text : covers.run(pattern, text)) return "yes";
  if (isKnown(text)) return "no";
  return pattern.length * text.length > MAX_WORK || intersects.run(pattern, text) ? "maybe" : "no";
}

function literalHeadsAgree(pattern: string, text: string): boolean {
  const length = Math.min(pattern.length, text.length);
  for (let i = 0; i < length; i++) {
    const a = pattern.charCodeAt(i);
    const b = text.charCodeAt(i);
    if ((a >= 2 && a <= 4) || (b >= 2 && b <= 4)) return true;
    if (a !== b) return false;
  }
  return true;
}

/** One bit for each position in a pattern, in words of 32. */
type Bits = Uint32Array;

/** The effect of one character of a text on the positions in a pattern that the text can have led to. */
interface Step {
  /** Positions behind an open part of the pattern that takes the character. */
  readonly stay: Bits;
  /** Positions behind a character of the pattern that meets this one. */
  readonly meet: Bits;
  /** Positions that are reached from the one before without a further character. */
  readonly skip: Bits;
}

/** The relation between the characters of a pattern and those of a text. */
interface Relation {
  /** Reports whether a part of the pattern takes any number of such characters. */
  readonly takes: (part: string, char: string) => boolean;
  readonly meets: (part: string, char: string) => boolean;
  /** Reports whether a character of the text takes any number of such parts. */
  readonly isTaken: (char: string, part: string) => boolean;
}

/** An unknown part of the text is only covered by the pattern's own `ANY`. */
const COVERS: Relation = {
  takes: (part) => part === ANY,
  meets: (part, char) => part === char ? !isOpen(part) : part === ONE && !isOpen(char) && char !== SEP,
  isTaken: () => false,
};

/** The two have a value in common. */
const INTERSECTS: Relation = {
  takes: (part, char) => isOpen(part) && fits(part, char),
  meets: (part, char) => part === char || (part === ONE && char !== SEP) || (char === ONE && part !== SEP),
  isTaken: (char, part) => isOpen(char) && fits(char, part),
};

/**
 * Walks through a text with all positions in a pattern at once, 32 of them in one operation. Patterns come
 * from repositories and texts from models, so that no pair of them may take long.
 */
class Walker {
  readonly #pattern: string;
  readonly #relation: Relation;
  readonly #known: ReadonlySet<string>;
  readonly #steps = new Map<string, Step>();
  /** The step of every character that the pattern does not have. */
  readonly #other: Step;
  readonly #start: Bits;

  constructor(pattern: string, relation: Relation) {
    this.#pattern = pattern;
    this.#relation = relation;
    this.#known = new Set([...pattern.split(""), ANY, ONE, STAR, SEP, "/"]);
    let code = 0xe000;
    while (this.#known.has(String.fromCharCode(code))) code++;
    this.#other = this.#step(String.fromCharCode(code));
    this.#start = new Uint32Array((pattern.length >> 5) + 1);
    setBit(this.#start, 0);
    fill(this.#start, this.#other.skip);
  }

  run(text: string): boolean {
    const now = this.#start.slice();
    for (let i = 0; i < text.length; i++) {
      const char = text.charAt(i);
      let step = this.#steps.get(char);
      if (!step) this.#steps.set(char, step = this.#known.has(char) ? this.#step(char) : this.#other);
      let carry = 0;
      let alive = 0;
      for (let w = 0; w < now.length; w++) {
        const old = now[w] ?? 0;
        const met = ((old << 1) | carry) & (step.meet[w] ?? 0);
        carry = old >>> 31;
        alive |= now[w] = (old & (step.stay[w] ?? 0)) | met;
      }
      if (alive === 0) return false;
      fill(now, step.skip);
    }
    const { length } = this.#pattern;
    return ((now[length >> 5] ?? 0) >>> (length & 31) & 1) === 1;
  }

  #step(char: string): Step {
    const { takes, meets, isTaken } = this.#relation;
    const opens = isTaken(char, "a");
    const step = { stay: this.#none(), meet: this.#none(), skip: this.#none() };
    if (opens) setBit(step.stay, 0);
    for (let i = 0; i < this.#pattern.length; i++) {
      const part = this.#pattern.charAt(i);
      if (opens || takes(part, char)) setBit(step.stay, i + 1);
      if (meets(part, char)) setBit(step.meet, i + 1);
      if (takes(part, "a") || isTaken(char, part)) setBit(step.skip, i + 1);
    }
    return step;
  }

  #none(): Bits {
    return new Uint32Array((this.#pattern.length >> 5) + 1);
  }
}

function setBit(bits: Bits, at: number): void {
  bits[at >> 5] = (bits[at >> 5] ?? 0) | (1 << (at & 31));
}

/**
 * Adds the positions that follow one of these without a gap in `through`: a sum carries to the end of a run.
 */
function fill(bits: Bits, through: Bits): void {
  let shifted = 0;
  let carry = 0;
  for (let w = 0; w < bits.length; w++) {
    const old = bits[w] ?? 0;
    const run = through[w] ?? 0;
    const begun = (((old << 1) | shifted) & run) >>> 0;
    shifted = old >>> 31;
    const sum = run + begun + carry;
    carry = sum > 0xffffffff ? 1 : 0;
    bits[w] = old | (((sum ^ run) | begun) & run);
  }
}

/** Characters of patterns whose walkers are kept: a rule is compared with many texts. */
const MAX_KEPT = 64 * 1024;

class Walkers {
  readonly #relation: Relation;
  #known = new Map<string, Walker>();
  #length = 0;

  constructor(relation: Relation) {
    this.#relation = relation;
  }

  run(pattern: string, text: string): boolean {
    let walker = this.#known.get(pattern);
    if (!walker) {
      if ((this.#length += pattern.length) > MAX_KEPT) {
        this.#known = new Map();
        this.#length = pattern.length;
      }
      this.#known.set(pattern, walker = new Walker(pattern, this.#relation));
    }
    return walker.run(text);
  }
}

const covers = new Walkers(COVERS);
const intersects = new Walkers(INTERSECTS);

/** Beyond this product of lengths a partly unknown text may be anything that a pattern names. */
const MAX_WORK = 1 << 28;

function isOpen(c: string): boolean {
  return c === ANY || c === STAR;
}

function fits(open: string, c: string): boolean {
  return open === ANY || (c !== "/" && c !== SEP);
}
