import type { JsonSchema } from "../../core/mod.ts";
import { byteLength } from "../../util/byte_length.ts";
import { isRecord } from "../../util/json.ts";
import { terminalSafe } from "../../util/terminal_text.ts";

/** A tool as its server describes it. */
export interface McpToolInfo {
  /** The server's own name for it. */
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly schema: JsonSchema;
  /** `$schema` of the schema, which the model does not get. */
  readonly dialect?: string;
  /** The server declares that it changes nothing, and nothing that contradicts it. */
  readonly claimsToRead: boolean;
  /** Bytes of what the model would be told of it, but for its name there. */
  readonly size: number;
}

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

/** What a server offers; the same whatever the order in which it says so. Plain data. */
export interface Listing {
  readonly tools: readonly McpToolInfo[];
  readonly prompts: readonly McpPromptInfo[];
  readonly resources: readonly McpResourceInfo[];
  readonly templates: readonly McpResourceInfo[];
  /** What the server says for the model about its use as a whole. */
  readonly instructions?: string;
  /** What was wrong with the answer, for people. */
  readonly problems: readonly string[];
}

/** The lists as they came from a server. */
export interface RawListing {
  readonly tools: readonly unknown[];
  readonly prompts: readonly unknown[];
  readonly resources: readonly unknown[];
  readonly templates: readonly unknown[];
  readonly instructions?: string | undefined;
}

export const EMPTY_LISTING: Listing = { tools: [], prompts: [], resources: [], templates: [], problems: [] };

/** Characters of a description that the model gets; one server must not fill the window. */
const MAX_DESCRIPTION = 2_000;
const MAX_SCHEMA = 32_000;
const MOST_PROBLEMS = 10;

/** Brings lists into one order and one form: sorted by name, each name once, every schema an object's. */
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
    problems: [...new Set(problems)].slice(0, MOST_PROBLEMS),
  };
}

function toolInfo(raw: unknown, problems: string[]): McpToolInfo | undefined {
  if (!isRecord(raw) || typeof raw.name !== "string" || raw.name === "") {
    problems.push("a tool without a name was left out");
    return undefined;
  }
  const { name, annotations } = raw;
  const title = text(raw.title) || (isRecord(annotations) ? text(annotations.title) : "");
  const told = {
    description: cut(text(raw.description) || title || name),
    schema: objectSchema(raw.inputSchema, name, problems),
  };
  return {
    name,
    ...told,
    size: byteLength(name) + byteLength(JSON.stringify(told)),
    claimsToRead: isRecord(annotations) && claimsToRead(annotations),
    ...(title === "" ? {} : { title }),
    ...(isRecord(raw.inputSchema) && typeof raw.inputSchema.$schema === "string"
      ? { dialect: raw.inputSchema.$schema }
      : {}),
  };
}

/** What destroys or acts on the world outside is no reader, whatever else is declared of it. */
function claimsToRead({ readOnlyHint, destructiveHint, openWorldHint }: Record<string, unknown>): boolean {
  return readOnlyHint === true && destructiveHint !== true && openWorldHint !== true;
}

const ANY_OBJECT: JsonSchema = { type: "object", properties: {} };

/** Every wire wants an object's schema; with anything else the server judges the arguments itself. */
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
  return { ...rest, type: "object", properties: isRecord(properties) ? properties : {} };
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
  what: string,
  problems: string[],
): T[] {
  const byName = new Map<string, T>();
  for (const item of items) {
    if (!item) continue;
    if (byName.has(item.name)) problems.push(`the ${what} ${terminalSafe(item.name)} is there twice`);
    else byName.set(item.name, item);
  }
  return [...byName.values()].sort((a, b) => a.name < b.name ? -1 : 1);
}

function byUri(items: readonly (McpResourceInfo | undefined)[]): McpResourceInfo[] {
  const all = new Map(items.filter((item) => item !== undefined).map((item) => [item.uri, item]));
  return [...all.values()].sort((a, b) => a.uri < b.uri ? -1 : 1);
}

function text(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed().trim() : "";
}

function cut(description: string): string {
  return description.length <= MAX_DESCRIPTION
    ? description
    : `${description.slice(0, MAX_DESCRIPTION).toWellFormed()}… [cut]`;
}
