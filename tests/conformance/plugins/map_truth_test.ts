/** The exported definitions of this repository: those that the compiler of TypeScript sees are in the map. */
import ts from "typescript";
import { SymbolIndex } from "../../../plugins/map/index.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { Random, SEED, soakSize } from "../../support/seed.ts";
import { makeTempDir, writeFiles } from "../../support/tool_context.ts";

const ROOT = new URL("../../../", import.meta.url);
const DIRECTORIES = ["cli", "src", "plugins", "scripts", "tests", "page"];
const LEAST = 0.97;

Deno.test("the map has the exported definitions that the compiler of TypeScript sees", async () => {
  const all = DIRECTORIES.flatMap((name) => [...sources(name)]);
  const paths = new Random(SEED).shuffled(all).slice(0, soakSize(all.length, 40));
  const texts = new Map(paths.map((path) => [path, Deno.readTextFileSync(new URL(path, ROOT))]));
  await using temp = await makeTempDir();
  await writeFiles(temp.path, Object.fromEntries(texts));
  const index = new SymbolIndex({
    settings: { include: ["*"], exclude: [], max_files: 10_000 },
    workspace: temp.path,
    state: "",
    home: "",
    hidden: [],
    providers: [],
    entry: new URL("plugins/main.ts", ROOT).href,
    log() {},
  });
  const { files, broken } = await index.update({ signal: new AbortController().signal, progress() {} });
  assertEquals([files.length, broken], [paths.length, 0]);
  const found = new Set(
    files.flatMap(({ path, symbols }) =>
      symbols.definitions.filter(({ local }) => !local).map(({ name, line }) => `${path}:${line} ${name}`)
    ),
  );
  const expected = [...texts].flatMap(([path, text]) => exportsOf(path, text));
  const missing = expected.filter((each) => !found.has(each));
  const share = 1 - missing.length / expected.length;
  assert(share >= LEAST, `${share} of ${expected.length}; missing: ${missing.slice(0, 10).join(", ")}`);
});

function* sources(directory: string): Iterable<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(directory, ROOT))) {
    const path = `${directory}/${name}`;
    if (name.startsWith(".") || name === "node_modules") continue;
    if (isDirectory) yield* sources(path);
    else if (/\.tsx?$/.test(name)) yield path;
  }
}

/** `path:line name` of each exported declaration. */
function exportsOf(path: string, text: string): readonly string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const declared = new Map<string, ts.Node[]>();
  const exported = new Set<string>();
  const add = (name: ts.BindingName | ts.ModuleName, isExported: boolean): void => {
    if (ts.isObjectBindingPattern(name) || ts.isArrayBindingPattern(name)) {
      for (const each of name.elements) if (ts.isBindingElement(each)) add(each.name, isExported);
      return;
    }
    declared.set(name.text, [...declared.get(name.text) ?? [], name]);
    if (isExported) exported.add(name.text);
  };
  for (const statement of file.statements) {
    const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
    const isExported = modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    if (ts.isVariableStatement(statement)) {
      for (const { name } of statement.declarationList.declarations) add(name, isExported);
    } else if (
      ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement) ||
      ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement) ||
      ts.isEnumDeclaration(statement) || ts.isModuleDeclaration(statement)
    ) {
      if (statement.name) add(statement.name, isExported);
    } else if (ts.isExportDeclaration(statement) && !statement.moduleSpecifier && statement.exportClause) {
      if (!ts.isNamedExports(statement.exportClause)) continue;
      for (const { propertyName, name } of statement.exportClause.elements) {
        exported.add((propertyName ?? name).text);
      }
    } else if (ts.isExportAssignment(statement) && ts.isIdentifier(statement.expression)) {
      exported.add(statement.expression.text);
    }
  }
  return [...exported].flatMap((name) =>
    (declared.get(name) ?? []).map((node) => {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      return `${path}:${line + 1} ${name}`;
    })
  );
}
