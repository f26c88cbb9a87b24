import { defineBuiltin } from "../../builtin_tool.ts";
import description from "./description.md" with { type: "text" };

export const TODO_READ = defineBuiltin({
  name: "todo_read",
  description,
  schema: { type: "object", properties: {}, additionalProperties: false },
  readOnly: true,
  load: async () => (await import("./todo_read.ts")).todoRead,
});
