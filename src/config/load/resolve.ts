import { type EnvLookup, resolvePath } from "../config_paths.ts";
import { DEFAULT_LAYER, fillDefaults } from "./defaults.ts";
import {
  type Layer,
  lazyDotenv,
  locateFinding,
  locationOf,
  mergeTables,
  readProjectText,
  readText,
} from "./layer.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { hideSecrets, isSecretHandedOver, isSecretText, MARK } from "../query/hide_secrets.ts";
import type { PluginEntry } from "../schema/config_types.ts";
import {
  childSchema,
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  tableOf,
  type TomlTable,
} from "../schema/json_schema.ts";
import { isReservedVariable } from "../vendors.ts";
import { message, type SourceLocation, withRemedy } from "../../core/mod.ts";
import { join } from "../../path/lexical.ts";
import type { TrustItem } from "../../trust/mod.ts";
import { isOrdinaryText, looksLikeSecret } from "../../util/redact.ts";
import { mapValues } from "../../util/json.ts";

/** Lays layers over each other, the weakest first. Providers of any file replace the built-in ones. */
export function mergeLayers(layers: readonly Layer[]): TomlTable {
  const replaced = layers.some((layer) => layer.source !== "default" && providersOf(layer).length > 0);
  return layers.reduce((lower, layer) => {
    const skip = replaced && layer.source === "default";
    const lists = {
      providers: skip ? [] : providersOf(layer),
      plugins: pluginsOf(layer),
      hooks: entriesOf(layer, "hooks"),
    };
    return mergeTables(lower, { ...layer.table, ...lists });
  }, {} as TomlTable);
}

export function providersOf(layer: Pick<Layer, "table">): TomlTable[] {
  return entriesOf(layer, "providers");
}

export function pluginsOf(layer: Pick<Layer, "table">): TomlTable[] {
  return entriesOf(layer, "plugins");
}

function entriesOf({ table }: Pick<Layer, "table">, list: "providers" | "plugins" | "hooks"): TomlTable[] {
  const entries = table[list];
  return Array.isArray(entries) ? entries.filter(isTable) : [];
}

/** Names of the variables with keys of providers, and with secrets for the sign-in of MCP servers. */
export function keyNamesOf(layer: Pick<Layer, "table">): string[] {
  const secrets = pluginsOf(layer).map(({ oauth }) => isTable(oauth) ? oauth.client_secret_env : undefined);
  const keys = providersOf(layer).map((entry) => entry.api_key_env);
  return [...keys, ...secrets].map((name) => String(name ?? "")).filter((name) => name !== "");
}

export interface ResolveOptions {
  /** Working directory, absolute; the project file and the project's `.env` are looked for here. */
  readonly cwd: string;
  readonly env: EnvLookup;
  /** Reports whether the user trusts an item; absent: nothing is trusted. */
  readonly trust?: (item: TrustItem) => boolean | Promise<boolean>;
}

interface ProjectContext {
  /** The settings below the layer. */
  readonly base: TomlTable;
  /** The layers of the user, and those of the project, as written. */
  readonly written: readonly Layer[];
  readonly project: readonly Layer[];
  readonly keyNames: ReadonlySet<string>;
  readonly offline: string | undefined;
}

export interface ProjectProvider {
  readonly name: string;
  /** The name of the user's entry whose key and address it has; absent: it has others, and is trusted. */
  readonly userEntry?: string | undefined;
}

