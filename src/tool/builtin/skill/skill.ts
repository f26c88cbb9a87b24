import { failure, type ToolContext, type ToolResult } from "../../tool.ts";

export async function skill(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const port = context.services?.skills;
  if (!port) return failure("Cannot load a skill: there are none here", "go on without it");
  const given = args.arguments;
  const found = await port.activate(String(args.name), typeof given === "string" ? given : undefined);
  return typeof found === "string" ? failure(found) : { content: found.content, summary: found.summary };
}
