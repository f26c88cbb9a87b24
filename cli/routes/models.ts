import { buildCommand, buildRouteMap } from "@stricli/core";
import { argument, flag, NONE, option } from "./parameters.ts";

/** `reasonix models`: what is known of models. */
export const modelRoutes = buildRouteMap({
  routes: {
    list: buildCommand({
      loader: async () => (await import("../commands/models/list.ts")).list,
      parameters: {
        flags: {
          all: flag("Every model of the tables of your vendors"),
          json: flag("Print JSON"),
        },
        ...NONE,
      },
      docs: { brief: "List the models that can be used, with window, efforts and prices" },
    }),
    show: buildCommand({
      loader: async () => (await import("../commands/models/show.ts")).show,
      parameters: {
        flags: { json: flag("Print JSON") },
        positional: {
          kind: "tuple",
          parameters: [argument("Model: name, provider, or provider/model", "model")],
        },
      },
      docs: { brief: "Show what is known of one model, and from where" },
    }),
    refresh: buildCommand({
      loader: async () => (await import("../commands/models/refresh.ts")).refresh,
      parameters: {
        flags: { from: option("Address or file (default: https://models.dev/api.json)", "url|file") },
        ...NONE,
      },
      docs: { brief: "Fetch new tables of models, in the format of models.dev" },
    }),
  },
  docs: { brief: "Show context windows, effort levels and prices of models" },
});
