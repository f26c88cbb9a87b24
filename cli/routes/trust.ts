import { buildCommand } from "@stricli/core";
import { flag, NONE } from "./parameters.ts";

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
  docs: { brief: "Trust what this project brings" },
});
