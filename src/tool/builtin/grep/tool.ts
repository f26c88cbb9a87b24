import { defineBuiltin } from "../../builtin_tool.ts";
import { searchRoot } from "../../search/roots.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const GREP = defineBuiltin({
  name: "grep",
  description,
  schema: {
    type: "object",
    properties: {
      pattern: { type: "string" },
      path: { type: "string", description: "File or folder" },
      include: { type: "string", description: "Only files like *.{ts,tsx} or src/**/*.ts" },
      exclude: { type: "string" },
      output_mode: { type: "string", enum: ["content", "files", "count"] },
      context: { type: "integer", minimum: 0, maximum: 50, description: "Lines around matches" },
      case_insensitive: { type: "boolean" },
      literal: { type: "boolean" },
      multiline: { type: "boolean", description: "Match across lines; . matches line ends" },
      limit: { type: "integer", minimum: 1, description: "100 matches if absent" },
    },
    required: ["pattern"],
    additionalProperties: false,
  },
  readOnly: true,
  synonyms: {
    query: "pattern",
    regex: "pattern",
    glob: "include",
    "-i": "case_insensitive",
    ignore_case: "case_insensitive",
    "-C": "context",
    "-A": "context",
    "-B": "context",
    "-n": null,
    head_limit: "limit",
    max_results: "limit",
    dir_path: "path",
  },
  family: "Read",
  reads: ({ path }) => [searchRoot(path)],
  subjects: ({ pattern }) => texts(pattern),
  load: async () => (await import("./grep.ts")).grep,
});
