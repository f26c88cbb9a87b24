import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const MULTI_EDIT = defineBuiltin({
  name: "multi_edit",
  description,
  schema: {
    type: "object",
    properties: {
      path: { type: "string" },
      edits: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          properties: {
            old_string: { type: "string" },
            new_string: { type: "string" },
            replace_all: { type: "boolean" },
          },
          required: ["old_string", "new_string"],
          additionalProperties: false,
        },
      },
    },
    required: ["path", "edits"],
    additionalProperties: false,
  },
  readOnly: false,
  synonyms: { file_path: "path", filePath: "path" },
  family: "Edit",
  runsIn: "worker",
  reads: ({ path }) => texts(path),
  writes: ({ path }) => texts(path),
  load: async () => (await import("./multi_edit.ts")).multiEdit,
});
