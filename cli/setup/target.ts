import { isCancel, S_BAR, select, text } from "@clack/prompts";
import { outputWidth } from "../terminal/display.ts";
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
import { displayWidth } from "../../src/util/display_width.ts";
import { wrapText } from "../../src/view/mod.ts";

export class Cancelled extends Error {}

export function answered<T>(value: T): Exclude<T, symbol> {
  if (isCancel(value) || typeof value === "symbol") throw new Cancelled();
  return value as Exclude<T, symbol>;
}

interface Choice<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly hint?: string;
}

export async function pick<T extends string>(
  message: string,
  choices: readonly Choice<T>[],
  initialValue?: T,
): Promise<T> {
  const options = choices.map(({ value, label, hint }) => ({ value, label, ...(hint ? { hint } : {}) }));
  const common = {
    message,
    options,
    maxItems: 16,
    showInstructions: false,
    ...(initialValue ? { initialValue } : {}),
  };
  // The kit's types of options depend on the value in a way that no generic caller can meet.
  const chosen = await (select as (options: typeof common) => Promise<T | symbol>)(common);
  if (typeof chosen === "symbol") throw new Cancelled();
  return chosen;
}

/** Columns that the kit takes for its line at the left. */
const GUIDE = 3;

/** Breaks a text at words, as the kit does it only for some of its questions. */
export function linesOf(text: string): string[] {
  const width = Math.max(20, (outputWidth() ?? 80) - GUIDE - 1);
  return text.split("\n").flatMap((line) => wrapText(line, width, displayWidth));
}

/** The same with the line at the left of all but the first. */
export function guided(text: string): string {
  return linesOf(text).join(`\n${S_BAR}  `);
}

/** The same with blanks there: what is at the end of a question. */
export function closing(text: string): string {
  return linesOf(text).join(`\n${" ".repeat(GUIDE)}`);
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

/** Asks which server: one that was found on this machine, a vendor, or an address. */
export async function chooseTarget(
  configured: readonly ProviderEntry[],
  hasKey: (name: string) => boolean,
  texts: Texts["setup"],
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
  const chosen = await pick(texts.whichProvider, [
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
