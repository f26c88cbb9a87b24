import type { PluginEntry } from "../config/mod.ts";
import { isAbsolute } from "../path/lexical.ts";
import { BUILTINS } from "../tool/mod.ts";
import { canonicalJson } from "../util/json.ts";
import { suggestNames } from "../util/suggest.ts";

export interface McpServerSpec {
  readonly name: string;
  readonly type: "stdio" | "http" | "sse";
  readonly transport: "direct" | "provider";
  readonly enabled: boolean;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Command line whose output is a JSON object of further headers; empty: none. */
  readonly headersHelper: string;
  readonly oauth: PluginEntry["oauth"];
  readonly startupMs: number;
  /** Time limit of a call of a tool, by its raw name; undefined: none. */
  readonly callMs: (tool: string) => number | undefined;
  /** Reports whether a tool is offered, by its raw name. */
  readonly offers: (tool: string) => boolean;
  /** Short names of tools, by raw name. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Short names that cannot be used. */
  readonly badAliases: readonly string[];
  /** Keys of the configuration about single tools, with their raw names. */
  readonly named: readonly (readonly [key: string, tools: readonly string[]])[];
  /** Raw names of tools that only read, as the user says. */
  readonly trustedReadOnly: readonly string[];
  /** The same of tools by the names that the model calls them by. */
  readonly trustedNames: readonly string[];
  /** Identifies what is started; the same for the same server in another project. */
  readonly definition: string;
}

export interface SpecContext {
  /** The working directory of the run. */
  readonly cwd: string;
  /** `[tools] mcp_call_timeout_seconds`; 0: no limit. */
  readonly callSeconds: number;
  /** `[agent] plan_mode_allowed_tools`: full names of tools. Absent: none. */
  readonly trustedNames?: readonly string[];
}

export function serverSpecs(entries: readonly PluginEntry[], context: SpecContext): McpServerSpec[] {
  return entries.map((entry) => serverSpec(entry, context));
}

function serverSpec(
  entry: PluginEntry,
  { cwd, callSeconds, trustedNames = [] }: SpecContext,
): McpServerSpec {
  const type = entry.type === "streamable-http" ? "http" : entry.type;
  const { command = "", args = [], env = {}, url = "", headers = {} } = entry;
  const directory = !entry.cwd ? cwd : isAbsolute(entry.cwd) ? entry.cwd : `${cwd}/${entry.cwd}`;
  const seconds = (tool: string) =>
    entry.tool_timeout_seconds[tool] || entry.call_timeout_seconds || callSeconds;
  const enabled = new Set(entry.enabled_tools);
  const disabled = new Set(entry.disabled_tools);
  // Values of secrets decide nothing about what a server offers, and change often.
  const started = type === "stdio"
    ? { command, args, cwd: directory, env: Object.keys(env).sort() }
    : { url, headers: Object.keys(headers).sort() };
  return {
    name: entry.name,
    type,
    transport: entry.transport,
    enabled: entry.enabled,
    command,
    args,
    env,
    cwd: directory,
    url,
    headers,
    headersHelper: entry.headers_helper ?? "",
    oauth: entry.oauth,
    startupMs: entry.startup_timeout_seconds * 1000,
    callMs: (tool) => seconds(tool) > 0 ? seconds(tool) * 1000 : undefined,
    offers: (tool) => (enabled.size === 0 || enabled.has(tool)) && !disabled.has(tool),
    aliases: new Map(
      Object.entries(entry.aliases).flatMap(([alias, tool]) => isAlias(alias) ? [[tool, alias]] : []),
    ),
    badAliases: Object.keys(entry.aliases).filter((alias) => !isAlias(alias)),
    named: [
      ["enabled_tools", entry.enabled_tools],
      ["disabled_tools", entry.disabled_tools],
      ["aliases", Object.values(entry.aliases)],
      ["trusted_read_only_tools", entry.trusted_read_only_tools],
      ["tool_timeout_seconds", Object.keys(entry.tool_timeout_seconds)],
    ],
    trustedReadOnly: entry.trusted_read_only_tools,
    trustedNames: trustedNames.filter((name) => name.startsWith(namePrefix(entry.name))),
    definition: canonicalJson([entry.name, type, started]),
  };
}

/** Reports whether every wire takes a name for a tool, and no built-in tool has it. */
function isAlias(name: string): boolean {
  return /^[\w-]{1,64}$/.test(name) && !BUILTINS.some((tool) => tool.name === name);
}

/** Reports names of the configuration for which the server has no tool: a tool may be on by mistake. */
export function misnamedTools(
  { named, badAliases }: McpServerSpec,
  tools: readonly { readonly name: string }[],
): string[] {
  const names = tools.map(({ name }) => name);
  const aliases = badAliases.map((alias) =>
    `aliases has ${JSON.stringify(alias)}, which is a built-in tool or no name: letters, digits, _ and -`
  );
  return [
    ...aliases,
    ...named.flatMap(([key, given]) =>
      given.filter((name) => !names.includes(name)).map((name) => {
        const near = suggestNames(name, names, 1)[0];
        return `${key} names ${name}, which it does not offer${
          near === undefined ? "" : `; did you mean ${near}?`
        }`;
      })
    ),
  ];
}

/** Characters a tool's name may have on every wire. */
const MAX_NAME = 64;

const PREFIX = "mcp__";

/**
 * Returns the name under which the model calls a server's tool: `mcp__server__tool`, letters, digits, `_` and
 * `-`, at most 64 characters. A name that had to lose more than its blanks, or that is `taken`, ends with a
 * hash of the whole, so that two tools never share one.
 */
export function toolName(server: string, tool: string, taken?: ReadonlySet<string>): string {
  const plain = `${namePrefix(server)}${clean(tool)}`;
  const exact = !foreign(server) && !foreign(tool);
  if (exact && plain.length <= MAX_NAME && !taken?.has(plain)) return plain;
  const tail = `_${shortHash(`${server}\0${tool}`)}`;
  return plain.slice(0, MAX_NAME - tail.length) + tail;
}

/** The prefix of all names of a server, except for names that were cut. */
export function namePrefix(server: string): string {
  return `${PREFIX}${clean(server)}__`;
}

function clean(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/gu, "_");
}

function foreign(text: string): boolean {
  return text === "" || /[^A-Za-z0-9_ -]/.test(text);
}

/** Six characters that differ for most different texts. */
function shortHash(text: string): string {
  return textHash(text).toString(36).padStart(6, "0").slice(-6);
}

/**
 * A number of 32 bits that differs for most different texts, and for each `seed`; FNV-1a over UTF-16 units.
 * Not for what an attacker must not be able to make up.
 */
export function textHash(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
