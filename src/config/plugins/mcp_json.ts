/**
 * The servers of a `.mcp.json`, in the form that Claude Code reads. They become a layer of `[[plugins]]`, so
 * that trust, variables and merging are those of our own files.
 */
import { JsonFile } from "../load/jsonc.ts";
import { type Layer, placeOf } from "../load/layer.ts";
import { type LeftOutServer, pluginsOf } from "../load/resolve.ts";
import type { ConfigProblem, KeyPath } from "../problem.ts";
import type { TomlTable } from "../schema/json_schema.ts";
import { formatLocation, type SourceLocation } from "../../core/mod.ts";
import { isRecord } from "../../util/json.ts";
import { suggestNames } from "../../util/suggest.ts";

const KEY = "mcpServers";

/** Names under which other programs keep the same. */
const OTHER_KEYS = ["servers", "mcp", "mcp_servers", "mcp-servers", "mcpservers", "context_servers"];

/** The fields of a server by our name: the name there, and the form of the value. */
const FIELDS = {
  type: ["type", "text"],
  command: ["command", "text"],
  args: ["args", "texts"],
  env: ["env", "textMap"],
  cwd: ["cwd", "text"],
  url: ["url", "text"],
  headers: ["headers", "textMap"],
  headers_helper: ["headersHelper", "text"],
  call_timeout_seconds: ["timeout", "milliseconds"],
  oauth: ["oauth", "oauth"],
} as const satisfies Readonly<Record<string, readonly [string, Form]>>;

type Form = "text" | "texts" | "textMap" | "milliseconds" | "oauth";

const EXPECTED: Readonly<Record<Form, string>> = {
  text: "a text",
  texts: "an array of texts",
  textMap: "an object of texts",
  milliseconds: "a number of milliseconds",
  oauth: 'an object such as { "clientId": "…" }',
};

/** Keys of other programs whose lack changes nothing about what the server can do. */
const FOREIGN: ReadonlySet<string> = new Set([
  "alwaysAllow",
  "alwaysLoad",
  "autoApprove",
  "description",
  "disabled",
  "$schema",
]);

export interface McpJson {
  readonly layer: Layer;
  /** Servers that cannot be used. */
  readonly leftOut: readonly LeftOutServer[];
}

/**
 * Reads a file if it is there. What is wrong with it is a warning: one bad server takes none of the others
 * along, and none of them is worth a run.
 */
export async function readMcpJson(
  { source, file, stronger }: McpJsonFile,
  problems: ConfigProblem[],
): Promise<McpJson | undefined> {
  const unusable = { consequence: "; no server of this file is used", remedy: "correct it" };
  const json = await JsonFile.open({ source, file }, unusable, problems);
  const result = json && new McpServers(json, stronger).read();
  problems.push(...json?.problems ?? []);
  return result;
}

export interface McpJsonFile {
  readonly source: "user" | "project";
  readonly file: string;
  /** Places of servers in our own files, by name: they win. */
  readonly stronger: ReadonlyMap<string, SourceLocation>;
}

/** Finds the places of servers in our own files. */
export function pluginPlaces(layers: readonly (Layer | undefined)[]): Map<string, SourceLocation> {
  const places = new Map<string, SourceLocation>();
  for (const layer of layers) {
    for (const [index, { name }] of (layer ? pluginsOf(layer) : []).entries()) {
      const place = layer && placeOf(layer, ["plugins", index]);
      if (place) places.set(String(name), place);
    }
  }
  return places;
}

/** The servers of a file as a layer. */
class McpServers {
  readonly #json: JsonFile;
  readonly #stronger: McpJsonFile["stronger"];
  readonly #leftOut: LeftOutServer[] = [];

  constructor(json: JsonFile, stronger: McpJsonFile["stronger"]) {
    this.#json = json;
    this.#stronger = stronger;
  }

