import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const DELETE_RANGE = defineBuiltin({
  name: "delete_range",
  description,
  schema: {
    type: "object",
    properties: {
      path: { type: "string" },
      start_anchor: { type: "string", description: "Text that occurs once, on the first line to delete" },
      end_anchor: { type: "string", description: "Text on the last line to delete" },
      inclusive: { type: "boolean", description: "false keeps the anchor lines" },
    },
    required: ["path", "start_anchor", "end_anchor"],
    additionalProperties: false,
  },
  readOnly: false,
  title: ({ path }) => `edit ${path}`,
  optional: true,
  synonyms: { file_path: "path" },
  family: "Edit",
  runsIn: "worker",
  reads: ({ path }) => texts(path),
  writes: ({ path }) => texts(path),
  load: async () => (await import("./delete_range.ts")).deleteRange,
});
