import { argumentsLine, type PreparedCall, subjectOf, type ToolCall } from "../core/mod.ts";
import { type Arguments, isKnownToRead, texts, type Tool } from "./tool.ts";

/** Fills in what a tool declares about one call; the only place where its declarations are read. */
export function preparedCall(call: ToolCall, tool: Tool, args: Record<string, unknown>): PreparedCall {
  const { family, delegates, runsIn = "main" } = tool;
  const limits = tool.limits?.(args);
  const readOnly = isKnownToRead(tool) && limits?.readOnly !== false;
  const writes = tool.writes?.(args) ?? (readOnly ? [] : undefined);
  const command = tool.command?.(args);
  const alwaysAsk = tool.alwaysAsk?.(args);
  const facts = {
    reads: tool.reads?.(args) ?? [],
    subjects: tool.subjects?.(args) ?? (declaresNothing(tool) ? allTexts(args) : []),
    ...(writes ? { writes } : {}),
    ...(command ? { command } : {}),
  };
  return {
    call,
    tool: tool.name,
    args,
    title: tool.title?.(args) ?? `${tool.name} ${subjectOf(facts) || argumentsLine(call.arguments)}`,
    readOnly,
    planSafe: readOnly && tool.planSafe !== false && limits?.planSafe !== false,
    runsIn,
    ...facts,
    ...(family === "Mcp" && tool.readOnly && !readOnly ? { claimsToRead: true } : {}),
    ...(family ? { family } : {}),
    ...(tool.server ? { server: tool.server(args) } : {}),
    ...(delegates ? { delegates } : {}),
    ...(alwaysAsk === undefined ? {} : { alwaysAsk }),
  };
}

function declaresNothing(tool: Tool): boolean {
  return !tool.reads && !tool.writes && !tool.command;
}

/** The texts among the arguments and in their lists. */
function allTexts(args: Arguments): string[] {
  return texts(...Object.values(args).flat());
}
