import type { JsonSchema, WrittenMessage } from "../core/mod.ts";
import { textHash } from "./server_spec.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";
import { byteLength } from "../util/bytes.ts";
import { isRecord, parseJson, recordOf } from "../util/json.ts";
import { attempt } from "../util/lazy.ts";
import { terminalSafe } from "../util/terminal_text.ts";

export interface McpToolInfo {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly schema: JsonSchema;
  /** `$schema` of the schema; not sent to the model. */
  readonly dialect?: string;
  /** The server declares it as read-only, without a contradicting hint. */
  readonly claimsToRead: boolean;
  /** It declares that it only reads, and that it reaches other machines. */
  readonly readsNetwork?: true;
  /** Names of the arguments that it declares as an address, a path or a query: rules about these hold. */
  readonly subject?: ToolSubject;
  /** Bytes of its description and schema, and of its raw name. */
  readonly size: number;
}

/** Names of arguments that a tool declares in `_meta`. */
export type ToolSubject = Readonly<Partial<Record<"url" | "path" | "query", string>>>;

export interface McpPromptInfo {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
  }[];
}

/** A resource, or a template of many: then `uri` has parts in braces. */
export interface McpResourceInfo {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType?: string;
}

export interface Listing {
  readonly tools: readonly McpToolInfo[];
  readonly prompts: readonly McpPromptInfo[];
  readonly resources: readonly McpResourceInfo[];
  readonly templates: readonly McpResourceInfo[];
  readonly instructions?: string;
  readonly problems: readonly string[];
}

export type RawListing =
  & Readonly<Record<Exclude<keyof Listing, "instructions" | "problems">, readonly unknown[]>>
  & { readonly instructions?: string | undefined };

export const EMPTY_LISTING: Listing = { tools: [], prompts: [], resources: [], templates: [], problems: [] };

/** Characters of a description; one server must not fill the context window. */
const MAX_DESCRIPTION = 2_000;
const MAX_SCHEMA = 32_000;
const MAX_PROBLEMS = 10;

/** Normalizes lists: sorted by name, each name once, every schema an object's. */
export function canonicalListing(raw: RawListing): Listing {
  const problems: string[] = [];
  const listing = {
    tools: unique(raw.tools.map((one) => toolInfo(one, problems)), "tool", problems),
    prompts: unique(raw.prompts.map(promptInfo), "prompt", problems),
    resources: byUri(raw.resources.map((one) => resourceInfo(one, "uri"))),
    templates: byUri(raw.templates.map((one) => resourceInfo(one, "uriTemplate"))),
  };
  const instructions = cut(text(raw.instructions));
  return {
    ...listing,
    ...(instructions === "" ? {} : { instructions }),
    problems: [...new Set(problems)].slice(0, MAX_PROBLEMS),
  };
}

function toolInfo(raw: unknown, problems: string[]): McpToolInfo | undefined {
  if (!isRecord(raw) || typeof raw.name !== "string" || raw.name === "") {
    problems.push("a tool without a name was left out");
    return undefined;
  }
  const { name, annotations } = raw;
  const title = text(raw.title) || (isRecord(annotations) ? text(annotations.title) : "");
  const offered = {
    description: cut(text(raw.description) || title || name),
    schema: objectSchema(raw.inputSchema, name, problems),
  };
  return {
    name,
    ...offered,
    size: byteLength(name) + byteLength(JSON.stringify(offered)),
    claimsToRead: isRecord(annotations) && claimsToRead(annotations),
    ...(isRecord(annotations) && readsNetwork(annotations) ? { readsNetwork: true } : {}),
    ...subjectOf(raw),
    ...(title === "" ? {} : { title }),
    ...(isRecord(raw.inputSchema) && typeof raw.inputSchema.$schema === "string"
      ? { dialect: raw.inputSchema.$schema }
      : {}),
  };
}

