/** Tools for tests of calls as text, and the result of a scanner. */
import type { FinishReason, ToolSchema } from "../../../../src/core/mod.ts";
import { CallScanner } from "../../../../src/provider/tool_modes/call_scanner.ts";
import type { TextCall } from "../../../../src/provider/tool_modes/taught_form.ts";

function tool(name: string, required: readonly string[], optional: Record<string, string> = {}): ToolSchema {
  const texts = Object.fromEntries(required.map((key) => [key, { type: "string", description: key }]));
  const others = Object.fromEntries(Object.entries(optional).map(([key, type]) => [key, { type }]));
  const parameters = { type: "object", properties: { ...texts, ...others }, required };
  return { name, description: `Does ${name}.`, parameters };
}

export const SCHEMAS: readonly ToolSchema[] = [
  tool("read_file", ["path"], { limit: "integer" }),
  tool("bash", ["command"]),
  tool("write_file", ["path", "content"]),
  tool("skill", ["name"]),
  tool("list", [], { deep: "boolean" }),
];
export const TOOLS: ReadonlyMap<string, ToolSchema> = new Map(SCHEMAS.map((one) => [one.name, one]));

export interface Scan {
  readonly text: string;
  readonly calls: readonly TextCall[];
}

export function scan(pieces: readonly string[], finish: FinishReason = "stop", taught = true): Scan {
  const scanner = new CallScanner({ tools: TOOLS, taught });
  const shown = pieces.map((piece) => scanner.push(piece)).join("");
  const { text, calls } = scanner.end(finish);
  return { text: shown + text, calls };
}

/** Name and arguments of calls, for comparisons. */
export function brief(calls: readonly TextCall[]): unknown[] {
  return calls.map((
    { name, arguments: text },
  ) => [name, text.startsWith("{") ? JSON.parse(text) : "unreadable"]);
}
