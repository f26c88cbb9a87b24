import { hideSecrets } from "../query/hide_secrets.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import { isVendorVariable, vendorHosts } from "../vendors.ts";

/** Variables that a project's `.env` may never supply. */
export function isReservedVariable(name: string): boolean {
  return name.startsWith("REASONIX_") || isVendorVariable(name);
}

/** Reports whether an address stays on this machine. */
export function isLoopback(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" ||
    /^127(\.\d+){3}$/.test(host);
}

export interface KnownKeys {
  /** Provider entries of the user, the preset and the built-in ones. */
  readonly providers: readonly TomlTable[];
  /** Says that the user saved a value under this name in the Reasonix home. */
  readonly saved: (name: string) => boolean;
}

/**
 * Decides about one provider entry of a project file: why it needs the user's trust, undefined when it needs
 * none. Its server would receive the conversation and steer the tools, and its key variable could be any
 * secret of the user. So it is used only when the user has met it before: the same key and address in the
 * user's own settings, a vendor's key at that vendor, or a key saved for it in the home. An address on this
 * machine is no exception: on a shared host its ports belong to others too.
 */
export function needsTrust(written: TomlTable, expanded: TomlTable, known: KnownKeys): string | undefined {
  const url = String(expanded.base_url ?? "");
  const keyName = String(expanded.api_key_env ?? "");
  const target = URL.parse(url)?.origin ?? url;
  const line = keyCommandLine(expanded.api_key_command);
  if (line !== "") return `it would run ${JSON.stringify(line)} for the key of ${target}`;
  if (expanded.kind === "llamacpp" || hasEntries(expanded.server)) {
    const { binary = "llama-server" } = isTable(expanded.server) ? expanded.server : {};
    return `it would run the program ${
      JSON.stringify(String(binary).slice(0, LONGEST_LINE))
    } outside of the sandbox`;
  }
  if (expanded.kind === "replay") return "it plays recorded replies, which steer the tools";
  if (usesVariables(written.base_url) || usesVariables(written.headers)) {
    return `it would send environment variables to ${target}`;
  }
  // A header can name another account of the same vendor, which then holds the conversation, or another host
  // behind it.
  if (hasEntries(expanded.headers)) return `it would send headers of its own to ${target}`;
  const way = WAYS.find(([name]) => (expanded[name] ?? "") !== "")?.[1];
  if (way !== undefined) return `it would send the conversation to ${target} ${way}`;
  if (url === "" && keyName === "") return undefined;
  const owners = ownersOf(keyName, known);
  if (owners.includes(target)) return undefined;
  if (keyName === "") return `it would send the conversation to ${target}`;
  if (owners[0] !== undefined) return `it would send the key ${keyName} of ${owners[0]} to ${target}`;
  return known.saved(keyName) ? undefined : `it would send the conversation and ${keyName} to ${target}`;
}

/** Settings by which others could listen, or by which a server gets to know who the user is. */
const WAYS: readonly (readonly [setting: string, words: string])[] = [
  ["proxy", "by a proxy setting of its own"],
  ["ca_file", "with a certificate authority of its own"],
  ["client_cert_file", "with your client certificate"],
  ["client_key_file", "with your client certificate"],
];

/** A command for the key as a person types it, without what looks like a key in it; empty without one. */
function keyCommandLine(command: unknown): string {
  const words = Array.isArray(command) ? command.map(String) : [String(command ?? "")];
  const text = (hideSecrets(words) as string[]).join(" ");
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE).toWellFormed()}…` : text;
}

const LONGEST_LINE = 160;

/**
 * The origins a key belongs to as far as the user's side knows; without a key, those that are used without
 * one.
 */
function ownersOf(keyName: string, known: KnownKeys): string[] {
  const users = known.providers
    .filter((entry) => String(entry.api_key_env ?? "") === keyName)
    .map((entry) => URL.parse(String(entry.base_url))?.origin ?? "");
  const vendors = vendorHosts(keyName).map((host) => `https://${host}`);
  return [...users, ...vendors];
}

function hasEntries(value: unknown): boolean {
  return isTable(value) && Object.keys(value).length > 0;
}

function usesVariables(value: unknown): boolean {
  if (typeof value === "string") return value.includes("${");
  return isTable(value) && Object.values(value).some(usesVariables);
}