/** Resolves layers: replaces variables, makes paths absolute, restricts the project. */
export class LayerResolver {
  readonly needsTrust: TrustItem[] = [];
  readonly trusted: TrustItem[] = [];
  readonly leftOut: LeftOutServer[] = [];
  readonly projectProviders: ProjectProvider[] = [];
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
      directory: layer.root ?? (layer.source === "user" ? this.#home : cwd),
      cwd,
    });
    this.#remember(used);
    this.#reportMissing(layer, table, missing);
    return { ...layer, table: moveAliases(table) };
  };

  /**
   * Resolves the layers of a project, the weaker first: none may loosen an earlier one. `users` are the
   * resolved layers of the user, `written` the same as written.
   */
  async resolveProject(
    layers: readonly Layer[],
    users: readonly Layer[],
    written: readonly Layer[],
  ): Promise<Layer[]> {
    const keyNames = new Set([DEFAULT_LAYER, ...users, ...layers].flatMap(keyNamesOf));
    const offline = users.find(({ source, table: { sandbox } }) =>
      source === "preset" && isTable(sandbox) && sandbox.network === false
    )?.file;
    const resolved: Layer[] = [];
    for (const layer of layers) {
      const base = mergeLayers([...users, ...resolved]);
      const context = { base, written, project: layers, keyNames, offline };
      resolved.push(await this.#resolveProjectLayer(layer, context));
    }
    return resolved;
  }

  async #resolveProjectLayer(
    layer: Layer,
    { base, written, project, keyNames, offline }: ProjectContext,
  ): Promise<Layer> {
    const { cwd, env, trust = () => false } = this.#options;
    const fromFile = lazyDotenv(() => readProjectText(join(cwd, ".env"), []));
    const fromDotenv = new Map<number, TomlTable>();
    const forPlugin = ([, index]: KeyPath): EnvLookup => (name) => {
      const set = this.#env(name);
      if (set !== undefined || isReservedVariable(name) || keyNames.has(name)) return set;
      const value = fromFile().get(name);
      const at = Number(index);
      if (value !== undefined) fromDotenv.set(at, { ...fromDotenv.get(at), [name]: value });
      return value;
    };
    const { table: expanded, missing, used } = expandConfig(layer.table, {
      lookup: (path) => path[0] === "plugins" ? forPlugin(path) : this.#env,
      env,
      directory: cwd,
      cwd,
    });
    const { restrictProjectConfig } = await import("../project/project_policy.ts");
    const { table, warnings, withholdable, endpoints } = restrictProjectConfig({
      layer,
      expanded: moveAliases(expanded),
      base: fillDefaults(base),
      keys: {
        providers: providersOf({ table: base }),
        holder: (name) =>
          holderOf(name, written.map(({ table }) => table)) ??
            (this.saved().has(name) ? "(saved in your file .env)" : undefined),
      },
      cwd,
      env,
      home: this.#home,
      project,
      offline,
      fromDotenv,
    });
    this.#problems.push(...warnings);
    this.#remember(used);
    this.#reportSwitchedOff(layer, base);
    for (const { item, withhold } of withholdable) {
      const isTrusted = await trust(item);
      if (!isTrusted) withhold();
      (isTrusted ? this.trusted : this.needsTrust).push(item);
    }
    for (const entry of providersOf({ table })) {
      this.projectProviders.push({ name: String(entry.name), userEntry: endpoints.get(entry) });
    }
    this.#reportMissing(layer, table, missing);
    return { ...layer, table };
  }

  /**
   * Makes a layer of the MCP servers that a client, such as an editor, adds to a session. They are used as
   * they are, since the client has filled in its variables, and in place of servers of `others` with their
   * names.
   */
  clientLayer(servers: readonly PluginEntry[], others: readonly Layer[]): Layer {
    for (const { name, command, args, env, headers } of servers) {
      const hidden = hideSecrets([command, ...args]) as string[];
      const secrets = [
        ...[command, ...args].filter((_text, index) => hidden[index] === MARK),
        ...Object.entries(env).filter(isSecretText).map(([, value]) => value),
        // A scheme such as `Bearer` is no part of the secret.
        ...Object.entries(headers).filter(isSecretText).flatMap((
          [, value],
        ) => [value, ...value.split(/\s+/)]),
      ];
      secrets.forEach((secret, index) => this.expanded.set(`${name}#${index}`, secret));
      for (const layer of others) {
        const at = pluginsOf(layer).findIndex((entry) => entry.name === name && entry.enabled !== false);
        if (at < 0) continue;
        this.leftOut.push({
          name,
          why: "shadowed",
          message: "the one of the client counts",
          remedy: "rename one of the two",
          place: locationOf(layer, ["plugins", at]) ?? { file: layer.file ?? "" },
        });
      }
    }
    return { source: "client", table: { plugins: [...servers] } };
  }

  /** A disabled server of the user is named with the reason. */
  #reportSwitchedOff(layer: Layer, base: TomlTable): void {
    const servers = pluginsOf({ ...layer, table: base }).filter(({ enabled }) => enabled !== false);
    for (const [index, { name, enabled }] of pluginsOf(layer).entries()) {
      if (enabled !== false || !servers.some((entry) => entry.name === name)) continue;
      this.leftOut.push({
        name: String(name),
        why: "switched off",
        message: "this project switches your own server off",
        remedy: "remove the entry from the project's file if you want your server here",
        place: locationOf(layer, ["plugins", index]) ?? { file: layer.file ?? "" },
      });
    }
  }

  #remember(used: ReadonlyMap<string, string>): void {
    for (const [name, value] of used) this.expanded.set(name, value);
  }

  readonly #env: EnvLookup = (name) => {
    const { env } = this.#options;
    return env(name) ?? (name === "HOME" ? env("USERPROFILE") : undefined);
  };

  /** A plugin whose variable is missing is left out; any other missing variable is an error. */
  #reportMissing(layer: Layer, table: TomlTable, missing: readonly MissingVariable[]): void {
    for (const { path, name } of missing) {
      const [list, index, ...rest] = path;
      const entries = table[String(list)];
      const isEntry = Array.isArray(entries) && typeof index === "number" &&
        CONFIG_SCHEMA.properties?.[String(list)]?.items?.properties;
      const entry = isEntry ? entries[index] : undefined;
      if (isEntry && (!isTable(entry) || entry.enabled === false)) continue;
      const remedy = message`set ${name}, or write ${`\${${name}:-…}`} with a default`;
      const at = { path, at: "value" } as const;
      if (list !== "plugins" || !isTable(entry)) {
        const text = message`${`\${${name}}`} in ${formatKey(path)} is not set`;
        this.#problems.push(locateFinding(layer, { ...at, level: "error", ...withRemedy(text, remedy) }));
        continue;
      }
      const server = String(entry.name);
      const why = message`${`\${${name}}`} in its ${formatKey(rest)} is not set`;
      const problem = locateFinding(layer, {
        ...at,
        level: "warning",
        ...withRemedy(message`The MCP server ${JSON.stringify(server)} is not started: ${why}`, remedy),
      });
      this.#problems.push(problem);
      const place = problem.place ?? { file: layer.file ?? "" };
      this.leftOut.push({ name: server, why: "variable", message: why.text, remedy: remedy.text, place });
      if (isEntry) entries[index] = undefined;
    }
  }
}

