import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const DELETE_SYMBOL = defineBuiltin({
  name: "delete_symbol",
  description,
  schema: {
    type: "object",
    properties: {
      path: { type: "string" },
      name: { type: "string", description: "`name`, or `Class.method`" },
      kind: { type: "string", description: "function, class, type, … when the name alone is ambiguous" },
    },
    required: ["path", "name"],
    additionalProperties: false,
  },
  readOnly: false,
  optional: true,
  synonyms: { file_path: "path", symbol: "name" },
  family: "Edit",
  runsIn: "worker",
  reads: ({ path }) => texts(path),
  writes: ({ path }) => texts(path),
  load: async () => (await import("./delete_symbol.ts")).deleteSymbol,
});
