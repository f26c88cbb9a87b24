/** Definitions and references of source files, by the grammars of tree-sitter. */
import { inflateRawSync } from "node:zlib";
import type { Node, Parser, Query, QueryMatch } from "web-tree-sitter";
import { PluginError } from "../common/plugin.ts";
import { type Kind, KINDS, type MapLanguage } from "./languages.ts";

export interface Definition {
  readonly name: string;
  readonly kind: Kind;
  /** 1-indexed, as all lines of the map. */
  readonly line: number;
  readonly end: number;
  /** The number of definitions that contain it. */
  readonly depth: number;
  /** Other files cannot name it: it is in the body of a function, or a module does not export it. */
  readonly local: boolean;
  /** The type of a method in Go, Rust or C++ that is not within its definition. */
  readonly owner?: string;
  /** The line with its name, or the first one of a definition in C whose name comes last. */
  readonly text: string;
}

/** The symbols of one file. */
export interface FileSymbols {
  /** In the order of the text. */
  readonly definitions: readonly Definition[];
  /** Names and their sorted lines. A name with a dot before it is that of a member for certain. */
  readonly references: readonly (readonly [string, readonly number[]])[];
  /** The grammar found errors; the symbols are those of the rest. */
  readonly broken: boolean;
}

/** A file that takes longer has no symbols. */
const MAX_PARSE_MS = 10_000;
const MAX_TEXT = 100;

/** A header with such a line is no C. */
const CPP_HEADER = /^\s*(?:class|namespace|template|using|public:|private:)(?:\W|$)/m;

interface Loaded {
  readonly parser: Parser;
  readonly query: Query;
}

/** A parser for all languages of the map, which loads a grammar for the first file that needs it. */
export class SymbolParser {
  readonly #entry: string;
  readonly #loaded = new Map<string, Promise<Loaded>>();
  #library: Promise<typeof import("web-tree-sitter")> | undefined;

  /** `entry` is the module that the process started with: the grammars are next to it. */
  constructor(entry: string) {
    this.#entry = entry;
  }

  async parse({ name }: MapLanguage, text: string): Promise<FileSymbols> {
    const { parser, query } = await this.#ready(name === "c" && CPP_HEADER.test(text) ? "cpp" : name);
    const until = performance.now() + MAX_PARSE_MS;
    const progressCallback = () => performance.now() > until;
    const tree = parser.parse(text, null, { progressCallback });
    if (!tree) {
      parser.reset();
      return { definitions: [], references: [], broken: true };
    }
    try {
      const matches = query.matches(tree.rootNode, { progressCallback });
      return { ...symbolsOf(matches, text), broken: tree.rootNode.hasError };
    } finally {
      tree.delete();
    }
  }

  /** Loads the grammars of languages next to each other; a failure is that of the first file. */
  async prepare(languages: ReadonlySet<MapLanguage>): Promise<void> {
    await Promise.allSettled(Array.from(languages, ({ name }) => this.#ready(name)));
  }

  #ready(language: string): Promise<Loaded> {
    let loading = this.#loaded.get(language);
    if (!loading) this.#loaded.set(language, loading = this.#load(language));
    return loading;
  }

  async #load(name: string): Promise<Loaded> {
    const { Language, Parser, Query } = await (this.#library ??= loadLibrary(this.#entry));
    const { wasm, query } = await readGrammar(this.#entry, name);
    const language = await Language.load(wasm);
    return { parser: new Parser().setLanguage(language), query: new Query(language, query) };
  }
}

async function loadLibrary(entry: string) {
  const library = await import("web-tree-sitter");
  await library.Parser.init({ wasmBinary: (await readGrammar(entry, "parser")).wasm });
  return library;
}

/** Reads a grammar from the file of the build, or from the packages when the plugin runs from sources. */
async function readGrammar(entry: string, name: string): Promise<{ wasm: Uint8Array; query: string }> {
  if (entry.endsWith("/plugins/main.ts")) {
    const { grammarSource } = await import(new URL("../scripts/bundle/grammars.ts", entry).href);
    return await grammarSource(name);
  }
  const path = new URL("reasonix.grammars.bin", entry);
  try {
    const bytes = await Deno.readFile(path);
    const head = new DataView(bytes.buffer).getUint32(0, true);
    const index = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + head)));
    const [wasm, query] = ["wasm", "query"].map((part) => {
      const [offset, length] = index[name][part];
      return inflateRawSync(bytes.subarray(4 + head + offset, 4 + head + offset + length));
    });
    return { wasm: wasm ?? bytes, query: new TextDecoder().decode(query) };
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new PluginError(`Cannot read the grammar ${name} of ${path.pathname}: ${cause}`, "install again");
  }
}

interface Found {
  readonly name: string;
  readonly row: number;
  /** Of a definition. */
  readonly kind?: Kind;
  readonly node?: Node;
  readonly local?: boolean;
  readonly owner?: string | undefined;
}

