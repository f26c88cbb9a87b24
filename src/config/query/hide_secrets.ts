import type { Config } from "../schema/config_types.ts";
import { childSchema, isTable, type JsonSchema } from "../schema/json_schema.ts";
import { isVendorVariable } from "../vendors.ts";
import { isOrdinaryText, looksLikeSecret } from "../../util/redact.ts";
import { exists } from "../../path/probe.ts";
import { mapValues } from "../../util/json.ts";

/** In place of a whole secret. */
export const MARK = "[secret]";

const SECRET = String
  .raw`(?:api[-_]?|access[-_]?|private[-_]?)?(?:key|token|secret|passwd|password|passphrase|credentials?|sig|signature|authorization)`;
const SECRET_NAME = new RegExp(String.raw`(?:^|[-_.])${SECRET}$`, "i");
const SECRET_FLAG = new RegExp(String.raw`^--?(?:[a-z0-9]+[-_.])*${SECRET}(?<value>=.*)?$`, "is");
const USER_INFO = /\b([a-z][a-z0-9+.-]{0,100}:\/\/)[^\/?#\s@]+@/gi;
const QUERY = new RegExp(String.raw`([?&](?:[^=&#\s]{0,200}[-_.])?${SECRET}=)[^&#\s]+`, "gi");

const SECRET_VARIABLE = /(?:^|_)(?:TOKEN|KEY)$|_SECRET|^SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL/i;

/** Variables with a secret or an account whose names do not say so. */
const FURTHER_VARIABLES: ReadonlySet<string> = new Set([
  "AWS_ACCESS_KEY_ID",
  "AZURE_DEVOPS_EXT_PAT",
  "GITHUB_PAT",
  "MYSQL_PWD",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
  "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
  "REDISCLI_AUTH",
  "SSHPASS",
]);

/** Names that are often ordinary, but secret when handed to a server. */
const HANDED_VARIABLE =
  /(?:^|_)(?:PASS|PWD|PAT|PIN|AUTH|APIKEY|CREDS?|COOKIE|DSN|CONNECTION_STRING|ACCESS_KEY_ID)$|WEBHOOK/i;

function isSecretVariable(name: string): boolean {
  return SECRET_VARIABLE.test(name) || FURTHER_VARIABLES.has(name.toUpperCase());
}

/** Reports whether a variable for a server or provider is secret, by its name. */
export function isSecretHandedOver(name: string): boolean {
  return isSecretVariable(name) || HANDED_VARIABLE.test(name);
}

/** Reports whether a header or a variable that is handed on is secret, by its name or its look. */
export function isSecretText([name, value]: readonly [name: string, value: string]): boolean {
  return isSecretHandedOver(name.replaceAll("-", "_")) || looksLikeSecret(value) ||
    (hideSecrets({ [name]: value }) as Record<string, unknown>)[name] !== value;
}

/**
 * Replaces secrets by `[secret]`: values that the schema marks, passwords in addresses, arguments after flags
 * such as `--token`, and texts under such names in free tables. Empty values stay.
 */
export function hideSecrets(value: unknown, schema?: JsonSchema): unknown {
  if (schema?.secret) return isEmpty(value) ? value : MARK;
  if (typeof value === "string") return hideInText(value);
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      typeof item === "string" ? hideInArgument(item, value[index - 1]) : hideSecrets(item, schema?.items)
    );
  }
  if (!isTable(value)) return value;
  return mapValues(value, (item, name) => {
    const child = schema && childSchema(schema, name);
    const hidden = !child?.type && typeof item === "string" && item !== "" && SECRET_NAME.test(name);
    return hidden ? MARK : hideSecrets(item, child);
  });
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === "") return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function hideInText(text: string): string {
  return text.replace(USER_INFO, `$1${MARK}@`).replace(QUERY, `$1${MARK}`);
}

function hideInArgument(text: string, before: unknown): string {
  const flag = SECRET_FLAG.exec(text);
  const value = flag?.groups?.value;
  if (value !== undefined) return text.slice(0, -value.length) + `=${MARK}`;
  const follows = typeof before === "string" && SECRET_FLAG.exec(before) && !before.includes("=");
  return follows && !flag ? MARK : hideInText(text);
}

/** Formats a command line for a shell, with secrets hidden. */
export function commandLine(command: string, args: readonly string[]): string {
  const words = hideSecrets([command, ...args]) as string[];
  return words.map((word) => /^(?:[\w@%+=:,./~${}-]+|\[secret\])$/.test(word) ? word : JSON.stringify(word))
    .join(" ");
}

export interface EnvironmentSecrets {
  /** Variables that no child process gets: keys of providers, and names in the home's `.env`. */
  readonly keyNames: readonly string[];
  /** Set variables that child processes get only through `[tools.shell] pass_env`. */
  readonly heldBack: readonly string[];
  /** Values that no child process gets under any name. */
  readonly values: readonly string[];
  /** Values to redact: the same, and those of variables in `pass_env`. */
  readonly redacted: readonly string[];
}

interface SecretSources {
  readonly config: Config;
  readonly keys: { readonly saved: () => ReadonlyMap<string, string> };
  readonly keyNames: readonly string[];
  readonly expanded: ReadonlyMap<string, string>;
}

/** Values that are a switch or a number, whatever the name is. */
const SETTING = /^(?:\d*|true|false|yes|no|on|off|none|null|default|enabled|disabled)$/i;

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
    if (SETTING.test(value)) continue;
    redacted.add(value);
    if (!passed.has(name.toUpperCase())) values.add(value);
  }
  for (const [name, value] of Object.entries(env)) {
    const upper = name.toUpperCase();
    if (ours.has(upper)) values.add(value);
    else if (expanded.has(name) || looksSecret(upper)) {
      const isPassed = passed.has(upper);
      if (!isPassed) heldBack.push(name);
      if (SETTING.test(value)) continue;
      redacted.add(value);
      if (!isPassed) values.add(value);
    }
  }
  const redactable = (all: Iterable<string>) =>
    [...new Set(all)].filter((value) => !isOrdinaryText(value) && !isPath(value));
  return {
    keyNames: [...new Set([...keyNames, ...saved.keys()])],
    heldBack,
    values: redactable(values),
    redacted: redactable([...values, ...redacted]),
  };
}

/** The variables that hold secrets, of those that are handed to commands. */
export function secretVariables(
  variables: Readonly<Record<string, string>>,
): [name: string, value: string][] {
  return Object.entries(variables)
    .filter(([name, value]) => isSecretText([name, value]) && !SETTING.test(value) && !isPath(value));
}

/** Reports whether a variable holds a secret, by its name and value. */
export function holdsSecret(name: string, value: string): boolean {
  return looksSecret(name.toUpperCase()) && !SETTING.test(value) && !isPath(value);
}

function looksSecret(upper: string): boolean {
  return isSecretVariable(upper) || isVendorVariable(upper);
}

function isPath(value: string): boolean {
  return /^(?:~?[\\/]|[A-Za-z]:[\\/])/.test(value) && exists(value);
}