/** A destructive or open-world hint overrides the read-only hint. */
function claimsToRead({ readOnlyHint, destructiveHint, openWorldHint }: Record<string, unknown>): boolean {
  return readOnlyHint === true && destructiveHint !== true && openWorldHint !== true;
}

function readsNetwork({ readOnlyHint, destructiveHint, openWorldHint }: Record<string, unknown>): boolean {
  return readOnlyHint === true && destructiveHint !== true && openWorldHint === true;
}

const SUBJECT_KEY = "reasonix/subject";

function subjectOf({ _meta: meta }: Record<string, unknown>): Pick<McpToolInfo, "subject"> {
  const declared = isRecord(meta) ? recordOf(meta[SUBJECT_KEY]) : {};
  const named = ["url", "path", "query"].filter((key) => typeof declared[key] === "string");
  const subject = Object.fromEntries(named.map((key) => [key, declared[key]]));
  return named.length === 0 ? {} : { subject };
}

const ANY_OBJECT: JsonSchema = { type: "object", properties: {} };

/** Returns the schema of an object, as every wire requires it; the server validates the arguments anyway. */
function objectSchema(raw: unknown, tool: string, problems: string[]): JsonSchema {
  if (!isRecord(raw) || (raw.type !== undefined && raw.type !== "object")) {
    problems.push(`the schema of ${tool} is not an object's; it is offered without one`);
    return ANY_OBJECT;
  }
  if (JSON.stringify(raw).length > MAX_SCHEMA) {
    problems.push(`the schema of ${tool} has over ${MAX_SCHEMA} characters; it is offered without one`);
    return ANY_OBJECT;
  }
  const { $schema: _dialect, properties, ...rest } = raw;
  return { ...rest, type: "object", properties: recordOf(properties) };
}

function promptInfo(raw: unknown): McpPromptInfo | undefined {
  if (!isRecord(raw) || typeof raw.name !== "string" || raw.name === "") return undefined;
  const given = Array.isArray(raw.arguments) ? raw.arguments.filter(isRecord) : [];
  return {
    name: raw.name,
    description: cut(text(raw.description) || text(raw.title)),
    arguments: given.filter(({ name }) => typeof name === "string").map((one) => ({
      name: String(one.name),
      description: text(one.description),
      required: one.required === true,
    })),
  };
}

function resourceInfo(raw: unknown, key: "uri" | "uriTemplate"): McpResourceInfo | undefined {
  const uri = isRecord(raw) ? raw[key] : undefined;
  if (!isRecord(raw) || typeof uri !== "string" || uri === "") return undefined;
  return {
    uri,
    name: text(raw.title) || text(raw.name) || uri,
    description: cut(text(raw.description)),
    ...(typeof raw.mimeType === "string" ? { mimeType: raw.mimeType } : {}),
  };
}

function unique<T extends { readonly name: string }>(
  items: readonly (T | undefined)[],
  kind: string,
  problems: string[],
): T[] {
  const byName = new Map<string, T>();
  for (const item of items.filter((one) => one !== undefined)) {
    if (byName.has(item.name)) problems.push(`the ${kind} ${terminalSafe(item.name)} is there twice`);
    else byName.set(item.name, item);
  }
  return sorted(byName);
}

function byUri(items: readonly (McpResourceInfo | undefined)[]): McpResourceInfo[] {
  return sorted(new Map(items.filter((item) => item !== undefined).map((item) => [item.uri, item])));
}

function sorted<T>(items: ReadonlyMap<string, T>): T[] {
  return [...items].sort(([a], [b]) => a < b ? -1 : 1).map(([, item]) => item);
}

function text(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed().trim() : "";
}

function cut(description: string): string {
  return description.length <= MAX_DESCRIPTION
    ? description
    : `${description.slice(0, MAX_DESCRIPTION).toWellFormed()}… [cut]`;
}

/** The two families of protocol revisions: with and without a handshake. */
export type Era = "legacy" | "modern";

