import type { SourceDocument } from "./document.ts";
import { safeArguments, safeEnvironment, safeHeaders, safeText } from "./plan.ts";
import { lazyDotenv } from "../load/layer.ts";
import { formatKey, type KeyPath } from "../problem.ts";
import {
  childSchema,
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  type TomlTable,
} from "../schema/json_schema.ts";
import { parentOf } from "../../path/lexical.ts";
import { attempt } from "../../util/lazy.ts";

/** Plans the copy of a configuration of the Go Reasonix in another directory: its keys are ours. */
export function planReasonix(documents: readonly SourceDocument[]): void {
  for (const document of documents) {
    planTable(document, document.table, CONFIG_SCHEMA, []);
    planKeys(document);
  }
}

function planTable(document: SourceDocument, table: TomlTable, parent: JsonSchema, path: KeyPath): void {
  for (const [name, value] of Object.entries(table)) {
    const here = [...path, name];
    const schema = childSchema(parent, name);
    if (!schema) document.leave(here, "there is no such setting");
    else if (here.length === 1 && (name === "providers" || name === "plugins")) {
      planEntries(document, name);
    } else if (schema.properties && isTable(value)) planTable(document, value, schema, here);
    else if (schema.secret) document.leave(here, "a secret is not copied; set it again");
    else planValue(document, here, schema, value);
  }
}

function planValue(document: SourceDocument, path: KeyPath, schema: JsonSchema, value: unknown): void {
  const idle = schema.idle ?? CONFIG_SCHEMA.properties?.[String(path[0])]?.idle;
  const note = idle && (idle === "obsolete" ? "has no effect" : "has no effect yet");
  const key = formatKey(path);
  if (schema.type !== "array" || !Array.isArray(value)) return document.set(path, key, value, { note });
  value.forEach((item, index) =>
    document.add([...path, index], key, isTable(item) ? item : String(item), { shown: item, note })
  );
}

function planEntries(document: SourceDocument, list: "providers" | "plugins"): void {
  const entries = document.table[list];
  const known = CONFIG_SCHEMA.properties?.[list]?.items?.properties ?? {};
  (Array.isArray(entries) ? entries : []).forEach((entry: unknown, index) => {
    const origin = document.origin([list, index]);
    if (!isTable(entry) || typeof entry.name !== "string" || entry.name === "") {
      return document.plan.leave(origin, "the entry has no name");
    }
    const { name } = entry;
    const owner = { plan: document.plan, origin: { ...origin, text: `${list}.${name}` }, name };
    const unknown = Object.keys(entry).filter((key) => !Object.hasOwn(known, key));
    for (const key of unknown) document.leave([list, index, key], "there is no such setting");
    const values = Object.entries(entry).filter(([key]) => !unknown.includes(key)).map(([key, value]) => {
      if (key === "env") return [key, safeEnvironment(value, owner)];
      if (key === "headers") return [key, safeHeaders(value, owner)];
      if (key === "args") return [key, safeArguments(value, owner)];
      return [key, typeof value === "string" ? safeText(value, owner, key) : value];
    });
    document.plan.take(owner.origin, { kind: "entry", list, entry: { ...Object.fromEntries(values), name } });
  });
}

function planKeys(document: SourceDocument): void {
  const file = `${parentOf(document.path)}/.env`;
  const saved = lazyDotenv(() => {
    return attempt(() => Deno.readTextFileSync(file));
  });
  for (const [name, value] of saved()) {
    const origin = { text: name, place: { file }, scope: document.scope };
    if (value !== "") document.plan.key({ name, value, origin }, name);
  }
}
