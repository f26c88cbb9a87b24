import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
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
  writes: () => [],
  subjects: ({ name }) => texts(name),
  alwaysAsk: ({ name }) => `forget ${name}`,
  load: async () => (await import("./forget.ts")).forget,
});
