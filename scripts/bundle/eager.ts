/**
 * Has V8 compile the functions of the start path when it compiles the file, so that Deno's code cache, which
 * is written at that moment, holds them: a function in parentheses is compiled at once, any other when it is
 * first called, in every process again.
 */
import ts from "typescript";

interface Removal {
  readonly start: number;
  readonly end: number;
}

/** Rewrites a packed, minified program. `executed` holds where functions end that ran on the start path. */
export function compileEagerly(code: string, executed: ReadonlySet<number>): string {
  const tree = ts.createSourceFile("bundle.js", code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const marked = new MarkedText(code);
  const chunks: ts.FunctionExpression[] = [];
  const visit = (node: ts.Node): void => {
    const isExpression = ts.isFunctionExpression(node) || ts.isArrowFunction(node);
    if (isExpression && executed.has(node.end)) {
      if (!ts.isParenthesizedExpression(node.parent)) marked.parenthesise(node.getStart(tree), node.end);
      if (isChunk(node)) chunks.push(node);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return hoistAll(marked, chunks, executed);
}

/** A chunk as `pack` writes it: `"id":[[imports],async function(exports,require){…}]`. */
function isChunk(node: ts.Node): node is ts.FunctionExpression {
  const list = node.parent;
  return ts.isFunctionExpression(node) && ts.isArrayLiteralExpression(list) && list.elements[1] === node &&
    ts.isPropertyAssignment(list.parent);
}

/** Returns the chunks of a packed, minified program that ran, given where functions end that did. */
export function executedChunks(code: string, executed: ReadonlySet<number> = new Set()): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isChunk(node) && executed.has(node.end)) found.push(nameOf(node.parent.parent));
    else if (!ts.isFunctionLike(node)) ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("bundle.js", code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS));
  return found;
}

function nameOf(node: ts.Node): string {
  return ts.isPropertyAssignment(node) && ts.isStringLiteral(node.name) ? node.name.text : "";
}

/**
 * Function declarations of chunks become variables at their beginning, where declarations take effect too.
 */
function hoistAll(
  marked: MarkedText,
  chunks: readonly ts.FunctionExpression[],
  executed: ReadonlySet<number>,
): string {
  const parts: string[] = [];
  let done = 0;
  for (const { body } of chunks) {
    const declared = body.statements.filter((item): item is ts.FunctionDeclaration =>
      ts.isFunctionDeclaration(item) && item.name !== undefined && executed.has(item.end)
    );
    if (declared.length === 0) continue;
    const at = afterDirective(body);
    const variables = declared.map((item) => asVariable(marked, item));
    parts.push(marked.slice(done, at), `;var ${variables.join(",")};`);
    done = at;
    for (const { start, end } of declared.map(placeOf)) {
      parts.push(marked.slice(done, start));
      done = end;
    }
  }
  return parts.join("") + marked.slice(done, Infinity);
}

function placeOf(node: ts.Node): Removal {
  return { start: node.getStart(), end: node.end };
}

/** `function name(…){…}` as `name=(function(…){…})`. */
function asVariable(marked: MarkedText, item: ts.FunctionDeclaration): string {
  const name = item.name?.text ?? "";
  const head = marked.slice(item.getStart(), item.name?.getStart() ?? item.end).trimEnd();
  return `${name}=(${head}${marked.slice(item.name?.end ?? item.end, item.end)})`;
}

function afterDirective(body: ts.Block): number {
  const [first] = body.statements;
  const isDirective = first !== undefined && ts.isExpressionStatement(first) &&
    ts.isStringLiteral(first.expression);
  return isDirective ? first.end : body.getStart() + 1;
}

/** A text with parentheses to be added, from which any part can be taken. */
class MarkedText {
  readonly #text: string;
  readonly #opening = new Set<number>();
  readonly #closing = new Map<number, number>();
  #places: number[] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  parenthesise(start: number, end: number): void {
    this.#opening.add(start);
    this.#closing.set(end, (this.#closing.get(end) ?? 0) + 1);
  }

  /** The text from `start` to `end` with the parentheses that belong to it. */
  slice(start: number, end: number): string {
    this.#places ??= [...new Set([...this.#opening, ...this.#closing.keys()])].sort((a, b) => a - b);
    const parts: string[] = [];
    let done = start;
    for (const place of this.#places) {
      if (place < start || place > end) continue;
      parts.push(this.#text.slice(done, place));
      done = place;
      if (place > start) parts.push(")".repeat(this.#closing.get(place) ?? 0));
      if (place < end && this.#opening.has(place)) parts.push("(");
    }
    return parts.join("") + this.#text.slice(done, end === Infinity ? undefined : end);
  }
}
