import ts from "typescript";
import { OPENERS, SENDERS } from "../support/connections.ts";
import { lineOf, type Offence, productFiles, type Project, type SourceFile, visitAll } from "./project.ts";

/** Globals that open a connection, by name or as a member of the global object. */
const GLOBALS = /^(?:fetch|WebSocket|WebSocketStream|EventSource|XMLHttpRequest|WebTransport)$/;
const GLOBAL_OBJECTS = /^(?:globalThis|window|self|global)$/;
const DENO_MEMBERS = /^(?:connect|connectTls|connectQuic|startTls|createHttpClient|listenDatagram|openKv)$/;
const MODULES = /^(?:node:)?(?:https?|http2|net|tls|dgram|inspector)(?:\/.*)?$|^npm:|^undici$|^ws$/;
/** Functions of the MCP SDK that send requests with the global fetch by default. */
const SDK_SENDERS =
  /^(?:auth|discover(?:OAuth|AuthorizationServer|AndRequest)\w*|exchange\w+|fetchToken|refreshAuthorization|registerClient|request\w*Grant|StreamableHTTPClientTransport)$/;
const SDK_REFUSED = /^(?:SSEClientTransport|WebSocketClientTransport)$/;

/** The browser keeps the page within its origin: `connect-src 'self'`. */
function programFiles(project: Project): SourceFile[] {
  return productFiles(project).filter(({ path }) => !/^(?:scripts|page)\//.test(path));
}

/**
 * Only the program's fetch sends requests, since only it checks the targets of redirects. Finds every
 * other way to open a connection outside of `openers`, and openers that open none.
 */
export function strayConnections(
  project: Project,
  openers: Readonly<Record<string, string>> = OPENERS,
): Offence[] {
  const found = programFiles(project).flatMap((file) => connectionsOf(file));
  const unused = Object.keys(openers).filter((path) => !found.some((offence) => offence.path === path));
  return [
    ...found.filter(({ path }) => !Object.hasOwn(openers, path)),
    ...unused.map((path) => ({ path, what: "is listed as an opener of connections and opens none" })),
  ];
}

function connectionsOf(file: SourceFile): Offence[] {
  const found: Offence[] = [];
  visitAll(file.tree, (node) => {
    const what = opening(node);
    if (what !== undefined) found.push({ path: file.path, line: lineOf(file.tree, node), what });
  });
  return found;
}

function opening(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) {
    const loads = ts.isImportDeclaration(node.parent) || ts.isExportDeclaration(node.parent) ||
      (ts.isCallExpression(node.parent) && node.parent.arguments[0] === node &&
        (node.parent.expression.kind === ts.SyntaxKind.ImportKeyword ||
          /(?:^|\.)require$/.test(node.parent.expression.getText())));
    return loads && MODULES.test(node.text) ? `loads ${node.text}` : undefined;
  }
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
    const name = lastName(node.expression);
    if (SDK_REFUSED.test(name)) return `${name} has no fetch of the program`;
    if (SDK_SENDERS.test(name) && !hasFetch(node)) return `${name} is not given a fetch`;
    return undefined;
  }
  if (!ts.isIdentifier(node) || !isValue(node)) return undefined;
  const { text, parent } = node;
  if (GLOBALS.test(text) && !isDeclared(node)) return `${text} is not the fetch of the program`;
  const isDeno = text === "Deno";
  if (!isDeno && !GLOBAL_OBJECTS.test(text) || isDeclared(node)) return undefined;
  if (!ts.isPropertyAccessExpression(parent)) return `${text} is handed on, with all that it can open`;
  const member = parent.name.text;
  const opens = isDeno ? DENO_MEMBERS.test(member) : GLOBALS.test(member) || member === "Deno";
  return opens ? `${text}.${member} is not the fetch of the program` : undefined;
}

/** The name that is called: `c` of `a.b.c(…)`, without the mark of a private one. */
function lastName(expression: ts.Expression): string {
  if (ts.isPropertyAccessExpression(expression)) return expression.name.text.replace(/^#/, "");
  return ts.isIdentifier(expression) ? expression.text : "";
}

function hasFetch(call: ts.CallExpression | ts.NewExpression): boolean {
  return (call.arguments ?? []).some((argument) =>
    ts.isObjectLiteralExpression(argument) &&
    argument.properties.some(({ name }) => name !== undefined && /^(?:fetch|fetchFn)$/.test(name.getText()))
  );
}

/** Reports whether an identifier is a reference: no type, member name or declaration. */
function isValue(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) || ts.isQualifiedName(parent)) {
    if ((ts.isPropertyAccessExpression(parent) ? parent.name : parent.right) === node) return false;
  }
  const isName = "name" in parent && parent.name === node && !ts.isShorthandPropertyAssignment(parent);
  if (isName || ("propertyName" in parent && parent.propertyName === node)) return false;
  for (let one: ts.Node = node; !ts.isStatement(one) && !ts.isSourceFile(one); one = one.parent) {
    if (ts.isTypeNode(one) && !ts.isExpressionWithTypeArguments(one)) return false;
  }
  return true;
}

