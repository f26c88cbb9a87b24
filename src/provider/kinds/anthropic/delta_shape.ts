import { isRecord } from "../../../util/json.ts";
import type { DeltaShape, OnlyText } from "../../wire/delta_template.ts";

/** Text deltas of the Messages API. */
export const DELTA_SHAPE: DeltaShape = { start: "event: content_block_delta\ndata: ", onlyText };

function onlyText(event: unknown): OnlyText | undefined {
  if (!isRecord(event) || event.type !== "content_block_delta" || !isRecord(event.delta)) return undefined;
  const { type, text, thinking } = event.delta;
  if (type === "text_delta" && typeof text === "string") return { field: "text", channel: "text", text };
  if (type !== "thinking_delta" || typeof thinking !== "string") return undefined;
  return { field: "thinking", channel: "reasoning", text: thinking };
}