const KIND_OF = new Map<string, Kind>(KINDS.map((kind) => [`definition.${kind}`, kind]));
const ROLE = /^(?:definition|reference)\./;
const MEMBER = new Set(["property_identifier", "private_property_identifier"]);

/** A node with a name is one symbol, whatever number of patterns match it: see `queries/`. */
function symbolsOf(matches: readonly QueryMatch[], text: string): Omit<FileSymbols, "broken"> {
  const found = new Map<number, Found>();
  const patterns = new Map<number, number>();
  const exported = new Set<string>();
  let isModule = false;
  for (const { captures, patternIndex } of matches) {
    let named: Node | undefined, node: Node | undefined, owner: string | undefined, role = "", local = false;
    for (const capture of captures) {
      if (capture.name === "name") named = capture.node;
      else if (capture.name === "local") local = true;
      else if (capture.name === "owner") owner = typeName(capture.node.text);
      else if (capture.name === "use" || ROLE.test(capture.name)) [role, node] = [capture.name, capture.node];
    }
    // Our references have no other name than their node.
    named ??= role.startsWith("reference.") ? node : undefined;
    if (!named || role === "") continue;
    const at = named.startIndex;
    const name = text.slice(at, named.endIndex);
    if (name === "" || /\s/.test(name)) continue;
    if (role === "reference.export") exported.add(name);
    isModule ||= role === "reference.module";
    const row = named.startPosition.row;
    const kind = KIND_OF.get(role);
    if (!kind && role !== "use" && found.has(at)) continue;
    if (kind || role === "use") {
      if ((patterns.get(at) ?? -1) >= patternIndex) continue;
      patterns.set(at, patternIndex);
    }
    found.set(
      at,
      kind && node
        ? { name, row, kind, node, local, owner }
        : { name: MEMBER.has(named.type) ? `.${name}` : name, row },
    );
  }
  const definitions: (readonly [number, Found])[] = [];
  const references = new Map<string, number[]>();
  for (const [at, symbol] of found) {
    const lines = references.get(symbol.name);
    if (symbol.kind) definitions.push([at, symbol]);
    else if (lines) lines.push(symbol.row + 1);
    else references.set(symbol.name, [symbol.row + 1]);
  }
  const inOrder = definitions.sort(([a], [b]) => a - b).map(([, symbol]) => symbol);
  return {
    definitions: nested(inOrder, text.split("\n"), exported, isModule || exported.size > 0),
    references: [...references].map(([name, lines]) =>
      [name, lines.length === 1 ? lines : [...new Set(lines)].sort((a, b) => a - b)] as const
    ),
  };
}

/** Nodes around the declarator of a function in C, which has no body. */
const BODIES = /_declarator$|^(?:function_definition|declaration|field_declaration)$/;
const DECLARATIONS = /^(?:lexical|variable)_declaration$/;

function nested(
  found: readonly Found[],
  lines: readonly string[],
  exported: ReadonlySet<string>,
  isModule: boolean,
): readonly Definition[] {
  const open: { readonly end: number; readonly local: boolean; readonly isExported: boolean }[] = [];
  const list = found.map(({ name, row, kind = "constant", node, local = false, owner }) => {
    let whole = node;
    if (node?.type === "function_declarator") {
      for (let up = node.parent; up && BODIES.test(up.type); up = up.parent) whole = up;
    }
    const [start, end] = [node?.startIndex ?? 0, whole?.endIndex ?? 0];
    while ((open.at(-1)?.end ?? Infinity) <= start) open.pop();
    const depth = open.length;
    const inner = local || open.at(-1)?.local === true;
    const isExported = open[0]?.isExported ?? (exported.has(name) || hasExport(node));
    open.push({ end, local: inner || kind === "function" || kind === "method", isExported });
    isModule ||= isExported;
    const lineOf = (at: number) => (lines[at] ?? "").trim().replaceAll(/\s+/g, " ").replace(/\s*\{$/, "");
    const last = lineOf(row);
    const line = last.startsWith("}") ? lineOf(node?.startPosition.row ?? row) : last;
    const shown = line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT - 1).toWellFormed()}…` : line;
    const definition = {
      name,
      kind,
      line: row + 1,
      end: (whole?.endPosition.row ?? row) + 1,
      depth,
      ...(owner === undefined ? {} : { owner }),
      text: shown,
    };
    return { definition, local: inner, isExported };
  });
  return list.map(({ definition, local, isExported }) => (
    { ...definition, local: local || (isModule && !isExported) }
  ));
}

/** The name of a type without its module and arguments. */
function typeName(type: string): string | undefined {
  return /([\p{L}_][\p{L}\p{N}_]*)\s*(?:[<[].*)?$/su.exec(type)?.[1];
}

function hasExport(node: Node | undefined): boolean {
  let up = node?.parent;
  while (up && DECLARATIONS.test(up.type)) up = up.parent;
  return up?.type === "export_statement" || node?.type === "export_statement";
}
