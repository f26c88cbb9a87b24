import { canonicalJson } from "../../util/json.ts";
import { type Layer, placeOf } from "../load/layer.ts";
import { type EnvLookup, isInside } from "../config_paths.ts";
import { valueAt } from "../schema/key_path.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { hookEntry, pluginEntry } from "../plugins/plugin_trust.ts";
import { isLower, judgeProvider, type KnownKeys } from "./provider_trust.ts";
import type { Config } from "../schema/schema.ts";
import { CONFIG_SCHEMA, isTable, type JsonSchema, type TomlTable } from "../schema/json_schema.ts";
import { entryItem, type TrustEntry, type TrustItem } from "../../trust/mod.ts";

export interface ProjectInput {
  /** The layer as written. */
  readonly layer: Layer;
  /** Its table with variables and paths expanded; becomes the result. */
  readonly expanded: TomlTable;
  /** The configuration without the project. */
  readonly base: Config;
  readonly keys: KnownKeys;
  readonly cwd: string;
  readonly env: EnvLookup;
  readonly userFile: string;
  /** Values that entries of `[[plugins]]` take from the project's `.env`, by index. */
  readonly fromDotenv: ReadonlyMap<number, TomlTable>;
}

/** Something that counts only when the user trusts it, and how to take it out of the table otherwise. */
export interface Restrictable {
  readonly item: TrustItem;
  withhold(): void;
}

export interface ProjectResult {
  /**
   * The settings that the project may make. Entries of lists of tables that were left out are `undefined`, so
   * that indexes stay.
   */
  readonly table: TomlTable;
  readonly warnings: ConfigProblem[];
  /** The entries that are still in the table and wait for a decision. */
  readonly withholdable: Restrictable[];
  /** The name of the user's provider entry whose key and address a project's entry has, by that entry. */
  readonly endpoints: Map<TomlTable, string>;
  /** Lists that are still in the table as they are, and may grant something. */
  readonly grantLists: GrantList[];
}

/** A list that a project may extend as far as the user trusts it. */
export interface GrantList {
  readonly path: KeyPath;
  /** The table of the list, which has the last name of its path. */
  readonly table: TomlTable;
  readonly values: readonly string[];
  /** Warns that an item never counts. */
  refuse(index: number, message: string): void;
}

/** Keeps of a project file what narrows or is harmless; see the table in docs/config.md. */
export function restrictProjectConfig(input: ProjectInput): ProjectResult {
  const result: ProjectResult = {
    table: input.expanded,
    warnings: [],
    withholdable: [],
    grantLists: [],
    endpoints: new Map(),
  };
  restrictTable(result.table, CONFIG_SCHEMA, {
    path: [],
    table: result.table,
    base: input.base as TomlTable,
    input,
    result,
  });
  return result;
}

interface Scope {
  readonly path: KeyPath;
  /** The table of the value. */
  readonly table: TomlTable;
  /** The same table without the project. */
  readonly base: TomlTable;
  readonly input: ProjectInput;
  readonly result: ProjectResult;
}

function restrictTable(table: TomlTable, schema: JsonSchema, scope: Scope): void {
  for (const [name, value] of Object.entries(table)) {
    const child = schema.properties?.[name];
    const base = scope.base[name];
    const here = { ...scope, path: [...scope.path, name], base: isTable(base) ? base : {} };
    if (!child) continue;
    if (child.properties && isTable(value)) restrictTable(value, child, here);
    else if (child.project) table[name] = restrictValue(value, base, child, { ...here, table });
    if (table[name] === undefined) delete table[name];
  }
}

/** The value that counts, or undefined. */
function restrictValue(value: unknown, base: unknown, schema: JsonSchema, scope: Scope): unknown {
  switch (schema.project) {
    case "ignored":
      if (canonicalJson(value) === canonicalJson(base)) return undefined;
      return void warn(scope, `Only your own file can set ${formatKey(scope.path)}`);
    case "stricter":
      return looseness(value, schema) <= looseness(base, schema) ? value : refused(scope, base, value);
    case "off":
      return value === false || base === true ? value : refused(scope, base, value);
    case "lower":
      return value === base || isLower(value, base) ? value : refused(scope, base, value);
    case "subset":
      return subset(value, base, scope);
    case "inside":
      return inside(value, scope);
    case "trust":
      return withTrust(value, scope);
    case "widens":
      return mayGrant(value, base, scope);
    default:
      return value;
  }
}

function looseness(value: unknown, schema: JsonSchema): number {
  return schema.enum?.indexOf(String(value)) ?? 0;
}

function subset(value: unknown, base: unknown, scope: Scope): unknown {
  if (!Array.isArray(value) || !Array.isArray(base) || base.length === 0 || base.includes("*")) return value;
  const kept = value.filter((item) => base.includes(item));
  // An empty list means every tool.
  return kept.length > 0 ? kept : refused(scope, base, value);
}

