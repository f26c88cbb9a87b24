import { type PreparedCall, subjectOf, type ToolCall } from "../core/mod.ts";

const MAX_LENGTH = 120;

/**
 * One line for people that says what a call is about: its command, path or pattern, else its arguments as
 * they were sent.
 */
export function callSummary(call: ToolCall, prepared: PreparedCall | string): string {
  const subject = typeof prepared === "string" ? "" : subjectOf(prepared);
  const line = (subject || call.arguments).replace(/\s+/g, " ").trim();
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line;
}
