/**
 * The servers of a `.mcp.json`, in the form that Claude Code reads. They become a layer of `[[plugins]]`, so
 * that trust, variables and merging are those of our files.
 */
import { JsonFile, LayerBuilder } from "../load/jsonc.ts";
import { type Layer, locationOf } from "../load/layer.ts";
import { type LeftOutServer, pluginsOf } from "../load/resolve.ts";
import type { ConfigProblem, KeyPath } from "../problem.ts";
import type { TomlTable } from "../schema/json_schema.ts";
import { formatLocation, type SourceLocation } from "../../core/mod.ts";
import { defined, isRecord } from "../../util/json.ts";
import { suggestNames } from "../../util/suggest.ts";
import { cutText } from "../../util/terminal_text.ts";

const KEY = "mcpServers";

/** Names under which other programs keep the same. */
const OTHER_KEYS = ["servers", "mcp", "mcp_servers", "mcp-servers", "mcpservers", "context_servers"];

/** Returns the value in our form, undefined when it has another one. */
type Reader = (value: unknown) => unknown;

const readText: Reader = (value) => typeof value === "string" ? value : undefined;
const readTexts: Reader = (value) =>
  Array.isArray(value) && value.every(isPlain) ? value.map(String) : undefined;
const readTextMap: Reader = (value) =>
  isRecord(value) && Object.values(value).every(isPlain)
    ? Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)]))
    : undefined;
const readSeconds: Reader = (value) => typeof value === "number" && value >= 0 ? value / 1000 : undefined;

/** The fields of a server by our name: the name there, the value it must have, and its reader. */
const FIELDS: Readonly<Record<string, readonly [name: string, expected: string, read: Reader]>> = {
  type: ["type", "a text", readText],
  command: ["command", "a text", readText],
  args: ["args", "an array of texts", readTexts],
  env: ["env", "an object of texts", readTextMap],
  cwd: ["cwd", "a text", readText],
  url: ["url", "a text", readText],
  headers: ["headers", "an object of texts", readTextMap],
  headers_helper: ["headersHelper", "a text", readText],
  call_timeout_seconds: ["timeout", "a number of milliseconds", readSeconds],
  oauth: ["oauth", 'an object such as { "clientId": "…" }', readOauth],
};
const NAMES = Object.fromEntries(Object.entries(FIELDS).map(([key, [name]]) => [key, name]));

/** Keys of other programs whose lack changes nothing about what the server can do. */
const IGNORED = ["alwaysAllow", "alwaysLoad", "autoApprove", "description", "disabled", "$schema"];

const EXAMPLE = `write { "${KEY}": { "NAME": { "command": "…" } } }`;
const TYPES = ["stdio", "http", "streamable-http", "sse"];

export interface McpJson {
  readonly layer: Layer;
  readonly leftOut: readonly LeftOutServer[];
}

interface McpJsonFile {
  readonly source: "user" | "project";
  readonly file: string;
  /** Locations of servers in our files, by name: they win. */
  readonly stronger: ReadonlyMap<string, SourceLocation>;
  /** Those of bundles may have the servers at the top of the file. */
  readonly isBundle?: boolean;
}

/**
 * Reads a file if it is there. A problem is a warning: one bad server takes none of the others along, and
 * none of them is worth a run.
 */
export async function readMcpJson(
  { source, file, stronger, isBundle = false }: McpJsonFile,
  problems: ConfigProblem[],
): Promise<McpJson | undefined> {
  const unusable = { consequence: "; no server of this file is used", remedy: "correct it" };
  const json = await JsonFile.open({ source, file }, unusable, problems);
  if (!json) return undefined;
  const { value } = json;
  if (!isRecord(value)) return json.report([], "The file is no JSON object", EXAMPLE);
  const isBare = isBundle && !(KEY in value);
  if (!isBundle) reportOtherKeys(json, value);
  const base = isBare ? [] : [KEY];
  const servers = isBare ? value : value[KEY];
  if (servers === undefined) return undefined;
  if (!isRecord(servers)) return json.report([KEY], `"${KEY}" is no object`, EXAMPLE);
  const builder = new LayerBuilder(json);
  const leftOut: LeftOutServer[] = [];
  for (const [name, server] of Object.entries(servers)) {
    const winner = stronger.get(name);
    if (winner) {
      const message = `the one in ${formatLocation(winner)} counts`;
      const place = json.place([...base, name]);
      leftOut.push({ name, why: "shadowed", message, remedy: "remove one of the two", place });
      continue;
    }
    const read = readServer(name, server, (key, remedy) => {
      json.report([...base, name, key], `${quoted(key)} of the server ${quoted(name)} has no effect`, remedy);
    });
    if ("entry" in read) {
      builder.add(["plugins"], read.entry, [...base, name]);
      continue;
    }
    const { why, remedy } = read;
    const path = [...base, name, ...read.path];
    json.report(path, `The MCP server ${quoted(name)} is not used: ${why}`, remedy);
    leftOut.push({ name, why: "invalid", message: why, remedy, place: json.place(path) });
  }
  return { layer: builder.layer(base, NAMES), leftOut };
}

