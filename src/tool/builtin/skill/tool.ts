import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import { failure, texts, type ToolContext, type ToolResult } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const SKILL = defineBuiltin({
  name: "skill",
  description,
  properties: {
    name: { type: "string" },
    arguments: { type: "string" },
  },
  required: ["name"],
  readOnly: true,
  title: ({ name }) => message`skill ${String(name)}`,
  optional: true,
  synonyms: { skill: "name", skill_name: "name", args: "arguments" },
  subjects: ({ name }) => texts(name),
  load: () => Promise.resolve(skill),
});

async function skill(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const port = context.services?.skills;
  if (!port) return failure("Cannot load a skill: there are none here", "continue without it");
  const given = args.arguments;
  const found = await port.activate(String(args.name), typeof given === "string" ? given : undefined);
  return typeof found === "string"
    ? failure(found)
    : { content: found.content, summary: found.summary === args.name ? "" : found.summary };
}
