import { buildCommand, buildRouteMap } from "@stricli/core";
import { argument, NONE } from "./parameters.ts";

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
      docs: { brief: "Say what is confined here" },
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
