import { isRecord } from "../../util/json.ts";
import { oneLine } from "../../util/terminal_text.ts";

/**
 * Mends the entries of a list of tools that the SDK would refuse, and the whole list with them: what is wrong
 * with one tool must not cost the others. Everything else passes as it is. `tell` hears of each change.
 */
export function mendMessage<T>(message: T, tell: (problem: string) => void): T {
  if (!isRecord(message) || !isRecord(message.result) || !Array.isArray(message.result.tools)) return message;
  const tools = message.result.tools.map((tool: unknown) => mendTool(tool, tell));
  return { ...message, result: { ...message.result, tools: tools.filter((tool) => tool !== undefined) } };
}

function mendTool(tool: unknown, tell: (problem: string) => void): unknown {
  if (!isRecord(tool) || typeof tool.name !== "string" || tool.name === "") {
    tell("a tool without a name was left out");
    return undefined;
  }
  const { inputSchema, outputSchema, description, title, annotations, execution, icons, _meta, ...rest } =
    tool;
  const own = isObjectSchema(inputSchema);
  if (!own) tell(`the schema of ${oneLine(tool.name, 64)} is not an object's; it is offered without one`);
  return {
    ...rest,
    inputSchema: own ? inputSchema : { type: "object" },
    ...(isObjectSchema(outputSchema) ? { outputSchema } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof title === "string" ? { title } : {}),
    ...(isRecord(annotations) ? { annotations: mendHints(annotations) } : {}),
    ...(isRecord(execution) ? { execution } : {}),
    ...(Array.isArray(icons) && icons.every(isRecord) ? { icons } : {}),
    ...(isRecord(_meta) ? { _meta } : {}),
  };
}

function isObjectSchema(schema: unknown): boolean {
  if (!isRecord(schema) || schema.type !== "object") return false;
  const { properties, required } = schema;
  const named = properties === undefined || isRecord(properties);
  return named &&
    (required === undefined || Array.isArray(required) && required.every((key) => typeof key === "string"));
}

/** Hints are flags and a title; what is neither says nothing. */
function mendHints(hints: Record<string, unknown>): Record<string, unknown> {
  const fits = (name: string, value: unknown) =>
    name === "title" ? typeof value === "string" : typeof value === "boolean";
  return Object.fromEntries(Object.entries(hints).filter(([name, value]) => fits(name, value)));
}
