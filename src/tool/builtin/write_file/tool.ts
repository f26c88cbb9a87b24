import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const WRITE_FILE = defineBuiltin({
  name: "write_file",
  description,
  properties: {
    path: { type: "string" },
    content: { type: "string" },
  },
  required: ["path", "content"],
  readOnly: false,
  title: ({ path }) => message`write ${String(path)}`,
  synonyms: { file_path: "path", filePath: "path", filename: "path", contents: "content", text: "content" },
  family: "Edit",
  runsIn: "worker",
  writes: ({ path }) => texts(path),
  load: async () => (await import("./write_file.ts")).writeFile,
});
