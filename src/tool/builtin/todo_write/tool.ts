import { defineBuiltin } from "../../builtin_tool.ts";
import description from "./description.md" with { type: "text" };

export const TODO_WRITE = defineBuiltin({
  name: "todo_write",
  description,
  schema: {
    type: "object",
    properties: {
      todos: {
        type: "array",
        items: {
          type: "object",
          properties: {
            content: { type: "string" },
            status: { type: "string", enum: ["pending", "in_progress", "completed"] },
          },
          required: ["content", "status"],
        },
      },
    },
    required: ["todos"],
    additionalProperties: false,
  },
  readOnly: true,
  synonyms: { items: "todos", list: "todos" },
  load: async () => (await import("./todo_write.ts")).todoWrite,
});
