import { buildCommand, buildRouteMap } from "@stricli/core";
import { argument, flag, NONE, option } from "./parameters.ts";

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
      docs: { brief: "Show the rights and the prompt of an agent" },
    }),
  },
  docs: { brief: "List and show agents for parts of a task" },
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

/** `reasonix hooks`. */
export const hookRoutes = buildRouteMap({
  routes: {
    list: buildCommand({
      loader: async () => (await import("../commands/hooks/hooks.ts")).list,
      parameters: { flags: { json: flag("Print JSON") }, ...NONE },
      docs: { brief: "List the hooks of this directory" },
    }),
    test: buildCommand({
      loader: async () => (await import("../commands/hooks/hooks.ts")).test,
      parameters: {
        flags: {
          tool: option("Tool of the made-up call, such as Edit (default: Bash)", "tool"),
          input: option("JSON: its arguments, or fields of the event", "json"),
          json: flag("Print JSON"),
        },
        positional: { kind: "tuple", parameters: [argument("Event, such as PreToolUse", "event")] },
      },
      docs: { brief: "Run the hooks of an event with a made-up input" },
    }),
  },
  docs: { brief: "List and try hooks" },
});
