import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const MOVE_FILE = defineBuiltin({
  name: "move_file",
  description,
  properties: {
    source_path: { type: "string" },
    destination_path: { type: "string" },
  },
  required: ["source_path", "destination_path"],
  readOnly: false,
  title: ({ source_path, destination_path }) =>
    message`move ${String(source_path)} → ${String(destination_path)}`,
  synonyms: {
    source: "source_path",
    destination: "destination_path",
    from: "source_path",
    to: "destination_path",
  },
  family: "Edit",
  runsIn: "worker",
  reads: ({ source_path }) => texts(source_path),
  writes: ({ source_path, destination_path }) => texts(source_path, destination_path),
  load: async () => (await import("./move_file.ts")).moveFile,
});
