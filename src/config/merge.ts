import type { Config } from "./schema.ts";
import { childShape, CONFIG_SHAPE, isTree, type Shape, type Tree } from "./shape.ts";

/**
 * Lays one tree over another: tables join key by key, lists marked so are joined, entries with a name (providers,
 * plugins) replace their namesakes and come first, anything else is replaced.
 */
export function mergeTrees(lower: Tree, upper: Tree, shape: Shape | undefined = CONFIG_SHAPE): Tree {
  const merged = new Map(Object.entries(lower));
  for (const [name, value] of Object.entries(upper)) {
    merged.set(name, mergeValue(merged.get(name), value, childShape(shape, name)));
  }
  return Object.fromEntries(merged);
}

function mergeValue(lower: unknown, upper: unknown, shape: Shape | undefined): unknown {
  if (isTree(lower) && isTree(upper)) return mergeTrees(lower, upper, shape);
  if (!Array.isArray(lower) || !Array.isArray(upper)) return upper;
  if (shape?.merge === "concat") return [...new Set([...lower, ...upper])];
  if (!shape?.items?.properties) return upper;
  const names = new Set(upper.map(nameOf));
  return [...upper, ...lower.filter((entry) => !names.has(nameOf(entry)))];
}

function nameOf(entry: unknown): unknown {
  return isTree(entry) ? entry.name : entry;
}

/** The typed configuration: every key that has a default is present. The tree must have passed `checkTree`. */
export function fillDefaults(tree: Tree): Config {
  return fill(tree, CONFIG_SHAPE) as Config;
}

function fill(value: unknown, shape: Shape | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => fill(item, shape?.items));
  if (!isTree(value)) return value;
  if (!shape?.properties) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, fill(item, shape?.additionalProperties)]),
    );
  }
  const filled: Tree = shape.open ? { ...value } : {};
  for (const [name, child] of Object.entries(shape.properties)) {
    if (Object.hasOwn(value, name)) filled[name] = fill(value[name], child);
    else if (child.default !== undefined) filled[name] = fill(child.default, child);
  }
  return filled;
}
