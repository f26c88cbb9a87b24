import { checkConfig } from "../../src/config/load/check.ts";
import { fillDefaults } from "../../src/config/load/defaults.ts";
import type { PluginEntry } from "../../src/config/mod.ts";

/** An entry of `[[plugins]]` as configuration would give it, defaults included. Throws for a wrong value. */
export function pluginEntry(fields: unknown): PluginEntry {
  const table = { plugins: [fields] };
  const error = checkConfig(table).find(({ level }) => level === "error");
  const [entry] = fillDefaults(table).plugins;
  if (error || !entry) throw new TypeError(error?.message);
  return entry;
}