  read(): McpJson | undefined {
    const { value, source, file } = this.#json;
    if (!isRecord(value)) return this.#json.report([], "The file is no JSON object", HEAD_REMEDY);
    this.#topLevel(value);
    const servers = value[KEY];
    if (servers === undefined) return undefined;
    if (!isRecord(servers)) return this.#json.report([KEY], `"${KEY}" is no object`, HEAD_REMEDY);
    const entries: TomlTable[] = [];
    for (const [name, server] of Object.entries(servers)) {
      const entry = this.#server(name, server);
      if (entry) entries.push(entry);
    }
    const names = entries.map((entry) => String(entry.name));
    const layer: Layer = {
      source,
      file,
      table: { plugins: entries },
      find: (path) => this.#json.find(inFile(path, names)),
    };
    return { layer, leftOut: this.#leftOut };
  }

  /** A file in the form of another program silently meant "no servers" for too many people. */
  #topLevel(value: Readonly<Record<string, unknown>>): void {
    const others = Object.keys(value).filter((key) => key !== KEY && isRecord(value[key]));
    const known = others.filter((key) => OTHER_KEYS.includes(key) || suggestNames(key, [KEY]).length > 0);
    for (const key of known) {
      this.#json.report(
        [key],
        `The servers under ${quoted(key)} are not used: the key is "${KEY}"`,
        `rename ${quoted(key)} to "${KEY}"`,
      );
    }
    if (known.length > 0 || KEY in value) return;
    const bare = others.find((key) => isRecord(value[key]) && looksLikeServer(value[key]));
    if (bare === undefined) return;
    this.#json.report(
      [bare],
      `The server ${quoted(bare)} is not used: it does not stand under "${KEY}"`,
      HEAD_REMEDY,
    );
  }

  #server(name: string, server: unknown): TomlTable | undefined {
    const stronger = this.#stronger.get(name);
    if (stronger) {
      const place = this.#json.place([KEY, name]);
      const message = `the one in ${formatLocation(stronger)} counts`;
      this.#leftOut.push({ name, why: "shadowed", message, remedy: "remove one of the two", place });
      return undefined;
    }
    if (name.trim() === "") return this.#bad(name, [], "it has no name", "give it one");
    if (!isRecord(server)) return this.#bad(name, [], "it is no object", 'write { "command": "…" }');
    const entry: TomlTable = { name };
    for (const [key, [foreign, form]] of Object.entries(FIELDS)) {
      const value = server[foreign];
      if (value === undefined || value === null) continue;
      const read = readForm(value, form);
      if (read === undefined) {
        const message = `${quoted(foreign)} must be ${EXPECTED[form]}`;
        return this.#bad(name, [foreign], message, "correct it");
      }
      entry[key] = read;
    }
    if (server.disabled === true) entry.enabled = false;
    this.#unknownKeys(name, server);
    return this.#transport(name, entry);
  }

  #transport(name: string, entry: TomlTable): TomlTable | undefined {
    const type = entry.type ?? (entry.url !== undefined && entry.command === undefined ? "http" : "stdio");
    if (!TYPES.includes(String(type))) {
      const why = `the transport ${quoted(String(type))} is not there`;
      return this.#bad(name, ["type"], why, 'write "stdio" for a program or "http" for an address');
    }
    const needed = type === "stdio" ? "command" : "url";
    if (entry[needed]) return { ...entry, type };
    return this.#bad(name, [], `it has no "${needed}"`, `add "${needed}"`);
  }

  #unknownKeys(name: string, server: Readonly<Record<string, unknown>>): void {
    const known = Object.values(FIELDS).map(([foreign]) => foreign);
    for (const key of Object.keys(server)) {
      if (FOREIGN.has(key) || known.some((each) => each === key)) continue;
      const near = suggestNames(key, known, 1)[0];
      const remedy = near ? `did you mean "${near}"?` : "remove it";
      this.#json.report(
        [KEY, name, key],
        `${quoted(key)} of the server ${quoted(name)} has no effect`,
        remedy,
      );
    }
  }

  #bad(name: string, path: KeyPath, why: string, remedy: string): undefined {
    const at = [KEY, name, ...path];
    const place = this.#json.place(at);
    this.#json.report(at, `The MCP server ${quoted(name)} is not used: ${why}`, remedy);
    this.#leftOut.push({ name, why: "invalid", message: why, remedy, place });
    return undefined;
  }
}

const HEAD_REMEDY = `write { "${KEY}": { "NAME": { "command": "…" } } }`;
const TYPES = ["stdio", "http", "streamable-http", "sse"];

/** The place in the file of what our table says. */
function inFile(path: KeyPath, names: readonly string[]): KeyPath {
  const [, index, key, ...rest] = path;
  const name = typeof index === "number" ? names[index] : index;
  if (name === undefined) return [KEY];
  if (key === undefined) return [KEY, name];
  const foreign = Object.entries(FIELDS).find(([ours]) => ours === key)?.[1][0] ?? key;
  return [KEY, name, foreign, ...rest];
}

function looksLikeServer(value: Readonly<Record<string, unknown>>): boolean {
  return typeof value.command === "string" || typeof value.url === "string";
}

/** The value in our form, undefined when it has another. */
function readForm(value: unknown, form: Form): unknown {
  switch (form) {
    case "text":
      return typeof value === "string" ? value : undefined;
    case "texts":
      return Array.isArray(value) && value.every(isPlain) ? value.map(String) : undefined;
    case "textMap":
      return readTexts(value);
    case "milliseconds":
      return typeof value === "number" && value >= 0 ? value / 1000 : undefined;
    case "oauth":
      return readOauth(value);
  }
}

function readTexts(value: unknown): TomlTable | undefined {
  if (!isRecord(value) || !Object.values(value).every(isPlain)) return undefined;
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)]));
}

/** Other programs let numbers and switches stand where a text is meant. */
function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** Reads what `oauth` says of a client that was registered before; undefined when it cannot be read. */
export function readOauth(value: unknown): TomlTable | undefined {
  if (!isRecord(value)) return undefined;
  const { clientId, callbackPort, scopes } = value;
  const list = typeof scopes === "string"
    ? scopes.split(/\s+/).filter((scope) => scope !== "")
    : scopes ?? [];
  if (!Array.isArray(list) || list.some((scope) => typeof scope !== "string")) return undefined;
  if (clientId !== undefined && typeof clientId !== "string") return undefined;
  if (callbackPort !== undefined && !Number.isSafeInteger(callbackPort)) return undefined;
  return {
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(callbackPort === undefined ? {} : { callback_port: callbackPort }),
    ...(list.length > 0 ? { scopes: list } : {}),
  };
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text);
}
