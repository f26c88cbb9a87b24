import ts from "typescript";
import { type Edge, resolve } from "./edges.ts";
import { isTest, lineOf, type Offence, pluginModules, type Project, type SourceFile } from "./project.ts";

const API = "mod.ts";

interface Declared {
  readonly name: string;
  readonly line: number;
  /** For a re-export of a type alone: where it comes from. */
  readonly typeFrom?: { readonly path: string; readonly name: string };
}

/** Exports of a file that it declares itself, and named ones it passes on. */
function declaredExports(file: SourceFile): Declared[] {
  return file.tree.statements.flatMap((statement) => {
    const line = lineOf(file.tree, statement);
    if (ts.isExportDeclaration(statement)) return passedOn(file, statement, line);
    return exportedNames(statement).map((name) => ({ name, line }));
  });
}

function passedOn(file: SourceFile, statement: ts.ExportDeclaration, line: number): Declared[] {
  const clause = statement.exportClause;
  if (clause === undefined) return [];
  if (!ts.isNamedExports(clause)) return [{ name: clause.name.text, line }];
  const specifier = statement.moduleSpecifier;
  return clause.elements.map((item) => {
    const name = item.name.text;
    const isType = statement.isTypeOnly || item.isTypeOnly;
    if (!isType || specifier === undefined || !ts.isStringLiteralLike(specifier)) return { name, line };
    const typeFrom = {
      path: resolve(file.path, specifier.text),
      name: (item.propertyName ?? item.name).text,
    };
    return { name, line, typeFrom };
  });
}

function exportedNames(statement: ts.Statement): string[] {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) ?? [] : [];
  if (!modifiers.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)) return [];
  const isDefault = modifiers.some((modifier) => modifier.kind === ts.SyntaxKind.DefaultKeyword);
  return isDefault ? ["default"] : declaredNames(statement);
}

/**
 * Names in the signature of an exported declaration, without function bodies.
 */
function signatureNames(file: SourceFile, name: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node)) return;
    if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) {
      found.push(
        ts.isTypeReferenceNode(node) ? node.typeName.getText(file.tree) : node.expression.getText(file.tree),
      );
    }
    ts.forEachChild(node, visit);
  };
  for (const statement of file.tree.statements) if (exportedNames(statement).includes(name)) visit(statement);
  return found;
}

function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap((item) =>
      ts.isIdentifier(item.name) ? [item.name.text] : []
    );
  }
  const named = statement as ts.Statement & { name?: ts.Identifier };
  return named.name === undefined ? [] : [named.name.text];
}

/** Marks what is used, following re-exports to where a name is declared. */
class Usage {
  readonly #project: Project;
  readonly #used = new Set<string>();

  constructor(project: Project) {
    this.#project = project;
  }

  has(path: string, name: string): boolean {
    return this.#used.has(`${path} ${name}`);
  }

  mark(path: string, name: string): void {
    const key = `${path} ${name}`;
    const file = this.#project.sources.get(path);
    if (file === undefined || this.#used.has(key)) return;
    this.#used.add(key);
    for (const part of signatureNames(file, name)) this.mark(path, part);
    if (name === "*") {
      for (const item of declaredExports(file)) this.mark(path, item.name);
    }
    for (const edge of file.edges) if (edge.kind === "reexport") this.#follow(edge, name);
  }

  #follow(edge: Edge, name: string): void {
    if (edge.exportedAs[0] === "*") {
      this.mark(edge.to, name);
      return;
    }
    edge.exportedAs.forEach((alias, index) => {
      if (alias === name || name === "*") this.mark(edge.to, edge.names[index] ?? "*");
    });
  }
}

/**
 * Exports that nothing imports and the embedding API does not show. Types in the signature of a used export
 * count as used. Of the program a test is a user only of what the file itself uses, too; of scripts, whose
 * command lines have no importer, of everything.
 */
export function deadExports(project: Project): Offence[] {
  const byProgram = usageBy(project, (path) => !isTest(path));
  const byAnyone = usageBy(project, () => true);
  const files = [...project.sources.values()].filter((file) => file.path !== API && !isEntry(file.path));
  return files.flatMap((file) => {
    const usage = /^(src|cli|plugins)\//.test(file.path) ? byProgram : byAnyone;
    const dead = declaredExports(file).filter((item) => !isUsed(usage, file.path, item));
    return dead.flatMap(({ name, line }) => {
      const tested = usage === byProgram && byAnyone.has(file.path, name);
      if (tested && usesItself(file, name)) return [];
      const what = `${tested ? "only tests import" : "nothing imports"} ${name}; do not export it`;
      return [{ path: file.path, line, what }];
    });
  });
}

/** Reports whether a file names something beyond its declaration. */
function usesItself(file: SourceFile, name: string): boolean {
  return [...file.tree.text.matchAll(new RegExp(`\\b${name}\\b`, "g"))].length > 1;
}

function usageBy(project: Project, isUser: (path: string) => boolean): Usage {
  const usage = new Usage(project);
  usage.mark(API, "*");
  // The build makes an entry that imports them.
  usage.mark("plugins/main.ts", "runPlugin");
  for (const module of pluginModules(project)) usage.mark(module, "plugin");
  for (const file of project.sources.values()) {
    if (!isUser(file.path)) continue;
    for (const edge of file.edges) {
      if (edge.kind === "reexport") continue;
      for (const name of edge.names) usage.mark(edge.to, name);
    }
  }
  return usage;
}

/** A type may be re-exported with the functions that use it, even if unused elsewhere. */
function isUsed(usage: Usage, path: string, item: Declared): boolean {
  if (usage.has(path, item.name)) return true;
  return item.typeFrom !== undefined && usage.has(item.typeFrom.path, item.typeFrom.name);
}

/** Files whose exports are used by something other than an import: test modules and the demo's project. */
function isEntry(path: string): boolean {
  return path.startsWith("demo/") || (isTest(path) && path.endsWith("_test.ts"));
}
