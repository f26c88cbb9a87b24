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

/** Thrown when the user gives up. */
export class Cancelled extends Error {}

export interface SetupChoice<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly hint?: string;
}

export interface PickOptions<T extends string> {
  readonly initial?: T | undefined;
  /** The list is long: it is searched by typing. */
  readonly search?: boolean;
}

export interface TextQuestion {
  readonly message: string;
  readonly example?: string;
  /** The answer when nothing is written. */
  readonly proposed?: string;
  /** The text is shown nowhere. */
  readonly secret?: true;
  /** Returns the problem with an answer. */
  readonly check?: (answer: string) => string | undefined;
}

/** The front end at which the wizard asks. Contract: questions throw Cancelled when the user gives up. */
export interface SetupPrompts {
  begin(title: string): void;
  pick<T extends string>(
    question: string,
    choices: readonly SetupChoice<T>[],
    options?: PickOptions<T>,
  ): Promise<T>;
  /** Asks for a text, which has no blanks around it. */
  write(question: TextQuestion): Promise<string>;
  note(text: string): void;
  /** Shows that a server is being asked, until its answer is known. */
  wait(what: string): { done(end: string): void; failed(end: string): void };
  saved(lines: readonly string[], next: string): void;
  cancelled(text: string): void;
}

export interface Target {
  readonly name: string;
  readonly baseUrl: string;
  /** Variable of its key; empty when it is not known to want one. */
  readonly keyName: string;
  readonly vendor?: Vendor;
  readonly local?: LocalServer;
  readonly entry?: ProviderEntry;
}

/** The prompts of the wizard, and its texts. */
export interface SetupAsk {
  readonly texts: Texts["setup"];
  readonly prompts: SetupPrompts;
}

/** Asks which server: one that was found on this machine, a vendor, or an address. */
export async function chooseTarget(
  configured: readonly ProviderEntry[],
  hasKey: (name: string) => boolean,
  { texts, prompts }: SetupAsk,
): Promise<Target> {
  const { findLocalServers } = await loadLocalServers();
  const servers = await findLocalServers();
  const known = (name: string) => configured.some((entry) => entry.name === name) ? texts.isSetUp : "";
  const others = configured.filter(({ name, base_url }) =>
    base_url !== "" && ![...VENDORS, ...servers].some((offered) => offered.name === name)
  );
  const vendors = VENDORS.toSorted((a, b) =>
    Number(keyNamesOf(b).some(hasKey)) - Number(keyNamesOf(a).some(hasKey))
  );
  const hintOf = (vendor: Vendor) => {
    const keyName = keyNamesOf(vendor).find(hasKey);
    return [known(vendor.name), keyName && texts.keyIsThere(keyName)].filter(Boolean).join(", ");
  };
  const chosen = await prompts.pick(texts.whichProvider, [
    ...servers.map((server) => ({
      value: `local ${server.name}`,
      label: texts.onThisMachine(server.label),
      hint: [texts.foundAt(`127.0.0.1:${server.port}`), known(server.name)].filter(Boolean).join(", "),
    })),
    ...others.map(({ name }) => ({ value: `own ${name}`, label: name, hint: texts.isSetUp })),
    ...vendors.map((vendor) => ({
      value: vendor.name,
      label: vendor.label,
      hint: hintOf(vendor),
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
  return await askTarget({ texts, prompts });
}

async function askTarget({ texts, prompts }: SetupAsk): Promise<Target> {
  const baseUrl = await prompts.write({
    message: texts.address,
    example: "https://example.com/v1",
    check: (address) => addressProblem(address, texts.wrong),
  });
  const proposed = isLoopback(baseUrl)
    ? "local"
    : new URL(baseUrl).hostname.replace(/^(?:api|www)\.|\W+$/g, "").replace(/[^\w-]+/g, "-");
  const name = await prompts.write({
    message: texts.providerName,
    proposed,
    check: (given) => /^[\w-]*$/.test(given) ? undefined : texts.wrong.name,
  });
  return { name, baseUrl, keyName: keyNameOf(name) };
}

/** Returns the variable under which the key of a server without a usual one is saved. */
export function keyNameOf(name: string): string {
  return `${name.toUpperCase().replace(/\W+/g, "_").replace(/^(?=\d)/, "_")}_API_KEY`;
}

/** Returns the `[[providers]]` entry of a target; `window` is 0 when it is unknown. */
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

type Wrong = Texts["setup"]["wrong"];

/** A key in the middle of other text; long enough that no host name is taken for one. */
const GLUED_KEY = /(?:sk|gsk|xai)[-_](?=[\w-]*\d)[\w-]{16,}|AIza[\w-]{20,}/i;

/** Returns what is wrong with a key as it was typed; undefined when it may be one. */
export function keyProblem(key: string, vendorName: string | undefined, wrong: Wrong): string | undefined {
  if (/^https?:/i.test(key)) return wrong.keyIsAddress;
  if (/\s/.test(key)) return wrong.keyHasBlanks;
  if (!/^[\x21-\x7e]+$/.test(key) || /["'`\\]/.test(key)) return wrong.keyHasSigns;
  if (/^\w+_API_KEY=/.test(key)) return wrong.keyIsAssignment;
  if (key.length < 8) return wrong.keyTooShort;
  const owner = VENDORS.find(({ keyPrefix }) => keyPrefix !== undefined && key.startsWith(keyPrefix));
  if (owner && vendorName !== undefined && owner.name !== vendorName) {
    return wrong.keyOfOther(owner.label);
  }
  return undefined;
}

/** Returns what is wrong with the address of an API; undefined when it may be one. */
export function addressProblem(address: string, wrong: Wrong): string | undefined {
  const url = URL.parse(address);
  if (!url || !/^https?:\/\/[^/]/i.test(address)) return wrong.address;
  if (url.username !== "" || url.password !== "" || GLUED_KEY.test(address)) {
    return wrong.addressHasKey;
  }
  if (/\s/.test(address)) return wrong.addressHasBlanks;
  if (/:\/\/.*:\/\//.test(address) || /:\d/.test(url.pathname)) return wrong.twoAddresses;
  return undefined;
}

/** Tokens as people write them (131072, 128k, 1M); undefined when it is no such number. */
export function readTokens(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d[\d_,]*)([km]?)$/i.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const factor = { k: 1000, m: 1_000_000 }[unit.toLowerCase()] ?? 1;
  const tokens = Number(digits.replace(/[_,]/g, "")) * factor;
  return Number.isSafeInteger(tokens) ? tokens : undefined;
}
