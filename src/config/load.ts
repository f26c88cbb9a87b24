import { DEFAULT_LAYER } from "./defaults.ts";
import { lazyDotenv } from "./dotenv.ts";
import { expandTree, type MissingVariable } from "./expand.ts";
import type { KeySources } from "./keys.ts";
import { checkLayer, type Layer, locateFinding, parseLayer, readLayer } from "./layer.ts";
import { fillDefaults, mergeTrees } from "./merge.ts";
import { type EnvLookup, joinPath, projectConfigFile, reasonixHome, userConfigFile } from "./paths.ts";
import { presetText } from "./presets.ts";
import { ConfigError, type ConfigProblem, formatKey, type KeyPath } from "./problem.ts";
import { narrowProject, type TrustItem } from "./project_policy.ts";
import { isReservedVariable } from "./provider_trust.ts";
import type { Config, ConfigInput } from "./schema.ts";
import { readProjectText, readText } from "./read_text.ts";
import { childShape, CONFIG_SHAPE, isTree, type Shape, type Tree } from "./shape.ts";

export interface LoadOptions {
  /** Working directory, absolute; the project file and the project's `.env` are looked for here. */
  readonly cwd: string;
  readonly env: EnvLookup;
  /** Reasonix home; found through `env` when absent. */
  readonly home?: string;
  /** What the command line says. */
  readonly flags?: ConfigInput;
  /** Name of a preset to lay under the user's settings. */
  readonly preset?: string;
  /** Whether the user trusts this piece of the project; absent = nothing is trusted. */
  readonly trust?: (item: TrustItem) => boolean;
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
  /** Names of all variables that hold provider keys, also of entries that were left out; children must not see them. */
  readonly keyNames: readonly string[];
  /** What counts of each source, the strongest first. */
  readonly layers: readonly Layer[];
}

/**
 * Reads the configuration: flags over project file over user file over preset over defaults; see docs/config.md.
 *
 * @throws {ConfigError} with every error of every file
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { cwd, env, preset } = options;
  // An error made while the program's top level is still on the stack costs 2 ms in the bundle: V8 parses all of it
  // again to number the lines. A missing file is such an error, so the stack is left first.
  await null;
  const home = options.home ?? reasonixHome(env, cwd);
  const problems: ConfigProblem[] = [];
  const presetLayer = preset
    ? parseLayer({ source: "preset", file: `preset ${preset}`, text: await presetText(preset) }, problems)
    : undefined;
  const user = readLayer("user", userConfigFile(home), problems);
  const project = readLayer("project", projectConfigFile(cwd), problems);
  const flags: Layer = { source: "flag", tree: (options.flags ?? {}) as Tree };
  problems.push(...checkLayer(flags));
  const loader = new Loader(options, home, problems);
  const own = [
    DEFAULT_LAYER,
    ...[presetLayer, user].filter((layer) => layer !== undefined).map(loader.settle),
  ];
  failOnErrors(problems);
  const base = stack(own);
  const narrowed = project ? loader.settleProject(project, base) : undefined;
  const settled = Object.keys(flags.tree).length > 0 ? loader.settle(flags) : undefined;
  const above = [narrowed, settled].filter((layer) => layer !== undefined);
  const layers = [...own, ...above];
  failOnErrors(problems);
  const config = fillDefaults(above.length > 0 ? stack(layers) : base);
  return {
    config,
    warnings: problems,
    needsTrust: loader.needsTrust,
    home,
    files: [
      { source: "project", path: projectConfigFile(cwd), found: project !== undefined },
      { source: "user", path: userConfigFile(home), found: user !== undefined },
    ],
    keys: { file: joinPath(home, ".env"), saved: loader.saved, env, useEnv: config.security.env_keys },
    keyNames: [...new Set([...own, ...(project ? [project] : []), flags].flatMap(keyNamesOf))],
    layers: layers.reverse(),
  };
}

function failOnErrors(problems: readonly ConfigProblem[]): void {
  const errors = problems.filter((problem) => problem.level === "error");
  if (errors.length > 0) throw new ConfigError(errors);
}

/** Lays layers over each other, the weakest first. Providers of any file replace the built-in ones. */
function stack(layers: readonly Layer[]): Tree {
  const replaced = layers.some((layer) =>
    layer.source !== "default" && entriesOf(layer, "providers").length > 0
  );
  return layers.reduce((lower, layer) => {
    const skip = replaced && layer.source === "default";
    const lists = {
      providers: skip ? [] : entriesOf(layer, "providers"),
      plugins: entriesOf(layer, "plugins"),
    };
    return mergeTrees(lower, { ...layer.tree, ...lists });
  }, {} as Tree);
}

