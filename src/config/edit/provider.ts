import { isTable, type TomlTable } from "../schema/json_schema.ts";

/** A provider entry as a file has it. */
export type ProviderTable = TomlTable & { readonly name: string };

/**
 * Puts a provider entry into the tables of a file: a new one after the others, or over the one of that name,
 * whose other settings and further models stay.
 */
export function putProvider(table: TomlTable, entry: ProviderTable): void {
  const list = Array.isArray(table.providers) ? table.providers : [];
  const present = list.find((candidate): candidate is TomlTable =>
    isTable(candidate) && candidate.name === entry.name
  );
  if (!present) {
    table.providers = [...list, entry];
    return;
  }
  const { models, model, ...rest } = entry;
  if (Array.isArray(models)) {
    const known = Array.isArray(present.models) ? present.models : [];
    present.models = [...new Set([...known, ...models])];
    delete present.model;
  } else if (model !== undefined) {
    present.model = model;
    delete present.models;
    delete present.default;
  }
  // A setting that follows the address or the model does not outlive them.
  for (const name of ["api_key_env", "context_window"]) if (rest[name] === undefined) delete present[name];
  Object.assign(present, rest);
}

/**
 * Returns the text with another entry behind the last one of a list of tables: before the comments that
 * belong to what comes next. Undefined when the text has no such list.
 */
export function insertTable(text: string, name: string, entry: string): string | undefined {
  const lines = text.split("\n");
  const header = new RegExp(`^\\s*\\[\\[\\s*${name}\\s*\\]\\]`);
  const inside = new RegExp(`^\\s*\\[\\[?\\s*${name}\\s*[.\\]]`);
  const last = lines.findLastIndex((line) => header.test(line));
  if (last < 0) return undefined;
  const next = lines.findIndex((line, index) => index > last && /^\s*\[/.test(line) && !inside.test(line));
  let end = next < 0 ? lines.length : next;
  while (end > last + 1 && /^\s*(?:#|$)/.test(lines[end - 1] ?? "")) end--;
  // The last line of a file without a newline is ended first, so that the two do not run together.
  const ending = text.includes("\r\n") ? "\r" : "";
  const added = ["", ...entry.trimEnd().split("\n")].map((line) => line + ending);
  const before = lines.slice(0, end).map((line) =>
    ending !== "" && !line.endsWith(ending) ? line + ending : line
  );
  const after = lines.slice(end);
  return [...before, ...added, ...(after.length > 0 ? after : [""])].join("\n");
}

const MAX_LINE = 110;

/** Writes lists that are new and too long for a line with one item on each line. */
export function wrapNewLists(before: string, after: string): string {
  const known = new Set(before.split("\n"));
  return after.split("\n").map((line) => {
    const [, head = "", body = "", ending = ""] = /^(\w+ = )\[ (.*) \](\r?)$/.exec(line) ?? [];
    if (body === "" || line.length <= MAX_LINE || known.has(line)) return line;
    const items = body.match(/"(?:[^"\\]|\\.)*"|'[^']*'/g) ?? [];
    if (items.join(", ") !== body) return line;
    return [`${head}[`, ...items.map((item) => `  ${item},`), "]"].join(`${ending}\n`) + ending;
  }).join("\n");
}
