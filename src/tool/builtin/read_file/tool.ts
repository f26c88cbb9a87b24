import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const READ_FILE = defineBuiltin({
  name: "read_file",
  description,
  schema: {
    type: "object",
    properties: {
      path: { type: "string" },
      offset: { type: "integer", minimum: 1, description: "First line, from 1" },
      limit: { type: "integer", minimum: 1, description: "Number of lines, 2000 if absent" },
    },
    required: ["path"],
    additionalProperties: false,
  },
  readOnly: true,
  synonyms: { file_path: "path", filePath: "path", filename: "path" },
  family: "Read",
  reads: ({ path }) => texts(path),
  load: async () => (await import("./read_file.ts")).readFile,
});
