import { text } from "@clack/prompts";
import {
  parseProvider,
  type ProviderEntry,
  type ProviderTable,
  type Vendor,
  vendorEntry,
} from "../../../src/config/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import { answered, pick } from "./prompts.ts";
import { addressProblem } from "./shapes.ts";
import { VENDORS } from "../../../src/config/mod.ts";
import { findLocalServers } from "./local_servers.ts";

/** The server that the wizard sets up. */
export interface Target {
  readonly name: string;
  readonly baseUrl: string;
  /** Variable of its key; empty when it is not known to want one. */
  readonly keyName: string;
  readonly vendor?: Vendor;
}

/** Asks which server: one that was found on this machine, a vendor, or an address. */
export async function chooseTarget(configured: readonly string[], texts: Texts["setup"]): Promise<Target> {
  const servers = await findLocalServers();
  const known = (name: string) => configured.includes(name) ? texts.isSetUp : "";
  const chosen = await pick(texts.whichProvider, [
    ...servers.map((server) => ({
      value: `local ${server.name}`,
      label: texts.onThisMachine(server.label),
      hint: [texts.foundAt(`127.0.0.1:${server.port}`), known(server.name)].filter(Boolean).join(", "),
    })),
    ...VENDORS.map(({ name, label }) => ({ value: name, label, hint: known(name) })),
    { value: "custom", label: texts.otherServer, hint: texts.byAddress },
  ]);
  const server = servers.find(({ name }) => chosen === `local ${name}`);
  if (server) return { name: server.name, baseUrl: server.baseUrl, keyName: "" };
  const vendor = VENDORS.find(({ name }) => name === chosen);
  if (vendor) return { name: vendor.name, baseUrl: vendor.baseUrl, keyName: vendor.keyName, vendor };
  return await askTarget(texts);
}

async function askTarget(texts: Texts["setup"]): Promise<Target> {
  const baseUrl = answered(
    await text({
      message: texts.address,
      placeholder: "https://example.com/v1",
      validate: (value) => addressProblem((value ?? "").trim(), texts.wrong),
    }),
  ).trim();
  const proposed = new URL(baseUrl).hostname.replace(/^(?:api|www)\.|\W+$/g, "").replace(/[^\w-]+/g, "-");
  const name = answered(
    await text({
      message: texts.providerName,
      placeholder: proposed,
      defaultValue: proposed,
      validate: (value) => /^[\w-]*$/.test(value ?? "") ? undefined : texts.wrong.name,
    }),
  );
  return { name, baseUrl, keyName: keyNameOf(name) };
}

/** Returns the variable under which the key of a server without a usual one is saved. */
export function keyNameOf(name: string): string {
  return `${name.toUpperCase().replace(/\W+/g, "_").replace(/^(?=\d)/, "_")}_API_KEY`;
}

/** Returns the `[[providers]]` entry of a target; `window` is 0 when nobody knows it. */
export function entryOf(
  { vendor, name, baseUrl }: Target,
  { keyName, model, window }: { readonly keyName: string; readonly model: string; readonly window: number },
): ProviderTable {
  const limit = window > 0 ? { context_window: window } : {};
  if (vendor) {
    const models = vendor.models.includes(model) ? vendor.models : [model, ...vendor.models];
    const { context_window: _, compat, ...entry } = vendorEntry(vendor);
    return {
      ...entry,
      models: [...models],
      default: model,
      ...limit,
      ...(compat === undefined ? {} : { compat }),
    };
  }
  return { name, base_url: baseUrl, model, ...(keyName === "" ? {} : { api_key_env: keyName }), ...limit };
}

/** Returns the same as the provider package takes it, to try the server with. */
export function trialEntry({ vendor, name, baseUrl }: Target, keyName: string): ProviderEntry {
  return parseProvider(
    vendor ? vendorEntry(vendor) : { name, base_url: baseUrl, api_key_env: keyName },
  );
}
