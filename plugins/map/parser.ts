/** Definitions and references of source files, by the grammars of tree-sitter. */
import { inflateRawSync } from "node:zlib";
import type { Language, Node, Parser, Query, QueryMatch } from "web-tree-sitter";
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
  /** The line with its name. */
  readonly text: string;
}

/** The symbols of one file. */
export interface FileSymbols {
  /** In the order of the text. */
  readonly definitions: readonly Definition[];
  /** Names and their lines, both sorted. A name with a dot before it is that of a member for certain. */
  readonly references: readonly (readonly [string, readonly number[]])[];
  /** The grammar found errors; the symbols are those of the rest. */
  readonly broken: boolean;
}

/** Bytes of a grammar and the query for its symbols. */
interface Grammar {
  readonly wasm: Uint8Array;
  readonly query: string;
}

/** A file that takes longer has no symbols. */
const MAX_PARSE_MS = 10_000;
const MAX_TEXT = 100;

/** A parser for all languages of the map, which loads a grammar when it meets the first file for it. */
export class SymbolParser {
  readonly #entry: string;
  readonly #languages = new Map<string, Promise<{ readonly language: Language; readonly query: Query }>>();
  #library:
    | Promise<{ readonly module: typeof import("web-tree-sitter"); readonly parser: Parser }>
    | undefined;

  /** `entry` is the module that the process started with: the grammars are next to it. */
  constructor(entry: string) {
    this.#entry = entry;
  }

  async parse(language: MapLanguage, text: string): Promise<FileSymbols> {
    const { parser } = await (this.#library ??= loadParser(this.#entry));
    let loaded = this.#languages.get(language.name);
    if (!loaded) this.#languages.set(language.name, loaded = this.#load(language.name));
    const { language: grammar, query } = await loaded;
    parser.setLanguage(grammar);
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

  async #load(name: string): Promise<{ readonly language: Language; readonly query: Query }> {
    const { module } = await (this.#library ??= loadParser(this.#entry));
    const { wasm, query } = await readGrammar(this.#entry, name);
    const language = await module.Language.load(wasm);
    return { language, query: new module.Query(language, query) };
  }
}

async function loadParser(entry: string) {
  const module = await import("web-tree-sitter");
  await module.Parser.init({ wasmBinary: (await readGrammar(entry, "parser")).wasm });
  return { module, parser: new module.Parser() };
}

/** Reads a grammar from the file of the build, or from the packages when the plugin runs from sources. */
async function readGrammar(entry: string, name: string): Promise<Grammar> {
  if (entry.endsWith("/plugins/main.ts")) {
    const { grammarSource } = await import(new URL("../scripts/bundle/grammars.ts", entry).href);
    return await grammarSource(name);
  }
  const path = new URL("reasonix.grammars.bin", entry);
  try {
    using file = await Deno.open(path);
    const read = async (offset: number, length: number) => {
      const bytes = new Uint8Array(length);
      await file.seek(offset, Deno.SeekMode.Start);
      for (let at = 0; at < length;) {
        const count = await file.read(bytes.subarray(at));
        if (count === null) throw new Error("The file is cut");
        at += count;
      }
      return bytes;
    };
    const head = new DataView((await read(0, 4)).buffer).getUint32(0, true);
    const index = JSON.parse(new TextDecoder().decode(await read(4, head)));
    const part = async ([offset, length]: [number, number]) =>
      inflateRawSync(await read(4 + head + offset, length));
    const { wasm, query } = index[name];
    return { wasm: await part(wasm), query: new TextDecoder().decode(await part(query)) };
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
}

const MEMBER = new Set(["property_identifier", "private_property_identifier"]);

/** A node with a name is one symbol, whatever number of patterns match it: see `queries/`. */
function symbolsOf(matches: readonly QueryMatch[], text: string): Omit<FileSymbols, "broken"> {
  const found = new Map<number, Found>();
  const used = new Set<number>();
  const patterns = new Map<number, number>();
  const exported = new Set<string>();
  let isModule = false;
  for (const { captures, patternIndex } of matches) {
    let named: Node | undefined, definition: Node | undefined, kind: Kind | undefined, known = false;
    let local = false, exports = false;
    for (const { name, node } of captures) {
      if (name === "name") named = node;
      else if (name.startsWith("definition.")) [definition, kind, known] = [node, kindOf(name), true];
      else if (name === "local") local = true;
      else if (name === "use" || name.startsWith("reference.")) known = true;
      if (name === "use" && named) used.add(named.startIndex);
      if (name === "reference.export") exports = true;
      if (name === "reference.module") isModule = true;
    }
    if (!named || !known) continue;
    const at = named.startIndex;
    const name = text.slice(at, named.endIndex);
    if (name === "" || /\s/.test(name)) continue;
    const row = named.startPosition.row;
    if (exports) exported.add(name);
    if (!definition || !kind) {
      const shown = MEMBER.has(named.type) ? `.${name}` : name;
      if (!found.has(at)) found.set(at, { name: shown, row });
    } else if ((patterns.get(at) ?? -1) < patternIndex) {
      patterns.set(at, patternIndex);
      found.set(at, { name, row, kind, node: definition, local });
    }
  }
  const definitions: Found[] = [];
  const references = new Map<string, Set<number>>();
  for (const [at, symbol] of [...found].sort(([a], [b]) => a - b)) {
    if (symbol.kind && !used.has(at)) definitions.push(symbol);
    else references.set(symbol.name, (references.get(symbol.name) ?? new Set()).add(symbol.row + 1));
  }
  return {
    definitions: nested(definitions, text.split("\n"), exported, isModule || exported.size > 0),
    references: [...references].sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, lines]) => [name, [...lines]] as const),
  };
}

function kindOf(capture: string): Kind {
  const name = capture.slice("definition.".length);
  return KINDS.find((kind) => kind === name) ?? "constant";
}

/** Nodes around a definition that belong to it: a declarator has no body. */
const WRAPPER = /declarator$|^(?:function_definition|declaration|template_declaration|lexical_declaration)$/;

function nested(
  found: readonly Found[],
  lines: readonly string[],
  exported: ReadonlySet<string>,
  isModule: boolean,
): readonly Definition[] {
  const open: { readonly end: number; readonly local: boolean; readonly isExported: boolean }[] = [];
  const list = found.map(({ name, row, kind = "constant", node, local = false }) => {
    let last = node;
    for (let up = last?.parent; up && WRAPPER.test(up.type); up = up.parent) last = up;
    const [start, end] = [node?.startIndex ?? 0, last?.endIndex ?? 0];
    while ((open.at(-1)?.end ?? Infinity) <= start) open.pop();
    const depth = open.length;
    const inner = local || open.at(-1)?.local === true;
    const isExported = open[0]?.isExported ??
      (exported.has(name) || last?.parent?.type === "export_statement");
    open.push({ end, local: inner || kind === "function" || kind === "method", isExported });
    isModule ||= isExported;
    const line = (lines[row] ?? "").trim().replaceAll(/\s+/g, " ").replace(/\s*\{$/, "");
    const shown = line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT - 1).toWellFormed()}…` : line;
    const definition = {
      name,
      kind,
      line: row + 1,
      end: (last?.endPosition.row ?? row) + 1,
      depth,
      text: shown,
    };
    return { definition, local: inner, isExported };
  });
  return list.map(({ definition, local, isExported }) => (
    { ...definition, local: local || (isModule && !isExported) }
  ));
}
