import { mcpJsonFile, projectConfigFile, reasonixHome, userConfigFile } from "../config_paths.ts";
import type { Bundle, InstalledBundles } from "../bundles/bundle.ts";
import { DEFAULT_LAYER, defaultLayer, fillDefaults, namedVendors } from "./defaults.ts";
import { checkGrants } from "./check.ts";
import { checkLayer, type Layer, locateFinding, parseLayer, readLayer } from "./layer.ts";
import {
  keyNamesOf,
  LayerResolver,
  type LeftOutServer,
  mergeLayers,
  type ProjectProvider,
  providersOf,
  type ResolveOptions,
} from "./resolve.ts";
import { presetText } from "../presets.ts";
import { ConfigError, type ConfigProblem } from "../problem.ts";
import { readSavedRules } from "../project/saved_rules.ts";
import type { KeySources } from "../query/models.ts";
import type { Config, ConfigInput, PluginEntry } from "../schema/config_types.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import { join } from "../../path/lexical.ts";
import { exists, isDirectory } from "../../path/probe.ts";
import type { TrustItem } from "../../trust/mod.ts";

export interface LoadOptions extends ResolveOptions {
  /** Reasonix home; found through `env` when absent. */
  readonly home?: string;
  readonly flags?: ConfigInput;
  /** MCP servers of the client; they need no trust. */
  readonly servers?: readonly PluginEntry[];
  /** Name of a preset, below the user's settings. */
  readonly preset?: string;
  /** Only the defaults, the preset and `flags` count. */
  readonly noFiles?: boolean;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly ConfigProblem[];
  /** Parts of the project that are ignored until they are trusted. */
  readonly needsTrust: readonly TrustItem[];
  readonly trusted: readonly TrustItem[];
  readonly projectProviders: readonly ProjectProvider[];
  /** Unused parts of files of the project, such as ".claude/settings.json (env)". */
  readonly unused: readonly string[];
  /** MCP servers of the files that are not used. */
  readonly leftOut: readonly LeftOutServer[];
  /** Installed bundles that the user trusts as they are. */
  readonly bundles: readonly Bundle[];
  readonly home: string;
  /** Directory of the project. */
  readonly cwd: string;
  /** The strongest first. */
  readonly files: readonly {
    readonly source: "project" | "user";
    readonly path: string;
    readonly found: boolean;
  }[];
  readonly keys: KeySources;
  /** Names of all variables with provider keys, also of ignored entries; children must not see them. */
  readonly keyNames: readonly string[];
  /** Variables that the configuration expands outside of paths, with their values. */
  readonly expanded: ReadonlyMap<string, string>;
  /** The strongest first. */
  readonly layers: readonly Layer[];
}

/**
 * Reads the configuration: flags over project file over user file over preset over defaults; see
 * docs/config.md.
 *
 * @throws {ConfigError} with every error of every file
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { cwd, env, preset } = options;
  // An error made while the program's top level is still on the stack costs 2 ms in the bundle: V8 parses all
  // of it again to number the lines. A missing file is such an error, so the stack is left first.
  await null;
  const home = options.home ?? reasonixHome(env, cwd);
  const userFile = userConfigFile({ home, env });
  const problems: ConfigProblem[] = [];
  const presetLayer = preset
    ? parseLayer({ source: "preset", file: `preset ${preset}`, text: await presetText(preset) }, problems)
    : undefined;
  const user = options.noFiles ? undefined : readLayer("user", userFile, problems);
  const forProject = options.noFiles ? undefined : readSavedRules({ home, cwd }, problems);
  const project = options.noFiles ? undefined : readLayer("project", projectConfigFile(cwd), problems);
  const flags: Layer = { source: "flag", table: (options.flags ?? {}) as TomlTable };
  problems.push(...checkLayer(flags));
  const { permissions, hooks, servers, leftOut, unused } = options.noFiles
    ? NO_FOREIGN
    : await foreignLayers({ cwd, home, toml: [user, project], user: [presetLayer, user, flags] }, problems);
  const bundled = isTable(user?.table.bundles)
    ? await (await import("../bundles/bundle.ts")).openBundles(
      user.table.bundles,
      { home, file: userFile },
      problems,
    )
    : NO_BUNDLES;
  const projects = [...permissions, ...hooks.project, servers.project, project].filter((layer) =>
    layer !== undefined
  );
  const loader = new LayerResolver(options, home, problems);
  const isTargeted = !options.noFiles && Boolean(env("AGENT_BASE_URL") || env("AGENT_MODEL"));
  const hasKey = (name: string) => loader.saved().has(name) || Boolean(env(name));
  const wanted: Layer = {
    source: "environment",
    table: isTargeted ? { default_model: env("AGENT_MODEL") || undefined } : {},
  };
  const written = [presetLayer, ...bundled.layers, servers.user, ...hooks.user, user, forProject].filter((
    layer,
  ) => layer !== undefined);
  const users = [
    builtInLayer([flags, wanted, user, presetLayer], hasKey),
    ...written.map(loader.resolveLayer),
  ];
  failOnErrors(problems);
  const restricted = await loader.resolveProject(projects, users, written);
  const flagged = Object.keys(flags.table).length > 0 ? loader.resolveLayer(flags) : undefined;
  const environment = isTargeted
    ? (await import("./agent_environment.ts")).environmentLayer(
      env,
      mergeLayers([...users, ...restricted].filter(({ source }) => source !== "default")),
      hasKey,
    )
    : undefined;
  const above = [...restricted, environment, flagged].filter((layer) => layer !== undefined);
  const layers = [...users, ...above];
  if (options.servers) layers.push(loader.clientLayer(options.servers, layers));
  failOnErrors(problems);
  const merged = mergeLayers(layers);
  // A project may not choose the receiver of the conversation.
  const chosen = mergeLayers([...users, environment, flagged].filter((layer) => layer !== undefined));
  const named = namedVendors(chosen, providersOf({ table: merged }), hasKey);
  const config = fillDefaults({ ...merged, providers: [...providersOf({ table: merged }), ...named] });
  for (const layer of layers) {
    problems.push(...checkGrants(layer.table, config.providers).map((each) => locateFinding(layer, each)));
  }
  failOnErrors(problems);
  return {
    config,
    warnings: problems,
    needsTrust: loader.needsTrust,
    trusted: loader.trusted,
    projectProviders: loader.projectProviders,
    unused,
    leftOut: [...leftOut, ...loader.leftOut],
    bundles: bundled.bundles,
    home,
    cwd,
    files: options.noFiles ? [] : [
      { source: "project", path: projectConfigFile(cwd), found: project !== undefined },
      ...permissions.map(({ file = "" }) => ({ source: "project", path: file, found: true }) as const),
      ...(servers.project ? [{ source: "project", path: mcpJsonFile(cwd), found: true } as const] : []),
      { source: "user", path: userFile, found: user !== undefined },
      ...(forProject?.file ? [{ source: "user", path: forProject.file, found: true } as const] : []),
      ...(servers.user ? [{ source: "user", path: mcpJsonFile(home), found: true } as const] : []),
    ],
    keys: { file: join(home, ".env"), saved: loader.saved, env, useEnv: config.security.env_keys },
    keyNames: [
      ...new Set([
        ...(env("AGENT_API_KEY") ? ["AGENT_API_KEY"] : []),
        ...[...users, ...projects, flags, { table: { providers: named } }].flatMap(keyNamesOf),
      ]),
    ],
    expanded: loader.expanded,
    layers: layers.reverse(),
  };
}

interface ForeignContext {
  readonly cwd: string;
  readonly home: string;
  /** The layers of our files, whose servers win. */
  readonly toml: readonly (Layer | undefined)[];
  /** The layers of the user, which decide whether files of Claude Code are read. */
  readonly user: readonly (Layer | undefined)[];
}

