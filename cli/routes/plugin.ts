import { buildCommand, buildRouteMap } from "@stricli/core";
import { NONE, portNumber } from "./parameters.ts";

/** `reasonix plugin`: plugins that come with the program. */
export const pluginRoutes = buildRouteMap({
  routes: {
    example: buildCommand({
      loader: async () => (await import("../commands/plugin.ts")).examplePlugin,
      parameters: {
        flags: {
          http: {
            kind: "parsed",
            parse: portNumber("--http"),
            optional: true,
            brief: "Serve streamable HTTP on this port of 127.0.0.1 (0 = any) instead of standard input",
            placeholder: "port",
          },
        },
        ...NONE,
      },
      docs: { brief: "Start the example plugin, an MCP server" },
    }),
  },
  docs: { brief: "Start a plugin that comes with reasonix" },
});
