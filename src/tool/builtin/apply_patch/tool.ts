import { defineBuiltin } from "../../builtin_tool.ts";
import description from "./description.md" with { type: "text" };
import { patchPaths } from "./parse.ts";

export const APPLY_PATCH = defineBuiltin({
  name: "apply_patch",
  description,
  schema: {
    type: "object",
    properties: { patch: { type: "string" } },
    required: ["patch"],
    additionalProperties: false,
  },
  readOnly: false,
  synonyms: { input: "patch", diff: "patch" },
  writes: (args) => patchPaths(String(args.patch)),
  load: async () => (await import("./apply_patch.ts")).applyPatch,
});
