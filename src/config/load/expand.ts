import { isOrdinaryText, looksLikeSecret } from "../../util/redact.ts";
import { type EnvLookup, resolvePath } from "../config_paths.ts";
import type { KeyPath } from "../problem.ts";
import { hideSecrets, isSecretHandedOver } from "../query/hide_secrets.ts";
import {
  childSchema,
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  type TomlTable,
} from "../schema/json_schema.ts";

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Variables that every program gets and that keep nothing secret. */
const ORDINARY =
  /^(?:HOME|USER|USERNAME|LOGNAME|USERPROFILE|PATH|PWD|SHELL|LANG|LC_\w+|TZ|TMPDIR|TMP|TEMP|HOSTNAME|XDG_\w+|APPDATA|LOCALAPPDATA)$/i;

/** Replaces `${VAR}` and `${VAR:-default}`; the default also stands in for an empty variable. */
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
  /** Variables for the key at this path; the first part decides which sources count. */
  readonly lookup: (path: KeyPath) => EnvLookup;
  /** For `~/`. */
  readonly env: EnvLookup;
  /** Directory of the file that is expanded. */
  readonly directory: string;
  readonly cwd: string;
}

export interface MissingVariable {
  readonly path: KeyPath;
  readonly name: string;
}

/**
 * A copy of a layer's table with variables replaced and paths made absolute, where the schema says so. `used`
 * are the variables that hold secrets: by their name, by the place where they stand, or by their look.
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
    return isTable(value) ? mapTable(value, below) : value;
  }

  function walk(value: unknown, schema: JsonSchema | undefined, path: KeyPath): unknown {
    if (!schema) return value;
    if (schema.expand || schema.path) return strings(value, hideSecrets(value), schema, path);
    if (Array.isArray(value)) return value.map((item, index) => walk(item, schema.items, [...path, index]));
    if (!isTable(value)) return value;
    return mapTable(value, (item, name) => walk(item, childSchema(schema, name), [...path, name]));
  }

  return { table: walk(table, CONFIG_SCHEMA, []) as TomlTable, missing, used };
}

/** A text of the configuration, and as it may be shown. */
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

function mapTable(table: TomlTable, map: (value: unknown, name: string) => unknown): TomlTable {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, map(value, name)]));
}
