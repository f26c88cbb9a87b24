import { argumentsLine, errorMessage, isAbort, message, ReasonixError } from "../core/mod.ts";
import { contentResult, resultContent, toolResult } from "./content.ts";
import type { Listing, McpResourceInfo, McpToolInfo, ToolSubject } from "./listing.ts";
import type { McpServer } from "./server.ts";
import { namePrefix } from "./server_spec.ts";
import { ANY, isKnown, matchPattern } from "../rule/mod.ts";
import {
  type Arguments,
  errorResult,
  failure,
  texts,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../tool/mod.ts";
import { oneLine } from "../util/terminal_text.ts";

export function remoteTool(
  server: McpServer,
  info: McpToolInfo,
  { name, alias, offered, trusted, vouched }: {
    readonly name: string;
    readonly alias: string | undefined;
    readonly offered: boolean;
    readonly trusted: ReadonlySet<string>;
    readonly vouched: ReadonlyMap<string, boolean>;
  },
): Tool {
  const { spec } = server;
  const isConfigured = spec.trusted_read_only_tools.includes(info.name) || spec.trustedNames.includes(name) ||
    (spec.plugin !== undefined && info.claimsToRead);
  return {
    name,
    ...(alias === undefined ? {} : { alias }),
    description: info.description,
    schema: info.schema,
    readOnly: info.claimsToRead,
    get trusted() {
      return (vouched.get(name) ?? isConfigured) || (info.claimsToRead && trusted.has(name));
    },
    ...(spec.plugin && info.readsNetwork ? { readsNetwork: true } : {}),
    ...(info.subject ? subjectFacts(info.subject, spec.plugin !== undefined) : {}),
    family: "Mcp",
    offered,
    title: (args) =>
      oneLine(`${spec.name}: ${info.title ?? info.name} ${argumentsLine(JSON.stringify(args))}`).trimEnd(),
    async execute(args, context) {
      try {
        const real = await withRealPaths(args, info.subject?.path, context);
        const meta = traceMeta(context);
        const result = await server.use(
          (connection) => connection.call(info.name, spec.plugin ? real : args, { ...context, meta }),
          context.signal,
        );
        const { structuredContent: _, ...text } = result;
        // All data of a plugin of this program is in its text, where what is from outside has its frame.
        return await toolResult(spec.plugin ? text : result, context);
      } catch (error) {
        return failureOf(error, spec.name, context);
      }
    },
  };
}

/** The trace of a call as `_meta` of its request names it (SEP-414). */
function traceMeta({ trace, callId }: ToolContext): Record<string, string> | undefined {
  return trace &&
    Object.fromEntries(Object.entries(trace(callId)).map(([name, value]) => [name.toLowerCase(), value]));
}

const FAMILIES = { url: "WebFetch", path: "Read", query: "WebSearch" } as const;

/** The declared facts of a call. Those of a server of others only restrict, so that all its texts count. */
function subjectFacts(
  subject: ToolSubject,
  isVouched: boolean,
): Pick<Tool, "reads" | "subjects" | "declared"> {
  const given = (args: Arguments, key: keyof ToolSubject) => {
    const name = subject[key];
    return name === undefined ? [] : texts(...[args[name]].flat());
  };
  const families = (["url", "path", "query"] as const).filter((key) => subject[key] !== undefined)
    .map((key) => FAMILIES[key]);
  return {
    reads: (args) => given(args, "path"),
    subjects: (args) =>
      isVouched ? [...given(args, "url"), ...given(args, "query")] : texts(...Object.values(args).flat()),
    declared: (args) => ({ families, urls: given(args, "url"), queries: given(args, "query"), isVouched }),
  };
}

/** Returns arguments with the real paths of declared files. Throws for a file that may not be read. */
async function withRealPaths(
  args: Record<string, unknown>,
  name: string | undefined,
  { paths }: ToolContext,
): Promise<Record<string, unknown>> {
  const given = name === undefined ? undefined : args[name];
  if (name === undefined || given === undefined) return args;
  const real = await Promise.all(texts(...[given].flat()).map((path) => paths.read(path)));
  return { ...args, [name]: Array.isArray(given) ? real : real[0] };
}

/** Returns the result of a failed call. Throws an abort. */
function failureOf(
  error: unknown,
  server: string,
  { signal }: Pick<ToolContext, "signal">,
): ToolResult {
  if (signal.aborted || isAbort(error)) throw error;
  if (error instanceof ReasonixError && error.exit === "blocked") return errorResult(error);
  const remedy = error instanceof ReasonixError ? error.remedy : undefined;
  return failure(`${server}: ${errorMessage(error)}`, remedy);
}

/** The tool that reads and lists resources; undefined without any. */
export function resourceTool(servers: readonly McpServer[]): Tool | undefined {
  const having = servers.filter(({ enabled, listing: { resources, templates } }) =>
    enabled && resources.length + templates.length > 0
  );
  if (having.length === 0) return undefined;
  const names = having.map(({ spec }) => spec.name);
  return {
    name: "mcp_resource",
    description:
      "Reads a resource of an MCP server; without uri, lists the server's resources and templates.",
    schema: {
      type: "object",
      properties: {
        server: { type: "string", enum: names },
        uri: { type: "string", description: "As listed or linked to, braces of templates filled in" },
      },
      required: ["server"],
      additionalProperties: false,
    },
    readOnly: true,
    server: ({ server }) => namePrefix(String(server)),
    // An address that the model makes up is a message to the server.
    limits({ server, uri }) {
      const listing = having.find(({ spec }) => spec.name === server)?.listing;
      if (typeof uri !== "string" || uri === "" || listing?.resources.some((one) => one.uri === uri)) {
        return {};
      }
      return listing && fitsTemplate(uri, listing) ? { planSafe: false } : { readOnly: false };
    },
    subjects: ({ server, uri }) => [uri === undefined ? String(server) : `${server}:${uri}`],
    title: ({ server, uri }) =>
      oneLine(uri === undefined ? `list resources of ${server}` : `read resource ${server}:${uri}`),
    async execute({ server, uri }, context) {
      const from = having.find(({ spec }) => spec.name === server);
      if (!from) throw new TypeError("The schema names the servers");
      const content = resultContent(context);
      if (typeof uri !== "string" || uri === "") {
        content.texts.push(listText(from));
        return await contentResult(content, false, context);
      }
      try {
        const { signal } = context;
        const { contents } = await from.use((connection) => connection.read(uri, signal), signal);
        for (const part of contents) await content.addResource(part, contents.length > 1);
        return await contentResult(content, false, context);
      } catch (error) {
        return failureOf(error, from.spec.name, context);
      }
    },
  };
}

function fitsTemplate(uri: string, { templates }: Listing): boolean {
  return templates.some((template) => {
    const parts = template.uri.split(/\{[^{}]*\}/);
    return /^[a-z][a-z\d+.-]*:/i.test(parts[0] ?? "") && isKnown(uri) && parts.every(isKnown) &&
      matchPattern(parts.join(ANY), uri) === "yes";
  });
}

function listText({ listing: { resources, templates } }: McpServer): string {
  return [...resources.map(lineOf), ...templates.map((each) => `${lineOf(each)} (template)`)].join("\n");
}

function lineOf({ uri, name, description, mimeType }: McpResourceInfo): string {
  const about = oneLine([name === uri ? "" : name, description].filter(Boolean).join(": "), 200);
  return [uri, mimeType, about].filter(Boolean).join(" · ");
}

/** Bytes of JSON that make about one token. */
const BYTES_PER_TOKEN = 4;
/** Bytes of names in the index; the rest is found by searching. */
const INDEX_BYTES = 4_000;
const MAX_FOUND = 8;
/** Characters of one answer of the search; one tool is always shown. */
const MAX_SHOWN = 40_000;

/** Reports whether tools of these sizes in bytes take more than `tokens` tokens together; 0: never. */
export function needsIndex(sizes: readonly number[], tokens: number): boolean {
  return tokens > 0 && sizes.reduce((sum, size) => sum + size, 0) / BYTES_PER_TOKEN > tokens;
}

export function indexTools(tools: readonly Tool[]): readonly Tool[] {
  return [searchTool(tools), callTool(tools)];
}

function searchTool(tools: readonly Tool[]): Tool {
  return {
    name: "mcp_search",
    description:
      `Finds tools of the connected MCP servers by words, and shows their arguments. Call what you find ` +
      `with mcp_call. There are ${tools.length}:\n${indexText(tools)}`,
    schema: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words of the task, or a tool's name" },
        limit: { type: "integer", minimum: 1, maximum: 30, description: `Tools to show (${MAX_FOUND})` },
      },
      required: ["query"],
      additionalProperties: false,
    },
    readOnly: true,
    subjects: () => [],
    title: ({ query }) => `search MCP tools for ${query}`,
    async execute({ query, limit }) {
      const found = await search(tools, String(query), Number(limit ?? MAX_FOUND));
      if (found.length === 0) {
        return { content: "No tool matches; try other words.", summary: message`0 tools` };
      }
      const texts = found.map(({ name, description, schema }) =>
        `${name}\n${description}\narguments: ${JSON.stringify(schema)}`
      );
      const summary = found.length === 1 ? message`1 tool` : message`${found.length} tools`;
      return { content: fitting(texts), summary };
    },
  };
}

