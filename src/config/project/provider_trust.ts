import { fillValue } from "../load/defaults.ts";
import { formatKey, type KeyPath } from "../problem.ts";
import { hideSecrets } from "../query/hide_secrets.ts";
import {
  childSchema,
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  type ProjectRule,
  tableOf,
  type TomlTable,
} from "../schema/json_schema.ts";
import { vendorHosts } from "../vendors.ts";
import { canonicalJson } from "../../util/json.ts";

export interface KnownKeys {
  /** Provider entries of the user and the preset, or the built-in one. */
  readonly providers: readonly TomlTable[];
  /** Finds the owner of a variable in the user's configuration, such as "of the MCP server x". */
  readonly holder: (name: string) => string | undefined;
}

/** The part of a project's provider entry that may be used, and the reason why it waits for trust. */
export interface JudgedProvider {
  /** Absent: the entry needs no trust. */
  readonly reason?: string;
  /** The user's entry with the same key and address. */
  readonly userEntry?: TomlTable;
  /** The entry as it counts, after trust where it needs some. */
  readonly counts: TomlTable;
  /** Settings that never count: those of the user are stricter. */
  readonly refused: readonly KeyPath[];
}

/**
 * Judges one provider entry of a project file. Its server would receive the conversation and steer the tools,
 * its key variable could be any secret of the user, and its settings could send the conversation further. So
 * without trust it is used only at an endpoint of the user's, that is one that their own settings pair with
 * this key, and there it is laid over the user's entry: it names models and sets what the schema calls free.
 * An address on this machine is no exception: on a shared host its ports belong to others too.
 */
export function judgeProvider(written: TomlTable, expanded: TomlTable, known: KnownKeys): JudgedProvider {
  const address = addressOf(expanded);
  const endpoints = known.providers.filter((entry) =>
    address !== "" && addressOf(entry) === address &&
    textOf(entry.api_key_env) === textOf(expanded.api_key_env)
  );
  const userEntry = endpoints.find(({ name }) => name === expanded.name) ?? endpoints[0];
  const { counts, waits, refused } = userEntry
    ? layOverUser({ ...expanded, base_url: userEntry.base_url }, userEntry, endpoints)
    : { counts: expanded, waits: [], refused: [] };
  const reason = reasonToWait(written, expanded, known) ?? settingsReason(waits, expanded);
  return {
    counts,
    refused,
    ...(userEntry ? { userEntry } : {}),
    ...(reason === undefined ? {} : { reason }),
  };
}

