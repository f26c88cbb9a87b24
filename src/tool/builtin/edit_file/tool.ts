import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import { EDIT_NAMES } from "../../foreign_calls.ts";
import description from "./description.md" with { type: "text" };

export const EDIT_FILE = defineBuiltin({
  name: "edit_file",
  description,
  schema: {
    type: "object",
    properties: {
      path: { type: "string" },
      old_string: { type: "string", description: "Exact text, without line numbers" },
      new_string: { type: "string" },
      replace_all: { type: "boolean" },
    },
    required: ["path", "old_string", "new_string"],
    additionalProperties: false,
  },
  readOnly: false,
  title: ({ path }) => `edit ${path}`,
  synonyms: {
    file_path: "path",
    filePath: "path",
    ...EDIT_NAMES,
    expected_replacements: null,
    instruction: null,
  },
  family: "Edit",
  runsIn: "worker",
  reads: ({ path }) => texts(path),
  writes: ({ path }) => texts(path),
  load: async () => (await import("../../edit/edit_file.ts")).editFile,
});
