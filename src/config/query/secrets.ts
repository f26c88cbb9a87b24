import type { LoadedConfig } from "../load/load.ts";
import { isOrdinaryText } from "../../util/redact.ts";
import { isVendorVariable } from "../project/provider_trust.ts";
import { isSecretVariable } from "./hide_secrets.ts";

/** The part of the environment that stays out of children and of texts. */
export interface EnvironmentSecrets {
  /**
   * Variables that no child gets, whatever is set: the keys of providers and what the home's `.env` names.
   */
  readonly keyNames: readonly string[];
  /** Set variables that children do not get unless `[tools.shell] pass_env` names them. */
  readonly heldBack: readonly string[];
  /** Values that no child gets under any name. */
  readonly values: readonly string[];
  /** Values to be taken out of texts: the same, and those of variables that `pass_env` lets through. */
  readonly redacted: readonly string[];
}

type SecretSources = Pick<LoadedConfig, "config" | "keys" | "keyNames" | "expanded">;

/** A switch or a limit, whatever the name looks like. */
const NUMBER = /^\d+$/;

/** Sorts an environment by what may leave this process. */
export function environmentSecrets(
  { config, keys, keyNames, expanded }: SecretSources,
  env: Readonly<Record<string, string>>,
): EnvironmentSecrets {
  const saved = keys.saved();
  const ours = new Set([...keyNames, ...saved.keys()].map((name) => name.toUpperCase()));
  const passed = new Set(config.tools.shell.pass_env.map((name) => name.toUpperCase()));
  const heldBack: string[] = [];
  const values = new Set([...saved.values()]);
  const redacted = new Set<string>();
  for (const [name, value] of expanded) {
    if (NUMBER.test(value)) continue;
    redacted.add(value);
    if (!passed.has(name.toUpperCase())) values.add(value);
  }
  for (const [name, value] of Object.entries(env)) {
    const upper = name.toUpperCase();
    if (ours.has(upper)) values.add(value);
    else if (expanded.has(name) || looksSecret(upper)) {
      const isPassed = passed.has(upper);
      if (!isPassed) heldBack.push(name);
      if (NUMBER.test(value)) continue;
      redacted.add(value);
      if (!isPassed) values.add(value);
    }
  }
  const telling = (all: Iterable<string>) => [...new Set(all)].filter((value) => !tellsNothing(value));
  return {
    keyNames: [...new Set([...keyNames, ...saved.keys()])],
    heldBack,
    values: telling(values),
    redacted: telling([...values, ...redacted]),
  };
}

/** Reports whether the value of a variable is one that nobody else may see, by its name and its form. */
export function holdsSecret(name: string, value: string): boolean {
  return looksSecret(name.toUpperCase()) && !NUMBER.test(value) && !tellsNothing(value);
}

function looksSecret(upper: string): boolean {
  return isSecretVariable(upper) || isVendorVariable(upper);
}

/**
 * Reports whether a value is no secret under any name: it stands in other variables and in texts that have
 * nothing to do with it.
 */
function tellsNothing(value: string): boolean {
  return isOrdinaryText(value) || isPath(value);
}

/** Reports whether a value only says where something lies. */
function isPath(value: string): boolean {
  if (!/^(?:~?[\\/]|[A-Za-z]:[\\/])/.test(value)) return false;
  try {
    Deno.lstatSync(value);
    return true;
  } catch {
    return false;
  }
}
