import { buildCommand, buildRouteMap } from "@stricli/core";
import { argument, flag, NONE } from "./parameters.ts";

/** `reasonix agents`. */
export const agentRoutes = buildRouteMap({
  routes: {
    list: buildCommand({
      loader: async () => (await import("../commands/agents.ts")).list,
      parameters: { flags: { json: flag("Print JSON") }, ...NONE },
      docs: { brief: "List the agents of this directory" },
    }),
    show: buildCommand({
      loader: async () => (await import("../commands/agents.ts")).show,
      parameters: {
        flags: { json: flag("Print JSON") },
        positional: { kind: "tuple", parameters: [argument("Name of the agent", "name")] },
      },
      docs: { brief: "Show what an agent may do and is told" },
    }),
  },
  docs: { brief: "List and show agents that work on parts of a task" },
});

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
