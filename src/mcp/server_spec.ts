import type { PluginEntry } from "../config/mod.ts";
import { isAbsolute } from "../path/lexical.ts";
import { BUILTINS } from "../tool/mod.ts";
import { canonicalJson } from "../util/json.ts";
import { lazy } from "../util/lazy.ts";
import { suggestNames } from "../util/suggest.ts";
import { VERSION } from "../util/version.ts";

/** The plugins that come with the program; loaded only where an entry starts one of them. */
export const loadPluginList = lazy(() => import("../../plugins/plugins.ts"));

export type PluginInfo = Awaited<ReturnType<typeof loadPluginList>>["PLUGINS"][number];

/** Environment variable with `[plugins.settings]` as JSON. */
export const SETTINGS_VARIABLE = "REASONIX_PLUGIN_SETTINGS";

/** The name of the plugin that an entry starts by the words `reasonix plugin NAME`. */
export function pluginNameOf(
  { type, command, args }: { readonly type: string } & Pick<PluginEntry, "command" | "args">,
): string | undefined {
  const [verb, name, ...more] = args;
  const isPlugin = type === "stdio" && command === "reasonix" && verb === "plugin" && more.length === 0;
  return isPlugin ? name : undefined;
}

/** One MCP server as a run uses it: its entry, with an absolute `cwd`, and derived facts. */
export interface McpServerSpec extends Omit<PluginEntry, "type"> {
  readonly type: "stdio" | "http" | "sse";
  readonly startupMs: number;
  /** Time limit of a call of a tool, by its raw name; undefined: none. */
  readonly callMs: (tool: string) => number | undefined;
  readonly offers: (tool: string) => boolean;
  readonly shortNames: ReadonlyMap<string, string>;
  readonly trustedNames: readonly string[];
  /** The plugin of this program that the entry starts. */
  readonly plugin?: PluginInfo;
  /** Identifies what is started; the same for the same server in another project. */
  readonly definition: string;
}

export interface SpecContext {
  readonly cwd: string;
  /** `[tools] mcp_call_timeout_seconds`; 0: no limit. */
  readonly callSeconds: number;
  /** `[agent] plan_mode_allowed_tools`: full names of tools. Absent: none. */
  readonly trustedNames?: readonly string[];
  /** The plugins that come with the program. Absent: no entry starts one. */
  readonly plugins?: readonly PluginInfo[];
  /** Identifies the file of these plugins. Absent or empty: only the version does. */
  readonly build?: string;
}

export function serverSpecs(entries: readonly PluginEntry[], context: SpecContext): McpServerSpec[] {
  return entries.map((entry) => serverSpec(entry, context));
}

function serverSpec(
  entry: PluginEntry,
  { cwd, callSeconds, trustedNames = [], plugins = [], build = "" }: SpecContext,
): McpServerSpec {
  const type = entry.type === "streamable-http" ? "http" : entry.type;
  const { name, command, args, env, url, headers, enabled_tools: enabled, disabled_tools: disabled } = entry;
  const directory = entry.cwd === "" ? cwd : isAbsolute(entry.cwd) ? entry.cwd : `${cwd}/${entry.cwd}`;
  const seconds = (tool: string) =>
    entry.tool_timeout_seconds[tool] || entry.call_timeout_seconds || callSeconds;
  const pluginName = pluginNameOf(entry);
  const plugin = plugins.find((each) => each.name === pluginName);
  const { settings, providers } = entry;
  // Values of secrets decide nothing about what a server offers, and change often.
  const started = plugin
    ? { plugin: plugin.name, version: VERSION, build, settings, providers, cwd: directory }
    : type === "stdio"
    ? {
      command,
      args,
      cwd: directory,
      env: Object.keys(env).sort(),
      ...(Object.keys(settings).length > 0 ? { settings } : {}),
    }
    : { url, headers: Object.keys(headers).sort() };
  const aliases = Object.entries(entry.aliases).filter(([alias]) => isAlias(alias));
  return {
    ...entry,
    type,
    cwd: directory,
    startupMs: entry.startup_timeout_seconds * 1000,
    callMs: (tool) => seconds(tool) > 0 ? seconds(tool) * 1000 : undefined,
    offers: (tool) => (enabled.length === 0 || enabled.includes(tool)) && !disabled.includes(tool),
    shortNames: new Map(aliases.map(([alias, tool]) => [tool, alias])),
    trustedNames: trustedNames.filter((full) => full.startsWith(namePrefix(name))),
    ...(plugin ? { plugin } : {}),
    definition: canonicalJson([name, type, started]),
  };
}

/** Reports whether every wire takes a name for a tool, and no built-in tool has it. */
function isAlias(name: string): boolean {
  return /^[\w-]{1,64}$/.test(name) && !BUILTINS.some((tool) => tool.name === name);
}

/** Reports names of the configuration for which the server has no tool: a tool may be on by mistake. */
export function misnamedTools(
  entry: McpServerSpec,
  tools: readonly { readonly name: string }[],
): string[] {
  const names = tools.map(({ name }) => name);
  const given = {
    enabled_tools: entry.enabled_tools,
    disabled_tools: entry.disabled_tools,
    aliases: Object.values(entry.aliases),
    trusted_read_only_tools: entry.trusted_read_only_tools,
    tool_timeout_seconds: Object.keys(entry.tool_timeout_seconds),
  };
  const aliases = Object.keys(entry.aliases).filter((alias) => !isAlias(alias)).map((alias) =>
    `aliases has ${JSON.stringify(alias)}, which is a built-in tool or no name: letters, digits, _ and -`
  );
  return [
    ...aliases,
    ...Object.entries(given).flatMap(([key, tools]) =>
      tools.filter((name) => !names.includes(name)).map((name) => {
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
  const isExact = [server, tool].every((text) => /^[A-Za-z0-9_ -]+$/.test(text));
  if (isExact && plain.length <= MAX_NAME && !taken?.has(plain)) return plain;
  const hash = textHash(`${server}\0${tool}`).toString(36).padStart(6, "0").slice(-6);
  return `${plain.slice(0, MAX_NAME - hash.length - 1)}_${hash}`;
}

/** The prefix of all names of a server, except for names that were cut. */
export function namePrefix(server: string): string {
  return `${PREFIX}${clean(server)}__`;
}

function clean(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/gu, "_");
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
