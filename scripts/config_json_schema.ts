import { parse } from "smol-toml";
import keysText from "../src/config/schema/keys.toml" with { type: "text" };

/** A JSON Schema node with our `x-` keywords; see {@linkcode KeyNotes}. */
export interface JsonNode {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minLength?: number;
  properties?: Record<string, JsonNode>;
  required?: string[];
  additionalProperties?: JsonNode | boolean;
  items?: JsonNode;
  [keyword: string]: unknown;
}

type Row = Readonly<Record<string, unknown>>;
const SECTIONS = parse(keysText) as Readonly<Record<string, Readonly<Record<string, Row>>>>;

const text = { type: "string" };
const texts = { type: "array", items: text };
const amount = { type: "number", minimum: 0 };
const byName = (values: JsonNode): JsonNode => ({ type: "object", additionalProperties: values });

const TYPES: Readonly<Record<string, JsonNode>> = {
  text: { ...text, default: "" },
  texts: { ...texts, default: [] },
  words: { type: "array", items: { ...text, minLength: 1 }, default: [] },
  texts_by_name: { ...byName(text), default: {} },
  lists_by_name: { ...byName(texts), default: {} },
  amounts_by_name: { ...byName(amount), default: {} },
  free: { ...byName({}), default: {} },
  text_or_texts: { anyOf: [text, texts] },
  flag: { type: "boolean" },
  count: { type: "integer", minimum: 0 },
  integer: { type: "integer" },
  amount,
  number: { type: "number" },
  ports: { type: "array", items: { type: "integer", exclusiveMinimum: 0 } },
};

/** JSON Schema 2020-12 of a configuration file, for editors (`#:schema` in the first line of the file). */
export function configJsonSchema(): JsonNode {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Reasonix configuration",
    description: "Keys of reasonix.toml and of config.toml in the Reasonix home.",
    ...tableNode("config"),
  };
}

/** Editors mark unknown keys of a table; providers may have further ones. */
function tableNode(section: string, idle?: unknown): JsonNode {
  const rows = rowsOf(section);
  const required = rows.filter(([, row]) => row.required).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(rows.map(([name, row]) => [name, keyNode(name, row, idle)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
    ...(section === "provider" ? { "x-open": true } : {}),
  };
}

function rowsOf(section: string): [string, Row][] {
  const rows = SECTIONS[section];
  if (!rows) throw new Error(`There is no section [${section}] in keys.toml`);
  return Object.entries(rows).flatMap(([name, row]) => row.include ? rowsOf(name) : [[name, row]]);
}

function keyNode(name: string, row: Row, inherited: unknown): JsonNode {
  const { type, one_of, table, tables, tables_by_name, default: value, optional, required, about } = row;
  const { minimum, above, maximum, include: _, ...notes } = row;
  const idle = row.idle ?? inherited;
  const shape = table
    ? { ...tableNode(String(table), idle), default: {} }
    : tables
    ? { type: "array", items: tableNode(String(tables), idle), default: [] }
    : tables_by_name
    ? { ...byName(tableNode(String(tables_by_name), idle)), default: {} }
    : one_of
    ? { ...text, enum: one_of as string[] }
    : TYPES[String(type)];
  if (!shape || typeof about !== "string") {
    throw new Error(`The key ${name} of keys.toml has no known type, or no "about"`);
  }
  const hasTable = table ?? tables ?? tables_by_name;
  const effect = idle === undefined || hasTable
    ? ""
    : idle === "yet"
    ? " Has no effect yet."
    : " Has no effect.";
  const node: JsonNode = {
    ...shape,
    description: about + effect,
    ...(value === undefined ? {} : { default: value }),
    ...(minimum === undefined ? {} : { minimum: Number(minimum) }),
    ...(above === undefined ? {} : { exclusiveMinimum: Number(above) }),
    ...(maximum === undefined ? {} : { maximum: Number(maximum) }),
    ...(required && type === "text" ? { minLength: 1 } : {}),
    ...Object.fromEntries(
      ["project", "expand", "path", "merge", "secret", "idle", "alias"].filter((note) => note in notes)
        .map((note) => [`x-${note}`, notes[note]]),
    ),
  };
  if (optional || required) delete node.default;
  return node;
}
