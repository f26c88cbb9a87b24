import type { AssistantMessage } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";
import { nameOfTexts } from "../../wire/fingerprint.ts";

/** A stretch of a message's text or reasoning, in UTF-16 units. */
type Span = readonly [start: number, end: number];

/** The signature of a thought, on the very part that it came with. */
interface Signed {
  readonly signature?: string;
}

/** One part of a reply; what the message has anyhow is only pointed at. */
export type LayoutPart =
  | (Signed & { readonly type: "text" | "thought"; readonly at: Span })
  /** A call, by its place among those of the reply, with the id that the server gave it. */
  | (Signed & { readonly type: "call"; readonly call: number; readonly id?: string })
  /** A part that only the server understands, such as what a tool of its own gave. */
  | { readonly type: "other"; readonly part: Readonly<Record<string, unknown>> };

/** The data of the part that a reply of this wire leaves behind: its parts, in their order. */
export interface ReplyLayout {
  /** Name of the text and the reasoning that the parts point into. */
  readonly of: string;
  /** Number of calls. */
  readonly calls: number;
  readonly parts: readonly LayoutPart[];
}

/** The parts of a message, if its layout is one and fits the message as it is now. */
export function layoutOf(
  { content, reasoning = "", calls = [] }: AssistantMessage,
  data: unknown,
): readonly LayoutPart[] | undefined {
  if (!isRecord(data) || !Array.isArray(data.parts) || !data.parts.every(isLayoutPart)) return undefined;
  return data.of === nameOfTexts(content, reasoning) && data.calls === calls.length ? data.parts : undefined;
}

function isLayoutPart(value: unknown): value is LayoutPart {
  if (!isRecord(value) || !isTextOrNone(value.signature)) return false;
  switch (value.type) {
    case "text":
    case "thought":
      return Array.isArray(value.at) && value.at.length === 2 && value.at.every(Number.isSafeInteger);
    case "call":
      return Number.isSafeInteger(value.call) && isTextOrNone(value.id);
    default:
      return value.type === "other" && isRecord(value.part);
  }
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}
