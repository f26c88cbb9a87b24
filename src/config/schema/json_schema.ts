import { formatKey, type KeyPath } from "../problem.ts";
import { message, ReasonixError, usageError } from "../../core/mod.ts";
import { suggestNames } from "../../util/suggest.ts";
import schemaData from "./schema.json" with { type: "json" };

export type TomlTable = { [key: string]: unknown };

/**
 * The rights of a project file over a key. A repository is not the user: it may restrict, never grant.
 * - any: set it freely
 * - ignored: only the user's file counts
 * - adds: its items join the user's list
 * - stricter: only towards the front of the enum, whose values are written from strict to loose
 * - off: may only switch it off
 * - lower: only a lower, non-zero limit
 * - subset: only a part of the user's list (anything, when the user has no list)
 * - inside: only paths inside the project directory
 * - user: at an endpoint of the user only the user's value counts
 * - trust: waits until the user trusts this content
 * - grants: items beyond the user's list wait until the user trusts the content of the file
 */
export type ProjectRule =
  | "any"
  | "ignored"
  | "adds"
  | "stricter"
  | "off"
  | "lower"
  | "subset"
  | "inside"
  | "user"
  | "trust"
  | "grants";

/** Facts about a key in addition to its type; they become `x-` keywords of the JSON Schema. */
export interface KeyNotes {
  readonly project?: ProjectRule;
  /** `${VAR}` and `${VAR:-default}` are replaced in its strings. */
  readonly expand?: true;
  /**
   * Strings are paths: `~/` is replaced, relative ones count from the file that names them or from the
   * working directory.
   */
  readonly path?: "file" | "cwd";
  /** The lists of all layers are joined; otherwise the highest one wins. */
  readonly merge?: "concat";
  /** The value is never shown in a message. */
  readonly secret?: true;
  /** Accepted, and nothing reads it: in this version, or in any. Holds for all keys of a table or entry. */
  readonly idle?: "yet" | "obsolete";
  /** The key that replaced it; a value here is read as if it were written there. */
  readonly alias?: string;
}

/** The form of a value: the subset of JSON Schema that schema.json uses, plus our notes. */
export interface JsonSchema extends KeyNotes {
  readonly type?: "object" | "array" | "string" | "number" | "integer" | "boolean";
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly items?: JsonSchema;
  readonly open?: boolean;
}

export const CONFIG_SCHEMA = schemaData as JsonSchema;

export function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The value when it is a table, otherwise an empty one. */
export function tableOf(value: unknown): TomlTable {
  return isTable(value) ? value : {};
}

/** The schema of the value that a key names inside a value of this schema, when the key is known. */
export function childSchema(schema: JsonSchema | undefined, key: string | number): JsonSchema | undefined {
  if (typeof key === "number") return schema?.items;
  const properties = schema?.properties;
  if (properties && Object.hasOwn(properties, key)) return properties[key];
  return schema?.additionalProperties;
}

const PART = /\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^."'\[\]\s]+)|\[(\d+)\])\s*(\.|(?=\[)|$)/y;

/** Reads `agent.max_steps`, `providers.deepseek.effort`, `providers[0]."a.b"`. */
export function parseKeyPath(text: string): KeyPath {
  const path: (string | number)[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length || path.length === 0) {
    const match = PART.exec(text);
    if (!match) {
      throw usageError(
        message`Cannot read the key "${text}"`,
        message`write it with dots, such as sandbox.bash or providers.deepseek.effort`,
      );
    }
    const [, double, single, bare, index] = match;
    path.push(index === undefined ? double ?? single ?? bare ?? "" : Number(index));
  }
  return path;
}

/** The schema of the value at a path. Entries of named lists may be given by name or by index. */
export function schemaAt(path: KeyPath): JsonSchema {
  let schema = CONFIG_SCHEMA;
  path.forEach((part, index) => {
    const named = typeof part === "string" && schema.items?.properties !== undefined;
    const child = named ? schema.items : childSchema(schema, part);
    if (!child) throw unknownKey(path.slice(0, index + 1), schema);
    schema = child;
  });
  return schema;
}

/**
 * The same path with names of list entries replaced by their indexes in this table; undefined when one is not
 * there.
 */
export function locate(table: TomlTable, path: KeyPath): KeyPath | undefined {
  const located: (string | number)[] = [];
  let value: unknown = table;
  for (const part of path) {
    if (Array.isArray(value)) {
      const index = typeof part === "number"
        ? part
        : value.findIndex((item) => isTable(item) && item.name === part);
      if (index < 0 || index >= value.length) return undefined;
      located.push(index);
      value = value[index];
    } else {
      if (!isTable(value) || !Object.hasOwn(value, part)) return undefined;
      located.push(part);
      value = value[part];
    }
  }
  return located;
}

export function valueAt(table: TomlTable, path: KeyPath): unknown {
  return locate(table, path)?.reduce<unknown>((value, part) => (value as TomlTable)[part], table);
}

function unknownKey(path: KeyPath, schema: JsonSchema): ReasonixError {
  const near = suggestNames(String(path.at(-1)), Object.keys(schema.properties ?? {}), 1)[0];
  const suggestion = near && formatKey([...path.slice(0, -1), near]);
  return usageError(
    message`Unknown key ${formatKey(path)}`,
    suggestion
      ? message`did you mean ${suggestion}?`
      : message`run \`reasonix config show\` to see every key`,
  );
}