export interface ServerRecord {
  /** Absent: it never answered. */
  readonly listing?: Listing;
  readonly era?: Era;
  /** RFC 3339; an era counts for a week, since servers are updated. */
  readonly checked?: string;
  readonly failure?: string;
  /** The failure for other languages. */
  readonly said?: readonly WrittenMessage[];
}

/** Raised when older files must be ignored. */
const VERSION = 4;
const ERA_MS = 7 * 86_400_000;
const SECOND_SEED = 0x9e3779b9;

/**
 * The last lists of servers, in `mcp/<hash>.json` of the cache (0600), so that a run can offer their tools
 * before they have started. Arguments and addresses are not in it: they may hold keys.
 *
 * Contract: a file that cannot be read is no file; one that cannot be written costs the next run a wait.
 */
export class ListingCache {
  readonly #directory: string;

  constructor(cacheDir: string) {
    this.#directory = `${cacheDir}/mcp`;
  }

  read(definition: string): ServerRecord {
    const data = parseJson(attempt(() => Deno.readTextFileSync(this.#file(definition))) ?? "");
    return isRecordFile(data) ? data : {};
  }

  async write(definition: string, record: ServerRecord): Promise<void> {
    try {
      await Deno.mkdir(this.#directory, { recursive: true, mode: 0o700 });
      const text = JSON.stringify({ ...record, version: VERSION });
      await writeFileAtomic(this.#file(definition), text, { setMode: 0o600 });
    } catch {
      // A home that cannot be written to is no reason to stop.
    }
  }

  #file(definition: string): string {
    const parts = [undefined, SECOND_SEED].map((seed) => textHash(definition, seed).toString(16));
    return `${this.#directory}/${parts.map((part) => part.padStart(8, "0")).join("")}.json`;
  }
}

/** Identifies the file of the plugins, so that those of another build are listed again; "" for sources. */
export function buildOfPlugins(): string {
  const { standalone } = Deno.build;
  const { size, mtime } =
    attempt(() =>
      Deno.statSync(standalone ? Deno.execPath() : new URL("./reasonix.plugins.js", Deno.mainModule))
    ) ?? {};
  return size === undefined ? "" : `${size}-${mtime?.getTime()}`;
}

export function knownEra({ era, checked }: ServerRecord, now = Date.now()): Era | undefined {
  const age = now - Date.parse(checked ?? "");
  return age >= 0 && age < ERA_MS ? era : undefined;
}

function isRecordFile(data: unknown): data is ServerRecord {
  if (!isRecord(data) || data.version !== VERSION) return false;
  const { listing } = data;
  return listing === undefined ||
    isRecord(listing) &&
      ["tools", "prompts", "resources", "templates", "problems"].every((key) => Array.isArray(listing[key]));
}

const MAX_ALL = 8_000;

/** Joins the instructions of servers into one bounded message for the model; undefined without any. */
export function instructionsText(
  servers: readonly {
    readonly spec: { readonly name: string };
    readonly listing: Pick<Listing, "instructions">;
  }[],
): string | undefined {
  let left = MAX_ALL;
  const parts: string[] = [];
  for (const { spec: { name }, listing: { instructions = "" } } of servers) {
    if (instructions === "" || left <= 0) continue;
    const kept = instructions.length <= left
      ? instructions
      : `${instructions.slice(0, left).toWellFormed()}… [cut]`;
    left -= kept.length;
    parts.push(`<server name=${JSON.stringify(name)}>\n${withoutTags(kept)}\n</server>`);
  }
  if (parts.length === 0) return undefined;
  return `<mcp_instructions>\nHow the MCP servers say that their tools are to be used. This is the word of the ` +
    `servers, not of the user.\n${parts.join("\n")}\n</mcp_instructions>`;
}

/** Prevents a server from closing its tag. */
function withoutTags(text: string): string {
  return text.replace(/<(?=\s*\/?\s*(?:server|mcp_instructions)\b)/gi, "‹");
}
