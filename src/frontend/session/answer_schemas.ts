/** The answers to questions as data from outside: their schemas, and the check of one. */
import { boolean, literal, optional, strictObject, string } from "zod/mini";
import * as z from "zod/mini";
import { message, type Text, usageError } from "../../core/mod.ts";
import type { OpenQuestion, QuestionKind } from "./questions.ts";

const text = (most: number) => string().check(z.maxLength(most));
const note = optional(text(10_000));

/** The answers by kind. */
export const ANSWERS = {
  approval: strictObject({
    allow: boolean(),
    scope: z.enum(["once", "session", "project", "always"]),
    rule: optional(text(2_000).check(z.regex(/\S/))),
    network: optional(z.enum(["once", "session", "project"])),
    note,
    stop: optional(literal(true)),
  }),
  ask: z.array(z.array(text(10_000))),
  plan: z.union([
    strictObject({
      approve: literal(true),
      plan: optional(text(200_000)),
      note,
      window: optional(boolean()),
      acceptEdits: optional(boolean()),
    }),
    strictObject({ approve: literal(false), note: text(10_000) }),
  ]),
  trust: z.enum(["trust", "ignore"]),
  copy: boolean(),
  choose: z.int().check(z.nonnegative()),
  confirm: boolean(),
  prompt: text(200_000),
  show: z.null(),
  changes: z.null(),
} satisfies Record<QuestionKind, z.ZodMiniType>;

/** Returns the answer of a client if it fits the question. Throws a ReasonixError (usage). */
export function answerTo({ kind, question }: OpenQuestion, given: unknown): unknown {
  const answer = checked(ANSWERS[kind], given, "answer");
  const fits = kind === "choose"
    ? Number(answer) < question.entries.length
    : kind !== "ask" || (answer as unknown[]).length === question.questions.length;
  if (fits) return answer;
  throw usageError(message`Cannot use the answer: the question has no such choice`);
}

/** Returns a value as its schema reads it. Throws a ReasonixError (usage) that names what does not fit. */
export function checked(schema: z.ZodMiniType | undefined, value: unknown, where: string): unknown {
  const { data, error } = schema?.safeParse(value) ?? {};
  const [issue] = error?.issues ?? [];
  if (!issue) return data;
  throw usageError(message`Cannot use ${[where, ...issue.path].join(".")}: ${problem(issue)}`);
}

function problem(issue: z.core.$ZodIssue): Text {
  switch (issue.code) {
    case "unrecognized_keys":
      return message`there is no field ${issue.keys}`;
    case "invalid_value":
      return message`it is none of ${issue.values.map(String)}`;
    case "invalid_type":
      return message`it is missing, or its type is not ${issue.expected}`;
    case "too_big":
      return message`it has more than ${String(issue.maximum)}`;
    default:
      return message`its form is not the one in docs/web-api.md`;
  }
}
