import { isTree } from "./shape.ts";

/** JSON with sorted keys: equal for values that differ only in the order of their lines. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, item) => isTree(item) ? sorted(item) : item);
}

function sorted(tree: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(tree).sort().map((name) => [name, tree[name]]));
}
