import { buildCommand, buildRouteMap } from "@stricli/core";

const flag = (brief: string) => ({ kind: "boolean", optional: true, withNegated: false, brief } as const);
const NONE = { positional: { kind: "tuple", parameters: [] } } as const;

/** `reasonix context`: what the model is told. */
export const contextCommand = buildCommand({
  loader: async () => (await import("./commands/context.ts")).context,
  parameters: {
    flags: { json: flag("Print JSON"), continue: flag("Of the latest session, not of a new one") },
    ...NONE,
  },
  docs: { brief: "Show what the model is told, by category" },
});

/** `reasonix skills`. */
export const skillRoutes = buildRouteMap({
  routes: {
    list: buildCommand({
      loader: async () => (await import("./commands/skills.ts")).list,
      parameters: { flags: { json: flag("Print JSON") }, ...NONE },
      docs: { brief: "List the skills of this folder" },
    }),
    validate: buildCommand({
      loader: async () => (await import("./commands/skills.ts")).validate,
      parameters: {
        positional: {
          kind: "tuple",
          parameters: [{
            brief: "Folder of the skill",
            placeholder: "folder",
            parse: (value: string) => value,
          }],
        },
      },
      docs: { brief: "Check a skill against the specification" },
    }),
  },
  docs: { brief: "List and check skills" },
});
