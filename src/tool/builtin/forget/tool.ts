import { defineBuiltin } from "../../builtin_tool.ts";
import { failure, texts, type ToolContext, type ToolResult } from "../../tool.ts";
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
  title: ({ name }) => `forget ${name}`,
  optional: true,
  writes: () => [],
  subjects: ({ name }) => texts(name),
  alwaysAsk: ({ name }) => `forget ${name}`,
  load: () => Promise.resolve(forget),
});

async function forget(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const port = await context.services?.memory?.();
  if (!port) return failure("Cannot forget a fact: no memory is kept here");
  const scope = args.scope === "global" || args.scope === "project" ? args.scope : undefined;
  const { archived } = await port.forget(String(args.name), scope);
  return { content: `Forgotten; the file is kept as ${archived}`, summary: `forgot ${args.name}` };
}
