import type { ToolCall } from "../core/mod.ts";

const SUBJECT_KEYS = [
  "command",
  "path",
  "file_path",
  "pattern",
  "source_path",
  "url",
  "query",
  "question",
  "job_id",
];
const MAX_LENGTH = 120;

/** One line for people that says what a call is about: its command, path or pattern, else its arguments. */
export function callSummary(call: ToolCall): string {
  let subject: unknown;
  try {
    const args: unknown = JSON.parse(call.arguments);
    if (typeof args === "object" && args !== null) {
      const record = args as Record<string, unknown>;
      subject = SUBJECT_KEYS.map((key) => record[key]).find((value) => typeof value === "string");
    }
  } catch {
    // Shown as it was sent.
  }
  const text = typeof subject === "string" ? subject : call.arguments;
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line;
}
