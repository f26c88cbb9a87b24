import type { ToolCall } from "../core/mod.ts";
import type { Tool } from "../tool/mod.ts";
import { isRecord, parseJson } from "../util/json.ts";

/** The tool that ends a submit-enabled run. */
export const SUBMIT_TOOL: Tool = {
  name: "submit",
  description: "Hand in the final answer and end the task.",
  schema: {
    type: "object",
    properties: { answer: { type: "string", description: "The complete final answer" } },
    required: ["answer"],
    additionalProperties: false,
  },
  readOnly: true,
  execute: () => Promise.resolve({ content: "Answer received", summary: "answer handed in" }),
};

/** Sent when the model stops without having submitted. */
export const CONTINUE_TEXT =
  "Continue with the task. When it is finished, call the submit tool with your answer.";

/** The answer handed in by the first call of a message, if that is what it does. */
export function submittedAnswer(calls: readonly ToolCall[]): string | undefined {
  const first = calls[0];
  if (first?.name !== SUBMIT_TOOL.name) return undefined;
  const args = parseJson(first.arguments);
  return isRecord(args) && "answer" in args ? String(args.answer) : undefined;
}