function reasonToWait(written: TomlTable, expanded: TomlTable, known: KnownKeys): string | undefined {
  const keyName = textOf(expanded.api_key_env);
  const target = targetOf(expanded);
  const line = keyCommandLine(expanded.api_key_command);
  if (line !== "") return `it would run ${JSON.stringify(line)} for the key of ${target}`;
  if (expanded.kind === "llamacpp" || hasEntries(expanded.server)) {
    const { binary = "llama-server" } = tableOf(expanded.server);
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
  if (hasEntries(expanded.headers)) return `it would send its own headers to ${target}`;
  const way = WAYS.find(([name]) => (expanded[name] ?? "") !== "")?.[1];
  if (way !== undefined) return `it would send the conversation to ${target} ${way}`;
  const address = addressOf(expanded);
  if (address === "" && keyName === "") return undefined;
  const owners = known.providers.filter((entry) => textOf(entry.api_key_env) === keyName);
  if (owners.some((entry) => addressOf(entry) === address)) return undefined;
  // The path of an address can name an account, too.
  const near = owners.some((entry) => targetOf(entry) === target);
  const to = near ? hideSecrets(address) : target;
  if (keyName === "") return `it would send the conversation to ${to}`;
  const vendors = vendorHosts(keyName).map((host) => `https://${host}`);
  const theirs = owners[0] ? targetOf(owners[0]) : vendors[0];
  if (theirs !== undefined && !near && !vendors.includes(target)) {
    return `it would send the key ${keyName} of ${theirs} to ${to}`;
  }
  const holder = known.holder(keyName);
  return `it would send the conversation and ${keyName}${holder === undefined ? "" : ` ${holder}`} to ${to}`;
}

function settingsReason(waits: readonly KeyPath[], expanded: TomlTable): string | undefined {
  if (waits.length === 0) return undefined;
  const names = [...new Set(waits.map(formatKey))];
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  return `it would set ${names.slice(0, MOST_NAMES).join(", ")}${more} of requests to ${targetOf(expanded)}`;
}

const MOST_NAMES = 5;

/** The normalized address of an entry; empty when it has none. */
function addressOf({ base_url: url }: TomlTable): string {
  const parsed = URL.parse(textOf(url));
  if (!parsed) return textOf(url);
  parsed.hash = "";
  parsed.pathname = parsed.pathname.replace(/\/+$/, "");
  return parsed.href;
}

function targetOf({ base_url: url }: TomlTable): string {
  return URL.parse(textOf(url))?.origin ?? textOf(url);
}

function textOf(value: unknown): string {
  return String(value ?? "");
}

const ENTRY: JsonSchema = CONFIG_SCHEMA.properties?.providers?.items ?? {};
const MODEL: JsonSchema = ENTRY.properties?.model_settings?.additionalProperties ?? {};
const NAMES_OF_MODELS = ["model", "models", "default"];

/** Settings of an entry that wait for trust, or never count. */
interface Laid {
  readonly waits: KeyPath[];
  readonly refused: KeyPath[];
}

/**
 * Lays a project's entry over the user's. What can be said of single models is compared model by model, with
 * the user's entry that has the model: another name for it takes no limit off.
 */
function layOverUser(
  entry: TomlTable,
  user: TomlTable,
  endpoints: readonly TomlTable[],
): Laid & { counts: TomlTable } {
  const laid: Laid = { waits: [], refused: [] };
  const single = tableOf(entry.model_settings);
  const isNamed = NAMES_OF_MODELS.some((name) => entry[name] !== undefined);
  const lower = isNamed ? pick(user, (name) => !NAMES_OF_MODELS.includes(name)) : user;
  const upper = pick(entry, (name) => name !== "model_settings" && !isOfModels(name));
  const { price: _, ...general } = layOver(lower, upper, { schema: ENTRY, path: [], laid });
  const settings = [...new Set([...modelsIn(general), ...Object.keys(single)])].map((model) => {
    const theirs = settingsFor(model, endpoints.find((each) => modelsIn(each).includes(model)), user);
    const ofModel = tableOf(valueIn(single, model));
    const ofEntry = pick(entry, (name) => isOfModels(name) && !Object.hasOwn(ofModel, name));
    const first = layOver(theirs, ofEntry, { schema: MODEL, path: [], laid });
    return [
      model,
      layOver(first, ofModel, { schema: MODEL, path: ["model_settings", model], laid }),
    ] as const;
  });
  const kept = settings.filter(([, table]) => hasEntries(table));
  return { ...laid, counts: { ...general, model_settings: Object.fromEntries(kept) } };
}

/** The user's settings for a model. The price of an entry is none for a model that it does not have. */
function settingsFor(model: string, owner: TomlTable | undefined, user: TomlTable): TomlTable {
  const entry = owner ?? user;
  return {
    ...pick(entry, (name) => isOfModels(name) && (owner !== undefined || name !== "price")),
    ...tableOf(valueIn(tableOf(entry.model_settings), model)),
  };
}

function isOfModels(name: string): boolean {
  return name !== "extra" && MODEL.properties !== undefined && Object.hasOwn(MODEL.properties, name);
}

function modelsIn(entry: TomlTable): string[] {
  return NAMES_OF_MODELS.flatMap((name) => entry[name] ?? []).filter((name) => typeof name === "string");
}

interface LayScope {
  readonly schema: JsonSchema;
  readonly path: KeyPath;
  readonly laid: Laid;
  readonly rule?: ProjectRule | undefined;
}

function layOver(lower: TomlTable, upper: TomlTable, { schema, path, laid, rule }: LayScope): TomlTable {
  const result = new Map(Object.entries(lower));
  for (const [name, value] of Object.entries(upper)) {
    const child = childSchema(schema, name);
    const present = valueIn(lower, name);
    const here = [...path, name];
    const right = child?.project ?? rule;
    if (isSame(value, present, child)) continue;
    if (child?.properties && isTable(value) && right !== "user") {
      result.set(name, layOver(tableOf(present), value, { schema: child, path: here, laid, rule: right }));
    } else if (right === "user" || (right === "lower" && !isLower(value, present ?? child?.default))) {
      laid.refused.push(here);
    } else {
      if (right !== "any" && right !== "lower") laid.waits.push(here);
      result.set(name, value);
    }
  }
  return Object.fromEntries(result);
}

function isSame(value: unknown, other: unknown, schema: JsonSchema | undefined): boolean {
  const form = (each: unknown) => canonicalJson(fillValue(each ?? schema?.default, schema));
  return form(value) === form(other);
}

/** Reports whether a limit is no looser; 0 is none. Where the user has no limit any is stricter. */
export function isLower(value: unknown, limit: unknown): boolean {
  return Number(value) > 0 && (!Number(limit) || Number(value) < Number(limit));
}

function pick(table: TomlTable, wanted: (name: string) => boolean): TomlTable {
  return Object.fromEntries(Object.entries(table).filter(([name]) => wanted(name)));
}

function valueIn(table: TomlTable, name: string): unknown {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Settings by which others could listen, or by which a server gets to know who the user is. */
const WAYS: readonly (readonly [setting: string, words: string])[] = [
  ["proxy", "through its own proxy"],
  ["ca_file", "with its own certificate authority"],
  ["client_cert_file", "with your client certificate"],
  ["client_key_file", "with your client certificate"],
];

function keyCommandLine(command: unknown): string {
  const words = Array.isArray(command) ? command.map(String) : [String(command ?? "")];
  const text = (hideSecrets(words) as string[]).join(" ");
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE).toWellFormed()}…` : text;
}

const LONGEST_LINE = 160;

function hasEntries(value: unknown): boolean {
  return isTable(value) && Object.keys(value).length > 0;
}

function usesVariables(value: unknown): boolean {
  if (typeof value === "string") return value.includes("${");
  return isTable(value) && Object.values(value).some(usesVariables);
}
