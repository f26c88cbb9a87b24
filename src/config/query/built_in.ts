import type { LoadedConfig } from "../load/load.ts";
import { VENDORS } from "../vendors.ts";
import { keySource } from "./provider_keys.ts";

/** The provider that is built in, where no file, preset or flag names one, and what there is to say of it. */
export interface UnnamedProvider {
  readonly vendor: string;
  /** The variable of its key. */
  readonly keyName: string;
  /** It is taken from the environment, is nowhere, or is there while `security.env_keys` is off. */
  readonly key: "environment" | "missing" | "unused";
}

/**
 * Returns the built-in provider when it stands in for one that nobody set up; undefined when one is named, or
 * when the key that chose it was saved on purpose.
 */
export function unnamedProvider({ layers, config, keys }: LoadedConfig): UnnamedProvider | undefined {
  const named = layers.some(({ source, table }) => source !== "default" && table.providers !== undefined);
  const [entry] = config.providers;
  if (named || !entry) return undefined;
  const source = keySource(entry, keys);
  if (source !== "env" && source !== "missing") return undefined;
  const keyName = entry.api_key_env;
  return {
    vendor: VENDORS.find(({ name }) => name === entry.name)?.label ?? entry.name,
    keyName,
    key: source === "env" ? "environment" : !keys.useEnv && keys.env(keyName) ? "unused" : "missing",
  };
}
