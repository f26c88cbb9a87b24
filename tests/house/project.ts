import ts from "typescript";
import { IgnoreRules } from "../../src/path/ignore_files.ts";
import { type Edge, edgesOf } from "./edges.ts";

/** A TypeScript file with what it imports, parsed on first use. */
export interface SourceFile {
  /** Relative to the root of the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly tree: ts.SourceFile;
  readonly edges: readonly Edge[];
}

/** Every text file of the project by path, and the TypeScript ones with their trees. */
export interface Project {
  readonly texts: ReadonlyMap<string, string>;
  readonly sources: ReadonlyMap<string, SourceFile>;
}

/** One breach of a house rule. `value` is the measured number of rules that have a limit. */
export interface Offence {
  readonly path: string;
  readonly line?: number;
  readonly what: string;
  readonly value?: number;
}

export function projectOf(files: Readonly<Record<string, string>>): Project {
  const texts = new Map(Object.entries(files));
  const sources = new Map<string, SourceFile>();
  for (const [path, text] of texts) {
    if (/\.tsx?$/.test(path)) sources.set(path, sourceFile(path, text));
  }
  return { texts, sources };
}

function sourceFile(path: string, text: string): SourceFile {
  let tree: ts.SourceFile | undefined;
  let edges: readonly Edge[] | undefined;
  return {
    path,
    text,
    lines: text.split("\n"),
    get tree() {
      return tree ??= ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    },
    get edges() {
      return edges ??= edgesOf(path, this.tree);
    },
  };
}

const BINARY = /\.(png|jpg|gif|ico|wasm|gz|zip|cast|woff2?)$/;
let loaded: Project | undefined;

/** The project this test belongs to, read once for all rules: what git would commit. */
export function thisProject(): Project {
  if (loaded !== undefined) return loaded;
  const root = new URL("../../", import.meta.url);
  const ignored = new IgnoreRules(`${Deno.readTextFileSync(new URL(".gitignore", root))}\n.git\n`);
  const files: Record<string, string> = {};
  const walk = (directory: string) => {
    for (const entry of Deno.readDirSync(new URL(directory || ".", root))) {
      if (ignored.match(directory + entry.name, entry.name, entry.isDirectory) === "ignore") continue;
      const path = directory + entry.name + (entry.isDirectory ? "/" : "");
      if (entry.isDirectory) walk(path);
      else if (entry.isFile && !BINARY.test(path)) files[path] = Deno.readTextFileSync(new URL(path, root));
    }
  };
  walk("");
  loaded = projectOf(files);
  return loaded;
}

/** 1-based line of a node, without its leading comments. */
export function lineOf(tree: ts.SourceFile, node: ts.Node): number {
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
}

/** Calls `visit` for `node` and every node below it. */
export function visitAll(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => visitAll(child, visit));
}

/** The list of the plugins that come with the program. */
export const PLUGIN_LIST = "plugins/plugins.ts";

/** Paths of the modules that the list of plugins names. */
export function pluginModules({ texts }: Project): readonly string[] {
  const named = (texts.get(PLUGIN_LIST) ?? "").matchAll(/^ +module: "([^"]+)"/gm);
  return [...named].map(([, module]) => `plugins/${module}`);
}

export function isTest(path: string): boolean {
  return path.startsWith("tests/") || path.endsWith("_test.ts") || path.includes("/tests/");
}

/** Files that make up the program: everything but tests and the demo's broken project. */
export function productFiles(project: Project): SourceFile[] {
  return [...project.sources.values()].filter((file) => !isTest(file.path) && !file.path.startsWith("demo/"));
}
