/**
 * The grammars of the plugin `map` in one file: `reasonix.grammars.bin`.
 *
 * Its first four bytes are the length (little endian) of an index in JSON, which has for each name the offset
 * behind the index and the length of its wasm and of its query; both are deflated without a header. A package
 * without its wasm or its `tags.scm` fails the build: an empty map would not show the cause.
 */
import { createRequire } from "node:module";
import { constants, deflateRawSync } from "node:zlib";
// The runtime has the files of a package that something imports.
import "tree-sitter-bash/package.json" with { type: "json" };
import "tree-sitter-c-sharp/package.json" with { type: "json" };
import "tree-sitter-c/package.json" with { type: "json" };
import "tree-sitter-cpp/package.json" with { type: "json" };
import "tree-sitter-go/package.json" with { type: "json" };
import "tree-sitter-java/package.json" with { type: "json" };
import "tree-sitter-javascript/package.json" with { type: "json" };
import "tree-sitter-php/package.json" with { type: "json" };
import "tree-sitter-python/package.json" with { type: "json" };
import "tree-sitter-ruby/package.json" with { type: "json" };
import "tree-sitter-rust/package.json" with { type: "json" };
import "tree-sitter-typescript/package.json" with { type: "json" };
import "web-tree-sitter";
import { LANGUAGES, WITHOUT_TAGS } from "../../plugins/map/languages.ts";

/** The name of the parser itself, which has no query. */
const PARSER = "parser";

const QUERIES = new URL("../../plugins/map/queries/", import.meta.url);
const require = createRequire(import.meta.url);

interface GrammarFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Paths of the files of packages in it, for the list of licenses. */
  readonly modules: readonly string[];
}

interface GrammarSource {
  readonly wasm: Uint8Array;
  readonly query: string;
  /** The files of packages that they are from. */
  readonly paths: readonly string[];
}

/** Returns the file with all grammars and the parser. */
export async function grammarFile(): Promise<GrammarFile> {
  const modules = new Set<string>();
  const blobs: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  const add = (bytes: Uint8Array): readonly [number, number] => {
    const blob = new Uint8Array(deflateRawSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
    blobs.push(blob);
    offset += blob.length;
    return [offset - blob.length, blob.length];
  };
  const index: Record<string, unknown> = {};
  for (const name of [PARSER, ...LANGUAGES.map(({ name }) => name)]) {
    const { wasm, query, paths } = await grammarSource(name);
    index[name] = { wasm: add(wasm), query: add(new TextEncoder().encode(query)) };
    for (const path of paths) modules.add(path);
  }
  const head = new TextEncoder().encode(JSON.stringify(index));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, head.length, true);
  return { bytes: await new Blob([length, head, ...blobs]).bytes(), modules: [...modules] };
}

/** Reads one grammar from its package. The plugin does so, too, when it runs from sources. */
export async function grammarSource(name: string): Promise<GrammarSource> {
  const language = LANGUAGES.find((each) => each.name === name);
  const wasm = language
    ? require.resolve(`${language.package}/${language.wasm}`)
    : require.resolve("web-tree-sitter/web-tree-sitter.wasm");
  const queries = language?.queries ?? [];
  const tags = queries.filter((query) => !WITHOUT_TAGS.includes(query))
    .map((query) => require.resolve(`tree-sitter-${query}/queries/tags.scm`));
  const ours = queries.map((query) => new URL(`${query}.scm`, QUERIES));
  const texts = await Promise.all([...tags, ...ours].map((file) => Deno.readTextFile(file)));
  const query = withoutDocs(texts.join("\n"));
  return { wasm: await Deno.readFile(wasm), query, paths: [wasm, ...tags] };
}

/** Takes out the captures of comments: the map shows none, and they double the time to compile a query. */
function withoutDocs(query: string): string {
  return query.replaceAll(/\(comment\)\* @doc\s+\.\s/g, "")
    .replaceAll(/\(#(?:strip|select-adjacent|set-adjacent)! @doc[^()]*\)/g, "");
}
