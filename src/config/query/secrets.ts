import type { LoadedConfig } from "../load/load.ts";
import { isVendorVariable } from "../project/provider_trust.ts";

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

/** Names under which people keep what nobody else may see. */
const SECRET_NAME = /(?:^|_)(?:TOKEN|KEY)$|_SECRET|^SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL/i;

/** Variables that hold a secret, or name an account, though their names do not look so. */
const FURTHER_NAMES: ReadonlySet<string> = new Set([
  "AWS_ACCESS_KEY_ID",
  "AZURE_DEVOPS_EXT_PAT",
  "GITHUB_PAT",
  "MYSQL_PWD",
  "REDISCLI_AUTH",
  "SSHPASS",
]);

/** Values under such names that tell nobody anything. */
const PLAIN_VALUE = /^(?:\d*|true|false|yes|no|on|off|none|null|default|enabled|disabled)$/i;

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
    redacted.add(value);
    if (!passed.has(name.toUpperCase())) values.add(value);
  }
  for (const [name, value] of Object.entries(env)) {
    const upper = name.toUpperCase();
    if (ours.has(upper)) values.add(value);
    else if (expanded.has(name) || looksSecret(upper)) {
      const isPassed = passed.has(upper);
      if (!isPassed) heldBack.push(name);
      if (PLAIN_VALUE.test(value) || isPath(value)) continue;
      redacted.add(value);
      if (!isPassed) values.add(value);
    }
  }
  values.delete("");
  const names = [...new Set([...keyNames, ...saved.keys()])];
  return { keyNames: names, heldBack, values: [...values], redacted: [...new Set([...values, ...redacted])] };
}

/** Reports whether the value of a variable is one that nobody else may see, by its name and its form. */
export function holdsSecret(name: string, value: string): boolean {
  return looksSecret(name.toUpperCase()) && !PLAIN_VALUE.test(value) && !isPath(value);
}

function looksSecret(upper: string): boolean {
  return SECRET_NAME.test(upper) || FURTHER_NAMES.has(upper) || isVendorVariable(upper);
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
