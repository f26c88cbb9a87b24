import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const NOTEBOOK_EDIT = defineBuiltin({
  name: "notebook_edit",
  description,
  schema: {
    type: "object",
    properties: {
      path: { type: "string" },
      cell: {
        type: "string",
        description: "Cell id, or number from 0; for insert: the cell to insert after, absent for the top",
      },
      new_source: { type: "string" },
      cell_type: { type: "string", enum: ["code", "markdown", "raw"] },
      edit_mode: { type: "string", enum: ["replace", "insert", "delete"] },
    },
    required: ["path"],
    additionalProperties: false,
  },
  readOnly: false,
  title: ({ path }) => `edit ${path}`,
  optional: true,
  synonyms: {
    notebook_path: "path",
    file_path: "path",
    cell_id: "cell",
    cell_number: "cell",
    source: "new_source",
  },
  family: "Edit",
  runsIn: "worker",
  reads: ({ path }) => texts(path),
  writes: ({ path }) => texts(path),
  load: async () => (await import("./notebook_edit.ts")).notebookEdit,
});
