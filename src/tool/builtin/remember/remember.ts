import type { MemoryKind } from "../../services/knowledge_ports.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";

const KINDS: ReadonlySet<unknown> = new Set<MemoryKind>(["user", "project", "reference", "feedback"]);

export async function remember(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const port = context.services?.memory;
  if (!port) return failure("Cannot save a fact: no memory is kept here", "tell the user instead");
  const { name, description, text, scope, kind, pinned } = args;
  const { path, updated } = await port.remember({
    name: String(name),
    description: String(description),
    text: String(text),
    ...(scope === "global" || scope === "project" ? { scope } : {}),
    ...(isKind(kind) ? { kind } : {}),
    ...(typeof pinned === "boolean" ? { pinned } : {}),
  });
  return {
    content: `${updated ? "Changed" : "Saved"} ${path}`,
    summary: `${updated ? "changed" : "saved"} ${name}`,
  };
}

function isKind(value: unknown): value is MemoryKind {
  return KINDS.has(value);
}