/** Moves values of older names to the keys that replaced them, unless those are set, too. */
function moveAliases(table: TomlTable): TomlTable {
  const moves: [KeyPath, unknown][] = [];
  findAliases(table, CONFIG_SCHEMA, moves);
  return moves.reduce<TomlTable>((result, [[section, key], value]) => {
    const target = result[String(section)];
    const current = tableOf(target);
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

export interface LeftOutServer {
  readonly name: string;
  /** `shadowed`: another entry of its name is used; `switched off`: by the project. */
  readonly why: "variable" | "invalid" | "shadowed" | "switched off";
  /** Follows "is not used:". */
  readonly message: string;
  readonly remedy: string;
  readonly place: SourceLocation;
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Variables of every program that hold no secret. */
const ORDINARY =
  /^(?:HOME|USER|USERNAME|LOGNAME|USERPROFILE|PATH|PWD|SHELL|LANG|LC_\w+|TZ|TMPDIR|TMP|TEMP|HOSTNAME|XDG_\w+|APPDATA|LOCALAPPDATA)$/i;

/** Replaces `${VAR}` and `${VAR:-default}`; the default also replaces an empty variable. */
function expandText(text: string, lookup: EnvLookup, missing: (name: string) => void): string {
  if (!text.includes("${")) return text;
  return text.replace(VARIABLE, (whole, name: string, fallback?: string) => {
    const value = lookup(name);
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) missing(name);
    return value ?? whole;
  });
}

export interface ExpandOptions {
  /** Looks up variables for the key at this path. */
  readonly lookup: (path: KeyPath) => EnvLookup;
  /** For `~/`. */
  readonly env: EnvLookup;
  readonly directory: string;
  readonly cwd: string;
}

export interface MissingVariable {
  readonly path: KeyPath;
  readonly name: string;
}

/**
 * Returns a copy of a table with variables replaced and paths made absolute, as the schema says. `used` are
 * the variables that hold secrets.
 */
export function expandConfig(
  table: TomlTable,
  options: ExpandOptions,
): { table: TomlTable; missing: MissingVariable[]; used: Map<string, string> } {
  const missing: MissingVariable[] = [];
  const used = new Map<string, string>();

  function recording(leaf: Leaf, schema: JsonSchema): EnvLookup {
    const lookup = options.lookup(leaf.path);
    // A path that begins with a variable keeps no secret in it.
    if (schema.path) return lookup;
    return (name) => {
      const value = lookup(name);
      if (value && !ORDINARY.test(name) && isSecret(name, value, leaf)) used.set(name, value);
      return value;
    };
  }

  function strings(value: unknown, hidden: unknown, schema: JsonSchema, path: KeyPath): unknown {
    if (typeof value === "string") {
      const leaf = { path, hidden: String(hidden) };
      const text = schema.expand
        ? expandText(value, recording(leaf, schema), (name) => missing.push({ path, name }))
        : value;
      if (!schema.path || text === "") return text;
      return resolvePath(text, schema.path === "file" ? options.directory : options.cwd, options.env);
    }
    const below = (item: unknown, key: string | number) =>
      strings(item, (hidden as Record<string | number, unknown>)[key], schema, [...path, key]);
    if (Array.isArray(value)) return value.map(below);
    return isTable(value) ? mapValues(value, below) : value;
  }

  function walk(value: unknown, schema: JsonSchema | undefined, path: KeyPath): unknown {
    if (!schema) return value;
    if (schema.expand || schema.path) return strings(value, hideSecrets(value), schema, path);
    if (Array.isArray(value)) return value.map((item, index) => walk(item, schema.items, [...path, index]));
    if (!isTable(value)) return value;
    return mapValues(value, (item, name) => walk(item, childSchema(schema, name), [...path, name]));
  }

  return { table: walk(table, CONFIG_SCHEMA, []) as TomlTable, missing, used };
}

/** A text of the configuration, and the same with secrets hidden. */
interface Leaf {
  readonly path: KeyPath;
  readonly hidden: string;
}

/**
 * Reports whether a variable holds a secret: by its name, by the name of the flag, header or variable that it
 * fills, or by its look.
 */
function isSecret(name: string, value: string, { path, hidden }: Leaf): boolean {
  if (isSecretHandedOver(name)) return true;
  if (isOrdinaryText(value)) return false;
  const [table, key] = [path.at(-2), String(path.at(-1))];
  return table === "headers" || (table === "env" && isSecretHandedOver(key)) ||
    !(hidden.includes(`\${${name}}`) || hidden.includes(`\${${name}:-`)) ||
    looksLikeSecret(value) || hideSecrets(value) !== value;
}

const ENTRY_WORDS: Readonly<Record<string, string>> = {
  plugins: "the MCP server",
  providers: "the provider",
};

/** Finds the provider, MCP server or table of the user that names a variable, as `…_env` or in `${…}`. */
function holderOf(name: string, tables: readonly TomlTable[]): string | undefined {
  const isNamed = (value: unknown, key = ""): boolean =>
    typeof value === "string"
      ? (key.endsWith("_env") && value === name) || value.includes(`\${${name}}`) ||
        value.includes(`\${${name}:-`)
      : typeof value === "object" && value !== null &&
        Object.entries(value).some(([inner, item]) => isNamed(item, inner));
  for (const [section, value] of tables.flatMap((table) => Object.entries(table))) {
    const what = ENTRY_WORDS[section];
    const entry = what && Array.isArray(value) ? value.find((each) => isNamed(each)) : undefined;
    if (entry) return `of ${what} ${entry.name}`;
    if (isNamed(value)) return `of [${section}]`;
  }
  return undefined;
}
