/** Starts a plugin of this program with what the configuration grants it. */
import {
  formatKey,
  hasKeyCommand,
  keySource,
  type LoadedConfig,
  locationOf,
  lookUpSecret,
  type PluginEntry,
  pluginsOf,
  type ProviderEntry,
  sourceOf,
  userHome,
} from "../../config/mod.ts";
import { formatLocation, message, ReasonixError, type SourceLocation } from "../../core/mod.ts";
import { loadPluginProcess, type PluginFacts, type PluginInfo, pluginNameOf } from "../../mcp/mod.ts";
import { compileGlobs, escapeGlob } from "../../path/glob.ts";
import { readEnv } from "../../path/read_env.ts";
import { realPath } from "../../path/real_path.ts";
import { loadCommandKey } from "../../provider/mod.ts";
import { absoluteGlobs } from "../../rule/mod.ts";
import { buildWorkspace, deniedGlobs, type RunPaths } from "../../run/mod.ts";
import type { SelfCommand } from "../../tool/mod.ts";
import { proxyVariable } from "../../util/network/fetch.ts";
import { isRecord } from "../../util/json.ts";

interface StartOptions {
  /** The server that starts the plugin; default: the first one of the configuration. */
  readonly entry?: PluginEntry | undefined;
  /** Settings in place of those of the entry. */
  readonly settings?: PluginEntry["settings"] | undefined;
  /** A command of the plugin. */
  readonly words?: readonly string[];
}

interface PluginScope {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
}

/** Returns the command line of a plugin; without an entry it has no settings. */
export async function pluginStart(
  scope: PluginScope,
  info: PluginInfo,
  { entry, settings, words = [] }: StartOptions = {},
): Promise<SelfCommand> {
  const started = entry ?? scope.loaded.config.plugins.find((each) => pluginNameOf(each) === info.name);
  const { pluginProcess } = await loadPluginProcess();
  const facts = await withKeys(scope, factsOf(scope, info, started));
  return await pluginProcess(info, settings ? { ...facts, settings, locations: {} } : facts, words);
}

/** The state of a plugin that an entry starts. */
interface PluginCheck {
  /** The permissions of its process. */
  readonly permissions: ReturnType<PluginInfo["permissions"]>;
  /** Variables with keys that are not set. */
  readonly missing: readonly string[];
  /** The program has no file of its plugins. */
  readonly isAbsent: boolean;
  /** The variable that names a proxy, which finds out the addresses of names. */
  readonly proxy: string | undefined;
}

/** Finds out whether a plugin could start. Throws a ReasonixError for settings that it cannot have. */
export async function checkPlugin(
  scope: PluginScope,
  info: PluginInfo,
  entry: PluginEntry,
): Promise<PluginCheck> {
  const { keys } = scope.loaded;
  const facts = factsOf(scope, info, entry);
  const permissions = info.permissions(facts);
  const hosts = permissions.net === true
    ? true
    : [...new Set([...permissions.net ?? [], ...facts.providerHosts])];
  const secrets = (permissions.env ?? []).filter((name) => /KEY|TOKEN|SECRET|PASSWORD/i.test(name));
  const missing = [
    ...secrets.filter((name) => facts.env[name] === undefined && facts.variable(name) === undefined),
    ...facts.providers.flatMap((each) => keySource(each, keys) === "missing" ? [each.api_key_env] : []),
  ];
  const { hasPlugins } = await loadPluginProcess();
  return {
    permissions: { ...permissions, net: hosts },
    missing,
    isAbsent: !await hasPlugins(),
    proxy: permissions.env?.some(isProxy)
      ? Object.keys(facts.env).find((name) => isProxy(name) && !/^no_/i.test(name)) ?? proxyVariable()
      : undefined,
  };
}

/** Reports whether a variable names a proxy, which is no key. */
function isProxy(name: string): boolean {
  return /_proxy$/i.test(name);
}

type GrantedFacts = Omit<PluginFacts, "providers"> & { readonly providers: readonly ProviderEntry[] };

/** Adds the keys of the providers. A plugin starts no programs, so that the command of a key runs here. */
async function withKeys({ loaded }: PluginScope, facts: GrantedFacts): Promise<PluginFacts> {
  const env = { ...facts.env };
  const providers = await Promise.all(facts.providers.map(async (granted, at) => {
    const { api_key_command: _command, ...provider } = granted;
    if (hasKeyCommand(granted)) provider.api_key_env = `REASONIX_PLUGIN_KEY_${at}`;
    if (provider.api_key_env === "") return provider;
    const key = hasKeyCommand(granted)
      ? await (await loadCommandKey()).printedKey(granted, new AbortController().signal)
      : lookUpSecret(provider.api_key_env, loaded.keys);
    if (key !== undefined) env[provider.api_key_env] = key;
    return provider;
  }));
  return { ...facts, providers, env };
}

