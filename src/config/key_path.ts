import { ReasonixError } from "../core/mod.ts";
import { nearNames } from "../util/near_names.ts";
import { formatKey, type KeyPath } from "./problem.ts";
import { childShape, CONFIG_SHAPE, isTree, type Shape, type Tree } from "./shape.ts";

const PART = /\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^."'\[\]\s]+)|\[(\d+)\])\s*(\.|(?=\[)|$)/y;

/** Reads `agent.max_steps`, `providers.deepseek.effort`, `providers[0]."a.b"`. */
export function parseKeyPath(text: string): KeyPath {
  const path: (string | number)[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length || path.length === 0) {
    const match = PART.exec(text);
    if (!match) {
      throw new ReasonixError(`Cannot read the key "${text}"`, {
        exit: "usage",
        remedy: "Write it with dots, such as sandbox.bash or providers.deepseek.effort",
      });
    }
    const [, double, single, bare, index] = match;
    path.push(index === undefined ? double ?? single ?? bare ?? "" : Number(index));
  }
  return path;
}

/** The shape of the value at a path. Entries of named lists may be given by name or by index. */
export function shapeAt(path: KeyPath): Shape {
  let shape = CONFIG_SHAPE;
  path.forEach((part, index) => {
    const named = typeof part === "string" && shape.items?.properties !== undefined;
    const child = named ? shape.items : childShape(shape, part);
    if (!child) throw unknownKey(path.slice(0, index + 1), shape);
    shape = child;
  });
  return shape;
}

/** The same path with names of list entries replaced by their indexes in this tree; undefined when one is not there. */
export function locate(tree: Tree, path: KeyPath): KeyPath | undefined {
  const located: (string | number)[] = [];
  let value: unknown = tree;
  for (const part of path) {
    if (Array.isArray(value)) {
      const index = typeof part === "number"
        ? part
        : value.findIndex((item) => isTree(item) && item.name === part);
      if (index < 0 || index >= value.length) return undefined;
      located.push(index);
      value = value[index];
    } else {
      if (!isTree(value) || !Object.hasOwn(value, part)) return undefined;
      located.push(part);
      value = value[part];
    }
  }
  return located;
}

/** The value at a path, undefined when there is none. */
export function valueAt(tree: Tree, path: KeyPath): unknown {
  return locate(tree, path)?.reduce<unknown>((value, part) => (value as Tree)[part], tree);
}

function unknownKey(path: KeyPath, shape: Shape): ReasonixError {
  const near = nearNames(String(path.at(-1)), Object.keys(shape.properties ?? {}), 1)[0];
  const suggestion = near && formatKey([...path.slice(0, -1), near]);
  return new ReasonixError(`Unknown key ${formatKey(path)}`, {
    exit: "usage",
    remedy: suggestion ? `Did you mean ${suggestion}?` : "Run `reasonix config show` to see every key",
  });
}
