import type { TomlTable } from "./schema/json_schema.ts";
import data from "./vendors.json" with { type: "json" };

/** A known vendor: data for `setup` and for a start without a configuration. */
export interface Vendor {
  readonly name: string;
  /** Another name for it in model references. */
  readonly alias?: string;
  readonly label: string;
  /** `openai` when absent. */
  readonly kind?: string;
  readonly baseUrl: string;
  /** Variable that usually holds the vendor's key. */
  readonly keyName: string;
  /** Other variables, after that one. */
  readonly otherKeys?: readonly string[];
  /** Prefix of its keys, where they have one. */
  readonly keyPrefix?: string;
  /** The default model first. */
  readonly models: readonly string[];
  /** Tokens that the default model accepts, for a vendor without a table of models. */
  readonly window?: number;
  /** DeepSeek for one answers 400 when the reasoning of an answer with tool calls is not sent back. */
  readonly compat?: TomlTable;
  /** Further hosts of the vendor to which its key may go. */
  readonly otherHosts?: readonly string[];
  /** The vendor that has the table of its models. */
  readonly facts?: string;
}

/** The vendors in the order in which their keys are looked up without a configuration; see docs/config.md. */
export const VENDORS: readonly Vendor[] = data.vendors;

/** A model server that people run themselves, and the port of this machine that it usually listens on. */
export interface LocalVendor {
  readonly name: string;
  readonly label: string;
  readonly port: number;
  readonly start: string;
}

export const LOCAL_VENDORS: readonly LocalVendor[] = data.local;

/** Reports whether a variable is set, in the environment or in the Reasonix home. */
export type HasKey = (keyName: string) => boolean;

export type VendorEntry = TomlTable & { readonly name: string; readonly models: string[] };

/** Returns the `[[providers]]` entry of a vendor; its key is the first of the vendor's that there is. */
export function vendorEntry(vendor: Vendor, hasKey: HasKey = () => false): VendorEntry {
  const { name, kind, baseUrl, models, window, compat } = vendor;
  return {
    name,
    ...(kind === undefined ? {} : { kind }),
    base_url: baseUrl,
    models: [...models],
    default: models[0],
    api_key_env: keyNamesOf(vendor).find(hasKey) ?? vendor.keyName,
    ...(window === undefined ? {} : { context_window: window }),
    ...(compat === undefined ? {} : { compat: { ...compat } }),
  };
}

/**
 * Returns the entry of the vendor that a reference such as `openrouter/qwen/qwen3-max` or `ollama/llama3`
 * begins with, with that model before its others; undefined when none is meant. A vendor whose servers are on
 * this machine has no models but the one that is named.
 */
export function namedVendorEntry(reference: string, hasKey: HasKey): VendorEntry | undefined {
  const [name = ""] = reference.split("/", 1);
  const model = reference.slice(name.length + 1);
  const first = model === "" ? [] : [model];
  const local = LOCAL_VENDORS.find((vendor) => vendor.name === name);
  if (local) return { name, base_url: `http://127.0.0.1:${local.port}/v1`, models: first };
  const vendor = VENDORS.find((candidate) => candidate.name === name || candidate.alias === name);
  if (!vendor) return undefined;
  const entry = vendorEntry(vendor, hasKey);
  const models = [...new Set([...first, ...entry.models])];
  return { ...entry, name, models, default: models[0] };
}

export function keyNamesOf({ keyName, otherKeys = [] }: Vendor): readonly string[] {
  return [keyName, ...otherKeys];
}

export function isVendorVariable(name: string): boolean {
  return VENDORS.some((vendor) => keyNamesOf(vendor).includes(name));
}

/** Returns the hosts to which the key under this name may be sent without approval. */
export function vendorHosts(keyName: string): readonly string[] {
  const vendor = VENDORS.find((candidate) => keyNamesOf(candidate).includes(keyName));
  return vendor ? hostsOf(vendor) : [];
}

export function vendorAt(url: string): Vendor | undefined {
  const host = URL.parse(url)?.host;
  return host === undefined ? undefined : VENDORS.find((vendor) => hostsOf(vendor).includes(host));
}

function hostsOf({ baseUrl, otherHosts = [] }: Vendor): readonly string[] {
  // Our own addresses need no parser, which is slow the first times.
  return [baseUrl.split("/", 3)[2] ?? "", ...otherHosts];
}

/**
 * Chooses the entry that counts where nothing is configured: that of the vendor which `wanted` (a vendor, a
 * model, or both) names if it names one, else that of the first vendor whose key there is.
 */
export function builtInEntry(wanted: string, hasKey: HasKey): VendorEntry | undefined {
  const named = namedVendorEntry(wanted, hasKey);
  if (named) return named;
  const meant = VENDORS.filter(({ models }) => models.includes(wanted));
  const candidates = meant.length > 0 ? meant : VENDORS;
  const vendor = candidates.find((candidate) => keyNamesOf(candidate).some(hasKey)) ?? candidates[0];
  return vendor && vendorEntry(vendor, hasKey);
}

/** Reports whether a project's `.env` may never supply a variable. */
export function isReservedVariable(name: string): boolean {
  return /^(?:REASONIX|AGENT)_/.test(name) || isVendorVariable(name);
}

export function isLoopback(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" ||
    /^127(\.\d+){3}$/.test(host);
}
