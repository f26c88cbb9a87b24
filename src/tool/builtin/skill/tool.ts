import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const SKILL = defineBuiltin({
  name: "skill",
  description,
  schema: {
    type: "object",
    properties: {
      name: { type: "string" },
      arguments: { type: "string" },
    },
    required: ["name"],
    additionalProperties: false,
  },
  readOnly: true,
  optional: true,
  synonyms: { skill: "name", skill_name: "name", args: "arguments" },
  subjects: ({ name }) => texts(name),
  load: async () => (await import("./skill.ts")).skill,
});
