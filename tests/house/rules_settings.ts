import ts from "typescript";
import schemaData from "../../src/config/schema/schema.json" with { type: "json" };
import { type Offence, productFiles, type Project, visitAll } from "./project.ts";

/** The part of the generated schema this needs. */
interface Node {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly idle?: string;
  readonly alias?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node;
  readonly items?: Node;
}

const SCHEMA = "src/config/schema/config_types.ts";
const ROOT = "/project/";

/**
 * Every key that holds a value, by its path in the form of docs/config.md, and whether it or a table around
 * it is idle.
 */
function leafKeys(node: Node, path = "", idle = false): Map<string, boolean> {
  const found = new Map<string, boolean>();
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const here = path === "" ? name : `${path}.${name}`;
    const isIdle = idle || child.idle !== undefined;
    const inner = child.properties ? child : child.items ?? child.additionalProperties;
    if (inner?.properties) {
      const below = child.properties ? here : `${here}${child.items ? "[]" : ".*"}`;
      for (const [key, value] of leafKeys(inner, below, isIdle)) found.set(key, value);
    } else if (child.alias === undefined) found.set(here, isIdle);
  }
  return found;
}

function typedProgram(project: Project): ts.Program {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    lib: ["lib.esnext.d.ts"],
    types: [],
  };
  const libraries = ts.getDefaultLibFilePath(options).replace(/[^/\\]+$/, "");
  const inProject = (file: string) => file.startsWith(ROOT) ? file.slice(ROOT.length) : undefined;
  const textOf = (file: string) => {
    const path = inProject(file);
    if (path === undefined) return ts.sys.readFile(file);
    return project.texts.get(path);
  };
  const host: ts.CompilerHost = {
    getSourceFile(file, version) {
      const tree = project.sources.get(inProject(file) ?? "")?.tree;
      // The tree of the other rules, by the path that it has here.
      if (tree !== undefined) return Object.assign(tree, { fileName: file });
      const text = textOf(file);
      return text === undefined ? undefined : ts.createSourceFile(file, text, version, true);
    },
    getDefaultLibFileName: () => `${libraries}lib.esnext.d.ts`,
    getDefaultLibLocation: () => libraries,
    writeFile() {},
    getCurrentDirectory: () => ROOT,
    getCanonicalFileName: (file) => file,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    fileExists: (file) => textOf(file) !== undefined,
    readFile: textOf,
  };
  const roots = productFiles(project).map((file) => ROOT + file.path);
  return ts.createProgram(roots, options, host);
}

/** Keys of the configuration that the program reads anywhere outside of the package that loads it. */
function readKeys(project: Project): Set<string> {
  const program = typedProgram(project);
  const checker = program.getTypeChecker();
  const schema = program.getSourceFile(ROOT + SCHEMA);
  const paths = new Map<ts.Node, string>();
  if (schema) nameKeys(schema, "", paths);
  const names = new Set([...paths.values()].map((path) => path.slice(path.lastIndexOf(".") + 1)));
  const read = new Set<string>();
  const note = (symbol: ts.Symbol | undefined) => {
    for (const declaration of symbol?.declarations ?? []) {
      const path = paths.get(declaration);
      if (path !== undefined) read.add(path);
    }
  };
  for (const file of program.getSourceFiles()) {
    if (!file.fileName.startsWith(ROOT) || file === schema) continue;
    visitAll(file, (node) => {
      if (ts.isPropertyAccessExpression(node) && names.has(node.name.text)) {
        note(checker.getSymbolAtLocation(node.name));
      } else if (ts.isElementAccessExpression(node)) notePicked(node, checker, note);
      else if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
        const name = node.propertyName ?? node.name;
        if (ts.isIdentifier(name) && names.has(name.text)) {
          note(checker.getTypeAtLocation(node.parent).getProperty(name.text));
        }
      }
    });
  }
  return read;
}

/** Notes the keys that `table[name]` reads where `name` is known to be one of a few. */
function notePicked(
  node: ts.ElementAccessExpression,
  checker: ts.TypeChecker,
  note: (symbol: ts.Symbol | undefined) => void,
): void {
  const index = checker.getTypeAtLocation(node.argumentExpression);
  for (const part of index.isUnion() ? index.types : [index]) {
    if (part.isStringLiteral()) note(checker.getTypeAtLocation(node.expression).getProperty(part.value));
  }
}

/** Pairs each property of the written-out type with the path of its key. */
function nameKeys(node: ts.Node, path: string, paths: Map<ts.Node, string>): void {
  ts.forEachChild(node, (child) => {
    if (ts.isPropertySignature(child) && ts.isIdentifier(child.name)) {
      const here = path === "" ? child.name.text : `${path}.${child.name.text}`;
      paths.set(child, here);
      // The other member of such a union is undefined.
      const type = child.type && ts.isUnionTypeNode(child.type) ? child.type.types[0] : child.type;
      const list = type !== undefined && ts.isArrayTypeNode(type);
      const map = type !== undefined && ts.isTypeReferenceNode(type);
      nameKeys(child, `${here}${list ? "[]" : map ? ".*" : ""}`, paths);
    } else nameKeys(child, path, paths);
  });
}

/** Keys that no code reads and that do not say so, and keys that say so although they are read. */
export function deadSettings(project: Project): Offence[] {
  const read = readKeys(project);
  return [...leafKeys(schemaData as Node)].flatMap(([key, idle]) => {
    // Settings of a model are merged into its entry before any code reads it.
    const reader = key.replace("providers[].model_settings.*.", "providers[].");
    if (read.has(reader) !== idle) return [];
    const what = idle ? "is read: remove the note `idle` from it" : "has no reader: give it the note `idle`";
    return [{ path: SCHEMA, what: `${key} ${what}` }];
  });
}
