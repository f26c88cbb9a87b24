import { type Layer, locationOf, type SourceName } from "../load/layer.ts";
import type { LoadedConfig } from "../load/load.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { hideSecrets } from "./hide_secrets.ts";
import { keySource, MissingKeyError } from "./models.ts";
import {
  childSchema,
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  locate,
  parseKeyPath,
  schemaAt,
  type TomlTable,
  valueAt,
} from "../schema/json_schema.ts";
import { VENDORS } from "../vendors.ts";
import { formatLocation, type SourceLocation } from "../../core/mod.ts";
import { loadTexts, type Locale } from "../../i18n/mod.ts";
import { defined } from "../../util/json.ts";

/** The source of a value. A list that several layers add to belongs to the strongest of them. */
export interface ConfigSource {
  readonly source: SourceName;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

export interface Setting {
  readonly key: string;
  /** Secrets are replaced. */
  readonly value: unknown;
  /** All possible values, where they can be listed. */
  readonly values?: readonly unknown[];
  /** Nothing reads it. */
  readonly idle?: true;
  readonly from: ConfigSource;
}

/**
 * The value of a key such as `sandbox.bash` or `providers.deepseek.effort`, fit to be shown: secrets are
 * replaced.
 *
 * @throws {ReasonixError} (exit "usage") for a key that does not exist
 */
export function getConfigValue(loaded: LoadedConfig, key: string): unknown {
  const path = parseKeyPath(key);
  return hideSecrets(valueAt(loaded.config as TomlTable, path), schemaAt(path));
}

/**
 * Returns the source of a key's value, or of an item such as `permissions.deny[2]`; throws like {@linkcode
 * getConfigValue}.
 */
export function sourceOf(loaded: LoadedConfig, key: string): ConfigSource {
  const path = parseKeyPath(key);
  schemaAt(path);
  return originAt(loaded, path);
}

export function listSettings(loaded: LoadedConfig): Setting[] {
  return collect(loaded, loaded.config as TomlTable, { schema: CONFIG_SCHEMA, path: [] });
}

function collect(
  loaded: LoadedConfig,
  table: TomlTable,
  at: { schema: JsonSchema; path: KeyPath; idle?: boolean },
): Setting[] {
  return Object.entries(at.schema.properties ?? {}).flatMap(([name, schema]) => {
    const value = table[name];
    const path = [...at.path, name];
    if (value === undefined) return [];
    const idle = at.idle || schema.idle !== undefined;
    if (schema.properties && isTable(value)) return collect(loaded, value, { schema, path, idle });
    const { items } = schema;
    if (Array.isArray(value) && value.length > 0 && items?.properties?.name) {
      return value.flatMap((entry) =>
        collect(loaded, entry, { schema: items, path: [...path, String(entry.name)], idle })
      );
    }
    const values = schema.type === "boolean" ? [true, false] : schema.enum;
    return [{
      key: formatKey(path),
      value: hideSecrets(value, schema),
      ...(values ? { values } : {}),
      ...(idle ? { idle: true } : {}),
      from: originAt(loaded, path),
    }];
  });
}

/** Lists settings of the files that have no effect; of a table without effect only the table. */
export function unusedSettings(loaded: LoadedConfig): ConfigProblem[] {
  return loaded.layers.filter((layer) => layer.source !== "default").flatMap((layer) =>
    keysWithoutEffect(layer.table, CONFIG_SCHEMA, []).map(({ path, obsolete }): ConfigProblem => {
      const place = locationOf(layer, path);
      return {
        level: "warning",
        message: `${formatKey(path)} has no effect${obsolete ? "" : " yet"}`,
        remedy: obsolete ? "remove it" : "keep it for a later version, or remove it",
        ...(place ? { place } : {}),
      };
    })
  );
}

function keysWithoutEffect(
  table: TomlTable,
  schema: JsonSchema,
  path: KeyPath,
): { path: KeyPath; obsolete: boolean }[] {
  return Object.entries(table).flatMap(([name, value]) => {
    const child = childSchema(schema, name);
    const here = [...path, name];
    if (child?.idle && !(Array.isArray(value) && value.every((item) => item === undefined))) {
      return [{ path: here, obsolete: child.idle === "obsolete" }];
    }
    const isOpen = child?.properties ?? child?.additionalProperties;
    return child && isOpen && isTable(value) ? keysWithoutEffect(value, child, here) : [];
  });
}

function originAt(loaded: LoadedConfig, path: KeyPath): ConfigSource {
  for (const layer of loaded.layers) {
    const located = locate(layer.table, inLayer(loaded, layer, path));
    if (located) return { source: layer.source, ...locationOf(layer, located) };
  }
  return { source: "default" };
}

/**
 * Indexes of the path count in the merged lists; a layer is searched for the same entry or item instead.
 */
function inLayer(loaded: LoadedConfig, layer: Layer, path: KeyPath): KeyPath {
  const at = path.findIndex((part) => typeof part === "number");
  if (at < 0) return path;
  const list = path.slice(0, at);
  const item = valueAt(loaded.config as TomlTable, path.slice(0, at + 1));
  if (isTable(item)) return [...list, String(item.name), ...path.slice(at + 1)];
  const items = valueAt(layer.table, list);
  return [...list, Array.isArray(items) ? items.indexOf(item) : -1];
}

/** Formats a source, as in `config show --origin`. */
export function originText(origin: ConfigSource): string {
  const place = placeOf(origin);
  if (!place) return origin.source;
  return origin.source === "preset" ? formatLocation(place) : `${origin.source} ${formatLocation(place)}`;
}

/** The location of a source; undefined where no file says it. */
export function placeOf({ file, line, column }: ConfigSource): SourceLocation | undefined {
  return file === undefined ? undefined : { file, ...defined({ line, column }) };
}

/** The built-in provider, used where no file, preset or flag names one. */
export interface UnnamedProvider {
  readonly vendor: string;
  readonly keyName: string;
  /** `unused`: it is set, but `security.env_keys` is off. */
  readonly key: "environment" | "missing" | "unused";
}

/** Returns the built-in provider when no provider is configured; undefined when its key was saved. */
export function unnamedProvider({ layers, config, keys }: LoadedConfig): UnnamedProvider | undefined {
  const named = layers.some(({ source, table }) => source !== "default" && table.providers !== undefined);
  const [entry] = config.providers;
  if (named || !entry) return undefined;
  const source = keySource(entry, keys);
  if (source !== "env" && source !== "missing") return undefined;
  const keyName = entry.api_key_env;
  return {
    vendor: VENDORS.find(({ name }) => name === entry.name)?.label ?? entry.name,
    keyName,
    key: source === "env" ? "environment" : !keys.useEnv && keys.env(keyName) ? "unused" : "missing",
  };
}

/**
 * Makes sure that there is a provider to talk to. Returns a line for the user when it is one that a key of
 * the environment chose.
 *
 * @throws {MissingKeyError} (exit "config") when nothing is set up and there is no key either
 */
export async function requireProvider(loaded: LoadedConfig, locale: Locale): Promise<string | undefined> {
  const unnamed = unnamedProvider(loaded);
  if (!unnamed) return undefined;
  const texts = await loadTexts("start", locale);
  const { key, keyName, vendor } = unnamed;
  if (key === "environment") return texts.usesEnvironment(keyName, vendor);
  throw new MissingKeyError(texts.noProvider, {
    exit: "config",
    remedy: key === "unused" ? texts.keyNotUsedRemedy(keyName) : texts.noProviderRemedy(keyName),
  });
}
