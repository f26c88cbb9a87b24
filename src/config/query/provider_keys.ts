import { message, ReasonixError } from "../../core/mod.ts";
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

type KeyOwner = Pick<ProviderEntry, "name" | "api_key_env" | "api_key_command" | "base_url">;

/**
 * The key of a provider; undefined when it needs none, or has a command that prints it.
 *
 * @throws {ReasonixError} (exit "config") when it names a variable that nobody set, unless it runs on this
 * machine
 */
export function resolveKey(entry: KeyOwner, sources: KeySources): string | undefined {
  const name = entry.api_key_env;
  if (name === "" || hasKeyCommand(entry)) return undefined;
  const value = lookUpSecret(name, sources);
  if (value !== undefined || isLoopback(entry.base_url)) return value;
  const hidden = !sources.useEnv && sources.env(name);
  const { file } = sources;
  throw new ReasonixError(message`No API key for provider "${entry.name}": ${name} is not set`, {
    exit: "config",
    remedy: hidden
      ? message`write ${name}=… into ${file}; the environment is not used while security.env_keys is false`
      : sources.useEnv
      ? message`write ${name}=… into ${file}, or export ${name}`
      : message`write ${name}=… into ${file}`,
  });
}

/** Tells where a key would be found, if at all; for `doctor`. */
export function keySource(
  entry: KeyOwner,
  sources: KeySources,
): "command" | "home" | "env" | "missing" | "none" {
  if (hasKeyCommand(entry)) return "command";
  if (entry.api_key_env === "") return "none";
  if (sources.saved().get(entry.api_key_env)) return "home";
  return lookUpSecret(entry.api_key_env, sources) === undefined ? "missing" : "env";
}

/** Reports whether a command prints the key; an empty one takes back that of a weaker file. */
export function hasKeyCommand({ api_key_command: command }: Pick<ProviderEntry, "api_key_command">): boolean {
  return command !== undefined && command.length > 0;
}

/** The value of a variable that holds a secret, from where the user keeps such; undefined: not set. */
export function lookUpSecret(name: string, sources: KeySources): string | undefined {
  return sources.saved().get(name) || (sources.useEnv && sources.env(name)) || undefined;
}
