import { buildCommand } from "@stricli/core";
import { flag, NONE, option } from "./parameters.ts";

/** `reasonix stats`, also `reasonix session stats`: what sessions cost. */
export const statsCommand = buildCommand({
  loader: async () => (await import("../commands/stats.ts")).stats,
  parameters: {
    flags: {
      by: {
        kind: "enum",
        values: ["day", "model", "project", "session"],
        default: "day",
        brief: "Group by",
      },
      all: flag("Sessions of every directory"),
      since: option("First day, YYYY-MM-DD", "day"),
      cache: flag("Where and why the prompt cache was lost"),
      json: flag("Print JSON"),
    },
    ...NONE,
  },
  docs: { brief: "Show tokens, cache hits and cost" },
});