/** The layers of files in the formats of other programs, the weaker first. */
interface ForeignLayers {
  readonly permissions: readonly Layer[];
  readonly hooks: { readonly user: readonly Layer[]; readonly project: readonly Layer[] };
  readonly servers: { readonly user?: Layer; readonly project?: Layer };
  readonly leftOut: readonly LeftOutServer[];
  readonly unused: readonly string[];
}

const NO_BUNDLES: InstalledBundles = { bundles: [], layers: [] };

const NO_FOREIGN: ForeignLayers = {
  permissions: [],
  hooks: { user: [], project: [] },
  servers: {},
  leftOut: [],
  unused: [],
};

const SOURCES = ["user", "project"] as const;

async function foreignLayers(
  { cwd, home, toml, user }: ForeignContext,
  problems: ConfigProblem[],
): Promise<ForeignLayers> {
  const hasClaude = isDirectory(join(cwd, ".claude")) &&
    fillDefaults(mergeLayers(user.filter((layer) => layer !== undefined))).permissions.claude_settings;
  const settings = { user: join(home, "settings.json"), project: join(cwd, ".reasonix/settings.json") };
  const present = SOURCES.filter((source) => exists(settings[source]));
  const claude = hasClaude || present.length > 0 ? await import("../foreign/claude.ts") : undefined;
  const { permissions, hooks, unused } = hasClaude && claude
    ? await claude.readClaudeSettings(cwd, problems)
    : { permissions: [], hooks: [], unused: [] };
  const files = { user: mcpJsonFile(home), project: mcpJsonFile(cwd) };
  const described = SOURCES.filter((source) => exists(files[source]));
  const reader = described.length > 0 ? await import("../foreign/mcp_json.ts") : undefined;
  const stronger = reader?.pluginLocations(toml) ?? new Map();
  const servers: { user?: Layer; project?: Layer } = {};
  const leftOut: LeftOutServer[] = [];
  for (const source of described) {
    const read = await reader?.readMcpJson({ source, file: files[source], stronger }, problems);
    if (!read) continue;
    servers[source] = read.layer;
    leftOut.push(...read.leftOut);
  }
  const found: { user: Layer[]; project: Layer[] } = { user: [], project: [...hooks] };
  for (const source of present) {
    const layer = await claude?.readSettingsHooks({ source, file: settings[source] }, problems);
    if (layer) found[source].push(layer);
  }
  return { permissions, hooks: found, servers, leftOut, unused };
}

/**
 * Returns the built-in provider: the first vendor whose key is set, unless the user's settings name
 * providers.
 */
function builtInLayer(users: readonly (Layer | undefined)[], hasKey: (name: string) => boolean): Layer {
  const tables = users.flatMap((layer) => layer ? [layer.table] : []);
  const closed = tables.some(({ providers, security }) =>
    providers !== undefined || (isTable(security) && security.env_keys === false)
  );
  if (closed) return DEFAULT_LAYER;
  const wanted = tables.map((table) => table.default_model).find((name) => name !== undefined);
  return defaultLayer(String(wanted ?? ""), hasKey);
}

function failOnErrors(problems: readonly ConfigProblem[]): void {
  const errors = problems.filter((problem) => problem.level === "error");
  if (errors.length > 0) throw new ConfigError(errors);
}