/** Finds the locations of servers in our files. */
export function pluginLocations(layers: readonly (Layer | undefined)[]): Map<string, SourceLocation> {
  const places = new Map<string, SourceLocation>();
  for (const layer of layers) {
    for (const [index, { name }] of (layer ? pluginsOf(layer) : []).entries()) {
      const place = layer && locationOf(layer, ["plugins", index]);
      if (place) places.set(String(name), place);
    }
  }
  return places;
}

/** A file in the form of another program silently meant "no servers" for too many people. */
function reportOtherKeys(json: JsonFile, value: Readonly<Record<string, unknown>>): void {
  const others = Object.keys(value).filter((key) => key !== KEY && isRecord(value[key]));
  const known = others.filter((key) => OTHER_KEYS.includes(key) || suggestNames(key, [KEY]).length > 0);
  for (const key of known) {
    const message = `The servers under ${quoted(key)} are not used: the key is "${KEY}"`;
    json.report([key], message, `rename ${quoted(key)} to "${KEY}"`);
  }
  if (known.length > 0 || KEY in value) return;
  const bare = others.find((key) => {
    const server = value[key];
    return isRecord(server) && (typeof server.command === "string" || typeof server.url === "string");
  });
  if (bare === undefined) return;
  json.report([bare], `The server ${quoted(bare)} is not used: it does not stand under "${KEY}"`, EXAMPLE);
}

interface Fault {
  readonly path: KeyPath;
  readonly why: string;
  readonly remedy: string;
}

/** Describes a server as an entry of `[[plugins]]`; `ignore` is called for each key without an effect. */
function readServer(
  name: string,
  server: unknown,
  ignore: (key: string, remedy: string) => void,
): { readonly entry: TomlTable } | Fault {
  if (name.trim() === "") return { path: [], why: "it has no name", remedy: "give it one" };
  if (!isRecord(server)) return { path: [], why: "it is no object", remedy: 'write { "command": "…" }' };
  const entry: TomlTable = { name };
  for (const [key, [theirs, expected, read]] of Object.entries(FIELDS)) {
    const value = server[theirs];
    if (value === undefined || value === null) continue;
    entry[key] = read(value);
    if (entry[key] === undefined) {
      return { path: [theirs], why: `${quoted(theirs)} must be ${expected}`, remedy: "correct it" };
    }
  }
  if (server.disabled === true) entry.enabled = false;
  const known = Object.values(NAMES);
  for (const key of Object.keys(server)) {
    if (IGNORED.includes(key) || known.includes(key)) continue;
    const near = suggestNames(key, known, 1)[0];
    ignore(key, near ? `did you mean "${near}"?` : "remove it");
  }
  const type = entry.type ?? (entry.url !== undefined && entry.command === undefined ? "http" : "stdio");
  if (!TYPES.includes(String(type))) {
    const why = `the transport ${quoted(String(type))} is not there`;
    return { path: ["type"], why, remedy: 'write "stdio" for a program or "http" for an address' };
  }
  const needed = type === "stdio" ? "command" : "url";
  if (!entry[needed]) return { path: [], why: `it has no "${needed}"`, remedy: `add "${needed}"` };
  return { entry: { ...entry, type } };
}

/** Other programs accept numbers and switches where a text is meant. */
function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** Reads the client of `oauth` that was registered before; undefined when it cannot be read. */
export function readOauth(value: unknown): TomlTable | undefined {
  if (!isRecord(value)) return undefined;
  const { clientId, callbackPort, scopes } = value;
  const list = typeof scopes === "string"
    ? scopes.split(/\s+/).filter((scope) => scope !== "")
    : scopes ?? [];
  if (!Array.isArray(list) || list.some((scope) => typeof scope !== "string")) return undefined;
  if (clientId !== undefined && typeof clientId !== "string") return undefined;
  if (callbackPort !== undefined && !Number.isSafeInteger(callbackPort)) return undefined;
  const scoped = list.length > 0 ? list : undefined;
  return defined({ client_id: clientId, callback_port: callbackPort, scopes: scoped });
}

function quoted(text: string): string {
  return JSON.stringify(cutText(text, 60));
}