function factsOf(
  { paths, loaded }: PluginScope,
  info: PluginInfo,
  entry: PluginEntry | undefined,
): GrantedFacts {
  const { cwd, home } = paths;
  const locations = entry ? locationsOf(loaded, entry) : {};
  if (entry) refuseOfProject(loaded, info, { entry, locations });
  const { forbidden } = buildWorkspace(paths, loaded.config);
  // A proxy of a project's entry opens no private address.
  const own = entry && !isOfProject(loaded, entry) ? entry.env : {};
  const providers = (entry?.providers ?? []).map((name) => grantedProvider(loaded, name));
  return {
    workspace: cwd,
    state: `${home}/plugins/${info.name}`,
    home,
    settings: entry?.settings ?? {},
    providerHosts: providers.flatMap(({ base_url, proxy }) => [...hostOf(base_url), ...hostOf(proxy)]),
    files: providers.flatMap((each) =>
      [each.ca_file, each.client_cert_file, each.client_key_file].filter((file) => file !== "")
    ),
    providers,
    hidden: hiddenIn(paths, loaded, forbidden),
    forbidden,
    locations,
    env: entry?.env ?? {},
    variable: (name) =>
      own[name] ?? lookUpSecret(name, loaded.keys) ?? (isProxy(name) ? readEnv(name) : undefined),
  };
}

/** Throws a ReasonixError for a provider whose address only the project names: the user granted another. */
function grantedProvider({ config, projectProviders }: LoadedConfig, name: string) {
  const found = config.providers.find((each) => each.name === name);
  const isProjects = projectProviders.some((each) => each.name === name && each.userEntry === undefined);
  if (found && !isProjects) return found;
  throw new ReasonixError(message`Cannot give a plugin the provider ${name}: its entry is the project's`, {
    exit: "config",
    remedy: message`add a [[providers]] entry of this name to your own file`,
  });
}

/** Throws a ReasonixError for a setting of a project's entry that only the user's own file can have. */
function refuseOfProject(
  loaded: LoadedConfig,
  { name, userSettings = [] }: PluginInfo,
  { entry, locations }: { readonly entry: PluginEntry; readonly locations: Readonly<Record<string, string>> },
): void {
  const [key] = userSettings.filter((each) => Object.hasOwn(entry.settings, each));
  if (key === undefined || !isOfProject(loaded, entry)) return;
  const place = locations[key] ?? "";
  throw new ReasonixError(message`${place}: Only your own file can set ${key} for the plugin ${name}`, {
    exit: "config",
    remedy: message`remove it from the project's file`,
  });
}

function isOfProject(loaded: LoadedConfig, { name }: PluginEntry): boolean {
  return sourceOf(loaded, formatKey(["plugins", name])).source === "project";
}

function hostOf(address: string): string[] {
  const url = URL.parse(address);
  return url ? [`${url.hostname}:${url.port || (url.protocol === "http:" ? 80 : 443)}`] : [];
}

/** The locations of an entry's settings, by dotted key; that of the table by the empty key. */
function locationsOf({ layers }: LoadedConfig, { name, settings }: PluginEntry): Record<string, string> {
  for (const layer of layers) {
    const index = pluginsOf(layer).findIndex((each) => each.name === name);
    if (index < 0) continue;
    const found: Record<string, string> = {};
    const look = (value: unknown, path: readonly (string | number)[]): void => {
      const place: SourceLocation | undefined = locationOf(
        layer,
        ["plugins", index, "settings", ...path],
        "value",
      );
      if (place) found[path.join(".")] = formatLocation(place);
      const items = Array.isArray(value) ? value.entries() : isRecord(value) ? Object.entries(value) : [];
      for (const [key, item] of items) look(item, [...path, key]);
    };
    look(settings, []);
    return found;
  }
  return {};
}

/** Lists what the session may not read below its directory, in the syntax of ignore files. */
function hiddenIn(
  { cwd, env }: RunPaths,
  { config }: LoadedConfig,
  forbidden: readonly string[],
): string[] {
  const context = {
    bases: [...new Set([cwd, realPath(cwd)])],
    home: userHome(env),
    realPath,
  };
  const globs = deniedGlobs(config, "Read").flatMap((glob) => absoluteGlobs(glob, context, true));
  const absolute = [...forbidden.map(escapeGlob), ...globs.map(({ glob }) => glob)];
  const patterns = context.bases.flatMap((base) =>
    absolute.flatMap((glob) => patternBelow(base, glob) ?? [])
  );
  return [...new Set(patterns)];
}

/** The part of an absolute glob that is about paths below a directory; undefined where it names none. */
function patternBelow(directory: string, glob: string): string | undefined {
  const names = glob.split("/").slice(1);
  for (const name of directory.split("/").slice(1)) {
    const [first] = names;
    if (first === undefined) return "/**";
    if (first === "**") return names.join("/");
    if (!compileGlobs([first], { dialect: "rule" })(name)) return undefined;
    names.shift();
  }
  return `/${names.length === 0 ? "**" : names.join("/")}`;
}
