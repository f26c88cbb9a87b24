import { buildCommand, buildRouteMap } from "@stricli/core";
import { flag, NONE } from "./parameters.ts";

/** `reasonix mcp`: MCP servers. */
export const mcpRoutes = buildRouteMap({
  routes: {
    list: buildCommand({
      loader: async () => (await import("../commands/mcp/list.ts")).list,
      parameters: { flags: { json: flag("Print JSON") }, ...NONE },
      docs: { brief: "List the configured servers" },
    }),
  },
  docs: { brief: "List, add and try MCP servers" },
});