function inside(value: unknown, scope: Scope): unknown {
  if (Array.isArray(value)) {
    return value.filter((item, index) =>
      inside(item, { ...scope, path: [...scope.path, index] }) !== undefined
    );
  }
  if (value === "" || isInside(String(value), scope.input.cwd)) return value;
  // As written: what a variable in it stands for may be a secret.
  const written = JSON.stringify(valueAt(scope.input.layer.table, scope.path));
  return void warn(scope, `${formatKey(scope.path)} may not leave the project with ${written}`);
}

/** Items that the user has in the list already grant nothing. */
function mayGrant(value: unknown, base: unknown, scope: Scope): unknown {
  if (!Array.isArray(value) || value.every((item) => Array.isArray(base) && base.includes(item))) {
    return value;
  }
  const { path, table, result } = scope;
  const refuse = (index: number, message: string) => warn({ ...scope, path: [...path, index] }, message);
  result.grantLists.push({ path, table, values: value.map(String), refuse });
  return value;
}

function refused(scope: Scope, base: unknown, value: unknown): undefined {
  const change = `from ${JSON.stringify(base)} to ${JSON.stringify(value)}`;
  warn(scope, `A project file cannot loosen ${formatKey(scope.path)} ${change}`);
}

function warn({ input, path, result }: Scope, message: string): void {
  const place = placeOf(input.layer, path);
  result.warnings.push({
    level: "warning",
    message: `${message}; it is ignored`,
    remedy: `move it to ${input.userFile} if you want it`,
    ...(place ? { place } : {}),
  });
}

function withTrust(value: unknown, scope: Scope): unknown {
  const [list] = scope.path;
  if (isTable(value)) return commands(value, scope);
  if (!Array.isArray(value)) {
    const reason = `it would run ${JSON.stringify(value)} as the shell`;
    const withhold = () => delete scope.table[String(scope.path.at(-1))];
    mark(
      { kind: "shell", name: String(value), written: value, describe: () => ({ reason }) },
      scope,
      withhold,
    );
    return value;
  }
  const raw = scope.input.layer.table[String(list)];
  const entries: (TomlTable | undefined)[] = value.map((entry, index) =>
    isTable(entry) && Array.isArray(raw) && isTable(raw[index]) ? entry : undefined
  );
  for (const [index, entry] of entries.entries()) {
    const written = Array.isArray(raw) ? raw[index] : undefined;
    if (!entry || !isTable(written)) continue;
    const place: EntryLocation = {
      scope: { ...scope, path: [...scope.path, index] },
      withhold: () => entries[index] = undefined,
      replace: (by) => entries[index] = by,
    };
    if (list === "providers") provider(written, entry, place);
    else if (list === "hooks") mark(hookEntry(written, scope.input), place.scope, place.withhold);
    else plugin(written, entry, place);
  }
  return entries;
}

/** Command lines by glob. */
function commands(value: TomlTable, scope: Scope): TomlTable {
  const lines = Object.values(value).flat().map(String);
  const name = scope.path.join(".");
  const withhold = () => delete scope.table[String(scope.path.at(-1))];
  const reason = `it would run ${lines.map((line) => JSON.stringify(line)).join(", ")} after turns that ` +
    "change files";
  mark({ kind: "verify", name, written: value, describe: () => ({ reason, lines }) }, scope, withhold);
  return value;
}

/** An entry of a list, and how to take it out. */
interface EntryLocation {
  readonly scope: Scope;
  readonly withhold: () => void;
  readonly replace: (by: TomlTable) => void;
}

function provider(written: TomlTable, entry: TomlTable, { scope, withhold, replace }: EntryLocation): void {
  const { reason, own, counts, refused } = judgeProvider(written, entry, scope.input.keys);
  replace(counts);
  if (own) scope.result.endpoints.set(counts, String(own.name));
  for (const path of new Map(refused.map((path) => [formatKey(path), path])).values()) {
    const here = { ...scope, path: [...scope.path, ...path] };
    warn(here, `A project file cannot loosen ${formatKey(here.path)} of your provider ${own?.name}`);
  }
  if (reason === undefined) return;
  const describe = () => ({ reason });
  mark({ kind: "provider", name: String(entry.name), written, describe }, scope, withhold);
}

/** A server that a project only switches off needs no trust, and of what it says nothing else counts. */
function plugin(written: TomlTable, entry: TomlTable, { scope, withhold }: EntryLocation): void {
  const { base, layer, cwd, env, keys: { holder }, fromDotenv } = scope.input;
  if (entry.enabled === false) {
    for (const key of Object.keys(entry)) if (key !== "name" && key !== "enabled") delete entry[key];
    return;
  }
  const replaces = base.plugins.some((own) => own.name === entry.name);
  const used = fromDotenv.get(Number(scope.path.at(-1)));
  const about = { layer, path: scope.path, cwd, env, replaces, holder, used };
  mark(pluginEntry(written, entry, about), scope, withhold);
}

function mark(entry: TrustEntry, { input, path, result }: Scope, withhold: () => void): void {
  const { layer, cwd } = input;
  const place = () => placeOf(layer, path) ?? { file: layer.file ?? "" };
  result.withholdable.push({ item: entryItem(entry, { cwd, place }), withhold });
}
