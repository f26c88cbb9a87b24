/**
 * Writes everything that is derived from src/config/schema/keys.toml: the schema checked at start, the types,
 * the JSON Schema and the key table of the docs.
 */
import { configJsonSchema, type JsonNode } from "./config_json_schema.ts";

const ROOT = new URL("../", import.meta.url);
const START = "<!-- keys: start (generated from src/config/schema/keys.toml) -->";
const END = "<!-- keys: end -->";
const SHAPE_KEYWORDS = [
  "type",
  "default",
  "enum",
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "minLength",
  "required",
];

const PROJECT_RULES: Readonly<Record<string, string>> = {
  any: "yes",
  ignored: "no",
  adds: "adds to yours",
  stricter: "only stricter",
  off: "only off",
  lower: "only lower",
  subset: "only fewer",
  inside: "only inside the project",
  user: "only yours",
  trust: "after trust",
  grants: "after trust",
};

/** The part of the schema that is needed to check a file: no prose, short names for our own keywords. */
function runtimeSchema(node: JsonNode, isSecret = node["x-secret"] === true): Record<string, unknown> {
  const schema: Record<string, unknown> = isSecret ? { secret: true } : {};
  for (const keyword of SHAPE_KEYWORDS) {
    if (node[keyword] !== undefined) schema[keyword] = node[keyword];
  }
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword.startsWith("x-")) schema[keyword.slice(2)] = value;
  }
  if (node.items) schema.items = runtimeSchema(node.items, isSecret || undefined);
  if (node.properties) {
    schema.properties = Object.fromEntries(
      Object.entries(node.properties).map(([name, child]) => [name, runtimeSchema(child)]),
    );
  } else if (typeof node.additionalProperties === "object") {
    schema.additionalProperties = runtimeSchema(node.additionalProperties, isSecret || undefined);
  }
  return schema;
}

function typeName(node: JsonNode): string {
  if (node.enum) return node.enum.map((value) => `\`${value}\``).join(" ");
  if (node.type === "array") return node.items?.properties ? "tables" : "strings";
  if (node.type === "object") return node.properties ? "table" : "named values";
  return node.type ?? "any";
}

function tableRows(node: JsonNode, path: string, inherited?: unknown): string[][] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const here = path === "" ? name : `${path}.${name}`;
    const own = child["x-project"] ?? inherited;
    if (child.type === "object" && child.properties) return tableRows(child, here, own);
    const value = child.default === undefined ? "" : `\`${JSON.stringify(child.default)}\``;
    const rule = rulesOfValues(child) ? "as in the entry" : PROJECT_RULES[String(own ?? "any")];
    const row = [`\`${here}\``, typeName(child), value, rule ?? "", child.description ?? ""];
    return [row, ...(child.items?.properties ? tableRows(child.items, `${here}[]`) : [])];
  });
}

/** Reports whether the keys of the tables that it maps names to have rules. */
function rulesOfValues({ additionalProperties: values }: JsonNode): boolean {
  return typeof values === "object" &&
    Object.values(values.properties ?? {}).some((child) => child["x-project"] !== undefined);
}

/** The documentation with its generated part replaced. */
function withKeyTable(markdown: string, schema: JsonNode): string {
  const start = markdown.indexOf(START);
  const end = markdown.indexOf(END);
  if (start < 0 || end < start) {
    throw new Error(`Cannot find the markers ${START} and ${END} in docs/config.md`);
  }
  const head = ["Key", "Type", "Default", "Project file", "Meaning"];
  const table = markdownTable([head, ...tableRows(schema, "")]);
  return `${markdown.slice(0, start)}${START}\n\n${table}\n\n${markdown.slice(end)}`;
}

/** Aligned the way `deno fmt` aligns it, so that generating and formatting agree. */
function markdownTable([head = [], ...rows]: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

const TYPES_HEAD = `/** The types of the configuration, generated from keys.toml by \`deno task gen\`. */

`;

const typesEnd = (modelKeys: readonly string[]) => `
/** Settings of single models have the types of the entry. */
type ModelSettings = Partial<Pick<ProviderEntry, ModelKey>>;
type ModelKey =
${modelKeys.map((name) => `  | "${name}"`).join("\n")};

export type ProviderEntry = Config["providers"][number];
export type PluginEntry = Config["plugins"][number];
export type HookEntry = Config["hooks"][number];

/** The input of a file or of the command line: everything is optional except for names. */
export type ConfigInput = Input<Config>;

type Input<T> = T extends readonly (infer Item)[] ? Input<Item>[]
  : T extends { name: string } ? { name: string } & Partials<T>
  : T extends object ? Partials<T>
  : T;

type Partials<T> = { [Key in keyof T]?: Input<T[Key]> | undefined };
`;

/** The type of a value, written so that every key is a separate declaration. */
function typeText(node: JsonNode, indent = ""): string {
  if (node.properties) {
    const inner = `${indent}  `;
    const lines = Object.entries(node.properties).map(([name, child]) => {
      const isOptional = child.default === undefined && !node.required?.includes(name);
      const type = name === "model_settings" ? "Record<string, ModelSettings>" : typeText(child, inner);
      return isOptional ? `${inner}${name}?: ${type} | undefined;` : `${inner}${name}: ${type};`;
    });
    const open = node["x-open"] ? [`${inner}[key: string]: unknown;`] : [];
    return `{\n${[...open, ...lines].join("\n")}\n${indent}}`;
  }
  if (typeof node.additionalProperties === "object") {
    return `Record<string, ${typeText(node.additionalProperties, indent)}>`;
  }
  const { items, anyOf } = node;
  if (items) {
    const type = typeText(items, indent);
    return type.includes(" | ") && !items.properties ? `(${type})[]` : `${type}[]`;
  }
  if (Array.isArray(anyOf)) return anyOf.map((each) => typeText(each, indent)).join(" | ");
  if (node.enum) return node.enum.map((value) => JSON.stringify(value)).join(" | ");
  return node.type === "integer" ? "number" : node.type ?? "unknown";
}

/** The settings of one model. */
function modelNode(schema: JsonNode): JsonNode {
  const values = schema.properties?.providers?.items?.properties?.model_settings?.additionalProperties;
  return typeof values === "object" ? values : {};
}

/** Every generated file with its content, by path from the root of the repository. */
export function generatedFiles(): Record<string, string> {
  const schema = configJsonSchema();
  const docs = Deno.readTextFileSync(new URL("docs/config.md", ROOT));
  return {
    "src/config/schema/schema.json": `${JSON.stringify(runtimeSchema(schema), null, 2)}\n`,
    "src/config/schema/config_types.ts": TYPES_HEAD +
      `/** The whole configuration, with every default filled in. Keys are those of the file. */\n` +
      `export type Config = ${typeText(schema)};\n${
        typesEnd(Object.keys(modelNode(schema).properties ?? {}))
      }`,
    "docs/config.schema.json": `${JSON.stringify(schema, null, 2)}\n`,
    "docs/config.md": withKeyTable(docs, schema),
  };
}

if (import.meta.main) {
  for (const [path, content] of Object.entries(generatedFiles())) {
    await Deno.writeTextFile(new URL(path, ROOT), content);
  }
}
