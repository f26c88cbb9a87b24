import { DEFAULT_LAYER, defaultLayer, fillDefaults } from "./defaults.ts";
import { expandConfig, type MissingVariable } from "./expand.ts";
import type { KeySources } from "../query/provider_keys.ts";
import { checkLayer, type Layer, locateFinding, parseLayer, readLayer } from "./layer.ts";
import { mergeTables } from "./merge.ts";
import { join } from "../../path/lexical.ts";
import { type EnvLookup, projectConfigFile, reasonixHome, userConfigFile } from "../config_paths.ts";
import { presetText } from "../presets.ts";
import { ConfigError, type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { restrictProjectConfig, type TrustItem } from "../project/project_policy.ts";
import { isReservedVariable } from "../project/provider_trust.ts";
import type { Config, ConfigInput } from "../schema/schema.ts";
import { lazyDotenv, readProjectText, readText } from "./read_text.ts";
import {
  childSchema,
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  type TomlTable,
} from "../schema/json_schema.ts";

export interface LoadOptions {
  /** Working directory, absolute; the project file and the project's `.env` are looked for here. */
  readonly cwd: string;
  readonly env: EnvLookup;
  /** Reasonix home; found through `env` when absent. */
  readonly home?: string;
  /** Settings from the command line. */
  readonly flags?: ConfigInput;
  /** Name of a preset to lay under the user's settings. */
  readonly preset?: string;
  /** Says that the user trusts this piece of the project; absent = nothing is trusted. */
  readonly trust?: (item: TrustItem) => boolean | Promise<boolean>;
  /** Reads no file: only the defaults, the preset and `flags` count. */
  readonly noFiles?: boolean;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Unknown keys, and settings of the project that were ignored. */
  readonly warnings: readonly ConfigProblem[];
  /** Pieces of the project that were left out until they are trusted. */
  readonly needsTrust: readonly TrustItem[];
  readonly home: string;
  /** Files that were looked for, the strongest first. */
  readonly files: readonly {
    readonly source: "project" | "user";
    readonly path: string;
    readonly found: boolean;
  }[];
  readonly keys: KeySources;
  /**
   * Names of all variables that hold provider keys, also of entries that were left out; children must not see
   * them.
   */
  readonly keyNames: readonly string[];
  /** Variables that the configuration expands outside of paths, with their values. */
  readonly expanded: ReadonlyMap<string, string>;
  /** The part of each source that counts, the strongest first. */
  readonly layers: readonly Layer[];
}

/**
 * Reads the configuration: flags over project file over user file over preset over defaults; see
 * docs/config.md.
 *
 * @throws {ConfigError} with every error of every file
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { cwd, env, preset } = options;
  // An error made while the program's top level is still on the stack costs 2 ms in the bundle: V8 parses all
  // of it again to number the lines. A missing file is such an error, so the stack is left first.
  await null;
  const home = options.home ?? reasonixHome(env, cwd);
  const problems: ConfigProblem[] = [];
  const presetLayer = preset
    ? parseLayer({ source: "preset", file: `preset ${preset}`, text: await presetText(preset) }, problems)
    : undefined;
  const user = options.noFiles ? undefined : readLayer("user", userConfigFile(home), problems);
  const project = options.noFiles ? undefined : readLayer("project", projectConfigFile(cwd), problems);
  const flags: Layer = { source: "flag", table: (options.flags ?? {}) as TomlTable };
  problems.push(...checkLayer(flags));
  const loader = new Loader(options, home, problems);
  const own = [
    builtInLayer([flags, user, presetLayer], (name) => loader.saved().has(name) || Boolean(env(name))),
    ...[presetLayer, user].filter((layer) => layer !== undefined).map(loader.resolveLayer),
  ];
  failOnErrors(problems);
  const base = mergeLayers(own);
  const restricted = project ? await loader.resolveProject(project, base) : undefined;
  const flagged = Object.keys(flags.table).length > 0 ? loader.resolveLayer(flags) : undefined;
  const above = [restricted, flagged].filter((layer) => layer !== undefined);
  const layers = [...own, ...above];
  failOnErrors(problems);
  const config = fillDefaults(above.length > 0 ? mergeLayers(layers) : base);
  return {
    config,
    warnings: problems,
    needsTrust: loader.needsTrust,
    home,
    files: options.noFiles ? [] : [
      { source: "project", path: projectConfigFile(cwd), found: project !== undefined },
      { source: "user", path: userConfigFile(home), found: user !== undefined },
    ],
    keys: { file: join(home, ".env"), saved: loader.saved, env, useEnv: config.security.env_keys },
    keyNames: [...new Set([...own, ...(project ? [project] : []), flags].flatMap(keyNamesOf))],
    expanded: loader.expanded,
    layers: layers.reverse(),
  };
}

/**
 * Returns the built-in provider: that of the first vendor whose key the user has, if the user's own settings
 * leave the choice open.
 */
function builtInLayer(own: readonly (Layer | undefined)[], hasKey: (name: string) => boolean): Layer {
  const tables = own.flatMap((layer) => layer ? [layer.table] : []);
  const closed = tables.some(({ providers, security }) =>
    providers !== undefined || (isTable(security) && security.env_keys === false)
  );
  if (closed) return DEFAULT_LAYER;
  const wanted = tables.map((table) => table.default_model).find((name) => name !== undefined);
  return defaultLayer(String(wanted ?? ""), hasKey);
}

function failOnErrors(problems: readonly ConfigProblem[]): void {
  const errors = problems.filter((problem) => problem.level === "error");
  if (errors.length > 0) throw new ConfigError(errors);
}

/** Lays layers over each other, the weakest first. Providers of any file replace the built-in ones. */
function mergeLayers(layers: readonly Layer[]): TomlTable {
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

function keyNamesOf(layer: Layer): string[] {
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

/** Makes of what a layer says what counts: variables replaced, paths absolute, the project narrowed. */
class Loader {
  readonly needsTrust: TrustItem[] = [];
  readonly expanded = new Map<string, string>();
  readonly saved: () => ReadonlyMap<string, string>;
  readonly #options: LoadOptions;
  readonly #home: string;
  readonly #problems: ConfigProblem[];

  constructor(options: LoadOptions, home: string, problems: ConfigProblem[]) {
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

  async resolveProject(layer: Layer, base: TomlTable): Promise<Layer> {
    const { cwd, env, trust = () => false } = this.#options;
    const fromFile = lazyDotenv(() => readProjectText(join(cwd, ".env"), []));
    const keyNames = new Set([DEFAULT_LAYER, { ...layer, table: base }, layer].flatMap(keyNamesOf));
    const forPlugins = (name: string) =>
      this.#env(name) ?? (isReservedVariable(name) || keyNames.has(name) ? undefined : fromFile().get(name));
    const { table: expanded, missing, used } = expandConfig(layer.table, {
      lookup: ([list]) => list === "plugins" ? forPlugins : this.#env,
      env,
      directory: cwd,
      cwd,
    });
    const { table, warnings, withholdable } = restrictProjectConfig({
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
    this.#problems.push(...warnings, ...pluginNotice(layer));
    this.#remember(used);
    for (const { item, withhold } of withholdable) {
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
