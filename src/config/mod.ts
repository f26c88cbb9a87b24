import { lazy } from "../util/lazy.ts";

export {
  cacheDirectory,
  type EnvLookup,
  mcpJsonFile,
  namedIn,
  projectConfigFile,
  reasonixHome,
  userConfigFile,
  userHome,
  withBundleRoot,
} from "./config_paths.ts";
export {
  addConfigItem,
  isUserOnly,
  parseConfigValue,
  type ProviderTable,
  removeKeys,
  saveKey,
  saveProvider,
  setConfigValue,
} from "./edit/edit.ts";
export type { ConfiguredHook } from "./query/hooks.ts";
export { loadConfig, type LoadedConfig, type LoadOptions } from "./load/load.ts";
export { defaultConfigText, parsePlugin, parseProvider } from "./load/defaults.ts";
export { locationOf } from "./load/layer.ts";
export { pluginsOf } from "./load/resolve.ts";
export { describesServer, listServers, type ServerRow } from "./query/servers.ts";
export { type Preset, PRESETS, presetText } from "./presets.ts";
export { ConfigError, type ConfigProblem, formatKey, formatProblem, problemText } from "./problem.ts";
export { addSavedHosts, addSavedRule, removeSavedRule, savedRulesFile } from "./project/saved_rules.ts";
export {
  type EnvironmentSecrets,
  environmentSecrets,
  hideSecrets,
  secretVariables,
} from "./query/hide_secrets.ts";
export {
  EFFORT_LEVELS,
  effortLevels,
  hasKeyCommand,
  keySource,
  type KeySources,
  lookUpSecret,
  MissingKeyError,
  type ModelChoice,
  modelReferences,
  modelsOf,
  nonInteractive,
  resolveKey,
  resolveModel,
  withModelSettings,
} from "./query/models.ts";
export {
  type ConfigSource,
  getConfigValue,
  listSettings,
  originText,
  placeOf,
  requireProvider,
  type Setting,
  sourceOf,
  unnamedProvider,
  unusedSettings,
} from "./query/settings.ts";
export type { Config, ConfigInput, PluginEntry, ProviderEntry } from "./schema/config_types.ts";
export {
  isLoopback,
  isVendorVariable,
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

export type { Bundle } from "./bundles/bundle.ts";
export type { BundleSource, FetchedBundle } from "./bundles/fetch.ts";
export const loadBundles = lazy(() => import("./bundles/bundle.ts"));
export const loadBundleSources = lazy(() => import("./bundles/fetch.ts"));
export const loadImport = lazy(() => import("./foreign/import.ts"));
export const loadHookConfig = lazy(() => import("./query/hooks.ts"));
export const loadServerEdits = lazy(() => import("./edit/servers.ts"));
