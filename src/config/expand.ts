import { type EnvLookup, resolvePath } from "./paths.ts";
import type { KeyPath } from "./problem.ts";
import { childShape, CONFIG_SHAPE, isTree, type Shape, type Tree } from "./shape.ts";

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Replaces `${VAR}` and `${VAR:-default}`; the default also stands in for an empty variable. */
export function expandText(text: string, lookup: EnvLookup, missing: (name: string) => void): string {
  if (!text.includes("${")) return text;
  return text.replace(VARIABLE, (whole, name: string, fallback?: string) => {
    const value = lookup(name);
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) missing(name);
    return value ?? whole;
  });
}

export interface ExpandOptions {
  /** Variables for the key at this path; the first part decides which sources count. */
  readonly lookup: (path: KeyPath) => EnvLookup;
  /** For `~/`. */
  readonly env: EnvLookup;
  /** Folder of the file that is expanded. */
  readonly folder: string;
  readonly cwd: string;
}

export interface MissingVariable {
  readonly path: KeyPath;
  readonly name: string;
}

/** A copy of a layer's tree with variables replaced and paths made absolute, where the schema says so. */
export function expandTree(tree: Tree, options: ExpandOptions): { tree: Tree; missing: MissingVariable[] } {
  const missing: MissingVariable[] = [];

  function strings(value: unknown, shape: Shape, path: KeyPath): unknown {
    if (typeof value === "string") {
      const text = shape.expand
        ? expandText(value, options.lookup(path), (name) => missing.push({ path, name }))
        : value;
      if (!shape.path || text === "") return text;
      return resolvePath(text, shape.path === "file" ? options.folder : options.cwd, options.env);
    }
    if (Array.isArray(value)) return value.map((item, index) => strings(item, shape, [...path, index]));
    if (!isTree(value)) return value;
    return mapTree(value, (item, name) => strings(item, shape, [...path, name]));
  }

  function walk(value: unknown, shape: Shape | undefined, path: KeyPath): unknown {
    if (!shape) return value;
    if (shape.expand || shape.path) return strings(value, shape, path);
    if (Array.isArray(value)) return value.map((item, index) => walk(item, shape.items, [...path, index]));
    if (!isTree(value)) return value;
    return mapTree(value, (item, name) => walk(item, childShape(shape, name), [...path, name]));
  }

  return { tree: walk(tree, CONFIG_SHAPE, []) as Tree, missing };
}

function mapTree(tree: Tree, map: (value: unknown, name: string) => unknown): Tree {
  return Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, map(value, name)]));
}
