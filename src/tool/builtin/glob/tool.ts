import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import { globBase, globRoots } from "../../search/path_filter.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const GLOB = defineBuiltin({
  name: "glob",
  description,
  properties: {
    pattern: { type: "string" },
    path: { type: "string", description: "Folder to start in" },
    limit: { type: "integer", minimum: 1, description: "200 if absent" },
  },
  required: ["pattern"],
  readOnly: true,
  title: ({ pattern, path }) =>
    typeof path === "string" ? message`find ${String(pattern)} in ${path}` : message`find ${String(pattern)}`,
  synonyms: { glob: "pattern", dir: "path", directory: "path", dir_path: "path" },
  unoffered: { case_sensitive: { type: "boolean" } },
  family: "Read",
  // In another case the names in the pattern may be those of other directories.
  reads: ({ pattern, path, case_sensitive }) =>
    case_sensitive === false ? [globBase(String(pattern), path)] : globRoots(String(pattern), path),
  subjects: ({ pattern }) => texts(pattern),
  load: async () => (await import("./glob.ts")).glob,
});
