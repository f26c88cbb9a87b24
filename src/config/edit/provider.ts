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
