import { buildCommand, buildRouteMap } from "@stricli/core";
import { argument, flag, NONE } from "./parameters.ts";

/** `reasonix skills`. */
export const skillRoutes = buildRouteMap({
  routes: {
    list: buildCommand({
      loader: async () => (await import("../commands/skills.ts")).list,
      parameters: { flags: { json: flag("Print JSON") }, ...NONE },
      docs: { brief: "List the skills of this directory" },
    }),
    validate: buildCommand({
      loader: async () => (await import("../commands/skills.ts")).validate,
      parameters: {
        positional: {
          kind: "tuple",
          parameters: [argument("Directory of the skill", "directory")],
        },
      },
      docs: { brief: "Check a skill against the specification" },
    }),
  },
  docs: { brief: "List and check skills" },
});
