import { DEFAULT_LAYER, fillDefaults } from "./defaults.ts";
import { expandConfig, type MissingVariable } from "./expand.ts";
import { type Layer, locateFinding } from "./layer.ts";
import { mergeTables } from "./merge.ts";
import { lazyDotenv, readProjectText, readText } from "./read_text.ts";
import { join } from "../../path/lexical.ts";
import { type EnvLookup, userConfigFile } from "../config_paths.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { restrictProjectConfig, type TrustItem, type Withholdable } from "../project/project_policy.ts";
import { isReservedVariable } from "../project/provider_trust.ts";
import {
  childSchema,
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  type TomlTable,
} from "../schema/json_schema.ts";

/** Lays layers over each other, the weakest first. Providers of any file replace the built-in ones. */
export function mergeLayers(layers: readonly Layer[]): TomlTable {
  const replaced = layers.some((layer) =>
    layer.source !== "default" && entriesOf(layer, "providers").length > 0
  );
  return layers.reduce((lower, layer) => {
    const skip = replaced && layer.source === "default";
    const lists = {
      providers: skip ? [] : entriesOf(layer, "providers"),
      plugins: entriesOf(layer, "plugins"),
    };
    return mergeTables(lower, { ...layer.table, ...lists });
  }, {} as TomlTable);
}

function entriesOf(layer: Layer, list: "providers" | "plugins"): TomlTable[] {
  const entries = layer.table[list];
  return Array.isArray(entries) ? entries.filter(isTable) : [];
}

export function keyNamesOf(layer: Layer): string[] {
  return entriesOf(layer, "providers").map((entry) => String(entry.api_key_env ?? "")).filter((name) =>
    name !== ""
  );
}

/** Nothing starts plugins yet, so those of a project are only named. */
function pluginNotice(project: Layer): ConfigProblem[] {
  const names = entriesOf(project, "plugins").filter((entry) => entry.enabled !== false).map((entry) =>
    JSON.stringify(String(entry.name).slice(0, 60))
  );
  if (names.length === 0) return [];
  return [locateFinding(project, {
    level: "warning",
    path: ["plugins"],
    at: "key",
    message: `The plugins of this project have no effect yet: ${names.slice(0, 10).join(", ")}`,
    remedy: "keep them for a later version, or remove them",
  })];
}

/** What decides about the layers. */
export interface ResolveOptions {
  /** Working directory, absolute; the project file and the project's `.env` are looked for here. */
  readonly cwd: string;
  readonly env: EnvLookup;
  /** Says that the user trusts this piece of the project; absent = nothing is trusted. */
  readonly trust?: (item: TrustItem) => boolean | Promise<boolean>;
}

interface ProjectSources {
  /** The settings below this layer. */
  readonly base: TomlTable;
  /** Names of variables that hold provider keys. */
  readonly keyNames: ReadonlySet<string>;
  /** All layers of the project, as written. */
  readonly project: readonly Layer[];
  /** The preset that closes the network. */
  readonly offline: string | undefined;
}

/** Makes of what a layer says what counts: variables replaced, paths absolute, the project narrowed. */
export class LayerResolver {
  readonly needsTrust: TrustItem[] = [];
  readonly expanded = new Map<string, string>();
  readonly saved: () => ReadonlyMap<string, string>;
  readonly #options: ResolveOptions;
  readonly #home: string;
  readonly #problems: ConfigProblem[];

  constructor(options: ResolveOptions, home: string, problems: ConfigProblem[]) {
    this.#options = options;
    this.#home = home;
    this.#problems = problems;
    this.saved = lazyDotenv(() => readText(join(home, ".env"), []));
  }

  readonly resolveLayer = (layer: Layer): Layer => {
    const { cwd } = this.#options;
    const lookup = (name: string) => this.#env(name) ?? this.saved().get(name);
    const { table, missing, used } = expandConfig(layer.table, {
      lookup: () => lookup,
      env: this.#options.env,
      directory: layer.source === "user" ? this.#home : cwd,
      cwd,
    });
    this.#remember(used);
    this.#reportMissing(layer, table, missing);
    return { ...layer, table: moveAliases(table) };
  };

