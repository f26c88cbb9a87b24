import type { Channel, DeltaShape, OnlyText } from "../../wire/delta_template.ts";

const FIELDS: readonly (readonly [field: string, channel: Channel])[] = [
  ["content", "text"],
  ["reasoning_content", "reasoning"],
  ["reasoning", "reasoning"],
];

/** Text deltas of chat completions. */
export const DELTA_SHAPE: DeltaShape = { start: "data: ", onlyText };

type Fields = Readonly<Record<string, unknown>>;

function onlyText(event: unknown): OnlyText | undefined {
  if (typeof event !== "object" || event === null) return undefined;
  const { choices, usage, x_groq, error } = event as Fields;
  if (!Array.isArray(choices) || choices.length !== 1 || [usage, x_groq, error].some(isPresent)) {
    return undefined;
  }
  const choice: Fields = choices[0] ?? {};
  const delta = choice.delta as Fields | null | undefined;
  if (!isPresent(delta) || [choice.finish_reason, choice.usage].some(isPresent)) return undefined;
  if ([delta.tool_calls, delta.function_call, delta.refusal].some(isPresent)) return undefined;
  const said = FIELDS.flatMap(([field, channel]) => {
    const text = delta[field];
    return text === undefined || text === null || text === "" ? [] : [{ field, channel, text }];
  });
  const [first] = said;
  return said.length === 1 && typeof first?.text === "string" ? { ...first, text: first.text } : undefined;
}

function isPresent<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
