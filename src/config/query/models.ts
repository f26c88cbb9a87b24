import type { EnvLookup } from "../config_paths.ts";
import type { Config, ProviderEntry } from "../schema/config_types.ts";
import { isLoopback } from "../vendors.ts";
import { message, ReasonixError } from "../../core/mod.ts";
import { suggestNames } from "../../util/suggest.ts";

export interface ModelChoice {
  /** As it counts for the model; see {@linkcode withModelSettings}. */
  readonly entry: ProviderEntry;
  readonly model: string;
}

/** The models of an entry, the default one first. */
export function modelsOf(entry: ProviderEntry): string[] {
  const listed = [...(entry.models ?? []), ...(entry.model === undefined ? [] : [entry.model])];
  const first = entry.default ?? entry.models?.[0] ?? entry.model;
  return [...new Set(first === undefined ? listed : [first, ...listed])];
}

/** The levels of thinking, least first, of settings, flags and commands. */
export const EFFORT_LEVELS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** The levels, and the words of the vendor in `efforts`. */
export function effortLevels(efforts: readonly string[] = []): readonly string[] {
  return [...new Set([...EFFORT_LEVELS, ...efforts])];
}

/**
 * Returns an entry with the `model_settings` of one of its models. Idempotent: the tables themselves stay.
 */
export function withModelSettings(entry: ProviderEntry, model: string): ProviderEntry {
  const { extra, ...settings } = Object.hasOwn(entry.model_settings, model)
    ? entry.model_settings[model] ?? {}
    : {};
  return { ...entry, ...settings, ...(extra ? { extra: { ...entry.extra, ...extra } } : {}) };
}

export function modelReferences(config: Config): string[] {
  return config.providers.flatMap((entry) => [
    entry.name,
    ...modelsOf(entry).map((model) => `${entry.name}/${model}`),
  ]);
}

/**
 * Finds the model meant by a reference: a provider's name, a model's name, or `provider/model`.
 *
 * @param reference empty = `default_model`, or the first provider when that is empty, too
 * @param untrusted names of providers left out until the project is trusted
 * @throws {ReasonixError} (exit "config", or "blocked" for an untrusted provider)
 */
export function resolveModel(config: Config, reference = "", untrusted: readonly string[] = []): ModelChoice {
  const wanted = reference || config.default_model;
  const entry = wanted === ""
    ? config.providers[0]
    : config.providers.find((candidate) => candidate.name === wanted);
  if (entry) return choose(entry, defaultModel(entry));
  const matches = config.providers.flatMap((candidate) => {
    const prefix = `${candidate.name}/`;
    const model = wanted.startsWith(prefix) ? wanted.slice(prefix.length) : wanted;
    const names = modelsOf(candidate);
    const found = names.includes(wanted) ? wanted : names.includes(model) ? model : undefined;
    return found === undefined ? [] : [{ entry: candidate, model: found, exact: model !== wanted }];
  });
  const choice = matches.find((match) => match.exact) ?? (matches.length === 1 ? matches[0] : undefined);
  if (choice) return choose(choice.entry, choice.model);
  throw matches.length > 1
    ? ambiguous(wanted, matches.map((match) => match.entry.name))
    : unknown(config, wanted, untrusted);
}

/** Returns the configuration of a non-interactive run: `agent_model`, if set, is the default model. */
export function nonInteractive<T extends { readonly config: Config }>(loaded: T): T {
  const { config } = loaded;
  const default_model = config.agent_model || config.default_model;
  return default_model === config.default_model
    ? loaded
    : { ...loaded, config: { ...config, default_model } };
}

function choose(entry: ProviderEntry, model: string): ModelChoice {
  return { entry: withModelSettings(entry, model), model };
}

function defaultModel(entry: ProviderEntry): string {
  const [model] = modelsOf(entry);
  // A cassette knows its model.
  if (model !== undefined || entry.kind === "replay") return model ?? "replay";
  throw new ReasonixError(message`Provider "${entry.name}" names no model`, {
    exit: "config",
    remedy: message`add model = "…" or models = ["…"] to its entry`,
  });
}

function ambiguous(wanted: string, names: readonly string[]): ReasonixError {
  const references = names.map((name) => `"${name}/${wanted}"`);
  return new ReasonixError(message`Model "${wanted}" is offered by ${names}`, {
    exit: "config",
    remedy: message`write one of ${references}`,
  });
}

function unknown(config: Config, wanted: string, untrusted: readonly string[]): ReasonixError {
  const provider = untrusted.find((name) => wanted === name || wanted.startsWith(`${name}/`));
  if (provider !== undefined) {
    return new ReasonixError(message`Provider "${provider}" of this project is not trusted yet`, {
      exit: "blocked",
      remedy: message`look at its entry in reasonix.toml; if you agree, run again with --trust-project`,
    });
  }
  const references = modelReferences(config);
  const bare = config.providers.flatMap(modelsOf);
  const near = suggestNames(wanted, [...references, ...bare], 1)[0];
  const list = references.length === 0 ? message`none` : references;
  return new ReasonixError(message`Unknown model "${wanted}" (configured: ${list})`, {
    exit: "config",
    remedy: near
      ? message`did you mean "${near}"?`
      : message`choose one of these, or add a [[providers]] entry`,
  });
}

export interface KeySources {
  /** The `.env` file of the Reasonix home: its path, and its values (read on first use). */
  readonly file: string;
  readonly saved: () => ReadonlyMap<string, string>;
  readonly env: EnvLookup;
  /** `security.env_keys`: whether the process environment counts too. */
  readonly useEnv: boolean;
}

/** No key for a provider: setting one up helps. */
export class MissingKeyError extends ReasonixError {}

type KeyOwner = Pick<ProviderEntry, "name" | "api_key_env" | "api_key_command" | "base_url">;

/**
 * The key of a provider; undefined when it needs none, or has a command that prints it.
 *
 * @throws {MissingKeyError} (exit "config") when its variable is not set, unless it runs on this
 * machine
 */
export function resolveKey(entry: KeyOwner, sources: KeySources): string | undefined {
  const name = entry.api_key_env;
  if (name === "" || hasKeyCommand(entry)) return undefined;
  const value = lookUpSecret(name, sources);
  if (value !== undefined || isLoopback(entry.base_url)) return value;
  const hidden = !sources.useEnv && sources.env(name);
  const { file } = sources;
  throw new MissingKeyError(message`No API key for provider "${entry.name}": ${name} is not set`, {
    exit: "config",
    remedy: hidden
      ? message`write ${name}=… into ${file}; the environment is not used while security.env_keys is false`
      : sources.useEnv
      ? message`write ${name}=… into ${file}, or export ${name}`
      : message`write ${name}=… into ${file}`,
  });
}

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

/** Looks up a secret in the user's `.env`, then in the environment. */
export function lookUpSecret(name: string, sources: KeySources): string | undefined {
  return sources.saved().get(name) || (sources.useEnv && sources.env(name)) || undefined;
}
