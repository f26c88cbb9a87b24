import { ReasonixError } from "../../core/mod.ts";
import type { EnvLookup } from "../config_paths.ts";
import type { ProviderEntry } from "../schema/provider_schema.ts";
import { isLoopback } from "../project/provider_trust.ts";

/** The sources of provider keys. */
export interface KeySources {
  /** The `.env` file of the Reasonix home: its path, and its values (read on first use). */
  readonly file: string;
  readonly saved: () => ReadonlyMap<string, string>;
  readonly env: EnvLookup;
  /** `security.env_keys`: whether the process environment counts too. */
  readonly useEnv: boolean;
}

type KeyOwner = Pick<ProviderEntry, "name" | "api_key_env" | "base_url">;

/**
 * The key of a provider; undefined when it needs none.
 *
 * @throws {ReasonixError} (exit "config") when it names a variable that nobody set, unless it runs on this
 * machine
 */
export function resolveKey(entry: KeyOwner, sources: KeySources): string | undefined {
  const name = entry.api_key_env;
  if (name === "") return undefined;
  const value = lookUpSecret(name, sources);
  if (value !== undefined || isLoopback(entry.base_url)) return value;
  const hidden = !sources.useEnv && sources.env(name);
  const remedy = hidden ? "writeHiddenKey" : sources.useEnv ? "writeOrExportKey" : "writeKey";
  throw new ReasonixError(`No API key for provider "${entry.name}": ${name} is not set`, {
    exit: "config",
    said: [["noKey", entry.name, name], [remedy, name, sources.file]],
    remedy: hidden
      ? `write ${name}=… into ${sources.file}; the environment is not used while security.env_keys is false`
      : `write ${name}=… into ${sources.file}${sources.useEnv ? `, or export ${name}` : ""}`,
  });
}

/** Tells where a key would be found, if at all; for `doctor`. */
export function keySource(entry: KeyOwner, sources: KeySources): "home" | "env" | "missing" | "none" {
  if (entry.api_key_env === "") return "none";
  if (sources.saved().get(entry.api_key_env)) return "home";
  return lookUpSecret(entry.api_key_env, sources) === undefined ? "missing" : "env";
}

/** The value of a variable that holds a secret, from where the user keeps such; undefined: not set. */
export function lookUpSecret(name: string, sources: KeySources): string | undefined {
  return sources.saved().get(name) || (sources.useEnv && sources.env(name)) || undefined;
}
