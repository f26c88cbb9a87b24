import type { AssistantMessage } from "../../../core/mod.ts";
import { nameOfTexts } from "../../wire/fingerprint.ts";
import { isRecord } from "../../../util/json.ts";

/** A stretch of a message's text or reasoning, in UTF-16 units of the reply that it came with. */
type Span = readonly [start: number, end: number];

/** One content block of a reply; what the message has anyhow is only pointed at. */
export type ReplyBlock =
  | { readonly type: "text"; readonly at: Span }
  | { readonly type: "thinking"; readonly at: Span; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  /** A call, by its place among those of the reply. */
  | { readonly type: "tool_use"; readonly call: number }
  /** A block that only the server understands, such as what a tool of its own gave. */
  | { readonly type: "other"; readonly block: Readonly<Record<string, unknown>> };

/** The data of the part that a reply of this wire leaves behind: its content blocks, in their order. */
export interface ReplyPart {
  /** Name of everything that was sent before the reply. */
  readonly after: string;
  /** Name of the text and the reasoning that the blocks point into. */
  readonly of: string;
  /** Length of that text and reasoning, and the number of calls. */
  readonly size: readonly [text: number, reasoning: number, calls: number];
  readonly blocks: readonly ReplyBlock[];
  /** The reply was not at its end: it goes on where it is sent back as the last message. */
  readonly paused?: boolean;
}

/** The part, if it is one, with the texts of a message that its blocks point into. */
export interface PlacedPart extends ReplyPart {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: NonNullable<AssistantMessage["calls"]>;
}

/**
 * The parts of a message with the stretches of it that each is about. Undefined where they do not fit the
 * message as it is now: then nothing of them may be sent.
 */
export function placeParts(
  { content, reasoning = "", calls = [] }: AssistantMessage,
  data: readonly unknown[],
): readonly PlacedPart[] | undefined {
  const placed: PlacedPart[] = [];
  let [text, thought, call] = [0, 0, 0];
  for (const part of data) {
    if (!isReplyPart(part)) return undefined;
    const [texts, thoughts, count] = part.size;
    const own = {
      text: content.slice(text, text += texts),
      reasoning: reasoning.slice(thought, thought += thoughts),
      calls: calls.slice(call, call += count),
    };
    if (own.calls.length !== count || nameOfTexts(own.text, own.reasoning) !== part.of) return undefined;
    placed.push({ ...part, ...own });
  }
  const whole = text === content.length && thought === reasoning.length && call === calls.length;
  return whole && placed.length > 0 ? placed : undefined;
}

function isReplyPart(value: unknown): value is ReplyPart {
  if (!isRecord(value)) return false;
  const { after, of, size, blocks } = value;
  return typeof after === "string" && typeof of === "string" && Array.isArray(size) && size.length === 3 &&
    size.every(Number.isSafeInteger) && Array.isArray(blocks) && blocks.every(isReplyBlock);
}

function isReplyBlock(value: unknown): value is ReplyBlock {
  if (!isRecord(value)) return false;
  switch (value.type) {
    case "text":
      return isSpan(value.at);
    case "thinking":
      return isSpan(value.at) && typeof value.signature === "string";
    case "redacted_thinking":
      return typeof value.data === "string";
    case "tool_use":
      return Number.isSafeInteger(value.call);
    default:
      return value.type === "other" && isRecord(value.block);
  }
}

function isSpan(value: unknown): value is Span {
  return Array.isArray(value) && value.length === 2 && value.every(Number.isSafeInteger);
}
