import { message, ReasonixError } from "../../core/mod.ts";
import { suggestNames } from "../../util/suggest.ts";
import { formatKey, type KeyPath } from "../problem.ts";
import { childSchema, CONFIG_SCHEMA, isTable, type JsonSchema, type TomlTable } from "./json_schema.ts";

const PART = /\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^."'\[\]\s]+)|\[(\d+)\])\s*(\.|(?=\[)|$)/y;

/** Reads `agent.max_steps`, `providers.deepseek.effort`, `providers[0]."a.b"`. */
export function parseKeyPath(text: string): KeyPath {
  const path: (string | number)[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length || path.length === 0) {
    const match = PART.exec(text);
    if (!match) {
      throw new ReasonixError(message`Cannot read the key "${text}"`, {
        exit: "usage",
        remedy: message`write it with dots, such as sandbox.bash or providers.deepseek.effort`,
      });
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

/** The value at a path, undefined when there is none. */
export function valueAt(table: TomlTable, path: KeyPath): unknown {
  return locate(table, path)?.reduce<unknown>((value, part) => (value as TomlTable)[part], table);
}

function unknownKey(path: KeyPath, schema: JsonSchema): ReasonixError {
  const near = suggestNames(String(path.at(-1)), Object.keys(schema.properties ?? {}), 1)[0];
  const suggestion = near && formatKey([...path.slice(0, -1), near]);
  return new ReasonixError(message`Unknown key ${formatKey(path)}`, {
    exit: "usage",
    remedy: suggestion
      ? message`did you mean ${suggestion}?`
      : message`run \`reasonix config show\` to see every key`,
  });
}
