import { buildCommand, buildRouteMap } from "@stricli/core";
import { argument, flag, NONE, option } from "./parameters.ts";

/** What an import from other agents takes. */
export const importParameters = {
  flags: {
    from: option("Read this file or directory instead of the usual ones", "path"),
    dryRun: flag("Only show what would be written"),
    yes: flag("Write without asking"),
    keys: flag("Save keys that the files contain in .env of the Reasonix home"),
    json: flag("Print JSON; writes only with --yes"),
  },
  positional: {
    kind: "tuple",
    parameters: [{
      ...argument("claude, codex, opencode or reasonix (default: all that are found)", "agent"),
      optional: true,
    }],
  },
} as const;

/** `reasonix config`: shows and changes settings. */
export const configRoutes = buildRouteMap({
  routes: {
    show: buildCommand({
      loader: async () => (await import("../commands/config.ts")).show,
      parameters: {
        flags: {
          json: flag("Print JSON"),
          origin: flag("Show where each value comes from"),
          preset: option("Apply this preset", "name"),
        },
        ...NONE,
      },
      docs: { brief: "Print the settings in force" },
    }),
    path: buildCommand({
      loader: async () => (await import("../commands/config.ts")).path,
      parameters: NONE,
      docs: { brief: "Print where the files are" },
    }),
    get: buildCommand({
      loader: async () => (await import("../commands/config.ts")).get,
      parameters: {
        positional: { kind: "tuple", parameters: [argument("Key, such as agent.max_steps", "key")] },
      },
      docs: { brief: "Print one value" },
    }),
    set: buildCommand({
      loader: async () => (await import("../commands/config.ts")).set,
      parameters: {
        flags: { local: flag("Write ./reasonix.toml instead of your user config") },
        positional: { kind: "tuple", parameters: [argument("Key", "key"), argument("TOML value", "value")] },
      },
      docs: { brief: "Change one value, keeping comments" },
    }),
    import: buildCommand({
      loader: async () => (await import("../commands/import/import.ts")).importSettings,
      parameters: importParameters,
      docs: { brief: "Import settings of another agent" },
    }),
    "memory-v5": buildCommand({
      loader: async () => (await import("../commands/config.ts")).memoryV5,
      parameters: {
        positional: {
          kind: "tuple",
          parameters: [{ ...argument("off, on or status (default: status)", "mode"), optional: true }],
        },
      },
      docs: { brief: "Learn from commands that failed in earlier turns: off, on or status" },
    }),
    presets: buildCommand({
      loader: async () => (await import("../commands/config.ts")).presets,
      parameters: {
        positional: {
          kind: "tuple",
          parameters: [{ ...argument("Preset to print", "name"), optional: true }],
        },
      },
      docs: { brief: "List presets, or print one" },
    }),
  },
  docs: { brief: "Show and change settings" },
});