function fitting(texts: readonly string[]): string {
  let left = MAX_SHOWN;
  const shown = texts.filter((text, at) => (left -= text.length) >= 0 || at === 0);
  const more = texts.length - shown.length;
  if (more > 0) shown.push(`[${more} more did not fit; search for one by its name]`);
  return shown.join("\n\n");
}

/** Judged, titled and executed as the tool that it names. */
function callTool(tools: readonly Tool[]): Tool {
  const names = tools.map(({ name }) => name);
  return {
    name: "mcp_call",
    description: "Calls a tool of an MCP server by the name that mcp_search shows.",
    schema: {
      type: "object",
      properties: {
        tool: { type: "string", description: "mcp__server__tool" },
        arguments: { type: "object", description: "Its arguments, as mcp_search shows them" },
      },
      required: ["tool"],
      additionalProperties: false,
    },
    readOnly: false,
    redirect: ({ tool, arguments: args }) => ({ tool: String(tool), args: args ?? {}, among: names }),
    execute: () => Promise.resolve(failure("mcp_call needs the name of a tool")),
  };
}

/** Lists names by server, each within an equal share of the bytes. */
function indexText(tools: readonly Tool[]): string {
  const groups = Map.groupBy(tools, ({ name }) => name.split("__", 2).join("__"));
  const share = Math.floor(INDEX_BYTES / groups.size);
  return [...groups].map(([server, members]) => {
    let text = "";
    let shown = 0;
    for (const { name } of members) {
      const short = name.slice(server.length + 2);
      if (text.length + short.length + 2 > share) break;
      text += shown++ === 0 ? short : `, ${short}`;
    }
    const more = members.length - shown;
    return `${server}__: ${text}${more > 0 ? `${shown > 0 ? ", " : ""}and ${more} more` : ""}`;
  }).join("\n");
}

/** Ranks tools by matching words; words in names count more. */
async function search(tools: readonly Tool[], query: string, limit: number): Promise<Tool[]> {
  // The words of every script take 1 ms to load, which the start need not wait for.
  const { termsOf } = await import("../util/search_words.ts");
  const terms = termsOf(query);
  const scored = tools.map((tool) => ({ tool, score: scoreOf(tool, query, terms) }));
  return scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).slice(0, limit)
    .map(({ tool }) => tool);
}

/** Score of a tool's short name among the words. */
const NAMED = 100;

function scoreOf({ name, description }: Tool, query: string, terms: readonly string[]): number {
  if (name === query.trim()) return Infinity;
  const shortName = name.split("__").slice(2).join("__").toLowerCase();
  const [lowerName, lowerText] = [name.toLowerCase(), description.toLowerCase()];
  return terms.reduce(
    (sum, term) => sum + (lowerName.includes(term) ? 3 : 0) + (lowerText.includes(term) ? 1 : 0),
    query.toLowerCase().split(/\s+/).includes(shortName) ? NAMED : 0,
  );
}
