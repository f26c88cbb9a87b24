/** Sizes that a report prints (`deno task report`); none is a limit: one concept stays in one file. */
import ts from "typescript";
import {
  isTest,
  lineOf,
  type Offence,
  productFiles,
  type Project,
  type SourceFile,
  visitAll,
} from "./project.ts";

const FILE_LINES = 300;
const TEST_FILE_LINES = 500;
const FUNCTION_LINES = 60;
const PARAMETERS = 4;
const IMPORTS = 15;

function lineCount(file: SourceFile): number {
  return file.text.endsWith("\n") ? file.lines.length - 1 : file.lines.length;
}

export function longFiles(project: Project): Offence[] {
  return [...project.sources.values()].flatMap((file) => {
    const limit = isTest(file.path) ? TEST_FILE_LINES : FILE_LINES;
    const value = lineCount(file);
    return value > limit ? [{ path: file.path, value, what: `${value} lines` }] : [];
  });
}

function isFunction(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node) || ts.isArrowFunction(node) ||
    ts.isMethodDeclaration(node) || ts.isConstructorDeclaration(node) || ts.isAccessor(node);
}

function eachFunction(
  project: Project,
  judge: (fn: ts.FunctionLikeDeclaration, file: SourceFile) => Offence[],
) {
  return productFiles(project).flatMap((file) => {
    const found: Offence[] = [];
    visitAll(file.tree, (node) => {
      if (isFunction(node)) found.push(...judge(node, file));
    });
    return found;
  });
}

function nameOf(fn: ts.FunctionLikeDeclaration): string {
  if (fn.name !== undefined) return fn.name.getText();
  return ts.isVariableDeclaration(fn.parent) || ts.isPropertyAssignment(fn.parent)
    ? fn.parent.name.getText()
    : ts.isConstructorDeclaration(fn)
    ? "constructor"
    : "anonymous function";
}

export function longFunctions(project: Project): Offence[] {
  return eachFunction(project, (fn, file) => {
    const line = lineOf(file.tree, fn);
    const value = file.tree.getLineAndCharacterOfPosition(fn.end).line + 2 - line;
    if (value <= FUNCTION_LINES) return [];
    return [{
      path: file.path,
      line,
      value,
      what: `${nameOf(fn)} has ${value} lines`,
    }];
  });
}

export function manyParameters(project: Project): Offence[] {
  return eachFunction(project, (fn, file) => {
    const value = fn.parameters.length;
    if (value <= PARAMETERS) return [];
    const what = `${nameOf(fn)} has ${value} positional parameters`;
    return [{ path: file.path, line: lineOf(file.tree, fn), value, what }];
  });
}

export function manyImports(project: Project): Offence[] {
  return productFiles(project).flatMap((file) => {
    const value = file.edges.filter((edge) => edge.kind === "import").length;
    return value > IMPORTS ? [{ path: file.path, value, what: `${value} imports` }] : [];
  });
}

const MOST_FILES = 14;

/** Directories with too many entries for a readable listing. */
export function crowdedDirectories(project: Project): Offence[] {
  const counts = new Map<string, number>();
  for (const { path } of productFiles(project)) {
    const directory = path.slice(0, path.lastIndexOf("/"));
    counts.set(directory, (counts.get(directory) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > MOST_FILES).map(([path, count]) => ({
    path,
    value: count,
    what: `${count} source files`,
  }));
}
