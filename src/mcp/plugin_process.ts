/** The processes of the plugins that come with the program. */
import { mkdirSync } from "node:fs";
import { message, ReasonixError } from "../core/mod.ts";
import { attempt } from "../util/lazy.ts";
import { type PluginInfo, SETTINGS_VARIABLE } from "./server_spec.ts";
import { readEnv } from "../path/read_env.ts";
import { realPath } from "../path/real_path.ts";
import { loadProcessHost, type SelfCommand } from "../tool/mod.ts";

type ProcessFacts = Parameters<PluginInfo["permissions"]>[0];

/** The facts of a session that the process of a plugin gets, or is confined by. */
export interface PluginFacts extends ProcessFacts {
  /** Path rules for files that the session may not read, in the syntax of ignore files. */
  readonly hidden: readonly string[];
  /** Absolute paths that no plugin may read. */
  readonly forbidden: readonly string[];
  /** The granted entries of `[[providers]]`. */
  readonly providers: readonly Readonly<Record<string, unknown>>[];
  /** Certificates of the providers. */
  readonly files?: readonly string[];
  /** `file:line:column` of settings, by dotted key. */
  readonly locations: Readonly<Record<string, string>>;
  /** Variables of the entry, and the keys of the providers. */
  readonly env: Readonly<Record<string, string>>;
  /** Looks up a variable that the list of plugins names. */
  readonly variable: (name: string) => string | undefined;
}

const CONTEXT_VARIABLE = "REASONIX_PLUGIN_CONTEXT";

/** Takes less memory at no cost of time, as for the program. */
const SMALL_YOUNG_GENERATION = "--v8-flags=--max-semi-space-size=1";

/** Proxies and certificates, which the runtime reads in a process with network. */
const NETWORK_ENV = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((
  name,
) => [name, name.toLowerCase()])
  .concat("DENO_CERT", "DENO_TLS_CA_STORE", "SSL_CERT_FILE", "SSL_CERT_DIR");

/**
 * Returns the command line of a plugin's process, with only the permissions that the list gives it; `words`
 * are a command of the plugin. Creates its state directory. Throws a ReasonixError where the program has no
 * file of its plugins.
 */
export async function pluginProcess(
  info: PluginInfo,
  facts: PluginFacts,
  words: readonly string[] = [],
): Promise<SelfCommand> {
  const { read = [], write = [], net = [], denyNet = [], env = [] } = info.permissions(facts, words[0]);
  const hosts = net === true ? [] : [...new Set([...net, ...facts.providerHosts])];
  const given: Record<string, string> = { ...facts.env };
  for (const name of env) {
    const value = given[name] ?? facts.variable(name);
    if (value !== undefined) given[name] = value;
  }
  const names = new Set([SETTINGS_VARIABLE, CONTEXT_VARIABLE, ...env, ...Object.keys(facts.env)]);
  const pathFlag = (flagName: string, paths: readonly string[]) => {
    const names = bothNames(paths);
    // The runtime splits lists of paths at commas, and knows no escape.
    const divided = names.find((path) => path.includes(","));
    if (divided === undefined) return flag(flagName, names);
    throw new ReasonixError(
      message`Cannot start the plugin ${info.name}: its permissions cannot have the path ${divided}, which has a comma`,
      { exit: "config", remedy: message`rename that directory or file` },
    );
  };
  const { pluginCommand } = await loadProcessHost();
  const start = pluginCommand({
    words: [info.name, ...words],
    flags: (directory) => [
      SMALL_YOUNG_GENERATION,
      "--unstable-worker-options",
      ...pathFlag("--allow-read", [directory, ...read, ...facts.files ?? []]),
      ...pathFlag("--deny-read", facts.forbidden),
      ...pathFlag("--allow-write", write),
      ...(net === true ? ["--allow-net"] : flag("--allow-net", hosts)),
      ...flag("--deny-net", denyNet),
      ...flag("--allow-env", [...names]),
      "--deny-run",
      "--deny-ffi",
    ],
  });
  if (!start) {
    throw new ReasonixError(
      message`Cannot start the plugin ${info.name}: this program has no file reasonix.plugins.js of its build`,
      { exit: "config", remedy: message`install the program again` },
    );
  }
  if (write.length > 0) mkdirSync(facts.state, { recursive: true, mode: 0o700 });
  const { workspace, state, home, hidden, providers, locations, settings } = facts;
  const network: Record<string, string> = {};
  for (const name of net === true || hosts.length > 0 ? NETWORK_ENV : []) {
    const value = readEnv(name);
    if (value !== undefined) network[name] = value;
  }
  return {
    ...start,
    env: {
      ...start.env,
      ...network,
      ...given,
      [SETTINGS_VARIABLE]: JSON.stringify(settings),
      [CONTEXT_VARIABLE]: JSON.stringify({ workspace, state, home, hidden, providers, locations }),
    },
  };
}

/** Reports whether the program has its plugins. */
export async function hasPlugins(): Promise<boolean> {
  const { pluginCommand } = await loadProcessHost();
  return pluginCommand({ words: [], flags: () => [] }) !== undefined;
}

/** The paths as written and as they really are: the runtime compares both. */
function bothNames(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap((path) => [path, attempt(() => realPath(path)) ?? path]))];
}

function flag(name: string, values: readonly string[]): string[] {
  return values.length === 0 ? [] : [`${name}=${values.join(",")}`];
}
