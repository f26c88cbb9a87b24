/** The languages of the map: their grammars, and the files that are written in them. */

/** Kinds of definitions, for all languages. A struct is a class, a trait an interface, a property a field. */
export const KINDS = [
  "class",
  "interface",
  "type",
  "enum",
  "function",
  "method",
  "constant",
  "field",
  "module",
  "macro",
] as const;
export type Kind = typeof KINDS[number];

export interface MapLanguage {
  readonly name: string;
  /** The npm package of the grammar. */
  readonly package: string;
  /** A file of that package. */
  readonly wasm: string;
  /**
   * Names of queries that find its symbols: `tags.scm` of the package `tree-sitter-NAME`, and our additions
   * in `queries/NAME.scm`.
   */
  readonly queries: readonly string[];
  /** Ends of file names after the last dot, or whole names, in lower case. */
  readonly endings: readonly string[];
}

/** Queries that no package has a `tags.scm` for. */
export const WITHOUT_TAGS: readonly string[] = ["bash", "jsx"];

function language(
  name: string,
  endings: string,
  { package: from = `tree-sitter-${name}`, wasm = `${from}.wasm`, queries = [name] }: Partial<MapLanguage> =
    {},
): MapLanguage {
  return { name, package: from, wasm, queries, endings: endings.split(" ") };
}

const typed = { package: "tree-sitter-typescript", queries: ["javascript", "typescript"] };

export const LANGUAGES: readonly MapLanguage[] = [
  language("typescript", ".ts .mts .cts", typed),
  language("tsx", ".tsx", { ...typed, wasm: "tree-sitter-tsx.wasm", queries: [...typed.queries, "jsx"] }),
  language("javascript", ".js .mjs .cjs .jsx", { queries: ["javascript", "jsx"] }),
  language("python", ".py .pyi"),
  language("go", ".go"),
  language("rust", ".rs"),
  language("java", ".java"),
  language("c", ".c .h"),
  language("cpp", ".cc .cpp .cxx .c++ .hh .hpp .hxx .ipp"),
  language("c-sharp", ".cs", { wasm: "tree-sitter-c_sharp.wasm" }),
  language("ruby", ".rb .rake .gemspec rakefile gemfile"),
  language("php", ".php .phtml"),
  language("bash", ".sh .bash"),
];

const BY_ENDING = new Map(LANGUAGES.flatMap((each) => each.endings.map((end) => [end, each] as const)));

/** Returns the language of a file by its name. */
export function languageOf(path: string): MapLanguage | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const dot = name.lastIndexOf(".");
  return BY_ENDING.get(dot > 0 ? name.slice(dot) : name);
}
