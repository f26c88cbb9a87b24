import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import description from "./description.md" with { type: "text" };

export const ASK = defineBuiltin({
  name: "ask",
  description,
  properties: {
    questions: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        properties: {
          question: { type: "string" },
          options: {
            type: "array",
            items: {
              type: "object",
              properties: { label: { type: "string" }, description: { type: "string" } },
              required: ["label"],
            },
          },
          multiple: { type: "boolean" },
        },
        required: ["question", "options"],
      },
    },
  },
  required: ["questions"],
  readOnly: true,
  title: ({ questions }) => message`ask: ${Array.isArray(questions) ? String(questions[0]?.question) : ""}`,
  load: async () => (await import("./ask.ts")).ask,
});