/** Reports whether a parameter, variable, function or import of the file has the name where it is used. */
function isDeclared(node: ts.Identifier): boolean {
  for (let scope: ts.Node | undefined = node.parent; scope; scope = scope.parent) {
    if (declaredIn(scope).some((name) => bindsName(name, node.text))) return true;
  }
  return false;
}

function declaredIn(scope: ts.Node): readonly (ts.BindingName | undefined)[] {
  if (ts.isFunctionLike(scope)) return scope.parameters.map(({ name }) => name);
  if (ts.isBlock(scope) || ts.isSourceFile(scope) || ts.isCaseOrDefaultClause(scope)) {
    return scope.statements.flatMap(namesOf);
  }
  if (ts.isForStatement(scope) || ts.isForOfStatement(scope) || ts.isForInStatement(scope)) {
    const { initializer } = scope;
    return initializer && ts.isVariableDeclarationList(initializer)
      ? initializer.declarations.map(({ name }) => name)
      : [];
  }
  return [];
}

function namesOf(statement: ts.Statement): readonly (ts.BindingName | undefined)[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name);
  }
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) return [statement.name];
  if (!ts.isImportDeclaration(statement)) return [];
  const bindings = statement.importClause?.namedBindings;
  const named = bindings && ts.isNamedImports(bindings) ? bindings.elements.map(({ name }) => name) : [];
  return [statement.importClause?.name, ...named];
}

function bindsName(name: ts.BindingName | undefined, wanted: string): boolean {
  if (name === undefined) return false;
  if (ts.isIdentifier(name)) return name.text === wanted;
  return name.elements.some((element) => ts.isBindingElement(element) && bindsName(element.name, wanted));
}

const FETCH_TYPE = /^(?:Fetch|FetchLike)$|\["(?:fetch|fetchFn)"\]$/;
const MAKES_FETCH = /^(?:withinOrigin|serverFetch|clientFetch)$/;

/**
 * Every file that sends requests is known, with the test that redirects them to another origin. Finds files
 * that are not in `senders`, and senders that send nothing.
 */
export function untestedSenders(
  project: Project,
  senders: Readonly<Record<string, string>> = SENDERS,
): Offence[] {
  const files = programFiles(project).filter(({ path }) => !path.startsWith("plugins/"));
  const sending = files.filter(sends).map(({ path }) => path);
  return [
    ...sending.filter((path) => !Object.hasOwn(senders, path))
      .map((path) => ({
        path,
        what: "sends requests and has no test with redirects (tests/support/connections.ts)",
      })),
    ...Object.keys(senders).filter((path) => !sending.includes(path))
      .map((path) => ({ path, what: "is listed as a sender of requests and sends none" })),
  ];
}

function sends({ tree }: SourceFile): boolean {
  const names = fetchNames(tree);
  let found = false;
  visitAll(tree, (node) => {
    if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return;
    const name = lastName(node.expression);
    if (names.has(name) || SDK_SENDERS.test(name)) found = true;
  });
  return found;
}

/** The names under which a file has something that sends a request. */
function fetchNames(tree: ts.SourceFile): ReadonlySet<string> {
  const names = new Set(["fetch", "fetchFn", "programFetch"]);
  visitAll(tree, (node) => {
    if (ts.isBindingElement(node) && ts.isIdentifier(node.name)) {
      if (node.propertyName && names.has(node.propertyName.getText())) names.add(node.name.text);
      return;
    }
    if (!ts.isVariableDeclaration(node) && !ts.isParameter(node) && !ts.isPropertyDeclaration(node)) return;
    const { name, type, initializer } = node;
    const made = initializer && ts.isCallExpression(initializer) ? lastName(initializer.expression) : "";
    const copied = initializer ? lastName(initializer) : "";
    if (type && FETCH_TYPE.test(type.getText()) || MAKES_FETCH.test(made) || names.has(copied)) {
      names.add(name.getText().replace(/^#/, ""));
    }
  });
  return names;
}
