import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import { searchRoot } from "../../search/path_filter.ts";
import description from "./description.md" with { type: "text" };

export const LS = defineBuiltin({
  name: "ls",
  description,
  properties: {
    path: { type: "string" },
    depth: { type: "integer", minimum: 1, maximum: 10, description: "Levels, 1 if absent" },
    offset: { type: "integer", minimum: 1, description: "First entry, from 1" },
    limit: { type: "integer", minimum: 1, description: "500 if absent" },
    all: { type: "boolean" },
  },
  readOnly: true,
  title: ({ path }) => message`list ${searchRoot(path)}`,
  synonyms: { dir_path: "path", dir: "path", directory: "path", ignore: null },
  family: "Read",
  reads: ({ path }) => [searchRoot(path)],
  load: async () => (await import("./ls.ts")).ls,
});
