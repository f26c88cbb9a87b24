/**
 * Names of the functions of a minified chunk by which a list can refer to them that edits leave valid: the
 * module and the names around them in the sources, which the chunk's source map knows.
 */
import ts from "typescript";

/** The parts of a source map (version 3) that are used here. */
export interface SourceMap {
  readonly names: readonly string[];
  readonly mappings: string;
}

/** `MODULE PATH` of each function. */
export type FunctionNames = ReadonlyMap<ts.Node, string>;

/** Names the functions of a chunk; none without a source map. `modules` are the map's sources in order. */
export function functionNames(
  tree: ts.SourceFile,
  map: SourceMap | undefined,
  modules: readonly string[],
): FunctionNames {
  if (map === undefined) return new Map();
  const segments = segmentsOf(map.mappings, tree.getLineStarts());
  const found = new Map<ts.Node, string>();
  const counts = new Map<string, number>();
  const nameAt = (node: ts.Node): string => {
    const start = node.getStart(tree);
    const segment = segments[indexFrom(segments, start)];
    const original = segment?.offset === start ? map.names[segment.name] : undefined;
    return (original ?? node.getText(tree)).replaceAll(/[^\w$#-]+/g, "_").slice(0, LONGEST);
  };
  // Long chains of operators in minified code are too deep for recursion.
  const waiting: [node: ts.Node, path: string][] = [[tree, ""]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [node, path] = next;
    let inner = path;
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const declared = nameOf(node);
      const start = node.getStart(tree);
      // The first segment within a function is of its module; one before it may be of another.
      const segment = segments[indexFrom(segments, start)];
      const module = modules[segment !== undefined && segment.offset < node.end ? segment.source : -1] ?? "";
      const base = declared === undefined
        ? `${path}/`
        : path === ""
        ? nameAt(declared)
        : `${path}.${nameAt(declared)}`;
      const count = counts.get(`${module} ${base}`) ?? 0;
      counts.set(`${module} ${base}`, count + 1);
      inner = declared === undefined ? `${base}${count}` : count > 0 ? `${base}#${count}` : base;
      if (module !== "") found.set(node, `${module} ${inner}`);
    } else if (ts.isClassLike(node)) {
      const declared = nameOf(node);
      if (declared !== undefined) inner = path === "" ? nameAt(declared) : `${path}.${nameAt(declared)}`;
    }
    const children: [node: ts.Node, path: string][] = [];
    ts.forEachChild(node, (child) => void children.push([child, inner]));
    waiting.push(...children.reverse());
  }
  return found;
}

/** A name in a list needs no more. */
const LONGEST = 40;

/** The name of a function or class, or of what it is assigned to. */
function nameOf(node: ts.Node): ts.Node | undefined {
  if (ts.isConstructorDeclaration(node)) return undefined;
  const { name } = node as ts.NamedDeclaration;
  if (name !== undefined) return name;
  const { parent } = node;
  if (
    ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent)
  ) {
    return parent.name;
  }
  if (!ts.isBinaryExpression(parent) || parent.right !== node) return undefined;
  return ts.isPropertyAccessExpression(parent.left) ? parent.left.name : parent.left;
}

/** The origin of code: the indices of its source and its name. */
interface Segment {
  readonly offset: number;
  readonly source: number;
  /** −1: it has none. */
  readonly name: number;
}

function indexFrom(segments: readonly Segment[], offset: number): number {
  let [low, high] = [0, segments.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((segments[middle]?.offset ?? Infinity) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

const DIGITS = new Map(
  [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].map((digit, value) =>
    [digit.charCodeAt(0), value] as const
  ),
);
const [COMMA, SEMICOLON] = [",".charCodeAt(0), ";".charCodeAt(0)];

/** Decodes mappings: lines with segments of up to five differences in base 64. */
function segmentsOf(mappings: string, lineStarts: readonly number[]): readonly Segment[] {
  const segments: Segment[] = [];
  let [line, column, source, name] = [0, 0, 0, 0];
  const fields: number[] = [];
  let [value, shift] = [0, 0];
  const end = () => {
    column += fields[0] ?? 0;
    source += fields[1] ?? 0;
    name += fields[4] ?? 0;
    if (fields.length > 1) {
      const offset = (lineStarts[line] ?? 0) + column;
      segments.push({ offset, source, name: fields.length > 4 ? name : -1 });
    }
    fields.length = 0;
  };
  for (let at = 0; at < mappings.length; at++) {
    const code = mappings.charCodeAt(at);
    if (code === COMMA || code === SEMICOLON) {
      end();
      if (code === SEMICOLON) [line, column] = [line + 1, 0];
      continue;
    }
    const digit = DIGITS.get(code) ?? 0;
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    fields.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  end();
  return segments;
}