  /** The layers of a project, the weaker first: none may loosen what an earlier one narrows. */
  async resolveProject(layers: readonly Layer[], own: readonly Layer[]): Promise<Layer[]> {
    const keyNames = new Set([DEFAULT_LAYER, ...own, ...layers].flatMap(keyNamesOf));
    const offline = own.find(({ source, table: { sandbox } }) =>
      source === "preset" && isTable(sandbox) && sandbox.network === false
    )?.file;
    const resolved: Layer[] = [];
    for (const layer of layers) {
      const base = mergeLayers([...own, ...resolved]);
      resolved.push(await this.#resolveProjectLayer(layer, { base, keyNames, project: layers, offline }));
    }
    return resolved;
  }

  async #resolveProjectLayer(
    layer: Layer,
    { base, keyNames, project, offline }: ProjectSources,
  ): Promise<Layer> {
    const { cwd, env, trust = () => false } = this.#options;
    const fromFile = lazyDotenv(() => readProjectText(join(cwd, ".env"), []));
    const forPlugins = (name: string) =>
      this.#env(name) ?? (isReservedVariable(name) || keyNames.has(name) ? undefined : fromFile().get(name));
    const { table: expanded, missing, used } = expandConfig(layer.table, {
      lookup: ([list]) => list === "plugins" ? forPlugins : this.#env,
      env,
      directory: cwd,
      cwd,
    });
    const restricted = restrictProjectConfig({
      layer,
      expanded: moveAliases(expanded),
      base: fillDefaults(base),
      keys: {
        providers: [DEFAULT_LAYER, { ...layer, table: base }].flatMap((known) =>
          entriesOf(known, "providers")
        ),
        saved: (name) => this.saved().has(name),
      },
      cwd,
      env,
      userFile: userConfigFile(this.#home),
    });
    const { table, warnings, withholdable, wideningLists } = restricted;
    const waiting: Withholdable[] = [...withholdable];
    if (wideningLists.length > 0) {
      const { findWidenings } = await import("../project/widening.ts");
      const found = findWidenings(restricted, { layer, cwd, env, home: this.#home, project, offline });
      if (found) waiting.push(found);
    }
    this.#problems.push(...warnings, ...pluginNotice(layer));
    this.#remember(used);
    for (const { item, withhold } of waiting) {
      if (await trust(item)) continue;
      withhold();
      this.needsTrust.push(item);
    }
    this.#reportMissing(layer, table, missing);
    return { ...layer, table };
  }

  #remember(used: ReadonlyMap<string, string>): void {
    for (const [name, value] of used) this.expanded.set(name, value);
  }

  readonly #env: EnvLookup = (name) => {
    const { env } = this.#options;
    return env(name) ?? (name === "HOME" ? env("USERPROFILE") : undefined);
  };

  /**
   * A plugin without its variable is left out; everything else must be complete. Left-out entries do not
   * matter.
   */
  #reportMissing(layer: Layer, table: TomlTable, missing: readonly MissingVariable[]): void {
    for (const { path, name } of missing) {
      const [list, index] = path;
      const entries = table[String(list)];
      const isEntry = Array.isArray(entries) && typeof index === "number" &&
        CONFIG_SCHEMA.properties?.[String(list)]?.items?.properties;
      if (isEntry && (!isTable(entries[index]) || entries[index].enabled === false)) continue;
      const level = list === "plugins" ? "warning" : "error";
      this.#problems.push(locateFinding(layer, {
        level,
        path,
        at: "value",
        message: `\${${name}} in ${formatKey(path)} is not set${
          level === "warning" ? "; this plugin is left out" : ""
        }`,
        remedy: `set ${name}, or write \${${name}:-…} with a default`,
      }));
      if (level === "warning" && isEntry) entries[index] = undefined;
    }
  }
}

/** Values under older names go to the keys that took over, unless those are written, too. */
function moveAliases(table: TomlTable): TomlTable {
  const moves: [KeyPath, unknown][] = [];
  findAliases(table, CONFIG_SCHEMA, moves);
  return moves.reduce<TomlTable>((result, [[section, key], value]) => {
    const target = result[String(section)];
    const current = isTable(target) ? target : {};
    return Object.hasOwn(current, String(key))
      ? result
      : { ...result, [String(section)]: { ...current, [String(key)]: value } };
  }, table);
}

function findAliases(table: TomlTable, schema: JsonSchema, moves: [KeyPath, unknown][]): void {
  for (const [name, value] of Object.entries(table)) {
    const child = childSchema(schema, name);
    if (child?.alias) moves.push([child.alias.split("."), value]);
    else if (child?.properties && isTable(value)) findAliases(value, child, moves);
  }
}
