import { lazy } from "../util/lazy.ts";

export { defaultConfigText, parseProvider } from "./load/defaults.ts";
export { addConfigItem, isUserOnly, parseConfigValue, saveProvider, setConfigValue } from "./edit/edit.ts";
export { removeKeys, saveKey } from "./edit/key_file.ts";
export { unnamedProvider } from "./query/built_in.ts";
export {
  hasKeyCommand,
  keySource,
  type KeySources,
  lookUpSecret,
  resolveKey,
} from "./query/provider_keys.ts";
export { type EnvironmentSecrets, environmentSecrets } from "./query/hide_secrets.ts";
export { loadConfig, type LoadedConfig, type LoadOptions } from "./load/load.ts";
export {
  EFFORT_LEVELS,
  effortLevels,
  type ModelChoice,
  modelReferences,
  modelsOf,
  resolveModel,
  unattended,
  withModelSettings,
} from "./query/models.ts";
export {
  type ConfigSource,
  getConfigValue,
  listSettings,
  type Setting,
  sourceOf,
  unusedSettings,
} from "./query/settings.ts";
export { requireProvider } from "./query/require_provider.ts";
export { originText } from "./query/origin_text.ts";
export {
  cacheDirectory,
  type EnvLookup,
  mcpJsonFile,
  projectConfigFile,
  reasonixHome,
  userConfigFile,
} from "./config_paths.ts";
export { addSavedHosts, addSavedRule, removeSavedRule, savedRulesFile } from "./project/saved_rules.ts";
export { type Preset, PRESETS, presetText } from "./presets.ts";
export { ConfigError, type ConfigProblem, formatProblem, problemText } from "./problem.ts";
export type { ConfiguredHook } from "./hooks/hooks.ts";
export { describesServer, listServers, type ServerRow } from "./plugins/servers.ts";
export type { PluginEntry } from "./schema/plugin_schema.ts";
export type { ProviderEntry } from "./schema/provider_schema.ts";
export { isLoopback } from "./project/provider_trust.ts";
export type { Config, ConfigInput } from "./schema/schema.ts";
export type { ProviderTable } from "./edit/provider.ts";
/** The settings of other agents. Loaded when somebody imports them. */
export const loadImport = lazy(() => import("./foreign/import.ts"));
/** The hooks of the configuration. Loaded where there are some. */
export const loadHookConfig = lazy(() => import("./hooks/hooks.ts"));
/** Changes of the files that describe MCP servers. Loaded when somebody makes one. */
export const loadServerEdits = lazy(() => import("./plugins/edit_servers.ts"));

export {
  keyNamesOf,
  LOCAL_VENDORS,
  type LocalVendor,
  namedVendorEntry,
  type Vendor,
  vendorAt,
  vendorEntry,
  vendorHosts,
  VENDORS,
} from "./vendors.ts";
