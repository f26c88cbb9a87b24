import { failure, type Tool } from "../../tool/mod.ts";
import { isRecord } from "../../util/json.ts";

/** The tool with which the planner hands in its plan, which ends its turn. */
export const SUBMIT_PLAN: Tool = {
  name: "submit_plan",
  description: "Hand in the plan: what it is to reach, and its steps in order. Ends your work.",
  schema: {
    type: "object",
    properties: {
      objective: { type: "string", description: "What is true when the plan is carried out" },
      steps: { type: "array", items: { type: "string" }, description: "What to do where, in order" },
    },
    required: ["objective", "steps"],
    additionalProperties: false,
  },
  readOnly: true,
  synonyms: { goal: "objective", plan: "steps" },
  title: () => "hand in the plan",
  translate: ({ steps, ...rest }) => ({
    ...rest,
    ...(steps === undefined ? {} : { steps: stepTexts(steps) }),
  }),
  subjects: () => [],
  execute: ({ objective, steps }) => {
    const texts = (steps as readonly string[]).map((step) => step.trim()).filter((step) => step !== "");
    if (texts.length === 0) {
      return Promise.resolve(failure("The plan has no steps", "hand it in with at least one"));
    }
    const list = texts.map((step, at) => `${at + 1}. ${step.replaceAll("\n", "\n   ")}`);
    const answer = [`Objective: ${String(objective).trim()}`, "", ...list].join("\n");
    return Promise.resolve({
      content: "The plan was handed in.",
      summary: texts.length === 1 ? "1 step" : `${texts.length} steps`,
      endsTurn: { answer },
    });
  },
};

/** Steps as texts: models also send one text with a line each, and objects that have a text. */
function stepTexts(steps: unknown): unknown {
  if (typeof steps === "string") {
    return steps.split("\n").map((line) => line.replace(/^\s*(?:[-*+•]|\d{1,3}[.)])\s+/, ""))
      .filter((line) => line.trim() !== "");
  }
  return Array.isArray(steps) ? steps.map((step) => isRecord(step) ? textOf(step) : step) : steps;
}

function textOf(step: Record<string, unknown>): unknown {
  const texts = ["step", "title", "content", "text", "description"].flatMap((key) => {
    const text = step[key];
    return typeof text === "string" && text !== "" ? [text] : [];
  });
  return texts.length === 0 ? step : texts.join(": ");
}
