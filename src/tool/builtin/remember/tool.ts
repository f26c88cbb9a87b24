import { defineBuiltin } from "../../builtin_tool.ts";
import { type Arguments, texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const REMEMBER = defineBuiltin({
  name: "remember",
  description,
  schema: {
    type: "object",
    properties: {
      name: { type: "string", description: "short-name-with-hyphens; an existing one is changed" },
      description: { type: "string", description: "One line that tells when it matters" },
      text: { type: "string" },
      kind: { type: "string", enum: ["user", "project", "reference", "feedback"] },
      scope: { type: "string", enum: ["project", "global"] },
      pinned: { type: "boolean", description: "Named at the start of every session" },
    },
    required: ["name", "description", "text"],
    additionalProperties: false,
  },
  readOnly: false,
  optional: true,
  synonyms: { content: "text", body: "text", type: "kind" },
  writes: () => [],
  subjects: ({ name }) => texts(name),
  alwaysAsk: preview,
  load: async () => (await import("./remember.ts")).remember,
});

const MAX_PREVIEW = 400;

function preview(args: Arguments): string {
  const where = args.scope === "global" ? "for all projects" : "for this project";
  const text = `save ${where}: ${args.name}: ${args.description} — ${args.text}`.replace(/\s+/g, " ");
  return text.length > MAX_PREVIEW ? `${text.slice(0, MAX_PREVIEW - 1)}…` : text;
}