function entriesOf(layer: Layer, list: "providers" | "plugins"): Tree[] {
  const entries = layer.tree[list];
  return Array.isArray(entries) ? entries.filter(isTree) : [];
}

function keyNamesOf(layer: Layer): string[] {
  return entriesOf(layer, "providers").map((entry) => String(entry.api_key_env ?? "")).filter((name) =>
    name !== ""
  );
}

/** Makes of what a layer says what counts: variables replaced, paths absolute, the project narrowed. */
class Loader {
  readonly needsTrust: TrustItem[] = [];
  readonly saved: () => ReadonlyMap<string, string>;
  readonly #options: LoadOptions;
  readonly #home: string;
  readonly #problems: ConfigProblem[];

  constructor(options: LoadOptions, home: string, problems: ConfigProblem[]) {
    this.#options = options;
    this.#home = home;
    this.#problems = problems;
    this.saved = lazyDotenv(() => readText(joinPath(home, ".env"), []));
  }

  readonly settle = (layer: Layer): Layer => {
    const { cwd } = this.#options;
    const lookup = (name: string) => this.#env(name) ?? this.saved().get(name);
    const { tree, missing } = expandTree(layer.tree, {
      lookup: () => lookup,
      env: this.#options.env,
      folder: layer.source === "user" ? this.#home : cwd,
      cwd,
    });
    this.#reportMissing(layer, tree, missing);
    return { ...layer, tree: moveAliases(tree) };
  };

  settleProject(layer: Layer, base: Tree): Layer {
    const { cwd, env, trust = () => false } = this.#options;
    const fromFile = lazyDotenv(() => readProjectText(joinPath(cwd, ".env"), []));
    const keyNames = new Set([DEFAULT_LAYER, { ...layer, tree: base }, layer].flatMap(keyNamesOf));
    const forPlugins = (name: string) =>
      this.#env(name) ?? (isReservedVariable(name) || keyNames.has(name) ? undefined : fromFile().get(name));
    const { tree: expanded, missing } = expandTree(layer.tree, {
      lookup: ([list]) => list === "plugins" ? forPlugins : this.#env,
      env,
      folder: cwd,
      cwd,
    });
    const { tree, warnings, needsTrust } = narrowProject({
      layer,
      expanded: moveAliases(expanded),
      base: fillDefaults(base),
      keys: {
        providers: [DEFAULT_LAYER, { ...layer, tree: base }].flatMap((known) =>
          entriesOf(known, "providers")
        ),
        saved: (name) => this.saved().has(name),
      },
      cwd,
      env,
      userFile: userConfigFile(this.#home),
      trust,
    });
    this.#problems.push(...warnings);
    this.needsTrust.push(...needsTrust);
    this.#reportMissing(layer, tree, missing);
    return { ...layer, tree };
  }

  readonly #env: EnvLookup = (name) => {
    const { env } = this.#options;
    return env(name) ?? (name === "HOME" ? env("USERPROFILE") : undefined);
  };

  /** A plugin without its variable is left out; everything else must be complete. Left-out entries do not matter. */
  #reportMissing(layer: Layer, tree: Tree, missing: readonly MissingVariable[]): void {
    for (const { path, name } of missing) {
      const [list, index] = path;
      const entries = tree[String(list)];
      const isEntry = Array.isArray(entries) && typeof index === "number" &&
        CONFIG_SHAPE.properties?.[String(list)]?.items?.properties;
      if (isEntry && (!isTree(entries[index]) || entries[index].enabled === false)) continue;
      const level = list === "plugins" ? "warning" : "error";
      this.#problems.push(locateFinding(layer, {
        level,
        path,
        at: "value",
        message: `\${${name}} in ${formatKey(path)} is not set${
          level === "warning" ? "; this plugin is left out" : ""
        }`,
        remedy: `Set ${name}, or write \${${name}:-…} with a default`,
      }));
      if (level === "warning" && isEntry) entries[index] = undefined;
    }
  }
}

/** Values under older names go to the keys that took over, unless those are written, too. */
function moveAliases(tree: Tree): Tree {
  const moves: [KeyPath, unknown][] = [];
  findAliases(tree, CONFIG_SHAPE, moves);
  return moves.reduce<Tree>((result, [[table, key], value]) => {
    const target = result[String(table)];
    const current = isTree(target) ? target : {};
    return Object.hasOwn(current, String(key))
      ? result
      : { ...result, [String(table)]: { ...current, [String(key)]: value } };
  }, tree);
}

function findAliases(tree: Tree, shape: Shape, moves: [KeyPath, unknown][]): void {
  for (const [name, value] of Object.entries(tree)) {
    const child = childShape(shape, name);
    if (child?.alias) moves.push([child.alias.split("."), value]);
    else if (child?.properties && isTree(value)) findAliases(value, child, moves);
  }
}
