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
          explain: flag("Also print what each pass over a command line understood"),
          tool: option("Another tool than bash"),
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
      docs: { brief: "List the rules and where they stand" },
    }),
  },
  docs: { brief: "Explain permission decisions" },
});
