import ts from "typescript";

/** One import, re-export or lazy import. */
export interface Edge {
  readonly from: string;
  /** Path within the project for a relative specifier, else the bare specifier. */
  readonly to: string;
  readonly kind: "import" | "reexport" | "lazy";
  readonly typeOnly: boolean;
  /** Names taken from the target; "*" = all of them, as far as can be seen. */
  readonly names: readonly string[];
  /** Name under which each of `names` is passed on, for re-exports. */
  readonly exportedAs: readonly string[];
  readonly line: number;
}

type Draft = Omit<Edge, "from" | "line" | "to">;

export function edgesOf(path: string, tree: ts.SourceFile): Edge[] {
  const edges: Edge[] = [];
  const add = (specifier: ts.Node | undefined, at: ts.Node, draft: Draft) => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return;
    const line = tree.getLineAndCharacterOfPosition(at.getStart(tree)).line + 1;
    edges.push({ from: path, to: resolve(path, specifier.text), line, ...draft });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, node, fromImport(node));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node, fromExport(node));
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      const names = [node.qualifier?.getText(tree) ?? "*"];
      add(node.argument.literal, node, { kind: "import", typeOnly: true, names, exportedAs: [] });
    } else if (isLazyImport(node)) {
      add(node.arguments[0], node, { kind: "lazy", typeOnly: false, names: lazyNames(node), exportedAs: [] });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return edges;
}

/** Joins a relative specifier to the directory of the importing file. */
export function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith(".")) return specifier;
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function fromImport(node: ts.ImportDeclaration): Draft {
  const clause = node.importClause;
  const bindings = clause?.namedBindings;
  const names: string[] = clause?.name === undefined ? [] : ["default"];
  if (bindings !== undefined && ts.isNamespaceImport(bindings)) names.push("*");
  let typeOnly = clause?.isTypeOnly ?? false;
  if (bindings !== undefined && ts.isNamedImports(bindings)) {
    for (const element of bindings.elements) names.push((element.propertyName ?? element.name).text);
    typeOnly ||= clause?.name === undefined && bindings.elements.every((element) => element.isTypeOnly);
  }
  return { kind: "import", typeOnly, names, exportedAs: [] };
}

function fromExport(node: ts.ExportDeclaration): Draft {
  const clause = node.exportClause;
  if (clause === undefined || !ts.isNamedExports(clause)) {
    const exportedAs = clause === undefined ? ["*"] : [clause.name.text];
    return { kind: "reexport", typeOnly: node.isTypeOnly, names: ["*"], exportedAs };
  }
  return {
    kind: "reexport",
    typeOnly: node.isTypeOnly || clause.elements.every((element) => element.isTypeOnly),
    names: clause.elements.map((element) => (element.propertyName ?? element.name).text),
    exportedAs: clause.elements.map((element) => element.name.text),
  };
}

function isLazyImport(node: ts.Node): node is ts.CallExpression {
  return ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
}

/** The names used of `await import(…)` or `import(…).then((m) => …)`; "*" if unknown. */
function lazyNames(call: ts.CallExpression): string[] {
  const parent = outsideParentheses(call.parent);
  if (ts.isAwaitExpression(parent)) return namesOfUse(outsideParentheses(parent.parent), parent);
  if (ts.isPropertyAccessExpression(parent) && parent.name.text === "then") {
    const handler = ts.isCallExpression(parent.parent) ? parent.parent.arguments[0] : undefined;
    const first = handler !== undefined && ts.isArrowFunction(handler) ? handler.parameters[0] : undefined;
    if (first === undefined || handler === undefined) return ["*"];
    return ts.isIdentifier(first.name) ? membersOf(handler, first.name.text) : patternNames(first.name);
  }
  return ["*"];
}

function outsideParentheses(node: ts.Node): ts.Node {
  return ts.isParenthesizedExpression(node) ? outsideParentheses(node.parent) : node;
}

function namesOfUse(use: ts.Node, awaited: ts.Node): string[] {
  if (ts.isPropertyAccessExpression(use)) return [use.name.text];
  if (!ts.isVariableDeclaration(use) || use.initializer === undefined) return ["*"];
  if (use.initializer !== awaited) return ["*"];
  if (!ts.isIdentifier(use.name)) return patternNames(use.name);
  const block = use.parent.parent.parent;
  return membersOf(block, use.name.text);
}

function patternNames(pattern: ts.BindingName): string[] {
  if (!ts.isObjectBindingPattern(pattern)) return ["*"];
  return pattern.elements.map((element) => {
    const name = element.propertyName ?? element.name;
    return ts.isIdentifier(name) && element.dotDotDotToken === undefined ? name.text : "*";
  });
}

/** Members read from a variable that holds a module; "*" when the variable is used in any other way. */
function membersOf(scope: ts.Node, variable: string): string[] {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === variable) {
      const parent = node.parent;
      const declared = (ts.isVariableDeclaration(parent) || ts.isParameter(parent)) && parent.name === node;
      if (ts.isPropertyAccessExpression(parent) && parent.expression === node) names.add(parent.name.text);
      else if (!declared && !(ts.isPropertyAccessExpression(parent) && parent.name === node)) names.add("*");
    }
    ts.forEachChild(node, visit);
  };
  visit(scope);
  return [...names];
}
