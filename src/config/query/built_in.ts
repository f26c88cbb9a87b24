import { ReasonixError } from "../../core/mod.ts";
import type { LoadedConfig } from "../load/load.ts";
import { VENDORS } from "../vendors.ts";
import { keySource } from "./provider_keys.ts";

/**
 * Makes sure that there is a provider to talk to where no file, preset or flag names one. Returns a line for
 * the user when that is the built-in one with a key of the environment.
 *
 * @throws {ReasonixError} (exit "config") when there is no key either
 */
export function requireProvider({ layers, config, keys }: LoadedConfig): string | undefined {
  const named = layers.some(({ source, table }) => source !== "default" && table.providers !== undefined);
  const [entry] = config.providers;
  if (named || !entry) return undefined;
  const source = keySource(entry, keys);
  const label = VENDORS.find(({ name }) => name === entry.name)?.label ?? entry.name;
  if (source === "env") {
    return `No provider is set up: using ${entry.api_key_env} from the environment (${label}); ` +
      "to choose another: reasonix setup";
  }
  if (source !== "missing") return undefined;
  const unread = !keys.useEnv && keys.env(entry.api_key_env);
  throw new ReasonixError("No provider is set up yet", {
    exit: "config",
    remedy: unread
      ? `run: reasonix setup (${entry.api_key_env} is set, but security.env_keys = false keeps it from being used)`
      : `run: reasonix setup, or export the key of a vendor, such as ${entry.api_key_env}`,
  });
}
