import { failure, type ToolContext, type ToolResult } from "../../tool.ts";

export async function forget(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const port = context.services?.memory;
  if (!port) return failure("Cannot forget a fact: no memory is kept here");
  const scope = args.scope === "global" || args.scope === "project" ? args.scope : undefined;
  const { archived } = await port.forget(String(args.name), scope);
  return { content: `Forgotten; the file is kept as ${archived}`, summary: `forgot ${args.name}` };
}
