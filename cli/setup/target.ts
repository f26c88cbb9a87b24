import { text } from "@clack/prompts";
import {
  isLoopback,
  keyNamesOf,
  parseProvider,
  type ProviderEntry,
  type ProviderTable,
  type Vendor,
  vendorEntry,
  VENDORS,
} from "../../src/config/mod.ts";
import type { Texts } from "../../src/i18n/mod.ts";
import { loadLocalServers, type LocalServer } from "../../src/provider/mod.ts";
import { answered, closing, guided, pick } from "./prompts.ts";
import { addressProblem } from "./shapes.ts";

/** The server that the wizard sets up. */
export interface Target {
  readonly name: string;
  readonly baseUrl: string;
  /** Variable of its key; empty when it is not known to want one. */
  readonly keyName: string;
  readonly vendor?: Vendor;
  /** The server on this machine that was found. */
  readonly local?: LocalServer;
  /** The entry of the configuration that is to be changed. */
  readonly entry?: ProviderEntry;
}

/** Asks which server: one that was found on this machine, a vendor, or an address. */
export async function chooseTarget(
  configured: readonly ProviderEntry[],
  hasKey: (name: string) => boolean,
  texts: Texts["setup"],
): Promise<Target> {
  const { findLocalServers } = await loadLocalServers();
  const servers = await findLocalServers();
  const isKnown = (name: string) => configured.some((entry) => entry.name === name);
  const known = (name: string) => isKnown(name) ? texts.isSetUp : "";
  const others = configured.filter(({ name, base_url }) =>
    base_url !== "" && ![...VENDORS, ...servers].some((offered) => offered.name === name)
  );
  const [withKey, without] = [true, false].map((wanted) =>
    VENDORS.filter((vendor) => keyNamesOf(vendor).some(hasKey) === wanted)
  );
  const hintOf = (
    vendor: Vendor,
  ) => {
    const keyName = keyNamesOf(vendor).find(hasKey);
    return [known(vendor.name), keyName === undefined ? "" : texts.keyIsThere(keyName)];
  };
  const chosen = await pick(texts.whichProvider, [
    ...servers.map((server) => ({
      value: `local ${server.name}`,
      label: texts.onThisMachine(server.label),
      hint: [texts.foundAt(`127.0.0.1:${server.port}`), known(server.name)].filter(Boolean).join(", "),
    })),
    ...others.map(({ name }) => ({ value: `own ${name}`, label: name, hint: texts.isSetUp })),
    ...[...withKey ?? [], ...without ?? []].map((vendor) => ({
      value: vendor.name,
      label: vendor.label,
      hint: hintOf(vendor).filter(Boolean).join(", "),
    })),
    { value: "custom", label: texts.otherServer, hint: texts.byAddress },
  ]);
  const server = servers.find(({ name }) => chosen === `local ${name}`);
  if (server) return { name: server.name, baseUrl: server.baseUrl, keyName: "", local: server };
  const own = others.find(({ name }) => chosen === `own ${name}`);
  if (own) return { name: own.name, baseUrl: own.base_url, keyName: own.api_key_env, entry: own };
  const vendor = VENDORS.find(({ name }) => name === chosen);
  if (vendor) {
    const keyName = keyNamesOf(vendor).find(hasKey) ?? vendor.keyName;
    return { name: vendor.name, baseUrl: vendor.baseUrl, keyName, vendor };
  }
  return await askTarget(texts);
}

async function askTarget(texts: Texts["setup"]): Promise<Target> {
  const baseUrl = answered(
    await text({
      message: guided(texts.address),
      placeholder: "https://example.com/v1",
      validate: (value) => {
        const problem = addressProblem((value ?? "").trim(), texts.wrong);
        return problem === undefined ? undefined : closing(problem);
      },
    }),
  ).trim();
  const proposed = isLoopback(baseUrl)
    ? "local"
    : new URL(baseUrl).hostname.replace(/^(?:api|www)\.|\W+$/g, "").replace(/[^\w-]+/g, "-");
  const name = answered(
    await text({
      message: texts.providerName,
      placeholder: proposed,
      defaultValue: proposed,
      validate: (value) => /^[\w-]*$/.test(value ?? "") ? undefined : closing(texts.wrong.name),
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
  { vendor, name, baseUrl, local }: Target,
  { keyName, model, window }: { readonly keyName: string; readonly model: string; readonly window: number },
): ProviderTable {
  const limit = window > 0 ? { context_window: window } : {};
  if (vendor) {
    const models = vendor.models.includes(model) ? vendor.models : [model, ...vendor.models];
    const { context_window: _, compat, ...entry } = vendorEntry(vendor);
    return {
      ...entry,
      ...(keyName === "" ? {} : { api_key_env: keyName }),
      models: [...models],
      default: model,
      ...limit,
      ...(compat === undefined ? {} : { compat }),
    };
  }
  return {
    name,
    base_url: baseUrl,
    model,
    ...(keyName === "" ? {} : { api_key_env: keyName }),
    ...limit,
    ...(local?.models.find(({ id }) => id === model)?.vision ? { vision: true } : {}),
  };
}

/** Returns the same as the provider package takes it, to try the server with. */
export function trialEntry({ vendor, name, baseUrl, entry }: Target, keyName: string): ProviderEntry {
  if (entry) return { ...entry, api_key_env: keyName };
  return parseProvider(
    vendor ? vendorEntry(vendor) : { name, base_url: baseUrl, api_key_env: keyName },
  );
}
