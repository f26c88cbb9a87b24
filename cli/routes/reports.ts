import { buildCommand } from "@stricli/core";
import { flag, NONE, option } from "./parameters.ts";

/** `reasonix doctor`: what is wrong here. */
export const doctorCommand = buildCommand({
  loader: async () => (await import("../commands/doctor.ts")).doctor,
  parameters: {
    flags: {
      json: flag("Print JSON"),
      verbose: flag("Also list what is in order"),
      online: flag("Also try the providers over the network"),
      dir: option("Check the configuration of this directory", "dir"),
    },
    ...NONE,
  },
  docs: { brief: "Check configuration, providers and sandbox" },
});

/** `reasonix context`: what the model is told. */
export const contextCommand = buildCommand({
  loader: async () => (await import("../commands/context.ts")).context,
  parameters: {
    flags: {
      json: flag("Print JSON"),
      continue: flag("Show the latest session, not a new one"),
      exact: flag("Ask the server to count the next request"),
    },
    ...NONE,
  },
  docs: { brief: "Show what is sent to the model, by category" },
});

/** `reasonix stats`, also `reasonix session stats`: what sessions cost. */
export const statsCommand = buildCommand({
  loader: async () => (await import("../commands/stats.ts")).stats,
  parameters: {
    flags: {
      by: {
        kind: "enum",
        values: ["day", "model", "project", "session"],
        default: "day",
        brief: "Group the sums",
      },
      all: flag("Include the sessions of every directory"),
      since: option("Begin with this day, YYYY-MM-DD", "day"),
      cache: flag("Show where and why the prompt cache was lost"),
      json: flag("Print JSON"),
    },
    ...NONE,
  },
  docs: { brief: "Show tokens, cache hits and cost" },
});
