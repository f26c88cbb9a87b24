import { buildCommand, buildRouteMap } from "@stricli/core";
import { argument, flag, NONE, option, PERMISSION_MODES } from "./parameters.ts";

/** `reasonix permissions`: what would happen to a call, and why. */
export const permissionRoutes = buildRouteMap({
  routes: {
    check: buildCommand({
      loader: async () => (await import("../commands/permissions.ts")).check,
      parameters: {
        flags: {
          json: flag("Print JSON"),
          explain: flag("Also print how the command line was parsed"),
          tool: option("Judge a call of this tool; default: bash", "name"),
          permissionMode: {
            kind: "enum",
            values: PERMISSION_MODES,
            optional: true,
            brief: "Judge in this mode",
          },
        },
        positional: {
          kind: "tuple",
          parameters: [argument("Command line, or path for a file tool", "subject")],
        },
      },
      docs: { brief: "Explain what would happen to a call" },
    }),
    list: buildCommand({
      loader: async () => (await import("../commands/permissions.ts")).list,
      parameters: NONE,
      docs: { brief: "List the rules and their files" },
    }),
  },
  docs: { brief: "Explain permission decisions" },
});

/** `reasonix sandbox`: the jail by hand. */
export const sandboxRoutes = buildRouteMap({
  routes: {
    exec: buildCommand({
      loader: async () => (await import("../commands/sandbox.ts")).exec,
      parameters: {
        positional: {
          kind: "array",
          parameter: argument("Program and arguments", "word"),
        },
      },
      docs: { brief: "Run a command in the jail" },
    }),
    status: buildCommand({
      loader: async () => (await import("../commands/sandbox.ts")).status,
      parameters: NONE,
      docs: { brief: "Show what is confined here" },
    }),
    forward: buildCommand({
      loader: async () => (await import("../commands/sandbox.ts")).forward,
      parameters: {
        positional: {
          kind: "array",
          parameter: argument("Socket, port, program", "word"),
        },
      },
      docs: { brief: "Reach the filtering proxy from inside a jail" },
    }),
  },
  docs: { brief: "Use the command jail by hand", hideRoute: { forward: true } },
});

/** `reasonix trust`: what a project brings that would run. */
export const trustCommand = buildCommand({
  loader: async () => (await import("../commands/trust.ts")).trust,
  parameters: {
    flags: {
      yes: flag("Do not ask"),
      list: flag("List what is trusted here"),
      revoke: flag("Trust nothing here"),
    },
    ...NONE,
  },
  docs: { brief: "Trust hooks, servers and agents of this project" },
});
