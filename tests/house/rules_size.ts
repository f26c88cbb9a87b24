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
    return value > limit ? [{ path: file.path, value, what: `${value} lines; at most ${limit}` }] : [];
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
      what: `${nameOf(fn)} has ${value} lines; at most ${FUNCTION_LINES}`,
    }];
  });
}

export function manyParameters(project: Project): Offence[] {
  return eachFunction(project, (fn, file) => {
    const value = fn.parameters.length;
    if (value <= PARAMETERS) return [];
    const what = `${
      nameOf(fn)
    } has ${value} positional parameters; at most ${PARAMETERS}, then one options record`;
    return [{ path: file.path, line: lineOf(file.tree, fn), value, what }];
  });
}

export function manyImports(project: Project): Offence[] {
  return productFiles(project).flatMap((file) => {
    const value = file.edges.filter((edge) => edge.kind === "import").length;
    return value > IMPORTS ? [{ path: file.path, value, what: `${value} imports; at most ${IMPORTS}` }] : [];
  });
}
