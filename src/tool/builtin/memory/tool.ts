import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const MEMORY = defineBuiltin({
  name: "memory",
  description,
  schema: {
    type: "object",
    properties: {
      operation: { type: "string", enum: ["search", "list", "read"] },
      query: { type: "string", description: "search" },
      name: { type: "string", description: "read" },
      scope: {
        type: "string",
        enum: ["project", "global"],
        description: "read: where the name is not unique",
      },
    },
    required: ["operation"],
    additionalProperties: false,
  },
  unoffered: { limit: { type: "integer", minimum: 1, maximum: 50 } },
  readOnly: true,
  title: ({ name, query }) =>
    name !== undefined
      ? `recall ${name}`
      : query !== undefined
      ? `search memory for "${query}"`
      : "list memory",
  optional: true,
  synonyms: { op: "operation", q: "query" },
  subjects: ({ name, query }) => texts(name, query),
  load: async () => (await import("./memory.ts")).memory,
});
