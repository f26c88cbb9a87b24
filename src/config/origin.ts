import { hideSecrets } from "./hide_secrets.ts";
import { locate, parseKeyPath, shapeAt, valueAt } from "./key_path.ts";
import { type Layer, type LayerName, placeOf } from "./layer.ts";
import type { LoadedConfig } from "./load.ts";
import { formatKey, type KeyPath } from "./problem.ts";
import { CONFIG_SHAPE, isTree, type Shape, type Tree } from "./shape.ts";

/** Who set a value, and where. A list that several layers add to belongs to the strongest of them. */
export interface Origin {
  readonly source: LayerName;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

/** One setting with its value and origin. */
export interface Setting {
  readonly key: string;
  /** Fit to be shown: secrets are replaced. */
  readonly value: unknown;
  readonly origin: Origin;
}

/**
 * The value of a key such as `sandbox.bash` or `providers.deepseek.effort`, fit to be shown: secrets are replaced.
 *
 * @throws {ReasonixError} (exit "usage") for a key that does not exist
 */
export function getConfigValue(loaded: LoadedConfig, key: string): unknown {
  const path = parseKeyPath(key);
  return hideSecrets(valueAt(loaded.config as Tree, path), shapeAt(path));
}

/** Where the value of a key, or an item such as `permissions.deny[2]`, comes from; throws like {@linkcode getConfigValue}. */
export function originOf(loaded: LoadedConfig, key: string): Origin {
  const path = parseKeyPath(key);
  shapeAt(path);
  return originAt(loaded, path);
}

/** Every setting with its value and origin, in the order of the schema. */
export function listSettings(loaded: LoadedConfig): Setting[] {
  return collect(loaded, loaded.config as Tree, { shape: CONFIG_SHAPE, path: [] });
}

function collect(loaded: LoadedConfig, tree: Tree, at: { shape: Shape; path: KeyPath }): Setting[] {
  return Object.entries(at.shape.properties ?? {}).flatMap(([name, shape]) => {
    const value = tree[name];
    const path = [...at.path, name];
    if (value === undefined) return [];
    if (shape.properties && isTree(value)) return collect(loaded, value, { shape, path });
    const { items } = shape;
    if (Array.isArray(value) && value.length > 0 && items?.properties) {
      return value.flatMap((entry) =>
        collect(loaded, entry, { shape: items, path: [...path, String(entry.name)] })
      );
    }
    return [{ key: formatKey(path), value: hideSecrets(value, shape), origin: originAt(loaded, path) }];
  });
}

function originAt(loaded: LoadedConfig, path: KeyPath): Origin {
  for (const layer of loaded.layers) {
    const located = locate(layer.tree, inLayer(loaded, layer, path));
    if (located) return { source: layer.source, ...placeOf(layer, located) };
  }
  return { source: "default" };
}

/** Indexes of the path count in the merged lists; a single layer is asked for the same entry or item instead. */
function inLayer(loaded: LoadedConfig, layer: Layer, path: KeyPath): KeyPath {
  const at = path.findIndex((part) => typeof part === "number");
  if (at < 0) return path;
  const list = path.slice(0, at);
  const item = valueAt(loaded.config as Tree, path.slice(0, at + 1));
  if (isTree(item)) return [...list, String(item.name), ...path.slice(at + 1)];
  const own = valueAt(layer.tree, list);
  return [...list, Array.isArray(own) ? own.indexOf(item) : -1];
}
