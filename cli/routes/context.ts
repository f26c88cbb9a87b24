import { buildCommand } from "@stricli/core";
import { flag, NONE } from "./parameters.ts";

/** `reasonix context`: what the model is told. */
export const contextCommand = buildCommand({
  loader: async () => (await import("../commands/context.ts")).context,
  parameters: {
    flags: { json: flag("Print JSON"), continue: flag("Of the latest session, not of a new one") },
    ...NONE,
  },
  docs: { brief: "Show what the model is told, by category" },
});
