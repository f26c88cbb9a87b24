import { defineBuiltin } from "../../builtin_tool.ts";
import description from "./description.md" with { type: "text" };

export const FORGET = defineBuiltin({
  name: "forget",
  description,
  schema: {
    type: "object",
    properties: {
      name: { type: "string" },
      scope: { type: "string", enum: ["project", "global"] },
    },
    required: ["name"],
    additionalProperties: false,
  },
  readOnly: false,
  optional: true,
  session: true,
  fresh: (args) => `forget ${args.name}`,
  load: async () => (await import("./forget.ts")).forget,
});
