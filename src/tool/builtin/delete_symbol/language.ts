/** How a language writes comments, strings and declarations, as far as finding a symbol needs it. */
export interface Language {
  readonly family: "js" | "go" | "rust" | "python" | "c";
  readonly lineComment: readonly string[];
  readonly blockComment: boolean;
  readonly nestedComment: boolean;
  /** Quotes of strings that end on their line. */
  readonly quotes: string;
  /** Delimiters of strings that may span lines. */
  readonly longQuotes: readonly string[];
  /** Whether a statement ends with its line when nothing is open. */
  readonly newlineEnds: boolean;
}

const SLASHES = { lineComment: ["//"], blockComment: true, nestedComment: false };

const JS: Language = { ...SLASHES, family: "js", quotes: "\"'", longQuotes: ["`"], newlineEnds: true };
const GO: Language = { ...SLASHES, family: "go", quotes: "\"'", longQuotes: ["`"], newlineEnds: true };
const RUST: Language = {
  ...SLASHES,
  family: "rust",
  nestedComment: true,
  quotes: "'",
  longQuotes: ['"'],
  newlineEnds: false,
};
const C: Language = { ...SLASHES, family: "c", quotes: "\"'", longQuotes: [], newlineEnds: false };
const LONG_C: Language = { ...C, longQuotes: ['"""'] };
const OPEN_C: Language = { ...LONG_C, newlineEnds: true };
const PYTHON: Language = {
  family: "python",
  lineComment: ["#"],
  blockComment: false,
  nestedComment: false,
  quotes: "\"'",
  longQuotes: ['"""', "'''"],
  newlineEnds: true,
};

const BY_EXTENSION: Readonly<Record<string, Language>> = {
  ts: JS,
  tsx: JS,
  mts: JS,
  cts: JS,
  js: JS,
  jsx: JS,
  mjs: JS,
  cjs: JS,
  go: GO,
  rs: RUST,
  py: PYTHON,
  pyi: PYTHON,
  c: C,
  h: C,
  cc: C,
  cpp: C,
  cxx: C,
  hh: C,
  hpp: C,
  java: LONG_C,
  cs: LONG_C,
  dart: C,
  kt: OPEN_C,
  swift: OPEN_C,
  scala: OPEN_C,
  php: { ...C, lineComment: ["//", "#"] },
};

export function languageOf(path: string): Language | undefined {
  return BY_EXTENSION[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ""];
}
